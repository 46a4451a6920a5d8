package eraclient

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// related finds who is asked what a server asks for the sake of a task. The
// zero value is ready for use.
type related struct {
	mu    sync.Mutex
	tasks map[string]asker // by the server's ids
	// creating are the calls under way that may become tasks. As long as there
	// are any, requests of tasks that are not known yet wait in early.
	creating int
	early    []*jsonrpc.Message
	// tokens are the progress tokens of calls that go on as tasks.
	tokens map[string]*clientCall
}

// find returns who is asked for the sake of a task, or nil. later is true
// where that is decided once the task is known.
func (r *related) find(task string, m *jsonrpc.Message) (to asker, later bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if to = r.tasks[task]; to != nil {
		return to, false
	}
	if r.creating > 0 && len(r.early) < maxQuestions {
		r.early = append(r.early, m)
		return nil, true
	}
	return nil, false
}

// create announces a call that may become a task. settled must be called once
// it is known whether it has; it asks again what has come too early.
func (s *clientSession) create() (settled func()) {
	r := &s.related
	r.mu.Lock()
	r.creating++
	r.mu.Unlock()
	return func() {
		r.mu.Lock()
		r.creating--
		early := r.early
		r.early = nil
		r.mu.Unlock()
		for _, m := range early {
			s.asked(m, nil)
		}
	}
}

// add says who is asked for the sake of a task.
func (r *related) add(task string, a asker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tasks == nil {
		r.tasks = make(map[string]asker)
	}
	r.tasks[task] = a
}

func (r *related) remove(task string, a asker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tasks[task] == a {
		delete(r.tasks, task)
	}
}

func (r *related) all() []asker {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]asker, 0, len(r.tasks))
	for _, a := range r.tasks {
		list = append(list, a)
	}
	return list
}

// follow gives a call the progress that has its token, until stop is called.
func (r *related) follow(token json.RawMessage, c *clientCall) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tokens == nil {
		r.tokens = make(map[string]*clientCall)
	}
	r.tokens[string(token)] = c
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.tokens, string(token))
	}
}

func (r *related) byToken(params json.RawMessage) *clientCall {
	token, _ := jsontok.Lookup(params, "progressToken")
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tokens[string(token)]
}

// noted takes what a server tells about its tasks and tools, on whatever stream
// it says so. It returns false of a notification that is also for others.
func (s *clientSession) noted(m *jsonrpc.Message) bool {
	switch m.Method {
	case protocol.NotificationToolsChanged:
		s.forgetSupport()
	case protocol.NotificationTaskStatus:
		raw, _ := jsontok.Lookup(m.Params, "taskId")
		id, _ := jsontok.String(raw)
		s.related.mu.Lock()
		t, _ := s.related.tasks[id].(*clientTask)
		s.related.mu.Unlock()
		if t != nil {
			t.changed()
		}
		return true
	}
	return false
}

// hasMembers reports whether an object has an object at the end of a path.
func hasMembers(raw json.RawMessage, path ...string) bool {
	return !slices.ContainsFunc(path, func(name string) bool {
		var ok bool
		raw, ok = jsontok.Lookup(raw, name)
		return !ok || jsontok.KindOf(raw) != jsontok.KindObject
	})
}
