package streamable

import (
	"context"
	"encoding/json"
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
// means its default.
type ClientConfig struct {
	// URL is the MCP endpoint of the server.
	URL string
	// HTTPClient sends the requests. Its Timeout would end streams, so it
	// should have none; its CheckRedirect is not used: redirects are followed
	// within the origin only. The default has a connection pool of its own.
	HTTPClient *http.Client
	// Header goes on every request. What the transport sets itself, such as
	// Accept and all of Mcp-, cannot be given.
	Header http.Header
	// Token returns the bearer token, or "" for none. It is asked for every
	// HTTP request, and must be safe for concurrent use.
	Token func(ctx context.Context) (string, error)
	// Forward returns headers for one request of a caller, for example the
	// caller's own Authorization. Callers whose headers differ never share a
	// session. What the transport sets itself is left out.
	Forward func(ctx context.Context, r *protocol.Request) (http.Header, error)
	// DisableSSE keeps the client from trying HTTP+SSE where the server has
	// no Streamable HTTP.
	DisableSSE bool

	// Logger gets what goes wrong. The default discards.
	Logger *slog.Logger
	// MaxMessageBytes bounds one message of the server.
	MaxMessageBytes int
	// ProbeTimeout bounds the first request, which finds out about the era.
	ProbeTimeout time.Duration
	// HandshakeTimeout bounds the opening of a session.
	HandshakeTimeout time.Duration
	// SessionIdle and MaxSessions bound the sessions with a legacy server.
	SessionIdle time.Duration
	MaxSessions int
	// ParkTimeout and MaxParked bound the calls to legacy servers that wait
	// for their callers' input, in time and in number.
	ParkTimeout time.Duration
	MaxParked   int
	// ClientInfo is the Implementation object for requests of callers that
	// have none.
	ClientInfo json.RawMessage
}

// Client is an MCP server behind an URL, as a [protocol.Handler]: its
// requests are answered by that server, whichever revision it speaks. Nothing
// is sent before the first request. Close it to end its sessions.
type Client struct {
	era *era.Client
	web *webclient.Web
	// stateless carries the requests of modern servers, and the probe.
	stateless *clientConn
}

var _ protocol.Handler = (*Client)(nil)

// NewClient returns a Client.
func NewClient(cfg ClientConfig) (*Client, error) {
	web, err := webclient.New(webclient.Config{
		URL: cfg.URL, Client: cfg.HTTPClient, Header: cfg.Header, Token: cfg.Token, Forward: cfg.Forward,
		MaxMessageBytes: cfg.MaxMessageBytes, Logger: cfg.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("streamable: %w", err)
	}
	c := &Client{web: web, stateless: newClientConn(web)}
	dial := []func(context.Context, http.Header) (peer.Conn, error){
		func(context.Context, http.Header) (peer.Conn, error) { return newClientConn(web), nil },
	}
	if !cfg.DisableSSE {
		dial = append(dial, web.DialSSE)
	}
	l := legacy.NewClient(legacy.ClientConfig{
		Dial: dial, Logger: web.Log, ClientInfo: cfg.ClientInfo,
		HandshakeTimeout: cfg.HandshakeTimeout, ParkTimeout: cfg.ParkTimeout, MaxParked: cfg.MaxParked,
		SessionIdle: cfg.SessionIdle, MaxSessions: cfg.MaxSessions,
	})
	c.era = era.New(era.Config{
		Open:    func(context.Context) (peer.Conn, error) { return c.stateless, nil },
		Prepare: web.Prepare, Legacy: l, HTTP: true, ProbeTimeout: cfg.ProbeTimeout,
		ClientInfo: cfg.ClientInfo, Logger: web.Log,
	})
	return c, nil
}

// Handle asks the server. Where it cannot be asked, the error is a
// [*protocol.UpstreamError].
func (c *Client) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	return c.era.Handle(ctx, r, n)
}

// Close ends the sessions, telling the server, and returns once nothing of
// them is left. Requests to modern servers end with their contexts.
func (c *Client) Close() {
	c.era.Close()
	c.stateless.Close()
	c.web.Close()
}
