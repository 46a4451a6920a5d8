package legacy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

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
	name, member := needs(m.Method, m.Params)
	if name == "" {
		return protocol.MethodNotFound(m.Method)
	}
	if !protocol.HasCapability(caps, name, member) {
		code := protocol.CodeMethodNotFound
		if member != "" && protocol.HasCapability(caps, name, "") {
			code = protocol.CodeInvalidParams // 2025-11-25 client/elicitation and client/sampling, Error Handling
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
				return c.session.client.park(ctx, c, r, questions)
			}
		case <-ctx.Done():
			c.cancel(errAbandoned)
			return nil, context.Cause(ctx)
		}
	}
}
