package main

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/gen/mcp/v1/mcpv1connect"
)

// create calls a tool that becomes a task and returns its id.
func create(t *testing.T, client mcpv1connect.McpServiceClient, name string, arguments map[string]any) string {
	t.Helper()
	response, err := client.CallTool(t.Context(), request(t, name, arguments))
	if err != nil {
		t.Fatal(err)
	}
	return response.GetTask().GetTaskId()
}

// await listens until a task has a status, and returns it.
func await(t *testing.T, client mcpv1connect.McpServiceClient, id string, want mcpv1.TaskStatus) *mcpv1.GetTaskResponse {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	stream, err := client.Listen(ctx, &mcpv1.ListenRequest{Notifications: &mcpv1.SubscriptionFilter{TaskIds: []string{id}}, Meta: able()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }() // it was left early
	// The first message says that the server listens: what it was before, and
	// what it becomes, is then seen.
	for stream.Receive() {
		task, err := client.GetTask(ctx, &mcpv1.GetTaskRequest{TaskId: id, Meta: able()})
		if err != nil {
			t.Fatal(err)
		}
		if task.GetStatus() == want {
			return task
		}
	}
	t.Fatalf("task %s is never %s: %v", id, want, stream.Err())
	return nil
}

func TestTaskOutcomes(t *testing.T) {
	t.Parallel()
	client, _ := start(t)
	for _, tt := range []struct {
		name   string
		status mcpv1.TaskStatus
		text   string
		code   int32
	}{
		{"slow_compute", mcpv1.TaskStatus_TASK_STATUS_COMPLETED, "computed ", 0},
		{"failing_job", mcpv1.TaskStatus_TASK_STATUS_COMPLETED, "It does not work.", 0},
		{"protocol_error_job", mcpv1.TaskStatus_TASK_STATUS_FAILED, "", codeInternal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			id := create(t, client, tt.name, map[string]any{"seconds": 0.1})
			task := await(t, client, id, tt.status)
			result := task.GetToolResult()
			if (result == nil) != (tt.text == "") || result != nil && result.GetContent()[0].GetText().GetText() != tt.text || task.GetError().GetCode() != tt.code {
				t.Errorf("the task is %v", task)
			}
			// One that has ended stays as it is.
			if _, err := client.CancelTask(t.Context(), &mcpv1.CancelTaskRequest{TaskId: id, Meta: able()}); err != nil {
				t.Error(err)
			}
			await(t, client, id, tt.status)
		})
	}
}

// A task goes on when everything that it has asked is answered.
func TestTaskInput(t *testing.T) {
	t.Parallel()
	client, _ := start(t)
	id := create(t, client, "multi_input", nil)
	for _, tt := range []struct {
		answer map[string]*mcpv1.InputResponse
		left   []string
	}{
		{nil, []string{"consent", "name"}},
		{map[string]*mcpv1.InputResponse{"other": filled(nil)}, []string{"consent", "name"}},
		{map[string]*mcpv1.InputResponse{"name": filled(map[string]any{"name": "Ada"})}, []string{"consent"}},
		{map[string]*mcpv1.InputResponse{"name": filled(map[string]any{"name": "Eve"})}, []string{"consent"}},
	} {
		if tt.answer != nil {
			if _, err := client.UpdateTask(t.Context(), &mcpv1.UpdateTaskRequest{TaskId: id, InputResponses: tt.answer, Meta: able()}); err != nil {
				t.Fatal(err)
			}
		}
		task := await(t, client, id, mcpv1.TaskStatus_TASK_STATUS_INPUT_REQUIRED)
		if left := slices.Sorted(maps.Keys(task.GetInputRequests())); !slices.Equal(left, tt.left) {
			t.Errorf("after %v, %v is asked; want %v", tt.answer, left, tt.left)
		}
	}
	last := map[string]*mcpv1.InputResponse{"consent": filled(map[string]any{"confirm": true})}
	if _, err := client.UpdateTask(t.Context(), &mcpv1.UpdateTaskRequest{TaskId: id, InputResponses: last, Meta: able()}); err != nil {
		t.Fatal(err)
	}
	task := await(t, client, id, mcpv1.TaskStatus_TASK_STATUS_COMPLETED)
	if got := task.GetToolResult().GetContent()[0].GetText().GetText(); got != "Ada agrees: true" {
		t.Errorf("the task says %q", got)
	}
}

func TestCancelTask(t *testing.T) {
	t.Parallel()
	client, _ := start(t)
	for name, arguments := range map[string]map[string]any{"slow_compute": {"seconds": 3600}, "confirm_delete": {"filename": "x"}} {
		id := create(t, client, name, arguments)
		if _, err := client.CancelTask(t.Context(), &mcpv1.CancelTaskRequest{TaskId: id, Meta: able()}); err != nil {
			t.Error(err)
		}
		if task := await(t, client, id, mcpv1.TaskStatus_TASK_STATUS_CANCELLED); len(task.GetInputRequests()) > 0 || task.GetToolResult() != nil || task.GetError() != nil {
			t.Errorf("the cancelled task is %v", task)
		}
	}
	_, err := client.GetTask(t.Context(), &mcpv1.GetTaskRequest{TaskId: "nope", Meta: able()})
	wantFailure(t, err, connect.CodeInvalidArgument, codeInvalidParams, "there is no such task")
	_, err = client.UpdateTask(t.Context(), &mcpv1.UpdateTaskRequest{TaskId: "nope"})
	wantFailure(t, err, connect.CodeFailedPrecondition, codeMissingCapability, lacking)
}

// There are only so many tasks at a time.
func TestTasksAreBounded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	ts := newTasks(ctx, newListeners())
	defer ts.wait()
	defer cancel()
	forever := func(ctx context.Context, _ *task) (*mcpv1.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for range maxTasks {
		if _, err := ts.start(forever); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ts.start(forever); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("one more: %v", err)
	}
	ts.mu.Lock()
	for _, old := range ts.all {
		old.created = old.created.Add(-taskTTL)
	}
	ts.mu.Unlock()
	if _, err := ts.start(forever); err != nil || len(ts.all) != 1 {
		t.Errorf("when they are too old: %v, and %d are left", err, len(ts.all))
	}
}
