package main

import (
	"context"
	"crypto/rand"
	"maps"
	"sync"
	"time"

	"connectrpc.com/connect"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

const (
	taskTTL      = 10 * time.Minute // how long a task is kept
	pollInterval = 200 * time.Millisecond
	maxTasks     = 1000
)

// job does the work of a task. Its error is one of MCP, not of the tool: that is
// a result.
type job func(context.Context, *task) (*mcpv1.CallToolResult, error)

// tasks are the tasks of a server. Whoever knows the id of one can ask for it;
// a server that knows its users would bind tasks to them.
type tasks struct {
	ctx       context.Context //nolint:containedctx // tasks go on when the call that has made them has ended
	listeners *listeners
	wg        sync.WaitGroup
	mu        sync.Mutex
	all       map[string]*task
}

func newTasks(ctx context.Context, ls *listeners) *tasks {
	return &tasks{ctx: ctx, listeners: ls, all: make(map[string]*task)}
}

// wait waits for the tasks, which end with the context of the server.
func (ts *tasks) wait() { ts.wg.Wait() }

// start begins a task. It can be asked for at once.
func (ts *tasks) start(j job) (*mcpv1.CreateTaskResult, error) {
	ctx, cancel := context.WithCancel(ts.ctx)
	now := time.Now()
	t := &task{
		id: rand.Text(), created: now, updated: now, status: mcpv1.TaskStatus_TASK_STATUS_WORKING,
		cancel: cancel, answered: make(chan struct{}, 1),
	}
	t.changed = func() { ts.listeners.notify(change{of: taskStatus, name: t.id}) }
	if !ts.add(t) {
		cancel()
		return nil, connect.NewError(connect.CodeResourceExhausted, errTooManyTasks)
	}
	created := t.result()
	ts.wg.Go(func() {
		defer cancel()
		result, err := j(ctx, t)
		t.end(result, err)
	})
	return created, nil
}

// add keeps a task, and forgets those that are too old.
func (ts *tasks) add(t *task) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	maps.DeleteFunc(ts.all, func(_ string, old *task) bool {
		if time.Since(old.created) < taskTTL {
			return false
		}
		old.cancel()
		return true
	})
	if len(ts.all) >= maxTasks {
		return false
	}
	ts.all[t.id] = t
	return true
}

func (ts *tasks) get(id string) (*task, bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t, ok := ts.all[id]
	return t, ok
}

// find returns the task that a request is about.
func (s *server) find(r interface {
	GetTaskId() string
	GetMeta() *mcpv1.RequestMeta
},
) (*task, error) {
	if err := needsTasks(r.GetMeta()); err != nil {
		return nil, err
	}
	t, ok := s.tasks.get(r.GetTaskId())
	if !ok {
		return nil, invalid("there is no such task")
	}
	return t, nil
}

// GetTask says how a task stands.
func (s *server) GetTask(_ context.Context, r *mcpv1.GetTaskRequest) (*mcpv1.GetTaskResponse, error) {
	t, err := s.find(r)
	if err != nil {
		return nil, err
	}
	return t.details(), nil
}

// UpdateTask gives a task what it has asked for.
func (s *server) UpdateTask(_ context.Context, r *mcpv1.UpdateTaskRequest) (*mcpv1.UpdateTaskResponse, error) {
	t, err := s.find(r)
	if err != nil {
		return nil, err
	}
	t.answer(r.GetInputResponses())
	return &mcpv1.UpdateTaskResponse{}, nil
}

// CancelTask ends a task. That of one which has ended already changes nothing.
func (s *server) CancelTask(_ context.Context, r *mcpv1.CancelTaskRequest) (*mcpv1.CancelTaskResponse, error) {
	t, err := s.find(r)
	if err != nil {
		return nil, err
	}
	t.abandon()
	return &mcpv1.CancelTaskResponse{}, nil
}
