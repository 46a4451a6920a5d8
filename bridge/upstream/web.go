package upstream

import (
	"context"
	"net/http"
	"time"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/httpsse"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// Connections to an MCP server that wait for the next request: how many, and for
// how long.
const (
	idlePerHost = 32
	idleTimeout = 2 * time.Minute
)

// client is an MCP server that is asked over a transport of package protocol.
type client interface {
	protocol.Handler

	Close()
	// Revisions returns the revisions in which the server has answered.
	Revisions() []protocol.Revision
}

// openWeb opens an MCP server over Streamable HTTP or HTTP+SSE.
func (p *plan) openWeb(ctx context.Context) (Server, error) {
	config, err := p.tlsConfig()
	if err != nil {
		return nil, &ConfigError{err}
	}
	forward, err := bridge.ForwardHeaders(p.spec.GetForwardHeaders()...)
	if err != nil {
		return nil, &ConfigError{err}
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: idlePerHost, IdleConnTimeout: idleTimeout,
	}
	web := &http.Client{Transport: transport}
	cfg := protocol.HTTPClientConfig{
		URL: p.target.HTTP, HTTPClient: web, Header: p.header, Forward: forward, ClientConfig: p.clientConfig(),
	}
	var c client
	if p.target.Kind == upstreamurl.SSE {
		c, err = httpsse.NewClient(cfg)
	} else {
		c, err = streamable.NewClient(cfg)
	}
	if err != nil {
		return nil, &ConfigError{err}
	}
	return server(p.meet(ctx, kinds[p.target.Kind], c, func() {
		c.Close() // sessions first
		transport.CloseIdleConnections()
	}, func(s *Status) { s.Revisions = c.Revisions() }))
}
