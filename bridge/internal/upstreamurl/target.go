package upstreamurl

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/internal/secret"
)

// Kind says what an upstream speaks, as far as its URL tells.
type Kind int

const (
	// API is a service of gRPC, gRPC-Web or Connect. Its reflection may tell
	// that it is an MCP server after all.
	API Kind = iota
	// MCPService is an MCP server that implements mcp.v1.McpService.
	MCPService
	// GoogleService is one that implements model_context_protocol.Mcp.
	GoogleService
	// Tunnel is one behind the RPC Tunnel.
	Tunnel
	// StreamableHTTP is one that speaks Streamable HTTP, or HTTP+SSE if it
	// knows nothing else.
	StreamableHTTP
	// SSE is one that speaks HTTP+SSE only.
	SSE
)

// Target is an upstream as its URL describes it.
type Target struct {
	Kind Kind
	// RPC is the URL below a Kind that is reached by an RPC protocol, and zero
	// for the others.
	RPC URL
	// HTTP is the http or https URL of StreamableHTTP and SSE, and empty for the
	// others.
	HTTP string
}

// IsRPC reports whether the upstream is reached by an RPC protocol.
func (t Target) IsRPC() bool { return t.HTTP == "" }

// TLS reports whether the upstream is reached by TLS.
func (t Target) TLS() bool {
	if t.IsRPC() {
		return t.RPC.TLS
	}
	return strings.HasPrefix(strings.ToLower(t.HTTP), "https:")
}

// String returns the canonical spelling, which [ParseTarget] reads back.
func (t Target) String() string {
	switch t.Kind {
	case MCPService:
		return "mcp+" + t.RPC.String()
	case GoogleService:
		return "google+" + t.RPC.String()
	case Tunnel:
		return "tunnel+" + t.RPC.String()
	case StreamableHTTP:
		return t.HTTP
	case SSE:
		return "sse+" + t.HTTP
	case API:
	}
	return t.RPC.String()
}

// ParseTarget reads the URL of any upstream: one that [Parse] knows is an API,
// and after "mcp+", "google+" or "tunnel+" an MCP server; http and https are MCP
// servers, also after "mcp+", and after "sse+" such that speak HTTP+SSE.
func ParseTarget(s string) (Target, error) {
	if len(s) > maxLength {
		return Target{}, fmt.Errorf("upstream URL has %d bytes, the limit is %d", len(s), maxLength)
	}
	lower := strings.ToLower(s)
	rest := func(prefix string) string { return s[len(prefix):] }
	switch {
	case isHTTP(lower):
		return httpTarget(StreamableHTTP, s, s)
	case strings.HasPrefix(lower, "mcp+") && isHTTP(lower[len("mcp+"):]):
		return httpTarget(StreamableHTTP, s, rest("mcp+"))
	case strings.HasPrefix(lower, "sse+") && isHTTP(lower[len("sse+"):]):
		return httpTarget(SSE, s, rest("sse+"))
	case strings.HasPrefix(lower, "mcp+"):
		return rpcTarget(MCPService, rest("mcp+"))
	case strings.HasPrefix(lower, "google+"):
		return rpcTarget(GoogleService, rest("google+"))
	case strings.HasPrefix(lower, "tunnel+"):
		return rpcTarget(Tunnel, rest("tunnel+"))
	default:
		return rpcTarget(API, s)
	}
}

func isHTTP(s string) bool {
	return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
}

func rpcTarget(kind Kind, s string) (Target, error) {
	u, err := Parse(s)
	if _, ok := errors.AsType[*schemeError](err); ok && kind == API {
		return Target{}, fmt.Errorf("%w; an MCP server has http:// or https://", err)
	}
	if err != nil {
		return Target{}, err
	}
	return Target{Kind: kind, RPC: u}, nil
}

// httpTarget checks the URL of an MCP server over HTTP.
func httpTarget(kind Kind, s, rest string) (Target, error) {
	u, err := url.Parse(rest)
	if err != nil {
		return Target{}, fmt.Errorf("upstream %q: %w", secret.URL(s), parseFault(rest, err))
	}
	var problems []error
	problem := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("upstream %q: "+format, append([]any{secret.URL(s)}, args...)...))
	}
	if u.User != nil {
		problem("a user name or password in a URL is not supported, send an Authorization header instead")
	}
	if strings.Contains(rest, "#") {
		problem("a fragment is not supported")
	}
	if err := checkHost(u.Hostname()); err != nil {
		problem("%w", err)
	}
	if port := u.Port(); port != "" && !isPort(port) {
		problem("port %s is not between 1 and 65535", port)
	}
	if err := errors.Join(problems...); err != nil {
		return Target{}, err
	}
	return Target{Kind: kind, HTTP: rest}, nil
}
