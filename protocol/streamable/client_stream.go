package streamable

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eventstream"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/webclient"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

const (
	// maxResumes is how often in a row a stream is taken up again without
	// anything new on it.
	maxResumes = 5
	// firstPause and maxPause are the times between attempts where the server
	// does not say.
	firstPause = 500 * time.Millisecond
	maxPause   = 30 * time.Second
	// longEnough is how long a stream must have been open for its end to be
	// no fault, even if nothing came: proxies close idle ones.
	longEnough = 5 * time.Second
	// maxServerPause bounds what a server may ask for by retry.
	maxServerPause = 5 * time.Minute
)

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
		if m != nil {
			c.late(ctx, call, events, response.Body)
		}
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

// late reads on after the response, for progress that the server writes just then.
func (c *clientConn) late(ctx context.Context, call *peer.Call, events *eventstream.Reader, body io.Closer) {
	if call.Late <= 0 {
		return
	}
	timer := time.AfterFunc(call.Late, func() { _ = body.Close() }) // ends the reading
	defer timer.Stop()
	for {
		e, err := events.Next()
		if err != nil {
			return
		}
		m, fault := jsonrpc.Parse(e.Data)
		if fault == nil && m.Method == protocol.NotificationProgress && m.Kind() == jsonrpc.KindNotification && call.Receive != nil {
			call.Receive(ctx, m)
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
			opened := time.Now()
			events := eventstream.NewReader(response.Body, c.web.Limit)
			c.open.Store(true)
			some := c.strays(events)
			c.open.Store(false)
			_ = response.Body.Close() // read to its end, or given up
			if some || time.Since(opened) >= longEnough {
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
		if fault != nil {
			c.broken(e.Data, fault)
			continue
		}
		if m.Kind() == jsonrpc.KindResponse {
			c.answer(m)
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
