package bridge

import (
	"crypto/tls"
	"io"
	"net/http"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectcall"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// CallCloser is a [rpc.Caller] that holds connections. Close it after every Bridge
// that uses it.
type CallCloser interface {
	rpc.Caller
	io.Closer
}

// ConnectConfig configures [Connect]. The zero value of every field means its
// default.
type ConnectConfig struct {
	// TLS is used instead of the default configuration, and makes the
	// connection a TLS one whatever the URL says. It must not be changed
	// afterwards.
	TLS *tls.Config
	// Authority is sent instead of the URL's host, and is the name that the
	// server's certificate must have.
	Authority string
	// Header is sent with every call that does not bring its own of that key.
	// Values of keys that end in "-Bin" are raw bytes.
	Header http.Header
	// UserAgent is the User-Agent header.
	UserAgent string
	// MaxReceiveBytes bounds a response message, MaxSendBytes a request. The
	// defaults are 16 MiB and 4 MiB.
	MaxReceiveBytes, MaxSendBytes int
	// Gzip compresses requests. Compressed responses are always accepted.
	Gzip bool
}

// Connect returns a Caller of the backend at a URL, which says the protocol:
//
//	grpc://host:port             gRPC without TLS
//	grpcs://host[:port]          gRPC over TLS
//	dns:///host:port             gRPC without TLS, as a grpc target
//	unix:///path, unix:path      gRPC over a unix socket
//	grpcweb+http[s]://host/path  gRPC-Web
//	connect+http[s]://host/path  Connect
//
// The Caller is one of connect-go and links no grpc-go. It does not connect: the
// first call does. For gRPC with client-side load balancing see package grpcgo.
//
// All problems of the URL and of cfg are reported at once.
func Connect(url string, cfg ConnectConfig) (CallCloser, error) {
	u, err := upstreamurl.Parse(url)
	if err != nil {
		return nil, err
	}
	caller, err := connectcall.Dial(u, cfg.options()...)
	if err != nil {
		return nil, err
	}
	return caller, nil
}

func (c *ConnectConfig) options() []connectcall.Option {
	var opts []connectcall.Option
	if c.TLS != nil {
		opts = append(opts, connectcall.WithTLS(c.TLS))
	}
	if c.Authority != "" {
		opts = append(opts, connectcall.WithAuthority(c.Authority))
	}
	for key, values := range c.Header {
		opts = append(opts, connectcall.WithHeader(key, values...))
	}
	if c.UserAgent != "" {
		opts = append(opts, connectcall.WithUserAgent(c.UserAgent))
	}
	if c.MaxReceiveBytes != 0 {
		opts = append(opts, connectcall.WithMaxReceiveBytes(c.MaxReceiveBytes))
	}
	if c.MaxSendBytes != 0 {
		opts = append(opts, connectcall.WithMaxSendBytes(c.MaxSendBytes))
	}
	if c.Gzip {
		opts = append(opts, connectcall.WithGzip())
	}
	return opts
}

// InProcessCaller returns a Caller of the services that h serves in this
// process, for an [Upstream] that wants other descriptors than those that
// [InProcess] takes. Close waits for the handlers of calls under way.
func InProcessCaller(h http.Handler) (CallCloser, error) {
	caller, err := connectcall.NewInProcess(h, upstreamurl.Connect)
	if err != nil {
		return nil, err
	}
	return caller, nil
}
