package httpsse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/era"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/webclient"
	"github.com/mcp-bridge/mcp-bridge/protocol/legacy"
)

// DefaultClientMaxMessageBytes bounds one message of a server.
const DefaultClientMaxMessageBytes = webclient.DefaultMaxMessageBytes

// ClientConfig configures a [Client]. The zero value of every field but URL
// means its default. The fields are those of package streamable.
type ClientConfig struct {
	URL        string
	HTTPClient *http.Client
	Header     http.Header
	Token      func(ctx context.Context) (string, error)
	Forward    func(ctx context.Context, r *protocol.Request) (http.Header, error)

	Logger           *slog.Logger
	MaxMessageBytes  int
	HandshakeTimeout time.Duration
	SessionIdle      time.Duration
	MaxSessions      int
	ParkTimeout      time.Duration
	MaxParked        int
	ClientInfo       json.RawMessage
}

// Client is an MCP server behind an URL that speaks HTTP+SSE, as a
// [protocol.Handler]. Where it is not known that a server speaks nothing
// newer, use package streamable's, which finds out.
type Client struct {
	era *era.Client
	web *webclient.Web
}

var _ protocol.Handler = (*Client)(nil)

// NewClient returns a Client.
func NewClient(cfg ClientConfig) (*Client, error) {
	web, err := webclient.New(webclient.Config{
		URL: cfg.URL, Client: cfg.HTTPClient, Header: cfg.Header, Token: cfg.Token, Forward: cfg.Forward,
		MaxMessageBytes: cfg.MaxMessageBytes, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("httpsse: %w", err)
	}
	l := legacy.NewClient(legacy.ClientConfig{
		Dial:   []func(context.Context, http.Header) (peer.Conn, error){web.DialSSE},
		Logger: web.Log, ClientInfo: cfg.ClientInfo,
		HandshakeTimeout: cfg.HandshakeTimeout, ParkTimeout: cfg.ParkTimeout, MaxParked: cfg.MaxParked,
		SessionIdle: cfg.SessionIdle, MaxSessions: cfg.MaxSessions,
	})
	return &Client{web: web, era: era.New(era.Config{
		Open: func(context.Context) (peer.Conn, error) {
			return nil, errors.New("httpsse: no requests without session")
		},
		Prepare: web.Prepare, Legacy: l, LegacyOnly: true, ClientInfo: cfg.ClientInfo, Logger: web.Log,
	})}, nil
}

// Handle asks the server. Where it cannot be asked, the error is a
// [*protocol.UpstreamError].
func (c *Client) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	return c.era.Handle(ctx, r, n)
}

// Close ends the connections, and returns once nothing of them is left.
func (c *Client) Close() {
	c.era.Close()
	c.web.Close()
}
