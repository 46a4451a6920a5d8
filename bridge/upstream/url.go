package upstream

import (
	"net/url"
	"path"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
)

// URL is the URL of an upstream, as [ParseURL] has read it.
type URL struct {
	// Kind is what the URL says that the upstream is. An API may turn out to be
	// an MCP server by its reflection.
	Kind Kind
	// TLS is true where the upstream is reached by TLS.
	TLS bool
	// Host is the host name or IP address, without brackets and port, or the file
	// name of a unix socket.
	Host string

	target upstreamurl.Target
}

// ParseURL reads the URL of any upstream: one of gRPC, gRPC-Web or Connect is that
// of an API, and after "mcp+", "google+" or "tunnel+" that of an MCP server; http
// and https are MCP servers, and after "sse+" such that speak HTTP+SSE. The error
// reports every problem at once and says what to write instead.
func ParseURL(s string) (URL, error) {
	target, err := upstreamurl.ParseTarget(s)
	if err != nil {
		return URL{}, err
	}
	u := URL{Kind: kinds[target.Kind], TLS: target.TLS(), Host: target.RPC.Host, target: target}
	switch {
	case target.RPC.Unix != "":
		u.Host = path.Base(target.RPC.Unix)
	case !target.IsRPC():
		if parsed, err := url.Parse(target.HTTP); err == nil { // as ParseTarget has done
			u.Host = parsed.Hostname()
		}
	}
	return u, nil
}

// String returns the canonical spelling, which [ParseURL] reads back.
func (u URL) String() string { return u.target.String() }

// WithTLS returns the URL of an RPC upstream with TLS: what an error message
// suggests. Others stay as they are.
func (u URL) WithTLS() URL {
	if u.target.IsRPC() {
		u.target.RPC = u.target.RPC.WithTLS(true)
		u.TLS = u.target.TLS()
	}
	return u
}
