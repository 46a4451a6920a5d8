package framed

import (
	"context"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
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

// runner keeps one stream: it opens it when it is needed, and again where it has
// ended. Its fields are under the lock of the client.
type runner struct {
	client   *Client
	starting chan struct{} // closed when the start under way is over, or nil
	link     *link
	ran      bool      // a stream has been open
	probed   bool      // link has carried a probe
	failures int       // ends in a row of servers that did not live long
	excused  int       // of them those that a call is to blame for
	next     time.Time // no start before it
	lastErr  error     // why the last one has ended
}

// open returns the connection to the running server, and starts one where
// there is none.
func (r *runner) open(ctx context.Context, probe bool) (peer.Conn, error) {
	c := r.client
	for {
		c.mu.Lock()
		switch {
		case c.closed:
			c.mu.Unlock()
			return nil, peer.Unavailable(peer.ErrClosed, "the connection to the MCP server is closed")
		case r.link != nil && r.link.Err() == nil:
			defer c.mu.Unlock()
			r.probed = r.probed || probe
			return r.link, nil
		}
		wait := r.starting
		if wait == nil {
			r.starting = make(chan struct{})
			old := r.link
			r.probed = probe
			c.mu.Unlock()
			return r.start(ctx, old)
		}
		c.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// openUnprobed returns the connection to a server that has not been probed. Some
// servers of both eras decide by the first message of a stream which one it is of.
func (r *runner) openUnprobed(ctx context.Context) (peer.Conn, error) {
	c := r.client
	c.mu.Lock()
	if old := r.link; r.probed && old != nil && old.Err() == nil {
		old.left.Store(true)
		c.mu.Unlock()
		old.Close()
	} else {
		c.mu.Unlock()
	}
	return r.open(ctx, false)
}

// start starts a server, after the one before it has ended.
func (r *runner) start(ctx context.Context, old *link) (peer.Conn, error) {
	c := r.client
	var l *link
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		r.link = l
		close(r.starting)
		r.starting = nil
	}()
	if old != nil {
		old.Close()
	}
	if err := r.pause(ctx); err != nil {
		l = old
		return nil, err
	}
	started := time.Now()
	dialling, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	stream, err := c.cfg.Dial(dialling)
	if err != nil {
		r.ended(started, err, false)
		return nil, &protocol.UpstreamError{
			Kind: protocol.UpstreamUnavailable, Message: "the MCP server could not be started", Unsent: true, Err: err,
		}
	}
	c.mu.Lock()
	if r.ran && (old == nil || !old.left.Load()) {
		c.restarts++
	}
	r.ran = true
	c.mu.Unlock()
	l = newLink(c.log, stream, c.accuse)
	c.wg.Go(func() {
		l.serve(c.cfg.MaxMessageBytes, func(why error, known bool) {
			if !l.left.Load() {
				r.ended(started, why, known)
			}
		})
	})
	return l, nil
}

// pause waits until a server may be started, or says that this takes too long.
func (r *runner) pause(ctx context.Context) error {
	c := r.client
	c.mu.Lock()
	wait, last := time.Until(r.next), r.lastErr
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
func (r *runner) ended(started time.Time, why error, known bool) {
	c := r.client
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	r.lastErr = why
	if now.Sub(started) >= stableAfter {
		r.failures, r.excused = 0, 0
		return
	}
	wait := maxBackoff
	switch {
	case known && r.excused < maxExcused:
		r.excused++
		wait = minBackoff
	case r.failures < 16:
		wait = min(maxBackoff, minBackoff<<r.failures)
		r.failures++
	}
	r.next = now.Add(wait)
	if !c.closed {
		c.log.Warn("the MCP server has ended", "error", why, "restart_after", wait)
	}
}

// close ends the stream, and returns once nothing of it is left.
func (r *runner) close() {
	c := r.client
	c.mu.Lock()
	l, starting := r.link, r.starting
	c.mu.Unlock()
	if starting != nil {
		<-starting
		c.mu.Lock()
		l = r.link
		c.mu.Unlock()
	}
	if l != nil {
		l.Close()
	}
}
