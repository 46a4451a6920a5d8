package httpsse

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

// Client is an MCP server behind an URL that speaks HTTP+SSE, as a
// [protocol.Handler]. Where it is not known that a server speaks nothing
// newer, use package streamable's, which finds out.
type Client struct {
	era *eraclient.Client
	web *webclient.Web
}

var _ protocol.Handler = (*Client)(nil)

// NewClient returns a Client.
func NewClient(cfg ClientConfig) (*Client, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("httpsse: %w", err)
	}
	if cfg.Revision.Modern() {
		return nil, fmt.Errorf("httpsse: HTTP+SSE does not carry revision %s", cfg.Revision)
	}
	cfg.ClientConfig = cfg.WithDefaults()
	web, err := webclient.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("httpsse: %w", err)
	}
	cfg.Logger = web.Log
	return &Client{web: web, era: eraclient.New(eraclient.Config{
		Dial:    []func(context.Context, http.Header) (peer.Conn, error){web.DialSSE},
		Forward: web.Forward, LegacyOnly: true, ClientConfig: cfg.ClientConfig,
	})}, nil
}

// Handle asks the server. Where it cannot be asked, the error is a
// [*protocol.UpstreamError].
func (c *Client) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	res, err := c.era.Handle(ctx, r, n)
	return res, c.web.Redact(err)
}

// Revisions returns the revisions in which the server has answered, newest first.
func (c *Client) Revisions() []protocol.Revision { return c.era.Revisions() }

// Close ends the connections, and returns once nothing of them is left.
func (c *Client) Close() {
	c.era.Close()
	c.web.Close()
}
