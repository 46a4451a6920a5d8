package eraclient

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/bounded"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
)

// errClosed is the error of requests after the end.
var errClosed = peer.Unavailable(peer.ErrClosed, "the connection to the MCP server is closed")

// errNotLegacy says that a server has refused initialize.
var errNotLegacy = errors.New("the MCP server does not take initialize")

// legacyClient asks servers of the revisions that open with initialize, on behalf
// of callers that speak the modern shape. It is used concurrently. close
// must be called to release it.
//
// Callers share a session only if they are one to the server: same identity,
// same name, same capabilities. A request that the server makes during a call
// ends the call with an input_required result; the call itself goes on, waits
// ("is parked"), and the retry that brings the answers takes it up again.
type legacyClient struct {
	cfg Config
	log *slog.Logger
	// dual reports whether the server has answered the probe, and takes initialize.
	dual func() bool
	// spoken gets the revisions of sessions.
	spoken *spoken

	ctx    context.Context //nolint:containedctx // ends the sessions, which outlive any call
	cancel context.CancelFunc
	wg     sync.WaitGroup

	sessions *bounded.Set[*clientSession]
	parking  *parking
	tasks    clientTasks

	mu      sync.Mutex
	dial    int            // the way that has worked
	listens map[string]int // subscriptions, by quota
}

// newLegacyClient returns a legacyClient.
func newLegacyClient(cfg Config) *legacyClient {
	ctx, cancel := context.WithCancel(context.Background())
	limits := bounded.Limits{Idle: cfg.SessionIdle, Total: cfg.MaxSessions, Each: cfg.MaxSessionsPerCaller}
	if cfg.Shared != nil {
		limits = bounded.Limits{}
	}
	return &legacyClient{
		cfg: cfg, log: cfg.Logger, ctx: ctx, cancel: cancel,
		sessions: bounded.New(limits, func(s *clientSession, why bounded.Reason) {
			if why == bounded.Closed {
				s.end(errClosed)
				return
			}
			s.end(peer.Unavailable(nil, "the session with the MCP server has ended: "+string(why)))
		}),
		parking: newParking(cfg.ClientConfig), listens: make(map[string]int),
	}
}

// close ends the sessions and whatever waits, and returns once nothing is left.
func (c *legacyClient) close() {
	c.mu.Lock() // nothing starts after this
	c.cancel()
	c.mu.Unlock()
	c.parking.calls.Close()
	c.sessions.Close()
	c.wg.Wait()
}

// start runs f in a goroutine that close waits for, and returns false once the
// legacyClient is closed.
func (c *legacyClient) start(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return false
	}
	c.wg.Go(func() {
		// What f does for a call has a guard of its own, which tells the call.
		_ = guarded(c.ctx, c.log, func() error { f(); return nil })
	})
	return true
}

// do asks the server one request.
func (c *legacyClient) do(ctx context.Context, r *peer.Request, n protocol.Notifier) (*protocol.Result, error) {
	if !protocol.MethodIn(r.Method, protocol.Revision20260728) {
		return nil, protocol.MethodNotFound(r.Method)
	}
	if isTaskMethod(r.Method) {
		return c.task(ctx, r)
	}
	if protocol.TakesInput(r.Method) {
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
		s.meet(r)
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

// key says which session serves a request. Each session of a legacy client in
// front has one of its own.
func (c *legacyClient) key(r *peer.Request) string {
	if c.cfg.Shared != nil {
		return ""
	}
	return digest(r.Identity, string(r.Meta.ClientInfo), string(r.Meta.Capabilities), r.Meta.SessionID(), string(c.revision(r)))
}

// revision returns the revision that a session for a request asks the server for:
// that of the caller, if it has sessions. A session for all callers is of the
// latest one, so that it has what any of them may want.
func (c *legacyClient) revision(r *peer.Request) protocol.Revision {
	switch rev := r.Meta.Revision; {
	case c.cfg.Revision != "":
		return c.cfg.Revision
	case c.cfg.Shared == nil && rev.Known() && !rev.Modern():
		return rev
	}
	return protocol.LatestLegacy
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
func (c *legacyClient) acquire(ctx context.Context, r *peer.Request) (s *clientSession, release func(), err error) {
	key := c.key(r)
	c.mu.Lock()
	if c.ctx.Err() != nil {
		c.mu.Unlock()
		return nil, nil, errClosed
	}
	s, ok := c.sessions.Get(key)
	if ok && s.isOver() {
		c.remove(s)
		ok = false
	}
	if !ok {
		s = newClientSession(c, key, r)
		if !c.sessions.Add(key, r.Caller.Quota(), s) {
			c.mu.Unlock()
			return nil, nil, &protocol.UpstreamError{Kind: protocol.UpstreamThrottled, Message: "too many sessions with the MCP server are open", Unsent: true}
		}
		c.wg.Go(s.run)
	}
	release = s.use()
	c.mu.Unlock()
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

// remove forgets a session.
func (c *legacyClient) remove(s *clientSession) {
	c.sessions.RemoveIf(s.key, func(other *clientSession) bool { return other == s })
}

// open dials a connection and initializes a session on it.
func (c *legacyClient) open(ctx context.Context, s *clientSession) (peer.Conn, error) {
	c.mu.Lock()
	first := c.dial
	c.mu.Unlock()
	ways := c.cfg.Dial
	if c.cfg.Again != nil && c.dual() {
		again := func(ctx context.Context, _ http.Header) (peer.Conn, error) { return c.cfg.Again(ctx) }
		ways = append(slices.Clone(ways), again)
	}
	var faults []error
	for i := range ways {
		way := (first + i) % len(ways)
		conn, err := ways[way](ctx, s.header)
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
			if c.cfg.Shared == nil || !errors.Is(err, errNotLegacy) {
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
	return errors.Is(err, errNotLegacy)
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
	all.Err = attempts(faults)
	return &all
}

// attempts are the errors of all ways to a server. Their text is one line.
type attempts []error

// Error returns the texts, each of them once.
func (a attempts) Error() string {
	var texts []string
	for _, err := range a {
		if text := err.Error(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the errors.
func (a attempts) Unwrap() []error { return a }
