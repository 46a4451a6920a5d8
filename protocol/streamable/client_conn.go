package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/webclient"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

const (
	// closeTimeout bounds DELETE, and the cancellation of a call.
	closeTimeout = 5 * time.Second
	// maxSessionID is how long the id of a session may be.
	maxSessionID = 4 << 10
)

// clientConn is a session with a legacy server, or the way to a modern one,
// which has none.
type clientConn struct {
	peer.IDs
	web *webclient.Web

	ctx    context.Context //nolint:containedctx // ends what outlives any call
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	session string
	rev     protocol.Revision
	header  http.Header // of the session's own requests
	stray   func(*jsonrpc.Message)
	err     error
	done    chan struct{}
	// expected are the calls of the session that have no response, by id.
	expected map[string]*expectedCall
	// listening is closed once the GET stream is open, or there will be none.
	listening chan struct{}
	// open is whether the GET stream is open.
	open atomic.Bool
}

// expectedCall is a call of a session.
type expectedCall struct {
	*peer.Call

	// take takes a response that comes on another stream, or the error for one
	// that cannot be read. It runs under the lock.
	take func(*jsonrpc.Message, error)
}

var _ peer.Conn = (*clientConn)(nil)

func newClientConn(web *webclient.Web) *clientConn {
	c := &clientConn{web: web, done: make(chan struct{}), listening: make(chan struct{}), expected: make(map[string]*expectedCall)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// OnStray sets who takes messages that belong to no call.
func (c *clientConn) OnStray(f func(*jsonrpc.Message)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stray = f
}

// Listening is closed once the GET stream is open, or there will be none.
func (c *clientConn) Listening() <-chan struct{} { return c.listening }

// Done is closed once the session is over.
func (c *clientConn) Done() <-chan struct{} { return c.done }

// Err says why it is over.
func (c *clientConn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *clientConn) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failLocked(err)
}

func (c *clientConn) failLocked(err error) {
	if c.err == nil {
		c.err = err
		close(c.done)
	}
}

// start runs f in a goroutine that Close waits for.
func (c *clientConn) start(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.wg.Go(f)
	}
}

// Close ends the session, if there is one, and tells the server: first of the
// calls that are under way, because servers may wait for them.
func (c *clientConn) Close() {
	c.mu.Lock()
	session, gone := c.session, errors.Is(c.err, peer.ErrSessionGone)
	c.failLocked(peer.Unavailable(peer.ErrClosed, "the connection to the MCP server is closed"))
	calls := slices.Collect(maps.Values(c.expected)) // they can start nothing any more
	c.mu.Unlock()
	c.cancel()
	c.wg.Wait()
	if session == "" || gone {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var told sync.WaitGroup
	for _, call := range calls {
		if !call.Uncancellable {
			told.Go(func() { c.tellCancelled(ctx, call.Call) })
		}
	}
	told.Wait()
	response, err := c.web.Do(ctx, http.MethodDelete, c.web.URL, nil, c.header, c.own(http.Header{})) //nolint:bodyclose // Drop does
	if err != nil {
		c.web.Log.Debug("the MCP server was not told of the end of a session", "error", err)
		return
	}
	webclient.Drop(response) // it may not want to know (405)
}

// own adds the headers of the session.
func (c *clientConn) own(header http.Header) http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != "" {
		header.Set(sessionHeader, c.session)
	}
	if c.rev >= protocol.Revision20250618 {
		header.Set("Mcp-Protocol-Version", string(c.rev))
	}
	return header
}

func postHeader() http.Header {
	return http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
}

// Initialized ends the handshake, and opens the stream for what the server
// says outside any call.
func (c *clientConn) Initialized(ctx context.Context, rev protocol.Revision, header http.Header) error {
	c.mu.Lock()
	c.rev, c.header = rev, header
	c.mu.Unlock()
	if err := c.Send(ctx, peer.InitializedMessage, header); err != nil {
		return err
	}
	c.start(c.listen)
	return nil
}

// Send sends a notification or a response.
func (c *clientConn) Send(ctx context.Context, message []byte, header http.Header) error {
	response, err := c.web.Do(ctx, http.MethodPost, c.web.URL, message, header, c.own(postHeader())) //nolint:bodyclose // Drop does
	if err != nil {
		return err
	}
	defer webclient.Drop(response)
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return nil
	}
	body, fault := c.web.ReadFault(response)
	return c.gone(response, body, fault)
}

// gone tells a session that the server does not know any more from other
// faults.
func (c *clientConn) gone(response *http.Response, body []byte, fault *protocol.UpstreamError) error {
	c.mu.Lock()
	session := c.session
	c.mu.Unlock()
	if session == "" {
		return fault
	}
	lost := response.StatusCode == http.StatusNotFound
	if response.StatusCode == http.StatusBadRequest {
		// Servers built from the examples of the TypeScript SDK answer 400 in
		// the place of 404.
		if m, bad := jsonrpc.Parse(body); bad == nil && m.Error != nil {
			e := jsonrpc.ReadError(m.Error)
			lost = e.Code == -32000 && strings.Contains(strings.ToLower(e.Message), "session")
		}
	}
	if !lost {
		return fault
	}
	return peer.SessionGone(fault)
}

// Call sends a request and waits for its response.
func (c *clientConn) Call(ctx context.Context, call *peer.Call) (*jsonrpc.Message, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(c.Err()) })()
	answered := c.expect(call, cancel)
	m, err := c.call(ctx, call)
	if err == nil && !call.Modern && call.Late > 0 && c.open.Load() {
		_ = sleep(ctx, call.Late) // progress may be on its way on the GET stream
	}
	if err != nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), errAnswered) && !call.Modern && !call.Uncancellable {
		// A dropped stream is no cancellation (2025-11-25 basic/transports,
		// Sending Messages to the Server). Close waits for it, and does it where
		// it has come first.
		c.start(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), closeTimeout)
			defer cancel()
			c.tellCancelled(ctx, call)
		})
	}
	if late, fault := answered(); err != nil && (late != nil || fault != nil) {
		return late, fault
	}
	return m, err
}

func (c *clientConn) tellCancelled(ctx context.Context, call *peer.Call) {
	if err := c.Send(ctx, peer.Cancelled(call.ID), call.Header); err != nil {
		c.web.Log.DebugContext(ctx, "cancellation not delivered", "method", call.Method, "error", err)
	}
}

// errAnswered is the cause of the context of a call whose response has come
// on the GET stream. Servers must not send it there, and some do.
var errAnswered = errors.New("answered on another stream")

// expect registers a call of a session. The function it returns ends that, and
// returns the response that has come on the GET stream, if it has, or the error
// for one that cannot be read.
func (c *clientConn) expect(call *peer.Call, cancel context.CancelCauseFunc) func() (*jsonrpc.Message, error) {
	if call.Modern {
		return func() (*jsonrpc.Message, error) { return nil, nil }
	}
	var (
		response *jsonrpc.Message
		fault    error
	)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected[string(call.ID)] = &expectedCall{Call: call, take: func(m *jsonrpc.Message, err error) {
		if response == nil && fault == nil {
			response, fault = m, err
			cancel(errAnswered)
		}
	}}
	return func() (*jsonrpc.Message, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.expected, string(call.ID))
		return response, fault
	}
}

// answer takes a response that has come on the GET stream.
func (c *clientConn) answer(m *jsonrpc.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call := c.expected[string(m.ID)]; call != nil {
		call.take(m, nil)
		return
	}
	c.web.Log.Debug("a response to no request was ignored", "id", string(m.ID))
}

// broken takes what has come on the GET stream and is no message. A call that it
// was the response to fails.
func (c *clientConn) broken(data []byte, fault *protocol.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	open := func(id string) bool { return c.expected[id] != nil }
	for _, id := range peer.ReadBroken(data).Answered(open, "") { // every call has a stream of its own, where it may be answered yet
		c.expected[id].take(nil, peer.BrokenResponse(fault))
	}
	c.web.Log.Debug("an event outside any call that is no message was skipped", "error", fault.Message)
}

func (c *clientConn) call(ctx context.Context, call *peer.Call) (*jsonrpc.Message, error) {
	header := postHeader()
	if !call.Modern {
		header = c.own(header)
	}
	message := jsonrpc.AppendRequest(nil, call.ID, call.Method, call.Params)
	response, err := c.web.Do(ctx, http.MethodPost, c.web.URL, message, call.Header, header)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer webclient.Drop(response)
		return c.refused(response, call)
	}
	if call.Method == protocol.MethodInitialize {
		if err := c.adopt(response.Header.Get(sessionHeader)); err != nil {
			webclient.Drop(response)
			return nil, err
		}
	}
	if webclient.IsStream(response) {
		return c.stream(ctx, call, response)
	}
	defer webclient.Drop(response)
	if !webclient.IsJSON(response) {
		return nil, c.web.NoMessage(response)
	}
	body, err := c.web.ReadAll(ctx, response.Body)
	if err != nil {
		return nil, err
	}
	m, fault := jsonrpc.Parse(body)
	switch {
	case fault != nil:
		return nil, peer.Malformed(fault, "the MCP server's answer is no JSON-RPC message")
	case m.Kind() != jsonrpc.KindResponse || !bytes.Equal(m.ID, call.ID) && (m.ID != nil || m.Error == nil):
		return nil, peer.Malformed(nil, "the MCP server's answer is no response to the request")
	}
	return m, nil
}

// refused reads a response whose status is not 200. A JSON-RPC error in it
// counts, unless the status says more.
func (c *clientConn) refused(response *http.Response, call *peer.Call) (*jsonrpc.Message, error) {
	if response.StatusCode < 300 {
		return nil, peer.Malformed(fmt.Errorf("HTTP status %d", response.StatusCode), "the MCP server took the request and gave no response")
	}
	body, fault := c.web.ReadFault(response)
	if call.Method != protocol.MethodInitialize && !call.Modern {
		if err := c.gone(response, body, fault); errors.Is(err, peer.ErrSessionGone) {
			return nil, err
		}
	}
	if fault.Kind == protocol.UpstreamRejected {
		if m, bad := jsonrpc.Parse(body); bad == nil && m.Error != nil && (m.ID == nil || bytes.Equal(m.ID, call.ID)) {
			return m, nil
		}
	}
	return nil, fault
}

// adopt takes the id of the session that the server has opened.
func (c *clientConn) adopt(id string) error {
	if len(id) > maxSessionID || strings.ContainsFunc(id, func(r rune) bool { return r < '!' || r > '~' }) {
		return peer.Malformed(nil, "the id that the MCP server gives to the session cannot be sent back")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = id
	return nil
}
