package tunnel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/mcp-bridge/mcp-bridge/internal/secret"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/framed"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
)

// ClientConfig configures a [Client]. The zero value of every field but Dial
// means its default.
type ClientConfig struct {
	// Dial opens a stream to the server. It is called again where the stream
	// has ended. ctx bounds the dialling alone. The stream itself limits messages
	// to MaxMessageBytes.
	Dial func(ctx context.Context) (Stream, error)
	// Capabilities is the ClientCapabilities object of the session with a
	// legacy server, which all callers share. The default is everything that
	// can be carried; a caller that lacks a capability is not asked.
	Capabilities json.RawMessage
	// Header are the headers that Dial sends. Errors and what is logged do not
	// show their values where the server repeats them.
	Header http.Header

	protocol.ClientConfig
}

// Client is an MCP server at the other end of a stream, as a
// [protocol.Handler], whichever revision it speaks. The stream is opened by
// the first request, and again, with growing pauses, where it has ended.
// Requests under way then fail; none is sent twice. All callers share it, and
// the credentials that it was opened with.
type Client struct {
	framed *framed.Client
	sent   *secret.Values
}

var _ protocol.Handler = (*Client)(nil)

// NewClient returns a Client. No stream is opened yet.
func NewClient(cfg ClientConfig) (*Client, error) {
	if cfg.Dial == nil {
		return nil, errors.New("tunnel: ClientConfig.Dial is nil")
	}
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("tunnel: %w", err)
	}
	c := &Client{sent: &secret.Values{}}
	c.sent.AddHeader(cfg.Header)
	cfg.ClientConfig = cfg.WithDefaults()
	cfg.Logger = c.sent.Logger(cfg.Logger)
	c.framed = framed.NewClient(framed.ClientConfig{
		Dial:         func(ctx context.Context) (framed.Stream, error) { return cfg.Dial(ctx) },
		Capabilities: cfg.Capabilities, ClientConfig: cfg.ClientConfig,
	})
	return c, nil
}

// Handle asks the server. Where it cannot be asked, the error is a
// [*protocol.UpstreamError].
func (c *Client) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	res, err := c.framed.Handle(ctx, r, n)
	return res, peer.Redact(c.sent, err)
}

// Revisions returns the revisions in which the server has answered, newest first.
func (c *Client) Revisions() []protocol.Revision { return c.framed.Revisions() }

// Restarts returns how often the stream has been opened again after it had ended.
func (c *Client) Restarts() int { return c.framed.Restarts() }

// Close ends the stream, and returns once nothing of it is left. Requests
// under way fail.
func (c *Client) Close() { c.framed.Close() }
