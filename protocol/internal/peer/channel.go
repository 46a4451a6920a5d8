package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// Limits of a [Channel].
const (
	// MaxQueued is how many messages of one call may wait for a caller that
	// does not take them. What comes beyond is dropped: to wait would hold up
	// every other call.
	MaxQueued = 1024
	// maxQueuedBytes bounds them in bytes.
	maxQueuedBytes = 16 << 20
	// maxBatch is how many messages a batch may hold.
	maxBatch = 128
	// cancelTimeout bounds telling the server that a call is cancelled.
	cancelTimeout = 5 * time.Second
	// maxLoggedGarbage is how many lines that are no messages are logged.
	maxLoggedGarbage = 20
)

// Channel is a [Conn] over anything that carries messages both ways and
// nothing else: stdio, HTTP+SSE. Responses find their calls by id, progress by
// its token, changes by their subscription; see [Call.Exclusive] for the rest.
type Channel struct {
	IDs
	write   func(ctx context.Context, message []byte, header http.Header) error
	closing func()
	log     *slog.Logger

	mu      sync.Mutex
	pending map[string]*pending
	stray   func(*jsonrpc.Message)
	err     error
	done    chan struct{}
	garbage int
	wg      sync.WaitGroup
}

var _ Conn = (*Channel)(nil)

// pending is a call without response. Its fields are under the channel's
// lock.
type pending struct {
	call    *Call
	queue   []*jsonrpc.Message
	bytes   int
	dropped int
	broken  error         // the response, where it cannot be read
	wake    chan struct{} // holds one signal
	// answered is true once the response is there, after which only progress is
	// taken.
	answered bool
}

// NewChannel returns a Channel that sends by write, which is used
// concurrently, and that calls closing in its Close. closing must end whatever
// calls Receive, and make writes fail.
func NewChannel(log *slog.Logger, write func(ctx context.Context, message []byte, header http.Header) error, closing func()) *Channel {
	return &Channel{log: log, write: write, closing: closing, pending: make(map[string]*pending), done: make(chan struct{})}
}

// OnStray sets who takes messages that belong to no call.
func (c *Channel) OnStray(f func(*jsonrpc.Message)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stray = f
}

// Initialized ends the handshake.
func (c *Channel) Initialized(ctx context.Context, _ protocol.Revision, header http.Header) error {
	return c.Send(ctx, InitializedMessage, header)
}

// Listening is closed: a channel has no other way for strays.
func (c *Channel) Listening() <-chan struct{} { return always }

var always = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Done is closed once the channel is of no more use.
func (c *Channel) Done() <-chan struct{} { return c.done }

// Err returns why the channel is of no more use.
func (c *Channel) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Fail ends the channel: all calls, now and from now on, fail with err. Only
// the first Fail counts.
func (c *Channel) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.done)
	}
}

// InFlight returns the calls that have no response.
func (c *Channel) InFlight() []*Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := make([]*Call, 0, len(c.pending))
	for _, p := range c.pending {
		if !p.answered {
			calls = append(calls, p.call)
		}
	}
	return calls
}

// Close ends the channel and waits until nothing of it is left.
func (c *Channel) Close() {
	c.Fail(Unavailable(ErrClosed, "the connection to the MCP server is closed"))
	c.closing()
	c.wg.Wait()
}

// Send sends a notification or a response.
func (c *Channel) Send(ctx context.Context, message []byte, header http.Header) error {
	if err := c.Err(); err != nil {
		return err
	}
	return c.write(ctx, message, header)
}

// Call sends a request and waits for its response.
func (c *Channel) Call(ctx context.Context, call *Call) (*jsonrpc.Message, error) {
	p := &pending{call: call, wake: make(chan struct{}, 1)}
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return nil, NotSent(c.err)
	}
	c.pending[string(call.ID)] = p
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.pending[string(call.ID)] == p {
			delete(c.pending, string(call.ID))
		}
		if p.dropped > 0 {
			c.log.Warn("notifications of a call were dropped: nobody took them in time", "method", call.Method, "dropped", p.dropped)
		}
	}()
	if err := c.write(ctx, jsonrpc.AppendRequest(nil, call.ID, call.Method, call.Params), call.Header); err != nil {
		if ctx.Err() != nil {
			c.cancelled(call)
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	for {
		if m, err := c.deliver(ctx, p); m != nil || err != nil {
			c.late(ctx, p)
			return m, err
		}
		select {
		case <-p.wake:
		case <-ctx.Done():
			c.cancelled(call)
			return nil, context.Cause(ctx)
		case <-c.done:
			// What came before the end still counts.
			if m, err := c.deliver(ctx, p); m != nil || err != nil {
				return m, err
			}
			return nil, c.Err()
		}
	}
}

// deliver hands what waits to the call, and returns the response if it is
// there, or the error for one that cannot be read.
func (c *Channel) deliver(ctx context.Context, p *pending) (*jsonrpc.Message, error) {
	for {
		c.mu.Lock()
		if len(p.queue) == 0 {
			defer c.mu.Unlock()
			return nil, p.broken
		}
		m := p.queue[0]
		p.queue[0] = nil
		p.queue = p.queue[1:]
		p.bytes -= size(m)
		c.mu.Unlock()
		if m.Kind() == jsonrpc.KindResponse {
			return m, nil
		}
		if p.call.Receive != nil {
			p.call.Receive(ctx, m)
		}
	}
}

// late hands progress that comes just after the response to the call.
func (c *Channel) late(ctx context.Context, p *pending) {
	if p.call.Late <= 0 {
		return
	}
	timer := time.NewTimer(p.call.Late)
	defer timer.Stop()
	for {
		_, _ = c.deliver(ctx, p) // there is no second response
		select {
		case <-p.wake:
		case <-timer.C:
			_, _ = c.deliver(ctx, p)
			return
		case <-c.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

func size(m *jsonrpc.Message) int { return len(m.Params) }

// cancelled tells the server that nobody waits any more. The call has ended
// by then, so this has a goroutine of its own.
func (c *Channel) cancelled(call *Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.Uncancellable || c.err != nil {
		return
	}
	c.wg.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cancelTimeout)
		defer cancel()
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			select {
			case <-c.done:
				cancel()
			case <-stop:
			}
		}()
		if err := c.write(ctx, Cancelled(call.ID), call.Header); err != nil {
			c.log.Debug("cancellation not delivered", "method", call.Method, "error", err)
		}
	})
}

// Cancelled returns the notification that cancels the request id.
func Cancelled(id json.RawMessage) []byte {
	params := append(append([]byte(`{"requestId":`), id...), '}')
	return jsonrpc.AppendNotification(nil, &protocol.Notification{Method: protocol.NotificationCancelled, Params: params})
}

// Receive takes a message or a batch from the server. It keeps data, and does
// not block. It is called by one goroutine at a time.
func (c *Channel) Receive(data []byte) {
	if jsonrpc.IsBatch(data) {
		batch, fault := jsonrpc.SplitBatch(data, maxBatch)
		if fault != nil {
			c.skip(data, fault)
			return
		}
		for _, m := range batch {
			c.receive(m)
		}
		return
	}
	c.receive(data)
}

func (c *Channel) receive(data []byte) {
	m, fault := jsonrpc.Parse(data)
	if fault != nil && (m.Kind() == jsonrpc.KindResponse && m.ID == nil || m.Method == "") {
		c.skip(data, fault)
		return
	}
	c.mu.Lock()
	p := c.owner(m)
	stray := c.stray
	if p != nil {
		c.push(p, m)
	}
	c.mu.Unlock()
	switch {
	case p != nil:
	case m.Kind() == jsonrpc.KindResponse:
		// Late, or an error about something that could not be read.
		c.log.Debug("a response to no request was ignored", "id", string(m.ID), "error", string(cut(m.Error)))
	case stray != nil:
		stray(m)
	}
}

// push queues a message for a call, under the lock.
func (c *Channel) push(p *pending, m *jsonrpc.Message) {
	response := m.Kind() == jsonrpc.KindResponse
	if response {
		if p.answered = true; p.call.Late <= 0 {
			delete(c.pending, string(p.call.ID)) // a second one is late
		}
	} else if len(p.queue) >= MaxQueued || p.bytes+size(m) > maxQueuedBytes {
		p.dropped++
		return
	}
	p.queue = append(p.queue, m)
	p.bytes += size(m)
	p.signal()
}

// signal wakes the caller.
func (p *pending) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// owner returns the call that a message belongs to, or nil, under the lock.
func (c *Channel) owner(m *jsonrpc.Message) *pending {
	if m.Kind() == jsonrpc.KindResponse {
		return c.unanswered(m.ID)
	}
	if jsontok.KindOf(m.Params) != jsontok.KindObject {
		return nil
	}
	var id []byte
	switch m.Method {
	case protocol.NotificationProgress:
		id, _ = jsontok.Lookup(m.Params, protocol.MetaProgressToken)
		return c.pending[string(id)]
	case protocol.NotificationCancelled:
		id, _ = jsontok.Lookup(m.Params, "requestId")
		if p := c.unanswered(id); p != nil && p.call.Method == protocol.MethodListen {
			return p
		}
		return nil
	case protocol.NotificationMessage:
		return c.only()
	default:
		if meta, ok := jsontok.Lookup(m.Params, "_meta"); ok {
			id, _ = jsontok.Lookup(meta, protocol.MetaSubscriptionID)
		}
	}
	return c.unanswered(id)
}

// unanswered returns the call of an id that has no response, or nil, under the lock.
func (c *Channel) unanswered(id []byte) *pending {
	if p := c.pending[string(id)]; p != nil && !p.answered {
		return p
	}
	return nil
}

// only returns the one exclusive call, or nil where there are more or none.
func (c *Channel) only() *pending {
	var found *pending
	for _, p := range c.pending {
		if !p.call.Exclusive || p.answered {
			continue
		}
		if found != nil {
			return nil
		}
		found = p
	}
	return found
}

// skip drops a line that is not a message. A call that it was the response to fails: its
// caller would wait in vain.
func (c *Channel) skip(data []byte, fault *protocol.Error) {
	c.mu.Lock()
	only, waiting := "", 0
	for id, p := range c.pending {
		if p.answered {
			continue
		}
		if only, waiting = id, waiting+1; waiting > 1 {
			only = ""
			break
		}
	}
	for _, id := range ReadBroken(data).Answered(func(id string) bool { return c.unanswered([]byte(id)) != nil }, only) {
		p := c.pending[id]
		delete(c.pending, id)
		p.broken = BrokenResponse(fault)
		p.signal()
	}
	c.mu.Unlock()
	c.garbage++
	switch {
	case c.garbage < maxLoggedGarbage:
		c.log.Warn("the server sent something that is no message; it was skipped", "error", fault.Message, "data", string(cut(data)))
	case c.garbage == maxLoggedGarbage:
		c.log.Warn("the server goes on sending text that is not a message; no more of it is logged")
	}
}

// cut shortens what a peer said for a log.
func cut(data []byte) []byte {
	const limit = 200
	if len(data) > limit {
		data = append(bytes.Clone(data[:limit]), "..."...)
	}
	return bytes.ToValidUTF8(data, []byte("\uFFFD"))
}
