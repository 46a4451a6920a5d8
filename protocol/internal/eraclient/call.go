package eraclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/internal/mcptask"
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
	who     string // the caller, as the server's requests must tell callers apart
	owner   string // the principal, who may resume the call
	quota   string // who the call counts for
	cancel  context.CancelCauseFunc
	mode    taskMode
	task    *protocol.Result // what the call has become, if it is a task

	mu        sync.Mutex
	queue     []*jsonrpc.Message
	wake      chan struct{} // holds one signal: the queue or the end
	room      chan struct{} // holds one signal: the queue has been taken
	questions []*question
	asked     int // requests of the server that have no answer
	progress  progressSource
	elicited  []json.RawMessage // elicitationIds of what was asked
	numbered  int               // requests of the server that have been given a key
	runs      bool              // as a task, which is waited for
	finished  bool
	response  *jsonrpc.Message
	err       error
	parked    bool // under the lock of the session
}

// question is a request of the server that has no answer yet.
type question struct {
	key    string
	id     json.RawMessage
	method string
	params json.RawMessage
	// task is the server's id of the task that the request is related to, or
	// empty.
	task string
}

// newQuestion gives a request of the server the number n.
func newQuestion(n int, m *jsonrpc.Message) *question {
	q := &question{key: "request" + string(jsonIndex(n)), id: m.ID, method: m.Method}
	q.task, q.params = mcptask.Relation(m.Params)
	return q
}

// result returns an answer as the server wants it.
func (q *question) result(answer json.RawMessage) json.RawMessage {
	if q.task == "" {
		return answer
	}
	meta, _ := jsontok.Lookup(answer, "_meta")
	return protocol.WithMeta(protocol.WithoutMember(answer, "_meta"), mcpjson.OrEmpty(meta), protocol.MetaRelatedTask, mcptask.Params(q.task))
}

// errAbandoned is the cause of the context of a call that nobody waits for.
var errAbandoned = errors.New("nobody waits for the call any more")

// begin sends a request that the server may ask back about.
func (s *clientSession) begin(r *peer.Request, mode taskMode) (*clientCall, error) {
	id := s.conn.NextID()
	params, err := legacyParams(r.Request, id)
	if err != nil {
		return nil, err
	}
	if s.tasks {
		params = mode.params(params)
	}
	ctx, cancel := context.WithCancelCause(s.client.ctx)
	call := &clientCall{
		session: s, request: r.Request, id: id, cancel: cancel,
		who: who(r), owner: r.Caller.Key(), quota: r.Caller.Quota(), mode: mode,
		wake: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
	release := s.use()
	s.mu.Lock()
	s.calls = append(s.calls, call)
	s.mu.Unlock()
	started := s.client.start(func() {
		defer release()
		defer cancel(nil)
		var m *jsonrpc.Message
		err := guarded(ctx, s.client.log, func() (err error) {
			m, err = call.run(ctx, &peer.Call{
				ID: id, Method: r.Method, Params: params, Header: r.Header, Principal: r.Principal(), Exclusive: true, Receive: call.receive, Late: late(r),
			})
			return err
		})
		s.mu.Lock()
		s.calls = slices.DeleteFunc(s.calls, func(c *clientCall) bool { return c == call })
		s.mu.Unlock()
		call.finish(m, err)
	})
	if !started {
		cancel(nil)
		release()
		return nil, errClosed
	}
	return call, nil
}

// lateTime is how long the response of a call whose caller wants progress is held
// back for progress that comes just after it.
const lateTime = 5 * time.Millisecond

// late returns how long progress of a request is waited for after its response.
func late(r *peer.Request) time.Duration {
	if r.Method != protocol.MethodCallTool || r.Meta.ProgressToken == nil {
		return 0
	}
	return lateTime
}

// receive takes what the server sends during the call.
func (c *clientCall) receive(ctx context.Context, m *jsonrpc.Message) {
	switch {
	case m.Kind() == jsonrpc.KindRequest:
		c.session.asked(m, c)
	case !c.session.noted(m) && c.hears(m):
		c.hold(ctx, m)
	}
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

// becomeTask says that the server runs the call as a task.
func (c *clientCall) becomeTask() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs = true
	signal(c.wake)
}

func (c *clientCall) isTask() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs
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

// ask takes a request of the server.
func (c *clientCall) ask(m *jsonrpc.Message) *protocol.Error {
	if fault := mayAsk(c.request.Meta.Capabilities, m); fault != nil {
		return fault
	}
	c.mu.Lock()
	if c.asked >= maxQuestions {
		c.mu.Unlock()
		return tooManyQuestions()
	}
	c.asked++
	c.mu.Unlock()
	c.push(m, true)
	return nil
}

// mayAsk says why a request of the server cannot be put to a caller with these
// capabilities, or nil.
func mayAsk(capabilities json.RawMessage, m *jsonrpc.Message) *protocol.Error {
	name, member := protocol.InputCapability(m.Method, m.Params)
	if name == "" {
		return protocol.MethodNotFound(m.Method)
	}
	if !protocol.HasCapability(capabilities, name, member) {
		code := protocol.CodeMethodNotFound
		if member != "" && protocol.HasCapability(capabilities, name, "") {
			code = protocol.CodeInvalidParams // 2025-11-25 client/elicitation and client/sampling, Error Handling
		}
		return protocol.Errorf(code, "the client does not support %s", clip.Name(m.Method))
	}
	return nil
}

func tooManyQuestions() *protocol.Error {
	return protocol.Errorf(protocol.CodeInvalidRequest, "a call may have at most %d requests open", maxQuestions)
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
	c.questions = append(c.questions, newQuestion(c.numbered, m))
	if id, ok := jsontok.Lookup(m.Params, "elicitationId"); ok && m.Method == protocol.MethodElicit && len(c.elicited) < maxQuestions {
		c.elicited = append(c.elicited, id)
	}
}

// elicits reports whether the call has asked for an elicitation.
func (c *clientCall) elicits(id json.RawMessage) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.elicited, func(e json.RawMessage) bool { return bytes.Equal(e, id) })
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
		if c.isTask() {
			protocol.LiftTimeout(ctx)
		}
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
			switch { // set before it was over
			case c.err != nil:
				return nil, c.err
			case c.task != nil:
				return c.task, nil
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
