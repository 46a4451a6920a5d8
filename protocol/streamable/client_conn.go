package streamable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eventstream"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/webclient"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

const (
	// closeTimeout bounds DELETE, and the cancellation of a call.
	closeTimeout = 5 * time.Second
	// maxResumes is how often in a row a stream is taken up again without
	// anything new on it.
	maxResumes = 5
	// firstPause and maxPause are the times between attempts where the server
	// does not say.
	firstPause = 500 * time.Millisecond
	maxPause   = 30 * time.Second
	// maxServerPause bounds what a server may ask for by retry.
	maxServerPause = 5 * time.Minute
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
	// listening is closed once the GET stream is open, or there will be none.
	listening chan struct{}
}

var _ peer.Conn = (*clientConn)(nil)

func newClientConn(web *webclient.Web) *clientConn {
	c := &clientConn{web: web, done: make(chan struct{}), listening: make(chan struct{})}
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

// Close ends the session, if there is one, and tells the server.
func (c *clientConn) Close() {
	gone := errors.Is(c.Err(), peer.ErrSessionGone)
	c.fail(peer.Unavailable(peer.ErrClosed, "the connection to the MCP server is closed"))
	c.cancel()
	c.wg.Wait()
	c.mu.Lock()
	session := c.session
	c.mu.Unlock()
	if session == "" || gone {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
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
	m, err := c.call(ctx, call)
	if err != nil && ctx.Err() != nil && !call.Modern && !call.Uncancellable {
		// A dropped stream is no cancellation (2025-11-25 basic/transports,
		// Sending Messages to the Server).
		c.start(func() {
			ctx, cancel := context.WithTimeout(c.ctx, closeTimeout)
			defer cancel()
			if err := c.Send(ctx, peer.Cancelled(call.ID), call.Header); err != nil {
				c.web.Log.Debug("cancellation not delivered", "method", call.Method, "error", err)
			}
		})
	}
	return m, err
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
		return nil, peer.Malformed(fmt.Errorf("content type %.100q", response.Header.Get("Content-Type")), "the MCP server answered neither JSON nor an event stream")
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
	if fault.Kind == protocol.UpstreamRejected && webclient.IsJSON(response) {
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

// stream reads the event stream that a request is answered by, on as many
// connections as that takes (2025-11-25 basic/transports, Resumability and
// Redelivery).
func (c *clientConn) stream(ctx context.Context, call *peer.Call, response *http.Response) (*jsonrpc.Message, error) {
	var (
		lastID  string
		pause   time.Duration
		asked   bool // pause is the server's
		resumes int
	)
	for {
		events := eventstream.NewReader(response.Body, c.web.Limit)
		m, some, err := c.events(ctx, call, events)
		_ = response.Body.Close() // read to its end, or given up
		if m != nil {
			return m, nil
		}
		if id := events.LastEventID(); id != "" {
			lastID = id
		}
		if d, ok := events.Retry(); ok {
			pause, asked = min(d, maxServerPause), true
		}
		if some {
			resumes = 0
		}
		fault := c.web.StreamFault(ctx, err)
		if f, ok := errors.AsType[*protocol.UpstreamError](err); ok {
			fault = f
		}
		if u, ok := errors.AsType[*protocol.UpstreamError](fault); !ok || u.Kind != protocol.UpstreamUnavailable || call.Modern || lastID == "" || !eventstream.ValidField(lastID) {
			return nil, fault
		}
		for response = nil; response == nil; {
			if resumes >= maxResumes {
				return nil, fault
			}
			wait := backoff(resumes)
			if asked {
				wait = pause
			}
			resumes++
			if err := sleep(ctx, wait); err != nil {
				return nil, err
			}
			//nolint:bodyclose // the next turn does
			if response, err = c.resume(ctx, call.Header, lastID); err != nil {
				u, ok := errors.AsType[*protocol.UpstreamError](err)
				if !ok || u.Kind != protocol.UpstreamUnavailable {
					return nil, err
				}
			}
		}
	}
}

func backoff(n int) time.Duration { return min(maxPause, firstPause<<min(n, 10)) }

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// events reads until the response comes, or the connection ends. some is true
// where anything has come.
func (c *clientConn) events(ctx context.Context, call *peer.Call, events *eventstream.Reader) (_ *jsonrpc.Message, some bool, _ error) {
	for {
		e, err := events.Next()
		if err != nil {
			return nil, some, err
		}
		some = true
		if len(e.Data) == 0 || e.Name != "" && e.Name != "message" {
			continue // an id to resume from, or nothing that MCP knows
		}
		m, fault := jsonrpc.Parse(e.Data)
		switch {
		case fault != nil && m.Kind() != jsonrpc.KindRequest:
			return nil, some, peer.Malformed(fault, "the MCP server sent an event that is no JSON-RPC message")
		case fault != nil:
		case m.Kind() == jsonrpc.KindResponse:
			if bytes.Equal(m.ID, call.ID) || m.ID == nil && m.Error != nil {
				return m, some, nil
			}
			c.web.Log.DebugContext(ctx, "a response to another request was ignored", "id", string(m.ID))
		case call.Receive != nil:
			call.Receive(ctx, m)
		}
	}
}

// resume opens the connection that a stream goes on with.
func (c *clientConn) resume(ctx context.Context, header http.Header, lastID string) (*http.Response, error) {
	own := c.own(http.Header{"Accept": {"text/event-stream"}})
	if lastID != "" {
		own.Set("Last-Event-Id", lastID)
	}
	response, err := c.web.Do(ctx, http.MethodGet, c.web.URL, nil, header, own)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK && webclient.IsStream(response) {
		return response, nil
	}
	defer webclient.Drop(response)
	if response.StatusCode == http.StatusOK {
		return nil, peer.Malformed(nil, "the MCP server's answer to GET is no event stream")
	}
	_, fault := c.web.ReadFault(response)
	return nil, fault
}

// listen reads what the server says outside any call, for as long as the
// session lasts.
func (c *clientConn) listen() {
	var (
		lastID string
		failed int
		known  = sync.OnceFunc(func() { close(c.listening) })
	)
	defer known()
	for {
		response, err := c.resume(c.ctx, c.header, lastID)
		known()
		wait := backoff(failed)
		switch fault, ok := errors.AsType[*protocol.UpstreamError](err); {
		case c.ctx.Err() != nil:
			if response != nil {
				_ = response.Body.Close() // given up
			}
			return
		case err == nil:
			events := eventstream.NewReader(response.Body, c.web.Limit)
			some := c.strays(events)
			_ = response.Body.Close() // read to its end, or given up
			if some {
				failed = 0
			}
			if id := events.LastEventID(); id != "" && eventstream.ValidField(id) {
				lastID = id
			}
			wait = backoff(failed)
			if d, ok := events.Retry(); ok {
				wait = min(d, maxServerPause)
			}
		case ok && fault.HTTPStatus == http.StatusNotFound && c.own(http.Header{}).Get(sessionHeader) != "":
			c.fail(peer.SessionGone(fault))
			return
		case ok && fault.HTTPStatus == http.StatusBadRequest && lastID != "":
			lastID = "" // it cannot be resumed from there
		case ok && fault.Kind != protocol.UpstreamUnavailable && fault.Kind != protocol.UpstreamThrottled && fault.Kind != protocol.UpstreamTimeout:
			// The server offers no such stream (405), or none to us.
			c.web.Log.Debug("the MCP server has no stream for what belongs to no call", "error", fault)
			return
		case ok && fault.RetryAfter > wait:
			wait = min(fault.RetryAfter, maxServerPause)
		}
		if failed++; failed > 2*maxResumes {
			c.fail(peer.Unavailable(err, "the MCP server's event stream cannot be opened any more"))
			return
		}
		if sleep(c.ctx, wait) != nil {
			return
		}
	}
}

// strays reads a connection to its end, and reports whether anything came.
func (c *clientConn) strays(events *eventstream.Reader) (some bool) {
	for {
		e, err := events.Next()
		if err != nil {
			return some
		}
		some = true
		if len(e.Data) == 0 || e.Name != "" && e.Name != "message" {
			continue
		}
		m, fault := jsonrpc.Parse(e.Data)
		if fault != nil || m.Kind() == jsonrpc.KindResponse {
			c.web.Log.Debug("an event outside any call that is no notification or request was skipped")
			continue
		}
		c.mu.Lock()
		stray := c.stray
		c.mu.Unlock()
		if stray != nil {
			stray(m)
		}
	}
}
