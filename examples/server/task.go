package main

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

var errTooManyTasks = errors.New("there are too many tasks; try again later")

// task is a call that goes on after its response.
type task struct {
	id       string
	created  time.Time
	cancel   context.CancelFunc
	changed  func()
	answered chan struct{} // has an element when all questions are answered

	mu        sync.Mutex
	updated   time.Time
	status    mcpv1.TaskStatus
	questions questions // not answered yet
	answers   answers
	outcome   *mcpv1.CallToolResult // of a completed task
	fault     *mcpv1.JsonRpcError   // of a failed one
}

// ask asks the client, and waits until it has answered everything.
func (t *task) ask(ctx context.Context, q questions) (answers, error) {
	t.update(func() {
		t.status, t.questions, t.answers = mcpv1.TaskStatus_TASK_STATUS_INPUT_REQUIRED, maps.Clone(q), make(answers)
	})
	select {
	case <-t.answered:
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.answers, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// answer takes answers to what was asked. Others are ignored.
func (t *task) answer(given answers) {
	t.update(func() {
		for key, response := range given {
			if t.questions[key] != nil {
				delete(t.questions, key)
				t.answers[key] = response
			}
		}
		if t.status == mcpv1.TaskStatus_TASK_STATUS_INPUT_REQUIRED && len(t.questions) == 0 {
			t.status = mcpv1.TaskStatus_TASK_STATUS_WORKING
			t.answered <- struct{}{}
		}
	})
}

// abandon cancels the task.
func (t *task) abandon() {
	t.update(func() { t.status, t.questions = mcpv1.TaskStatus_TASK_STATUS_CANCELLED, nil })
	t.cancel()
}

// end notes what the job has come to, if nobody has cancelled it.
func (t *task) end(outcome *mcpv1.CallToolResult, err error) {
	t.update(func() {
		t.questions = nil
		switch {
		case errors.Is(err, context.Canceled):
			t.status = mcpv1.TaskStatus_TASK_STATUS_CANCELLED
		case err != nil:
			t.status, t.fault = mcpv1.TaskStatus_TASK_STATUS_FAILED, rpcError(err)
		default:
			t.status, t.outcome = mcpv1.TaskStatus_TASK_STATUS_COMPLETED, outcome
		}
	})
}

// update changes a task that has not ended yet.
func (t *task) update(edit func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.status != mcpv1.TaskStatus_TASK_STATUS_WORKING && t.status != mcpv1.TaskStatus_TASK_STATUS_INPUT_REQUIRED {
		return
	}
	edit()
	t.updated = time.Now()
	t.changed()
}

// result is the task as the response of the call that has made it.
func (t *task) result() *mcpv1.CreateTaskResult {
	d := t.details()
	return &mcpv1.CreateTaskResult{
		TaskId:         d.GetTaskId(),
		Status:         d.GetStatus(),
		CreatedAt:      d.GetCreatedAt(),
		LastUpdatedAt:  d.GetLastUpdatedAt(),
		TtlMsForm:      &mcpv1.CreateTaskResult_TtlMs{TtlMs: d.GetTtlMs()},
		PollIntervalMs: d.PollIntervalMs,
	}
}

// details is the task as it stands.
func (t *task) details() *mcpv1.GetTaskResponse {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := &mcpv1.GetTaskResponse{
		TaskId:         t.id,
		Status:         t.status,
		CreatedAt:      t.created.UTC().Format(time.RFC3339Nano),
		LastUpdatedAt:  t.updated.UTC().Format(time.RFC3339Nano),
		TtlMsForm:      &mcpv1.GetTaskResponse_TtlMs{TtlMs: taskTTL.Milliseconds()},
		PollIntervalMs: new(pollInterval.Milliseconds()),
		InputRequests:  maps.Clone(t.questions),
		Error:          t.fault,
	}
	if t.outcome != nil {
		d.ResultForm = &mcpv1.GetTaskResponse_ToolResult{ToolResult: t.outcome}
	}
	return d
}

// notification is the task as those who listen are told of it.
func (t *task) notification() *mcpv1.TaskStatusNotificationParams {
	d := t.details()
	n := &mcpv1.TaskStatusNotificationParams{
		TaskId:         d.GetTaskId(),
		Status:         d.GetStatus(),
		CreatedAt:      d.GetCreatedAt(),
		LastUpdatedAt:  d.GetLastUpdatedAt(),
		TtlMsForm:      &mcpv1.TaskStatusNotificationParams_TtlMs{TtlMs: d.GetTtlMs()},
		PollIntervalMs: d.PollIntervalMs,
		InputRequests:  d.GetInputRequests(),
		Error:          d.GetError(),
	}
	if outcome := d.GetToolResult(); outcome != nil {
		n.ResultForm = &mcpv1.TaskStatusNotificationParams_ToolResult{ToolResult: outcome}
	}
	return n
}
