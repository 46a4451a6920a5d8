package mux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/backoff"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	openTimeout = 30 * time.Second
	// readyTimeout leaves an attempt the time to say how it has failed.
	readyTimeout = openTimeout + 5*time.Second
	probeTimeout = 10 * time.Second
	// firstTimeout is how long after an upstream has been configured requests wait
	// for the first attempt to open it.
	firstTimeout = 10 * time.Second
	// healthyPeriod is how long an upstream must have been available for pauses to
	// start anew.
	healthyPeriod = time.Minute
)

// errDrained is the error for an upstream that has been removed.
var errDrained = errors.New("the upstream has been removed")

// conn is an upstream that runs. It outlives snapshots that have it unchanged.
type conn struct {
	name, version string
	open          func(ctx context.Context) (Server, error)
	probe         time.Duration
	pauses        backoff.Backoff
	log           *slog.Logger
	hub           *hub
	lists         lists
	started       time.Time
	// discovered is what it last said of itself to clients of each side.
	discovered [sides]atomic.Pointer[protocol.Result]
	asked      atomic.Int64 // when it last said so to those with sessions

	ctx    context.Context //nolint:containedctx // ends the goroutines of the upstream
	cancel context.CancelFunc
	wg     sync.WaitGroup
	tried  chan struct{} // closed after the first attempt to open it
	wake   chan struct{} // has a value when a call could not reach it
	back   chan struct{} // has a value when a call reached it while it was down
	used   atomic.Bool   // since the last probe

	mu      sync.Mutex
	server  Server // nil until it has been opened
	down    error  // why it is unavailable, or nil
	since   time.Time
	outages int           // how often it has gone down
	up      chan struct{} // closed while it is available
	calls   int
	drained chan struct{} // closed once there are no calls any more; nil while it serves
}

func newConn(u *Upstream, p backoff.Backoff, log *slog.Logger, h *hub) *conn {
	c := &conn{
		name: u.Name, version: u.Version, open: u.Open, probe: u.Probe, pauses: p, log: log.With("upstream", u.Name), hub: h,
		started: time.Now(), tried: make(chan struct{}), wake: make(chan struct{}, 1), back: make(chan struct{}, 1),
		down: errors.New("it has not answered yet"), up: make(chan struct{}), since: time.Now(),
	}
	if c.probe == 0 {
		c.probe = DefaultProbe
	}
	c.lists.conn = c
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.wg.Go(c.keep)
	return c
}

// fault returns why the upstream is unavailable, or nil.
func (c *conn) fault() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.down
}

// settled waits for the first attempt to open the upstream, until patience has
// passed since it was configured, and returns why it is unavailable, or nil.
func (c *conn) settled(ctx context.Context, patience time.Duration) error {
	select {
	case <-c.tried:
		return c.fault()
	default:
	}
	timer := time.NewTimer(time.Until(c.started.Add(patience)))
	defer timer.Stop()
	select {
	case <-c.tried:
	case <-timer.C:
	case <-ctx.Done():
	case <-c.ctx.Done():
	}
	return c.fault()
}

// available returns a channel that is closed while the upstream is available.
func (c *conn) available() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.up
}

// keep opens the upstream, notices that it is gone, and brings it back, until the
// upstream is closed.
func (c *conn) keep() {
	first := sync.OnceFunc(func() { close(c.tried) })
	defer first()
	pauses, up := c.pauses, time.Duration(0)
	for c.ctx.Err() == nil {
		err := c.try()
		if c.ctx.Err() != nil {
			return
		}
		if err != nil {
			c.setDown(err)
			first()
			pause := pauses.After(up)
			up = 0
			c.log.DebugContext(c.ctx, "an upstream is down", "error", err, "retry_after", pause)
			timer := time.NewTimer(pause)
			select {
			case <-timer.C:
			case <-c.back:
			case <-c.ctx.Done():
			}
			timer.Stop()
			continue
		}
		c.setUp()
		first()
		begun := time.Now()
		err = c.watch()
		up = time.Since(begun)
		if err != nil {
			c.setDown(err)
		}
	}
}

// watch returns why the upstream is gone, or nil once it is closed.
func (c *conn) watch() error {
	var tick <-chan time.Time
	if c.probe > 0 {
		ticker := time.NewTicker(c.probe)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-c.wake:
		case <-tick:
			if c.used.Swap(false) {
				continue // it is not idle: calls show whether it is there
			}
		case <-c.ctx.Done():
			return nil
		}
		if err := c.discover(); err != nil && c.ctx.Err() == nil {
			return err
		}
	}
}

// try opens the upstream, if it has not been opened, and asks whether it is there.
func (c *conn) try() error {
	c.mu.Lock()
	server := c.server
	c.mu.Unlock()
	if server == nil {
		if err := c.dial(); err != nil {
			return err
		}
	}
	return c.discover()
}

func (c *conn) dial() (err error) {
	ctx, cancel := context.WithTimeout(c.ctx, openTimeout)
	defer cancel()
	defer c.recovered(ctx, "open", &err)
	server, err := c.open(ctx)
	switch {
	case err != nil:
		return err
	case server == nil:
		return errors.New("it opened nothing")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server = server
	return nil
}

// fullCapabilities is what the requests declare that are made for all clients.
var fullCapabilities = json.RawMessage(`{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{},"extensions":{"` + protocol.ExtensionTasks + `":{}}}`)

// internalRequest returns a request that is made for all clients.
func internalRequest(method string, params json.RawMessage, revision protocol.Revision) *protocol.Request {
	return &protocol.Request{
		Method: method, Params: params, Caller: protocol.InternalCaller(),
		Meta: protocol.Meta{Revision: revision, Capabilities: fullCapabilities},
	}
}

// discover asks the upstream what it is, and returns an error if it cannot be
// reached. Any answer at all shows that it is there.
func (c *conn) discover() error {
	ctx, cancel := context.WithTimeout(c.ctx, probeTimeout)
	defer cancel()
	res, err := c.direct(ctx, internalRequest(protocol.MethodDiscover, json.RawMessage(`{}`), protocol.Revision20260728), protocol.Discard)
	switch fault, ok := errors.AsType[*protocol.UpstreamError](err); {
	case err == nil:
		if old := c.discovered[sideModern].Swap(res); old != nil && string(old.Body) != string(res.Body) {
			c.hub.send(topologyChanged)
		}
	case ctx.Err() != nil && c.ctx.Err() == nil:
		return fmt.Errorf("no answer within %v", probeTimeout)
	case ok && (fault.Kind == protocol.UpstreamUnavailable || fault.Kind == protocol.UpstreamTimeout):
		return err
	}
	return nil
}

// describedFor is how long what an upstream says of itself to clients with sessions is
// good. To others it says so with every probe.
const describedFor = time.Minute

// described returns what the upstream says of itself to clients of a side, or nil.
func (c *conn) described(ctx context.Context, s side) *protocol.Result {
	if s == sideModern {
		return c.discovered[s].Load()
	}
	if res := c.discovered[s].Load(); res != nil && time.Since(time.Unix(0, c.asked.Load())) < describedFor {
		return res
	}
	res, err := c.direct(ctx, internalRequest(protocol.MethodDiscover, json.RawMessage(`{}`), sideRevisions[s]), protocol.Discard)
	if err != nil {
		c.log.DebugContext(ctx, "an upstream does not say what it is to clients with sessions", "error", err)
		if res := c.discovered[s].Load(); res != nil {
			return res
		}
		return c.discovered[sideModern].Load()
	}
	c.asked.Store(time.Now().UnixNano())
	c.discovered[s].Store(res)
	return res
}

// unreachable reports whether the error of a call says that the upstream could not
// be reached. One that has answered an HTTP status was.
func unreachable(err error) bool {
	fault, ok := errors.AsType[*protocol.UpstreamError](err)
	return ok && fault.Kind == protocol.UpstreamUnavailable && fault.HTTPStatus == 0
}

func (c *conn) setDown(err error) {
	c.mu.Lock()
	was := c.down
	c.down = err
	if was == nil {
		c.up = make(chan struct{})
		c.since = time.Now()
		c.outages++
	}
	c.mu.Unlock()
	if was == nil {
		c.log.Warn("an upstream has gone down; its part is left out until it is back", "error", err)
		c.hub.send(topologyChanged)
	}
}

func (c *conn) setUp() {
	c.lists.expire(everyList)
	c.asked.Store(0) // it may be another server
	c.mu.Lock()
	was := c.down
	c.down = nil
	if was != nil {
		close(c.up)
		c.since = time.Now()
	}
	c.mu.Unlock()
	if was != nil {
		c.log.Info("an upstream is available")
		c.hub.send(topologyChanged)
	}
}

// acquire returns the server for a call, which release ends. The error is
// [errDrained] for an upstream that has been removed.
func (c *conn) acquire(ctx context.Context) (server Server, release func(), err error) {
	for {
		c.mu.Lock()
		switch {
		case c.drained != nil:
			c.mu.Unlock()
			return nil, nil, errDrained
		case c.server != nil:
			c.calls++
			server := c.server
			c.mu.Unlock()
			return server, c.release, nil
		}
		down := c.down
		c.mu.Unlock()
		select {
		case <-c.tried:
			return nil, nil, c.unavailable(down)
		default:
		}
		if down := c.settled(ctx, firstTimeout); down != nil && c.ctx.Err() == nil {
			return nil, nil, c.unavailable(down)
		}
	}
}

func (c *conn) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls--; c.calls == 0 && c.drained != nil {
		close(c.drained)
	}
}

// unavailable is the error for what belongs to an upstream that is not there.
func (c *conn) unavailable(err error) error {
	return &protocol.UpstreamError{
		Kind: protocol.UpstreamUnavailable, Message: "the server is unavailable", Unsent: true, Err: err,
	}
}

// ask passes a request on, and notes what that says of the upstream.
func (c *conn) ask(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	server, release, err := c.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	c.used.Store(true)
	res, err := c.handle(ctx, server, r, n)
	switch {
	case err == nil && c.fault() != nil:
		notify(c.back)
	case unreachable(err) && ctx.Err() == nil:
		c.used.Store(false)
		notify(c.wake)
	}
	return res, err
}

// notify puts a value into a channel that has room for one.
func notify(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default: // there is one already
	}
}

// direct passes a request on without a note of it.
func (c *conn) direct(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	server, release, err := c.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return c.handle(ctx, server, r, n)
}

// handle is the server's Handle, whose panic is an error.
func (c *conn) handle(ctx context.Context, server Server, r *protocol.Request, n protocol.Notifier) (res *protocol.Result, err error) {
	defer c.recovered(ctx, r.Method, &err)
	res, err = server.Handle(ctx, r, n)
	if err == nil && res == nil {
		return nil, fmt.Errorf("upstream %s returned nothing", c.name)
	}
	return res, err
}

// recovered makes an error of a panic: it harms one call, and no other one.
func (c *conn) recovered(ctx context.Context, what string, err *error) {
	if p := recover(); p != nil {
		c.log.ErrorContext(ctx, "panic in an upstream", "during", what, "panic", p, "stack", string(debug.Stack()))
		*err = fmt.Errorf("upstream %s panicked during %s", c.name, what)
	}
}

// spawn runs f as a goroutine that the end of the upstream waits for, and reports
// whether the upstream has not ended already.
func (c *conn) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.drained != nil {
		return false
	}
	c.wg.Go(f)
	return true
}

// drain closes the upstream once the calls to it have ended, timeout has passed or
// now is closed. There are no new calls.
func (c *conn) drain(timeout time.Duration, now <-chan struct{}) {
	c.mu.Lock()
	if c.drained != nil { // twice
		c.mu.Unlock()
		return
	}
	c.drained = make(chan struct{})
	if c.calls == 0 {
		close(c.drained)
	}
	drained := c.drained
	c.mu.Unlock()
	c.cancel() // subscriptions and probes
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-drained:
	case <-timer.C:
		if timeout > 0 { // otherwise the Mux is closed, and nobody has been meant to wait
			c.log.Warn("calls to a removed upstream have not ended in time", "timeout", timeout)
		}
	case <-now:
	}
	c.wg.Wait()
	c.mu.Lock()
	server := c.server
	c.mu.Unlock()
	if server == nil {
		return
	}
	var err error
	func() {
		defer c.recovered(context.Background(), "close", &err)
		server.Close()
	}()
}
