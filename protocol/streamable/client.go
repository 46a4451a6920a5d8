package streamable

import (
	"context"
	"fmt"
	"net/http"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eraclient"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/webclient"
)

// ClientConfig configures a [Client].
type ClientConfig = protocol.HTTPClientConfig

// Client is an MCP server behind an URL, as a [protocol.Handler]: its
// requests are answered by that server, whichever revision it speaks. Nothing
// is sent before the first request. Close it to end its sessions.
type Client struct {
	era *eraclient.Client
	web *webclient.Web
	// stateless carries the requests of modern servers, and the probe.
	stateless *clientConn
}

var _ protocol.Handler = (*Client)(nil)

// NewClient returns a Client.
func NewClient(cfg ClientConfig) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("streamable: %w", err)
	}
	cfg.ClientConfig = cfg.WithDefaults()
	web, err := webclient.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("streamable: %w", err)
	}
	cfg.Logger = web.Log
	c := &Client{web: web, stateless: newClientConn(web)}
	dial := []func(context.Context, http.Header) (peer.Conn, error){
		func(context.Context, http.Header) (peer.Conn, error) { return newClientConn(web), nil },
	}
	if !cfg.DisableSSE {
		dial = append(dial, web.DialSSE)
	}
	c.era = eraclient.New(eraclient.Config{
		Open: func(context.Context, bool) (peer.Conn, error) { return c.stateless, nil },
		Dial: dial, Forward: web.Forward, HTTP: true, ClientConfig: cfg.ClientConfig,
	})
	return c, nil
}

// Handle asks the server. Where it cannot be asked, the error is a
// [*protocol.UpstreamError].
func (c *Client) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	res, err := c.era.Handle(ctx, r, n)
	return res, c.web.Redact(err)
}

// Revisions returns the revisions in which the server has answered, newest first.
func (c *Client) Revisions() []protocol.Revision { return c.era.Revisions() }

// Close ends the sessions, telling the server, and returns once nothing of
// them is left. Requests to modern servers end with their contexts.
func (c *Client) Close() {
	c.era.Close()
	c.stateless.Close()
	c.web.Close()
}
