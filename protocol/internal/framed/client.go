package framed

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/blame"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eraclient"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
)

// sharedCapabilities is what the one session with a legacy server declares.
// What a caller has not declared itself is refused when the server asks.
const sharedCapabilities = `{"roots":{},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}}`

// ClientConfig configures a [Client].
type ClientConfig struct {
	// Dial starts or reaches the server. It is called again where the stream
	// has ended. ctx bounds the dialling alone. MaxMessageBytes is the limit of
	// the streams, for messages to people.
	Dial func(ctx context.Context) (Stream, error)
	// Capabilities is the ClientCapabilities object of the session with a
	// legacy server, which all callers share.
	Capabilities json.RawMessage
	// Blame is whether requests may be what ends the stream, as where it is that
	// of a process. Those that do are refused for a while, so that others go on.
	Blame bool

	protocol.ClientConfig
}

// Client is an MCP server behind a stream, as a [protocol.Handler]. The stream
// is opened by the first request, and again, with growing pauses, where it has
// ended. Requests under way then fail; none is sent twice. A server of both eras
// has a stream for each era that its callers speak.
type Client struct {
	cfg ClientConfig
	log *slog.Logger
	era *eraclient.Client

	ctx    context.Context //nolint:containedctx // ends the streams, which outlive any call
	cancel context.CancelFunc
	wg     sync.WaitGroup

	blame blame.Tracker

	mu            sync.Mutex
	first, second runner
	firstOf       side // whose stream first is, where the server is of both eras
	restarts      int  // streams that were opened after another one had ended
	closed        bool
}

// side is an era that has a stream of its own.
type side int

const (
	nobody side = iota
	modern
	legacy
)

var _ protocol.Handler = (*Client)(nil)

// NewClient returns a Client. Nothing is started yet.
func NewClient(cfg ClientConfig) *Client {
	if cfg.Capabilities == nil {
		cfg.Capabilities = json.RawMessage(sharedCapabilities)
	}
	cfg.ClientConfig = cfg.WithDefaults()
	c := &Client{cfg: cfg, log: cfg.Logger}
	c.first.client, c.second.client = c, c
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.era = eraclient.New(eraclient.Config{
		Open: func(ctx context.Context, probe bool) (peer.Conn, error) {
			return c.runner(modern, probe).open(ctx, probe)
		},
		Dial: []func(context.Context, http.Header) (peer.Conn, error){
			func(ctx context.Context, _ http.Header) (peer.Conn, error) {
				return c.runner(legacy, false).open(ctx, false)
			},
		},
		Again:           func(ctx context.Context) (peer.Conn, error) { return c.runner(legacy, false).openUnprobed(ctx) },
		SilenceIsLegacy: true,
		Shared:          cfg.Capabilities,
		ClientConfig:    cfg.ClientConfig,
	})
	return c
}

// Handle asks the server. Where it cannot be asked, the error is a
// [*protocol.UpstreamError].
func (c *Client) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	if c.cfg.Blame {
		return c.guarded(ctx, r, n)
	}
	return c.era.Handle(ctx, r, n)
}

// Revisions returns the revisions in which the server has answered, newest first.
func (c *Client) Revisions() []protocol.Revision { return c.era.Revisions() }

// Restarts returns how often a stream that had ended has been opened again.
func (c *Client) Restarts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.restarts
}

// Close ends the streams, and returns once nothing of them is left. Requests
// under way fail.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.era.Close()
	c.first.close()
	c.second.close()
	c.wg.Wait()
}

// runner returns what runs the stream for requests of an era. There is one stream
// as long as the server is of one era, or has callers of one era only. A probe is
// of no era.
func (c *Client) runner(s side, probe bool) *runner {
	dual := c.era.Dual()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !dual || c.firstOf == s:
		return &c.first
	case c.firstOf != nobody:
		return &c.second
	case !probe:
		c.firstOf = s
	}
	return &c.first
}
