package legacy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

const (
	// maxHeld is how many notifications a call holds whose caller does not
	// take them. Beyond it the call's stream is not read on.
	maxHeld = 256
	// maxQuestions is how many requests of the server one call may have open.
	maxQuestions = 32
	// gatherTime is how long after a request of the server further ones are
	// waited for, so that the caller is asked for all of them at once.
	gatherTime = 10 * time.Millisecond

	codeURLElicitationRequired = -32042 // 2025-11-25 client/elicitation

	methodElicit    = "elicitation/create"
	methodSample    = "sampling/createMessage"
	methodListRoots = "roots/list"
)

// do asks the server one request.
func (s *clientSession) do(ctx context.Context, r *peer.Request, n protocol.Notifier) (*protocol.Result, error) {
	switch r.Method {
	case protocol.MethodDiscover:
		return s.discover(), nil
	case protocol.MethodListen:
		return s.listen(ctx, r, n)
	}
	s.setLevel(ctx, r.Meta.LogLevel, r.Header)
	if asks(r.Method) {
		call, err := s.begin(r)
		if err != nil {
			return nil, err
		}
		return call.serve(ctx, r, n)
	}
	id := s.conn.NextID()
	params, err := legacyParams(r.Request, id)
	if err != nil {
		return nil, err
	}
	m, err := s.conn.Call(ctx, &peer.Call{
		ID: id, Method: r.Method, Params: params, Header: r.Header, Exclusive: true,
		Receive: func(ctx context.Context, m *jsonrpc.Message) {
			if m.Kind() == jsonrpc.KindRequest {
				s.asked(m, nil)
				return
			}
			forward(ctx, s.client.log, r.Request, m, n)
		},
	})
	if err != nil {
		return nil, err
	}
	return s.result(r.Request, m)
}

// result makes a modern result, or error, of a response.
func (s *clientSession) result(r *protocol.Request, m *jsonrpc.Message) (*protocol.Result, error) {
	if m.Error != nil {
		return s.fault(r, jsonrpc.ReadError(m.Error))
	}
	res, err := peer.ReadResult(r.Method, m.Result, false)
	if err == nil {
		res.Server = s.server
	}
	return res, err
}

// fault gives an error of the server the form that 2026-07-28 has for it.
func (s *clientSession) fault(r *protocol.Request, e *protocol.Error) (*protocol.Result, error) {
	switch {
	case e.Code == protocol.CodeResourceNotFound && r.Method == protocol.MethodReadResource:
		again := *e
		again.Code = protocol.CodeInvalidParams
		if uri, ok := jsontok.Lookup(r.Params, "uri"); ok && again.Data == nil {
			var o peer.Object
			o.Add("uri", uri)
			again.Data = o.JSON()
		}
		return nil, &again
	case e.Code == codeURLElicitationRequired && asks(r.Method):
		raw, _ := jsontok.Lookup(e.Data, "elicitations")
		if jsontok.KindOf(raw) != jsontok.KindArray {
			return nil, e
		}
		if !capable(r.Meta.Capabilities, "elicitation", "url") {
			return nil, protocol.MissingCapability(`{"elicitation":{"url":{}}}`)
		}
		var requests peer.Object
		_ = jsontok.Array(raw, func(i int, params []byte) error { // valid already
			if i < maxQuestions && jsontok.KindOf(params) == jsontok.KindObject {
				requests.Add("url"+string(jsonIndex(i)), inputRequest(methodElicit, params))
			}
			return nil
		})
		if requests.Empty() {
			return nil, e
		}
		var body peer.Object
		body.Add("inputRequests", requests.JSON())
		// The call is over and its retry is a call like any other, so there
		// is no state to give.
		return &protocol.Result{Type: protocol.ResultInputRequired, Server: s.server, Body: body.JSON()}, nil
	}
	return nil, e
}

// legacyParams returns the params of a request without what legacy revisions
// do not have, and with token in the place of the caller's progress token.
func legacyParams(r *protocol.Request, token json.RawMessage) (json.RawMessage, error) {
	var meta peer.Object
	rest, err := peer.Split(r.Params, func(key string, value []byte) bool {
		switch key {
		case "_meta":
			// ReadMeta has seen that it is an object.
			_ = jsontok.Object(value, func(k, v []byte) error {
				switch key := string(k); key {
				case protocol.MetaProtocolVersion, protocol.MetaClientInfo, protocol.MetaClientCapabilities,
					protocol.MetaLogLevel, protocol.MetaProgressToken, "traceparent", "tracestate", "baggage":
				default:
					meta.Add(key, v)
				}
				return nil
			})
		case "inputResponses", "requestState":
			return asks(r.Method)
		default:
			return false
		}
		return true
	})
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params: %v", err)
	}
	if r.Meta.ProgressToken != nil {
		meta.Add(protocol.MetaProgressToken, token)
	}
	for _, m := range [...][2]string{{"traceparent", r.Meta.TraceParent}, {"tracestate", r.Meta.TraceState}, {"baggage", r.Meta.Baggage}} {
		if m[1] != "" {
			meta.Add(m[0], jsontok.AppendString(nil, m[1]))
		}
	}
	if meta.Empty() {
		return rest, nil
	}
	var o peer.Object
	if rest != nil {
		_ = jsontok.Object(rest, func(k, v []byte) error { // valid already
			o.Add(string(k), v)
			return nil
		})
	}
	o.Add("_meta", meta.JSON())
	return o.JSON(), nil
}

// forward passes a notification of a call to its caller.
func forward(ctx context.Context, log *slog.Logger, r *protocol.Request, m *jsonrpc.Message, n protocol.Notifier) {
	if m.Params != nil && jsontok.KindOf(m.Params) != jsontok.KindObject {
		log.DebugContext(ctx, "a notification whose params are no object was dropped", "method", m.Method)
		return
	}
	note := &protocol.Notification{Method: m.Method, Params: m.Params}
	switch m.Method {
	case protocol.NotificationProgress:
		note = peer.RestoreToken(m.Params, r.Meta.ProgressToken)
	case protocol.NotificationMessage:
		if !peer.WantsLog(r.Meta.LogLevel, m.Params) {
			note = nil
		}
	}
	if note == nil {
		log.DebugContext(ctx, "a notification that the caller has not asked for was dropped", "method", m.Method)
		return
	}
	if err := n.Notify(ctx, note); err != nil {
		log.DebugContext(ctx, "notification not delivered", "method", m.Method, "error", err)
	}
}

// clientCall is a call that the server may answer with requests of its own.
// It has a goroutine, because it outlives its caller's request while it is
// parked.
type clientCall struct {
	session *clientSession
	request *protocol.Request // the first one
	id      json.RawMessage
	who     string // the caller, to everybody who must tell callers apart
	bound   string // the caller, to whoever resumes the call
	cancel  context.CancelCauseFunc

	mu        sync.Mutex
	queue     []*jsonrpc.Message
	wake      chan struct{} // holds one signal: the queue or the end
	room      chan struct{} // holds one signal: the queue has been taken
	questions []*question
	asked     int // requests of the server that have no answer
	numbered  int // requests of the server that have been given a key
	finished  bool
	response  *jsonrpc.Message
	err       error
}

// question is a request of the server that has no answer yet.
type question struct {
	key    string
	id     json.RawMessage
	method string
	params json.RawMessage
}

// errAbandoned is the cause of the context of a call that nobody waits for.
var errAbandoned = errors.New("nobody waits for the call any more")

// begin sends a request that the server may ask back about.
func (s *clientSession) begin(r *peer.Request) (*clientCall, error) {
	id := s.conn.NextID()
	params, err := legacyParams(r.Request, id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(s.client.ctx)
	call := &clientCall{
		session: s, request: r.Request, id: id, cancel: cancel,
		who: who(r), bound: bound(r),
		wake: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
	release := s.use()
	s.mu.Lock()
	s.calls = append(s.calls, call)
	s.mu.Unlock()
	started := s.client.start(func() {
		defer release()
		defer cancel(nil)
		m, err := s.conn.Call(ctx, &peer.Call{
			ID: id, Method: r.Method, Params: params, Header: r.Header, Exclusive: true,
			Receive: func(ctx context.Context, m *jsonrpc.Message) {
				if m.Kind() == jsonrpc.KindRequest {
					s.asked(m, call)
					return
				}
				call.hold(ctx, m)
			},
		})
		s.mu.Lock()
		s.calls = slices.DeleteFunc(s.calls, func(c *clientCall) bool { return c == call })
		s.mu.Unlock()
		call.finish(m, err)
	})
	if !started {
		cancel(nil)
		release()
		return nil, peer.Unavailable(peer.ErrClosed, "the connection to the MCP server is closed")
	}
	return call, nil
}

// hold queues a notification, and waits where too many are there already: the
// caller's speed is that of the stream.
func (c *clientCall) hold(ctx context.Context, m *jsonrpc.Message) {
	for {
		c.mu.Lock()
		if len(c.queue) < maxHeld {
			c.mu.Unlock()
			c.push(m, true)
			return
		}
		c.mu.Unlock()
		select {
		case <-c.room:
		case <-ctx.Done():
			return
		}
	}
}

// push queues a message. Where it need not be kept, it is dropped if there is
// no room.
func (c *clientCall) push(m *jsonrpc.Message, keep bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if keep || len(c.queue) < maxHeld {
		c.queue = append(c.queue, m)
		signal(c.wake)
	}
}

func (c *clientCall) finish(m *jsonrpc.Message, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished, c.response, c.err = true, m, err
	signal(c.wake)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// take returns what has come since the last time. over is true once nothing
// more will come.
func (c *clientCall) take() (queue []*jsonrpc.Message, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	queue, c.queue = c.queue, nil
	signal(c.room)
	return queue, c.finished
}

// mayAsk says why the server's request cannot be put to the caller, or nil.
func (c *clientCall) mayAsk(m *jsonrpc.Message) *protocol.Error {
	caps := c.request.Meta.Capabilities
	var name, member string
	switch m.Method {
	case methodElicit:
		name, member = "elicitation", "form"
		if mode, ok := jsontok.Lookup(m.Params, "mode"); ok {
			member, _ = jsontok.String(mode)
		}
	case methodSample:
		name = "sampling"
	case methodListRoots:
		name = "roots"
	default:
		return protocol.MethodNotFound(m.Method)
	}
	if !capable(caps, name, member) {
		code := protocol.CodeMethodNotFound
		if member != "" && capable(caps, name, "") {
			code = protocol.CodeInvalidParams // 2025-11-25 client/elicitation, Error Handling
		}
		return protocol.Errorf(code, "the client does not support %s", m.Method)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked >= maxQuestions {
		return protocol.Errorf(protocol.CodeInvalidRequest, "a call may have at most %d requests open", maxQuestions)
	}
	c.asked++
	return nil
}

// capable reports whether capabilities have name, and in it member. An
// elicitation capability without members has "form".
func capable(capabilities json.RawMessage, name, member string) bool {
	v, ok := jsontok.Lookup(capabilities, name)
	if !ok || jsontok.KindOf(v) != jsontok.KindObject {
		return false
	}
	if member == "" {
		return true
	}
	if _, ok := jsontok.Lookup(v, member); ok {
		return true
	}
	if name != "elicitation" || member != "form" {
		return false
	}
	_, url := jsontok.Lookup(v, "url")
	return !url
}

// withdraw drops a request of the server, which does not want it answered any
// more.
func (c *clientCall) withdraw(id json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.questions) + len(c.queue)
	c.questions = slices.DeleteFunc(c.questions, func(q *question) bool { return bytes.Equal(q.id, id) })
	c.queue = slices.DeleteFunc(c.queue, func(m *jsonrpc.Message) bool {
		return m.Kind() == jsonrpc.KindRequest && bytes.Equal(m.ID, id)
	})
	c.asked -= before - len(c.questions) - len(c.queue)
}

// question registers a request of the server.
func (c *clientCall) question(m *jsonrpc.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.numbered++
	c.questions = append(c.questions, &question{
		key: "request" + string(jsonIndex(c.numbered)), id: m.ID, method: m.Method, params: m.Params,
	})
}

func (c *clientCall) open() []*question {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.questions)
}

// serve waits with the caller for the call, until it is over or the server
// wants input.
func (c *clientCall) serve(ctx context.Context, r *peer.Request, n protocol.Notifier) (*protocol.Result, error) {
	gather := time.NewTimer(gatherTime)
	defer gather.Stop()
	if len(c.open()) == 0 {
		gather.Stop()
	}
	for {
		queue, over := c.take()
		for _, m := range queue {
			if m.Kind() != jsonrpc.KindRequest {
				forward(ctx, c.session.client.log, r.Request, m, n)
				continue
			}
			if len(c.open()) == 0 {
				gather.Reset(gatherTime)
			}
			c.question(m)
		}
		if over {
			if len(queue) > 0 {
				continue
			}
			if c.err != nil { // set before it was over
				return nil, c.err
			}
			return c.session.result(r.Request, c.response)
		}
		select {
		case <-c.wake:
		case <-gather.C:
			if questions := c.open(); len(questions) > 0 {
				return c.session.client.park(c, r, questions)
			}
		case <-ctx.Done():
			c.cancel(errAbandoned)
			return nil, context.Cause(ctx)
		}
	}
}
