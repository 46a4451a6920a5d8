package eraclient

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/internal/mcptask"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// questionWait is how long tasks/get waits for the requests that a task in the
// status input_required must have. Without any it says that the task works.
const questionWait = time.Second

// clientTask is a task in a session with a server, for callers that know the
// tasks extension. It is used concurrently.
type clientTask struct {
	session      *clientSession
	id, remote   string
	owner, quota string            // the principal, and who the task counts for
	request      *protocol.Request // the call, without its params and its caller
	made         time.Time
	created      json.RawMessage // createdAt

	mu         sync.Mutex
	expires    time.Time
	ttl        json.RawMessage
	questions  []*question
	numbered   int
	collecting *collection
	watchers   map[*taskWatcher]struct{}
	news       chan struct{} // closed where questions or the collection change
}

// collection is one tasks/result request: it blocks until the task has ended,
// and what the task asks may come on its stream.
type collection struct {
	done     chan struct{}
	response *jsonrpc.Message // set before done is closed, as is err
	err      error
}

// newTask makes a task known that a call has become.
func (c *legacyClient) newTask(call *clientCall, t *mcptask.Task) (*clientTask, error) {
	now := time.Now()
	task := &clientTask{
		session: call.session, id: rand.Text(), remote: t.ID, owner: call.owner, quota: call.quota,
		request: &protocol.Request{Method: call.request.Method, Meta: protocol.Meta{
			Revision: call.request.Meta.Revision, Capabilities: bytes.Clone(call.request.Meta.Capabilities),
		}},
		made: now, created: bytes.Clone(t.Created), news: make(chan struct{}),
	}
	task.last(t)
	if !c.tasks.add(task) {
		return nil, &protocol.UpstreamError{Kind: protocol.UpstreamThrottled, Message: "too many tasks of the MCP server are under way already"}
	}
	return task, nil
}

// last remembers how long the server keeps the task.
func (t *clientTask) last(state *mcptask.Task) {
	expires := t.made.Add(state.Lifetime())
	t.mu.Lock()
	t.ttl, t.expires = bytes.Clone(state.TTL), expires
	t.mu.Unlock()
	t.session.keep(expires)
}

func (t *clientTask) expiry() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.expires
}

// ask takes a request of the server.
func (t *clientTask) ask(m *jsonrpc.Message) *protocol.Error {
	if fault := mayAsk(t.request.Meta.Capabilities, m); fault != nil {
		return fault
	}
	t.mu.Lock()
	if len(t.questions) >= maxQuestions {
		t.mu.Unlock()
		return tooManyQuestions()
	}
	t.numbered++
	t.questions = append(t.questions, newQuestion(t.numbered, m))
	t.tellLocked()
	t.mu.Unlock()
	return nil
}

func (t *clientTask) withdraw(id json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.questions = slices.DeleteFunc(t.questions, func(q *question) bool { return bytes.Equal(q.id, id) })
	t.tellLocked()
}

// changed says that the state of the task may be another one.
func (t *clientTask) changed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tellLocked()
}

func (t *clientTask) tellLocked() {
	close(t.news)
	t.news = make(chan struct{})
	for w := range t.watchers {
		w.wake()
	}
}

func (t *clientTask) open() ([]*question, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.questions), t.news
}

// call asks the server about the task.
func (t *clientTask) call(ctx context.Context, method string, header http.Header) (*jsonrpc.Message, error) {
	s := t.session
	if s.isOver() {
		return nil, errTaskLost
	}
	m, err := s.conn.Call(ctx, &peer.Call{
		ID: s.conn.NextID(), Method: method, Params: mcptask.Params(t.remote), Header: header,
		Receive: func(_ context.Context, m *jsonrpc.Message) {
			if m.Kind() == jsonrpc.KindRequest {
				s.asked(m, t)
			} else if !s.noted(m) {
				s.client.log.DebugContext(ctx, "a notification of a task was dropped", "method", m.Method)
			}
		},
	})
	if errors.Is(err, peer.ErrSessionGone) {
		s.end(err)
	}
	if err != nil && ctx.Err() == nil && s.isOver() {
		return nil, errTaskLost
	}
	return m, err
}

// errTaskLost says that a task has gone with its session.
var errTaskLost = errors.New("the session of the task is over")

// get answers tasks/get.
func (t *clientTask) get(ctx context.Context, header http.Header) (*protocol.Result, error) {
	for {
		res, err := t.look(ctx, header)
		switch {
		case errors.Is(err, errTaskLost):
			return t.lost(), nil
		case err != nil || res != nil:
			return res, err
		}
	}
}

// look returns the state of the task, or nil where it has to be asked for
// again.
func (t *clientTask) look(ctx context.Context, header http.Header) (*protocol.Result, error) {
	m, err := t.call(ctx, protocol.MethodGetTask, header)
	if err != nil {
		return nil, err
	}
	if m.Error != nil {
		return nil, t.fault(m)
	}
	res, err := mcpjson.ReadResult(protocol.MethodGetTask, m.Result, false)
	if err != nil {
		return nil, err
	}
	state, ok := mcptask.ReadLegacy(res.Body)
	if !ok {
		return nil, peer.Malformed(nil, "the MCP server's answer to tasks/get is no task")
	}
	t.last(state)
	res.Server, res.Meta = t.session.server, mcptask.Unrelated(res.Meta)
	if state.Terminal() {
		return t.ended(ctx, header, state, res)
	}
	questions, _ := t.open()
	if len(questions) == 0 && state.Status == mcptask.InputRequired {
		var over bool
		if questions, over = t.await(ctx, header); over {
			return nil, context.Cause(ctx) // it has ended meanwhile
		}
	}
	if len(questions) == 0 {
		state.Status = mcptask.Working
		res.Body = state.Extension(t.id)
	} else {
		state.Status = mcptask.InputRequired
		state.Requests = inputRequests(questions)
		res.Body = state.Extension(t.id)
	}
	return res, nil
}

// fault is an error of the server about the task.
func (t *clientTask) fault(m *jsonrpc.Message) *protocol.Error {
	fault := jsonrpc.ReadError(m.Error)
	if fault.Code == protocol.CodeInvalidParams { // it has forgotten the task
		t.session.client.tasks.remove(t)
	}
	return fault
}

// ended completes the state of a task that has ended. A result with isError is
// failed in 2025-11-25 and completed in the extension.
func (t *clientTask) ended(ctx context.Context, header http.Header, state *mcptask.Task, res *protocol.Result) (*protocol.Result, error) {
	t.mu.Lock()
	t.questions = nil
	t.mu.Unlock()
	if state.Status == mcptask.Cancelled {
		res.Body = state.Extension(t.id)
		return res, nil
	}
	m, err := t.outcome(ctx, header)
	if err != nil {
		return nil, err
	}
	if m.Error != nil {
		state.Status = mcptask.Failed
		state.Error = m.Error
		res.Body = state.Extension(t.id)
		return res, nil
	}
	result, err := t.session.result(t.request, m)
	if err != nil {
		return nil, err
	}
	state.Status = mcptask.Completed
	state.Result = protocol.AppendResult(nil, result, protocol.Revision20260728)
	res.Body = state.Extension(t.id)
	return res, nil
}

// lost is the state of a task whose session is over: nobody can say what has
// become of it.
func (t *clientTask) lost() *protocol.Result {
	const why = "the MCP server has ended the session in which the task ran"
	t.mu.Lock()
	ttl := t.ttl
	t.mu.Unlock()
	state := mcptask.New(mcptask.Failed, ttl)
	made := jsontok.AppendString(nil, t.made.UTC().Format(time.RFC3339))
	created := t.created
	if created == nil {
		created = made
	}
	state.Add("createdAt", created)
	state.Add("lastUpdatedAt", made)
	state.Add("statusMessage", jsontok.AppendString(nil, why))
	var fault mcpjson.Object
	fault.Add("code", jsonIndex(protocol.CodeInternalError))
	fault.Add("message", jsontok.AppendString(nil, why))
	state.Error = fault.JSON()
	return &protocol.Result{Server: t.session.server, Body: state.Extension(t.id)}
}

// collect returns the tasks/result request that is under way, and sends one
// where there is none.
func (t *clientTask) collect(header http.Header) (c *collection, started bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.collecting != nil {
		return t.collecting, false
	}
	c = &collection{done: make(chan struct{})}
	s := t.session
	release := s.use()
	deadline := max(time.Until(t.expires), 0) + taskGrace
	if !s.client.start(func() {
		defer release()
		ctx, cancel := context.WithTimeout(s.client.ctx, deadline)
		defer cancel()
		c.response, c.err = t.call(ctx, protocol.MethodTaskResult, header)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.collecting = nil
		close(c.done)
		t.tellLocked()
	}) {
		release()
		c.err = errClosed
		close(c.done)
		return c, true
	}
	t.collecting = c
	return c, true
}

// outcome returns how the call of a task that has ended would have been
// answered.
func (t *clientTask) outcome(ctx context.Context, header http.Header) (*jsonrpc.Message, error) {
	for {
		c, started := t.collect(header)
		select {
		case <-c.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if c.err == nil || started {
			return c.response, c.err
		}
		// A request from before that has failed says nothing of the task.
	}
}

// await waits a while for requests of a task that says that it has some. over
// is true where it has ended, or nobody waits any more.
func (t *clientTask) await(ctx context.Context, header http.Header) (questions []*question, over bool) {
	c, _ := t.collect(header)
	timer := time.NewTimer(questionWait)
	defer timer.Stop()
	gathering := false
	for {
		questions, news := t.open()
		if len(questions) > 0 && !gathering {
			gathering = true
			timer.Reset(gatherTime)
		}
		select {
		case <-news:
		case <-timer.C:
			return questions, false
		case <-c.done:
			return nil, c.err == nil
		case <-ctx.Done():
			return nil, true
		}
	}
}

// update answers tasks/update. Answers to what is not asked, or not any more,
// are ignored.
func (t *clientTask) update(ctx context.Context, r *peer.Request) (*protocol.Result, error) {
	if _, ok := jsontok.Lookup(r.Params, "inputResponses"); !ok {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.inputResponses must be an object")
	}
	answers, fault := readAnswers(r.Params)
	if fault != nil {
		return nil, fault
	}
	if t.session.isOver() {
		return &protocol.Result{Server: t.session.server}, nil // tasks/get says what has become of it
	}
	for _, q := range t.claim(answers) {
		if err := t.session.answer(ctx, q, answers[q.key], r.Header); err != nil {
			t.giveBack(q)
			return nil, err
		}
	}
	return &protocol.Result{Server: t.session.server}, nil
}

// claim takes the questions that have an answer.
func (t *clientTask) claim(answers map[string]json.RawMessage) (claimed []*question) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.questions = slices.DeleteFunc(t.questions, func(q *question) bool {
		_, ok := answers[q.key]
		if ok {
			claimed = append(claimed, q)
		}
		return ok
	})
	return claimed
}

func (t *clientTask) giveBack(q *question) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.questions = append(t.questions, q)
}

// cancel answers tasks/cancel. That a task has ended already is no error: the
// request only says what the caller wants (tasks extension, Task Cancellation).
func (t *clientTask) cancel(ctx context.Context, header http.Header) (*protocol.Result, error) {
	s := t.session
	done := &protocol.Result{Server: s.server}
	if !hasMembers(s.offers, "tasks", "cancel") {
		s.client.log.DebugContext(ctx, "a task goes on: the MCP server cannot cancel tasks")
		return done, nil
	}
	m, err := t.call(ctx, protocol.MethodCancelTask, header)
	if err == nil && m.Error != nil && jsonrpc.ReadError(m.Error).Code == protocol.CodeInvalidParams {
		// It has ended, or it is forgotten.
		if m, err = t.call(ctx, protocol.MethodGetTask, header); err == nil && m.Error != nil {
			return nil, t.fault(m)
		}
	}
	switch {
	case errors.Is(err, errTaskLost):
		return done, nil
	case err != nil:
		return nil, err
	case m.Error != nil:
		return nil, jsonrpc.ReadError(m.Error)
	}
	return done, nil
}
