package main

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

const (
	jobTime    = 200 * time.Millisecond // of jobs that are said to take a while
	maxCompute = time.Hour
)

// taskTools take their time: their calls become tasks.
func taskTools() []*tool {
	return []*tool{
		{
			name: "slow_compute", description: "Computes for some seconds",
			schema: `{"type":"object","properties":{` +
				`"seconds":{"type":"number","minimum":0,"maximum":3600},"label":{"type":"string"}}}`,
			tasks: mcpv1.TaskSupport_TASK_SUPPORT_OPTIONAL, run: slowCompute,
		},
		{
			name: "failing_job", description: "Fails after a while", tasks: mcpv1.TaskSupport_TASK_SUPPORT_REQUIRED,
			run: asTask(func(ctx context.Context, _ *task) (*mcpv1.CallToolResult, error) {
				if err := pause(ctx, jobTime); err != nil {
					return nil, err
				}
				return &mcpv1.CallToolResult{Content: []*mcpv1.ContentBlock{text("It does not work.")}, IsError: new(true)}, nil
			}),
		},
		{
			name: "protocol_error_job", description: "Has no result", tasks: mcpv1.TaskSupport_TASK_SUPPORT_REQUIRED,
			run: asTask(func(ctx context.Context, _ *task) (*mcpv1.CallToolResult, error) {
				if err := pause(ctx, jobTime); err != nil {
					return nil, err
				}
				return nil, failure(connect.CodeInternal, &mcpv1.JsonRpcError{Code: codeInternal, Message: "the job has crashed"})
			}),
		},
		{
			name: "confirm_delete", description: "Deletes a file if the user agrees",
			schema: `{"type":"object","properties":{"filename":{"type":"string"}},"required":["filename"]}`,
			tasks:  mcpv1.TaskSupport_TASK_SUPPORT_REQUIRED, run: confirmDelete,
		},
		{
			name: "multi_input", description: "Asks the user two questions at once", tasks: mcpv1.TaskSupport_TASK_SUPPORT_REQUIRED,
			run: asTask(func(ctx context.Context, t *task) (*mcpv1.CallToolResult, error) {
				a, err := t.ask(ctx, questions{"name": textForm(nameQuestion, "name"), "consent": consent("May it be used?")})
				if err != nil {
					return nil, err
				}
				_, agreed := a.accepted("consent")
				return says(fmt.Sprintf("%s agrees: %t", a.text("name", "name"), agreed)), nil
			}),
		},
		{
			name: "test_tool_with_task", description: "Asks the user, and then takes its time", tasks: mcpv1.TaskSupport_TASK_SUPPORT_REQUIRED,
			run: func(ctx context.Context, c *call) (*mcpv1.CallToolResponse, error) {
				name := c.answers().text("user_name", "name")
				if name == "" {
					return c.ask("", questions{"user_name": textForm(nameQuestion, "name")})
				}
				return c.start(func(ctx context.Context, _ *task) (*mcpv1.CallToolResult, error) {
					return says("Hello, " + name + "!"), pause(ctx, jobTime)
				})
			},
		},
	}
}

// slowCompute becomes a task where the client can follow it, and where there is
// something to wait for.
func slowCompute(ctx context.Context, c *call) (*mcpv1.CallToolResponse, error) {
	var arguments struct {
		Seconds float64
		Label   string
	}
	if err := c.arguments(&arguments); err != nil {
		return failed(err.Error())
	}
	takes := time.Duration(arguments.Seconds * float64(time.Second))
	if takes < 0 || takes > maxCompute {
		return failed("seconds must be from 0 to 3600")
	}
	result := says("computed " + arguments.Label)
	if takes > 0 && needsTasks(c.request.GetMeta()) == nil {
		return c.start(func(ctx context.Context, _ *task) (*mcpv1.CallToolResult, error) {
			return result, pause(ctx, takes)
		})
	}
	return completed(result), pause(ctx, takes)
}

func confirmDelete(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
	var arguments struct{ Filename string }
	if err := c.arguments(&arguments); err != nil {
		return failed(err.Error())
	}
	if err := needsElicitation(c.request.GetMeta()); err != nil {
		return nil, err
	}
	return c.start(func(ctx context.Context, t *task) (*mcpv1.CallToolResult, error) {
		a, err := t.ask(ctx, questions{"consent": consent("Delete " + arguments.Filename + "?")})
		if err != nil {
			return nil, err
		}
		if content, ok := a.accepted("consent"); !ok || !content["confirm"].GetFlag() {
			return says(arguments.Filename + " is still there."), nil
		}
		return says(arguments.Filename + " was deleted."), nil
	})
}

// start makes the call a task.
func (c *call) start(j job) (*mcpv1.CallToolResponse, error) {
	created, err := c.server.tasks.start(j)
	if err != nil {
		return nil, err
	}
	return &mcpv1.CallToolResponse{Result: &mcpv1.CallToolResponse_Task{Task: created}}, nil
}

// asTask is a tool whose calls are tasks at once.
func asTask(j job) func(context.Context, *call) (*mcpv1.CallToolResponse, error) {
	return func(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) { return c.start(j) }
}

func says(what string) *mcpv1.CallToolResult {
	return &mcpv1.CallToolResult{Content: []*mcpv1.ContentBlock{text(what)}}
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
