package upstream

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Server is an upstream that is open: an [*API] or an [*MCP]. Its Close ends the
// sessions, processes and connections.
type Server interface {
	protocol.Handler

	Close()
	// Status says what the upstream turned out to be.
	Status() Status
}

var (
	_ Server            = (*API)(nil)
	_ Server            = (*MCP)(nil)
	_ protocol.Resolver = (*API)(nil)
)

// Kind is what an upstream turned out to be.
type Kind string

// The kinds of upstreams.
const (
	KindAPI            Kind = "api"
	KindMCPService     Kind = "mcp.v1.McpService"
	KindGoogle         Kind = "model_context_protocol.Mcp"
	KindTunnel         Kind = "tunnel"
	KindStreamableHTTP Kind = "streamable-http"
	KindSSE            Kind = "http+sse"
	KindCommand        Kind = "command"
)

// kinds are the kinds that a URL states.
var kinds = map[upstreamurl.Kind]Kind{
	upstreamurl.API:            KindAPI,
	upstreamurl.MCPService:     KindMCPService,
	upstreamurl.GoogleService:  KindGoogle,
	upstreamurl.Tunnel:         KindTunnel,
	upstreamurl.StreamableHTTP: KindStreamableHTTP,
	upstreamurl.SSE:            KindSSE,
}

// Status says what an upstream is.
type Status struct {
	// Kind is what it turned out to be.
	Kind Kind
	// Address is its URL without credentials, or the program of its command.
	Address string
	// Server is the Implementation object of an MCP server, or nil.
	Server json.RawMessage
	// Revisions are the revisions of MCP in which an MCP server has answered, newest
	// first. It has none where MCP travels as an RPC service.
	Revisions []protocol.Revision
	// Restarts is how often the process of a command, or the stream of a tunnel, has
	// been started again after it had ended.
	Restarts int
	// Tools is the number of tools of an API.
	Tools int
	// Processes is the number of processes of a command that run for principals
	// of their own.
	Processes int
}

// openTimeout bounds what Open asks of an upstream.
const openTimeout = 30 * time.Second

// Open connects to the upstream that a spec describes. It returns once an API
// has told its descriptors, or an MCP server who it is. The context bounds this
// only; Close what Open returns.
//
// The error is a [*ConfigError] where the spec must be changed. Otherwise the
// upstream is not there, and Open may be called again.
func Open(ctx context.Context, name string, spec *configv1.Upstream, opts Options) (Server, error) {
	p, err := newPlan(name, spec, opts)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	switch {
	case p.isCommand():
		return p.openCommand(ctx)
	case p.target.Kind == upstreamurl.StreamableHTTP, p.target.Kind == upstreamurl.SSE:
		return p.openWeb(ctx)
	case p.target.Kind == upstreamurl.Tunnel:
		return p.openTunnel(ctx)
	default:
		return p.openRPC(ctx)
	}
}

// API is an API of gRPC, gRPC-Web or Connect.
type API struct {
	bridge  *bridge.Bridge
	close   func()
	address string
}

// Handle answers one MCP request.
func (a *API) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	return a.bridge.Handle(ctx, r, n)
}

// Resolve names the RPC that a request runs.
func (a *API) Resolve(ctx context.Context, r *protocol.Request) (*protocol.Resolution, error) {
	return a.bridge.Resolve(ctx, r)
}

// Tools returns the tools that are served now, and after them the methods that
// cannot be tools.
func (a *API) Tools() []bridge.Tool { return a.bridge.Tools() }

// Status says what the API is.
func (a *API) Status() Status {
	s := Status{Kind: KindAPI, Address: a.address}
	for _, tool := range a.bridge.Tools() {
		if tool.NotCallable == "" {
			s.Tools++
		}
	}
	return s
}

// Close ends subscriptions and the connections.
func (a *API) Close() {
	a.bridge.Close()
	a.close()
}

// MCP is an MCP server, by whatever transport.
type MCP struct {
	server  protocol.Handler
	close   func()
	kind    Kind
	address string
	met     json.RawMessage
	report  func(*Status) // adds what only its kind knows, or is nil
}

// meet asks an MCP server who it is, and returns the upstream, or closes the
// server.
func (p *plan) meet(ctx context.Context, kind Kind, server protocol.Handler, closeServer func(), report func(*Status)) (*MCP, error) {
	m := &MCP{server: protocol.Timeout(p.timeout)(server), close: closeServer, kind: kind, address: p.text(), report: report}
	res, err := m.Handle(ctx, &protocol.Request{
		Method: protocol.MethodDiscover,
		Meta:   protocol.Meta{Revision: protocol.Revisions()[0], Capabilities: []byte(`{}`), ClientInfo: p.opts.ClientInfo},
		Caller: &protocol.Caller{Principal: protocol.InternalPrincipal(), Transport: "internal"},
	}, protocol.Discard)
	if err != nil {
		closeServer()
		return nil, err
	}
	m.met = res.Server
	return m, nil
}

// server returns an MCP server as a Server, which is nil where there is none.
func server(m *MCP, err error) (Server, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Handle asks the server. Where it cannot be asked, the error is a
// [*protocol.UpstreamError].
func (m *MCP) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	return m.server.Handle(ctx, r, n)
}

// Status says who the server was when it was opened, and how it has been since.
func (m *MCP) Status() Status {
	s := Status{Kind: m.kind, Address: m.address, Server: m.met}
	if m.report != nil {
		m.report(&s)
	}
	return s
}

// Close ends the sessions and the connections, or the process.
func (m *MCP) Close() { m.close() }
