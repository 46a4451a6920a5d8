package legacy

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
)

// Defaults of [ClientConfig].
const (
	// DefaultHandshakeTimeout bounds dialling and initialize.
	DefaultHandshakeTimeout = 60 * time.Second
	// DefaultParkTimeout is how long a call waits for its caller's input.
	DefaultParkTimeout = 5 * time.Minute
	// DefaultMaxParked bounds the calls that wait.
	DefaultMaxParked = 1000
	// DefaultSessionIdle is how long a session is kept that nobody uses.
	DefaultSessionIdle = 30 * time.Minute
	// DefaultMaxSessions bounds the sessions with one server.
	DefaultMaxSessions = 1000
)

// ErrNotLegacy says that a server has refused initialize.
var ErrNotLegacy = errors.New("the MCP server does not take initialize")

// ClientConfig configures a [Client]. The zero value of every field but Dial
// means its default.
type ClientConfig struct {
	// Dial are the ways to a server. Where initialize is refused over one
	// because nobody serves it there, the next is tried.
	Dial []func(ctx context.Context, header http.Header) (peer.Conn, error)
	// Logger gets what goes wrong. The default discards.
	Logger *slog.Logger
	// ClientInfo is the Implementation object for callers that have none.
	ClientInfo json.RawMessage
	// Shared, where it is not nil, is the ClientCapabilities object of one
	// session for all callers, for servers that can have no more than one.
	Shared json.RawMessage

	HandshakeTimeout time.Duration
	ParkTimeout      time.Duration
	MaxParked        int
	SessionIdle      time.Duration
	MaxSessions      int
}

// Client asks servers of the revisions that open with initialize, on behalf
// of callers that speak the modern shape. It is used concurrently. Close must
// be called to release it.
//
// Callers share a session only if they are one to the server: same identity,
// same name, same capabilities. A request that the server makes during a call
// ends the call with an input_required result; the call itself goes on, waits
// ("is parked"), and the retry that brings the answers takes it up again.
type Client struct {
	cfg ClientConfig
	log *slog.Logger

	ctx    context.Context //nolint:containedctx // ends the sessions, which outlive any call
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	sessions map[string]*clientSession
	dial     int // the way that has worked
	swept    time.Time
	parking  *parking
	tasks    clientTasks
}

// NewClient returns a Client.
func NewClient(cfg ClientConfig) *Client {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.HandshakeTimeout <= 0 {
		cfg.HandshakeTimeout = DefaultHandshakeTimeout
	}
	if cfg.ParkTimeout <= 0 {
		cfg.ParkTimeout = DefaultParkTimeout
	}
	if cfg.MaxParked <= 0 {
		cfg.MaxParked = DefaultMaxParked
	}
	if cfg.SessionIdle <= 0 {
		cfg.SessionIdle = DefaultSessionIdle
	}
	if cfg.MaxSessions <= 0 {
		cfg.MaxSessions = DefaultMaxSessions
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Client{
		cfg: cfg, log: cfg.Logger, ctx: ctx, cancel: cancel,
		sessions: make(map[string]*clientSession), parking: newParking(),
	}
}

// Close ends the sessions and whatever waits, and returns once nothing is left.
func (c *Client) Close() {
	c.mu.Lock() // nothing starts after this
	c.cancel()
	c.mu.Unlock()
	c.parking.clear()
	c.wg.Wait()
}

// start runs f in a goroutine that Close waits for, and returns false once the
// Client is closed.
func (c *Client) start(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	c.wg.Go(f)
	return true
}

// Do asks the server one request.
func (c *Client) Do(ctx context.Context, r *peer.Request, n protocol.Notifier) (*protocol.Result, error) {
	if !protocol.MethodIn(r.Method, protocol.Revision20260728) {
		return nil, protocol.MethodNotFound(r.Method)
	}
	if isTaskMethod(r.Method) {
		return c.task(ctx, r)
	}
	if asks(r.Method) {
		if state, ok := jsontok.Lookup(r.Params, "requestState"); ok {
			return c.resume(ctx, r, state, n)
		}
	}
	if r.Method == protocol.MethodListen {
		n = acknowledgeOnce(n)
	}
	for again := false; ; again = true {
		s, release, err := c.acquire(ctx, r)
		if err != nil {
			return nil, err
		}
		begun := time.Now()
		res, err := s.do(ctx, r, n)
		release()
		switch {
		case errors.Is(err, peer.ErrSessionGone):
			s.end(err)
		case !again && peer.Unsent(err) && s.isOver():
			continue // it ended between being given and being used
		default:
			return res, err
		}
		// A subscription outlives many sessions.
		if again && (r.Method != protocol.MethodListen || time.Since(begun) < minListening) {
			return nil, err
		}
		// The server has not looked at the request, so it is safe to repeat
		// (2025-11-25 basic/transports, Session Management).
		c.log.InfoContext(ctx, "the MCP server has ended the session; a new one is opened")
	}
}

// isTaskMethod reports whether a method is one of the tasks extension.
func isTaskMethod(method string) bool {
	switch method {
	case protocol.MethodGetTask, protocol.MethodUpdateTask, protocol.MethodCancelTask:
		return true
	}
	return false
}

// asks reports whether the result of a method may be input_required
// (basic/patterns/mrtr, Supported Requests).
func asks(method string) bool {
	switch method {
	case protocol.MethodCallTool, protocol.MethodGetPrompt, protocol.MethodReadResource:
		return true
	}
	return false
}

// key says which session serves a request.
func (c *Client) key(r *peer.Request) string {
	if c.cfg.Shared != nil {
		return ""
	}
	return digest(r.Identity, string(r.Meta.ClientInfo), string(r.Meta.Capabilities))
}

// digest returns a hash of parts, each of which stands for itself.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return string(h.Sum(nil))
}

// acquire returns the open session that serves a request, and opens it where
// there is none. It is not idle until release is called.
func (c *Client) acquire(ctx context.Context, r *peer.Request) (s *clientSession, release func(), err error) {
	key := c.key(r)
	c.mu.Lock()
	if c.ctx.Err() != nil {
		c.mu.Unlock()
		return nil, nil, peer.Unavailable(peer.ErrClosed, "the connection to the MCP server is closed")
	}
	idle := c.sweep(time.Now())
	s = c.sessions[key]
	if s != nil && s.isOver() {
		s = nil
	}
	if s == nil && len(c.sessions) >= c.cfg.MaxSessions {
		c.mu.Unlock()
		closeAll(idle)
		return nil, nil, &protocol.UpstreamError{Kind: protocol.UpstreamThrottled, Message: "too many sessions with the MCP server are open", Unsent: true}
	}
	if s == nil {
		s = newClientSession(c, key, r)
		c.sessions[key] = s
		c.wg.Go(s.run)
	}
	release = s.use()
	c.mu.Unlock()
	closeAll(idle)
	select {
	case <-s.ready:
	case <-ctx.Done():
		release()
		return nil, nil, context.Cause(ctx)
	}
	if s.openErr != nil {
		release()
		return nil, nil, s.openErr
	}
	return s, release, nil
}

func closeAll(sessions []*clientSession) {
	for _, s := range sessions {
		s.end(peer.Unavailable(nil, "the session with the MCP server was idle for too long"))
	}
}

// sweep returns the sessions that have been idle for too long, and where there
// are too many the one that has been idle longest. It runs under the lock, at
// most once a minute unless there are too many.
func (c *Client) sweep(now time.Time) []*clientSession {
	full := len(c.sessions) >= c.cfg.MaxSessions
	if c.cfg.Shared != nil || !full && now.Sub(c.swept) < min(time.Minute, c.cfg.SessionIdle) {
		return nil
	}
	c.swept = now
	var (
		ended  []*clientSession
		oldest *clientSession
		since  time.Time
	)
	for key, s := range c.sessions {
		used, idle := s.idleSince()
		switch {
		case !idle:
		case now.Sub(used) > c.cfg.SessionIdle:
			delete(c.sessions, key)
			ended = append(ended, s)
		case oldest == nil || used.Before(since):
			oldest, since = s, used
		}
	}
	if len(c.sessions) >= c.cfg.MaxSessions && oldest != nil {
		delete(c.sessions, oldest.key)
		ended = append(ended, oldest)
	}
	return ended
}

// remove forgets a session.
func (c *Client) remove(s *clientSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions[s.key] == s {
		delete(c.sessions, s.key)
	}
}

// open dials a connection and initializes a session on it.
func (c *Client) open(ctx context.Context, s *clientSession) (peer.Conn, error) {
	c.mu.Lock()
	first := c.dial
	c.mu.Unlock()
	var faults []error
	for i := range c.cfg.Dial {
		way := (first + i) % len(c.cfg.Dial)
		conn, err := c.cfg.Dial[way](ctx, s.header)
		if err == nil {
			s.mu.Lock()
			s.link = conn
			s.mu.Unlock()
			conn.OnStray(s.stray)
			if err = s.initialize(ctx, conn); err == nil {
				c.mu.Lock()
				c.dial = way
				c.mu.Unlock()
				return conn, nil
			}
			if c.cfg.Shared == nil || !errors.Is(err, ErrNotLegacy) {
				conn.Close() // a server that can have no other one may yet be asked in another way
			}
		}
		faults = append(faults, err)
		if !elsewhere(err) {
			break
		}
	}
	return nil, summary(faults)
}

// elsewhere reports whether initialize failed in a way that means that the
// server may be found by another transport (basic/transports/streamable-http,
// HTTP+SSE Transport).
func elsewhere(err error) bool {
	fault, ok := errors.AsType[*protocol.UpstreamError](err)
	if !ok {
		return false
	}
	switch fault.HTTPStatus {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	}
	return errors.Is(err, ErrNotLegacy)
}

// summary makes one error of those of all ways. The first is that of the way
// that is newest.
func summary(faults []error) error {
	if len(faults) == 1 {
		return faults[0]
	}
	first, ok := errors.AsType[*protocol.UpstreamError](faults[0])
	if !ok {
		return errors.Join(faults...)
	}
	all := *first
	all.Message = "no MCP server was found by any transport: " + first.Message
	all.Err = errors.Join(faults...)
	return &all
}
