package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/backend"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/operation"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// waitBound returns how long a call with the deadline of ctx waits from now on
// for its operation.
func (c *config) waitBound(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(c.OperationWait, max(0, time.Until(deadline)*5/6))
	}
	return c.OperationWait
}

// callOperation answers a call of a tool that starts long-running operations:
// with the response once there is one, with the operation where that takes too
// long, or with a task where the client can follow one.
func (e *Engine) callOperation(ctx context.Context, r *protocol.Request, n protocol.Notifier, t *tool, arguments json.RawMessage) (*protocol.Result, error) {
	started := time.Now()
	told, stop := startProgress(ctx, r, n, t.Method, false)
	res, err := e.runOperation(ctx, r, told, t, arguments)
	stop()
	status, _ := errors.AsType[*rpc.StatusError](err)
	e.logCall(ctx, r, n, t, status, time.Since(started))
	if status != nil {
		if status.Code() == code.Code_UNIMPLEMENTED && !status.Local {
			e.markStale()
		}
		if err := context.Cause(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return nil, err // the client has cancelled, and hears nothing
		}
		return t.operations.Failure(status, r, passed(ctx, r, t.timeout))
	}
	return res, err
}

func (e *Engine) runOperation(ctx context.Context, r *protocol.Request, told *progress, t *tool, arguments json.RawMessage) (*protocol.Result, error) {
	run, res, err := t.operations.Start(ctx, arguments, r)
	if run == nil || err != nil {
		return res, err
	}
	// A modern client takes a response that is there already; one of
	// 2025-11-25 has asked for a task.
	if canFollow(r) && (!run.Done() || !r.Meta.Revision.Modern()) {
		res, err := e.startTask(ctx, r, t, run)
		if res != nil || err != nil {
			return res, err
		}
	}
	bound := e.cfg.waitBound(ctx)
	if !run.Done() && bound == 0 {
		return run.Unfinished(e.stillRunning(run))
	}
	wait, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	err = run.Wait(wait, func(p backend.Progress) error {
		text := p.Text
		if text == "" {
			text = "waiting for " + run.Name()
		}
		return told.report(wait, text, p.Percent)
	})
	switch {
	case err == nil:
		return run.Result()
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return nil, context.Cause(ctx) // the client has cancelled; the operation goes on
	case wait.Err() != nil:
		return run.Unfinished(e.stillRunning(run))
	default:
		return run.Unfinished(e.unreadable(ctx, run, err))
	}
}

// stillRunning says so to a model.
func (e *Engine) stillRunning(run *backend.Run) string {
	text := fmt.Sprintf("The operation has been started and is still running. Do not start it again. Its name is %q.", run.Name())
	if hint := e.getOperationHint(run.Name()); hint != "" {
		text += " " + hint
	}
	return text
}

// unreadable says that an operation was started whose state cannot be read.
func (e *Engine) unreadable(ctx context.Context, run *backend.Run, err error) string {
	text := fmt.Sprintf("The operation has been started. Do not start it again. Its name is %q. Its state could not be read", run.Name())
	status, ok := errors.AsType[*rpc.StatusError](err)
	switch {
	case !ok:
		e.cfg.Log.WarnContext(ctx, "the state of an operation cannot be read", "error", err)
		text += "."
	case status.Code() == code.Code_UNIMPLEMENTED:
		return text + ": the service does not offer " + string(operation.ServiceName) + "."
	default:
		text += " (" + status.Code().String() + ")."
	}
	if hint := e.getOperationHint(run.Name()); hint != "" {
		text += " " + hint
	}
	return text
}

// getOperationHint names the tool that asks for an operation, if it is served.
func (e *Engine) getOperationHint(name string) string {
	t := e.catalog.Load().byMethod(operation.ServiceName.Append("GetOperation"))
	if t == nil {
		return ""
	}
	public := e.cfg.public(t.Name)
	if public == "" {
		return ""
	}
	return fmt.Sprintf(`To see how it gets on, call the tool %s with {"name": %s}.`, public, jsontok.AppendString(nil, name))
}

// byMethod returns the tool of a method, or nil.
func (c *catalog) byMethod(method protoreflect.FullName) *tool { return c.byName[c.names[method]] }
