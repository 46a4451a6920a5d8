package framed

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/blame"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eraclient"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
)

// The times between restarts. The first restart of a server that has worked
// for a while is at once.
const (
	minBackoff = 250 * time.Millisecond
	maxBackoff = 30 * time.Second
	// stableAfter is how long a server has to live for its end to be no sign
	// that it ends whenever it is started.
	stableAfter = time.Minute
	// maxExcused is how many ends in a row make the pauses no longer because a
	// request is to blame: who finds ever more such requests must not have the
	// server started all the time.
	maxExcused = 20
	// maxWait is how long a request waits for a restart. Beyond it, it fails.
	maxWait = time.Second
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
// ended. Requests under way then fail; none is sent twice.
type Client struct {
	cfg ClientConfig
	log *slog.Logger
	era *eraclient.Client

	ctx    context.Context //nolint:containedctx // ends the stream, which outlives any call
	cancel context.CancelFunc
	wg     sync.WaitGroup

	blame blame.Tracker

	mu       sync.Mutex
	starting chan struct{} // closed when the start under way is over, or nil
	link     *link
	failures int       // ends in a row of servers that did not live long
	excused  int       // of them those that a call is to blame for
	next     time.Time // no start before it
	lastErr  error     // why the last one has ended
	closed   bool
}

var _ protocol.Handler = (*Client)(nil)

// NewClient returns a Client. Nothing is started yet.
func NewClient(cfg ClientConfig) *Client {
	if cfg.Capabilities == nil {
		cfg.Capabilities = json.RawMessage(sharedCapabilities)
	}
	cfg.ClientConfig = cfg.WithDefaults()
	c := &Client{cfg: cfg, log: cfg.Logger}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.era = eraclient.New(eraclient.Config{
		Open: c.open,
		Dial: []func(context.Context, http.Header) (peer.Conn, error){
			func(ctx context.Context, _ http.Header) (peer.Conn, error) { return c.open(ctx) },
		},
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

// Close ends the stream, and returns once nothing of it is left. Requests
// under way fail.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.era.Close()
	c.mu.Lock()
	l, starting := c.link, c.starting
	c.mu.Unlock()
	if starting != nil {
		<-starting
		c.mu.Lock()
		l = c.link
		c.mu.Unlock()
	}
	if l != nil {
		l.Close()
	}
	c.wg.Wait()
}

// open returns the connection to the running server, and starts one where
// there is none.
func (c *Client) open(ctx context.Context) (peer.Conn, error) {
	for {
		c.mu.Lock()
		switch {
		case c.closed:
			c.mu.Unlock()
			return nil, peer.Unavailable(peer.ErrClosed, "the connection to the MCP server is closed")
		case c.link != nil && c.link.Err() == nil:
			defer c.mu.Unlock()
			return c.link, nil
		}
		wait := c.starting
		if wait == nil {
			c.starting = make(chan struct{})
			old := c.link
			c.mu.Unlock()
			return c.start(ctx, old)
		}
		c.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// start starts a server, after the one before it has ended.
func (c *Client) start(ctx context.Context, old *link) (peer.Conn, error) {
	var l *link
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.link = l
		close(c.starting)
		c.starting = nil
	}()
	if old != nil {
		old.Close()
	}
	if err := c.pause(ctx); err != nil {
		l = old
		return nil, err
	}
	started := time.Now()
	dialling, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	stream, err := c.cfg.Dial(dialling)
	if err != nil {
		c.ended(started, err, false)
		return nil, &protocol.UpstreamError{
			Kind: protocol.UpstreamUnavailable, Message: "the MCP server could not be started", Unsent: true, Err: err,
		}
	}
	l = newLink(c.log, stream, c.accuse)
	c.wg.Go(func() {
		l.serve(c.cfg.MaxMessageBytes, func(why error, known bool) { c.ended(started, why, known) })
	})
	return l, nil
}

// pause waits until a server may be started, or says that this takes too long.
func (c *Client) pause(ctx context.Context) error {
	c.mu.Lock()
	wait, last := time.Until(c.next), c.lastErr
	c.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	if wait > maxWait {
		return &protocol.UpstreamError{
			Kind: protocol.UpstreamUnavailable, Message: "the MCP server has ended, and is started again after a pause",
			RetryAfter: wait, Unsent: true, Err: last,
		}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.ctx.Done():
		return peer.Unavailable(peer.ErrClosed, "the connection to the MCP server is closed")
	}
}

// ended records the end of a server. Where it is known which call is to blame,
// the next start need not wait for long.
func (c *Client) ended(started time.Time, why error, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.lastErr = why
	if now.Sub(started) >= stableAfter {
		c.failures, c.excused = 0, 0
		return
	}
	wait := maxBackoff
	switch {
	case known && c.excused < maxExcused:
		c.excused++
		wait = minBackoff
	case c.failures < 16:
		wait = min(maxBackoff, minBackoff<<c.failures)
		c.failures++
	}
	c.next = now.Add(wait)
	if !c.closed {
		c.log.Warn("the MCP server has ended", "error", why, "restart_after", wait)
	}
}
