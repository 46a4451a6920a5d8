package tunnel

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectcall"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/tunnel"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
)

// ClientTransport connects an SDK client to the server at a URL. The zero
// value of every field but URL means its default.
type ClientTransport struct {
	// URL is where the server listens and how: grpc://host:port and grpcs://,
	// or connect+http:// and connect+https://, which speak HTTP/2 as well.
	URL string
	// TLS is used instead of the default configuration, and makes the
	// connection a TLS one whatever the URL says.
	TLS *tls.Config
	// Header is sent when the tunnel is opened. Values of keys that end in
	// "-Bin" are raw bytes.
	Header http.Header
	// UserAgent is the User-Agent header.
	UserAgent string
	// MaxMessageBytes bounds one message. The default is
	// [DefaultMaxMessageBytes].
	MaxMessageBytes int
}

var _ mcp.Transport = (*ClientTransport)(nil)

// Connect opens a tunnel, which ends with the connection. It does not wait for
// the server: where that cannot be reached, the first Read or Write says so.
func (t *ClientTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	u, err := upstreamurl.Parse(t.URL)
	if err != nil {
		return nil, fmt.Errorf("tunnel: %w", err)
	}
	if u.Protocol == upstreamurl.GRPCWeb {
		return nil, errors.New("tunnel: gRPC-Web has no streams that go both ways; use grpc:// or connect+http://")
	}
	limit := t.MaxMessageBytes
	if limit <= 0 {
		limit = DefaultMaxMessageBytes
	}
	opts := []connectcall.Option{connectcall.WithMaxReceiveBytes(limit), connectcall.WithMaxSendBytes(limit)}
	if t.TLS != nil {
		opts = append(opts, connectcall.WithTLS(t.TLS))
	}
	if t.UserAgent != "" {
		opts = append(opts, connectcall.WithUserAgent(t.UserAgent))
	}
	caller, err := connectcall.Dial(u, opts...)
	if err != nil {
		return nil, fmt.Errorf("tunnel: %w", err)
	}
	s, err := tunnel.Dial(ctx, caller, t.Header)
	if err != nil {
		return nil, errors.Join(err, caller.Close())
	}
	return newConnection(dialled{s, caller}), nil
}

// dialled is a stream with a caller of its own.
type dialled struct {
	*tunnel.ClientStream
	caller *connectcall.Caller
}

// Close ends the stream and its connections.
func (d dialled) Close() {
	d.ClientStream.Close()
	_ = d.caller.Close() // closes what is idle, and cannot fail
}
