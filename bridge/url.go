package bridge

import "github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"

// Protocol is an RPC protocol.
type Protocol int

// The protocols.
const (
	ProtocolGRPC    = Protocol(upstreamurl.GRPC)
	ProtocolGRPCWeb = Protocol(upstreamurl.GRPCWeb)
	ProtocolConnect = Protocol(upstreamurl.Connect)
)

// String returns the name that people use for the protocol.
func (p Protocol) String() string { return upstreamurl.Protocol(p).String() }

// URL is where a backend listens and which RPC protocol it speaks, as [ParseURL]
// has read it. URLs are comparable. The fields are for reading.
type URL struct {
	Protocol Protocol
	// TLS is true where the scheme asks for TLS.
	TLS bool
	// Host is the host name or IP address, without brackets and port. It is
	// empty for a unix socket.
	Host string
	// Unix is the path of a unix socket.
	Unix string

	parsed upstreamurl.URL
}

// ParseURL reads the URL of a backend:
//
//	grpc://host:port             gRPC without TLS
//	grpcs://host[:port]          gRPC over TLS
//	dns:///host:port             gRPC without TLS, as a grpc target
//	unix:///path, unix:path      gRPC over a unix socket
//	grpcweb+http[s]://host/path  gRPC-Web
//	connect+http[s]://host/path  Connect
//
// The error reports every problem at once and says what to write instead.
func ParseURL(s string) (URL, error) {
	u, err := upstreamurl.Parse(s)
	if err != nil {
		return URL{}, err
	}
	return newURL(u), nil
}

func newURL(u upstreamurl.URL) URL {
	return URL{Protocol: Protocol(u.Protocol), TLS: u.TLS, Host: u.Host, Unix: u.Unix, parsed: u}
}

// String returns the canonical spelling, which [ParseURL] reads back.
func (u URL) String() string { return u.parsed.String() }

// WithTLS returns the URL with TLS switched on or off: what an error message
// suggests where the two sides disagree. A unix socket stays as it is.
func (u URL) WithTLS(on bool) URL { return newURL(u.parsed.WithTLS(on)) }
