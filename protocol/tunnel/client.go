package tunnel

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/framed"
)

// ClientConfig configures a [Client]. The zero value of every field but Dial
// means its default.
type ClientConfig struct {
	// Dial opens a stream to the server. It is called again where the stream
	// has ended. ctx bounds the dialling alone.
	Dial func(ctx context.Context) (Stream, error)
	// Logger gets what goes wrong. The default discards.
	Logger *slog.Logger
	// MaxMessageBytes is the limit that the streams have, for messages to
	// people.
	MaxMessageBytes int
	// ProbeTimeout is how long a server has to answer server/discover before
	// it is taken for one that opens with initialize.
	ProbeTimeout time.Duration
	// HandshakeTimeout bounds the opening of a stream and initialize.
	HandshakeTimeout time.Duration
	// ParkTimeout and MaxParked bound the calls to legacy servers that wait
	// for their callers' input, in time and in number.
	ParkTimeout time.Duration
	MaxParked   int
	// ClientInfo is the Implementation object that legacy servers see, and
	// modern ones of callers that have none.
	ClientInfo json.RawMessage
	// Capabilities is the ClientCapabilities object of the session with a
	// legacy server, which all callers share. The default is everything that
	// can be carried; a caller that lacks a capability is not asked.
	Capabilities json.RawMessage
}

// Client is an MCP server at the other end of a stream, as a
// [protocol.Handler], whichever revision it speaks. The stream is opened by
// the first request, and again, with growing pauses, where it has ended.
// Requests under way then fail; none is sent twice. All callers share it, and
// the credentials that it was opened with.
type Client struct{ framed *framed.Client }

var _ protocol.Handler = (*Client)(nil)

// NewClient returns a Client. No stream is opened yet.
func NewClient(cfg ClientConfig) (*Client, error) {
	if cfg.Dial == nil {
		return nil, errors.New("tunnel: ClientConfig.Dial is nil")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxMessageBytes <= 0 {
		cfg.MaxMessageBytes = DefaultClientMaxMessageBytes
	}
	return &Client{framed.NewClient(framed.ClientConfig(cfg))}, nil
}

// Handle asks the server. Where it cannot be asked, the error is a
// [*protocol.UpstreamError].
func (c *Client) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	return c.framed.Handle(ctx, r, n)
}

// Close ends the stream, and returns once nothing of it is left. Requests
// under way fail.
func (c *Client) Close() { c.framed.Close() }
