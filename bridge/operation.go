package bridge

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
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// DefaultOperationWait is how long a call waits for the long-running operation
// that it started. See [WithOperationWait].
const DefaultOperationWait = 50 * time.Second

// WithOperationWait bounds the time that a call of a method that returns
// google.longrunning.Operation waits for the operation's response. Beyond it
// the result is the operation itself, which goes on. The time counts from its
// start, and is cut to five sixths of what is left of the call's timeout. Zero means
// not to wait. The default is [DefaultOperationWait].
//
// It is of no concern to clients that get a task; see [WithTaskTTL].
func WithOperationWait(d time.Duration) Option { return func(c *config) { c.operationWait = d } }

// waitBound returns how long a call with the deadline of ctx waits from now on
// for its operation.
func (c *config) waitBound(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return min(c.operationWait, max(0, time.Until(deadline)*5/6))
	}
	return c.operationWait
}

// callOperation answers a call of a tool that starts long-running operations:
// with the response once there is one, with the operation where that takes too
// long, or with a task where the client can follow one.
func (b *Bridge) callOperation(ctx context.Context, r *protocol.Request, n protocol.Notifier, t *tool, arguments json.RawMessage) (*protocol.Result, error) {
	started := time.Now()
	told, stop := startProgress(ctx, r, n, t.Method, false)
	res, err := b.runOperation(ctx, r, told, t, arguments)
	stop()
	status, _ := errors.AsType[*rpc.StatusError](err)
	b.logCall(ctx, r, n, t, status, time.Since(started))
	if status != nil {
		if status.Code() == code.Code_UNIMPLEMENTED && !status.Local {
			b.markStale()
		}
		if err := context.Cause(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return nil, err // the client has cancelled, and hears nothing
		}
		return t.operations.Failure(status, r)
	}
	return res, err
}

func (b *Bridge) runOperation(ctx context.Context, r *protocol.Request, told *progress, t *tool, arguments json.RawMessage) (*protocol.Result, error) {
	run, res, err := t.operations.Start(ctx, arguments, r)
	if run == nil || err != nil {
		return res, err
	}
	// A modern client takes a response that is there already; one of
	// 2025-11-25 has asked for a task.
	if canFollow(r) && (!run.Done() || !r.Meta.Revision.Modern()) {
		res, err := b.startTask(ctx, r, t, run)
		if res != nil || err != nil {
			return res, err
		}
	}
	bound := b.cfg.waitBound(ctx)
	if !run.Done() && bound == 0 {
		return run.Unfinished(b.stillRunning(run))
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
		return run.Unfinished(b.stillRunning(run))
	default:
		return run.Unfinished(b.unreadable(ctx, run, err))
	}
}

// stillRunning says so to a model.
func (b *Bridge) stillRunning(run *backend.Run) string {
	text := fmt.Sprintf("The operation has been started and is still running. Do not start it again. Its name is %q.", run.Name())
	if hint := b.getOperationHint(run.Name()); hint != "" {
		text += " " + hint
	}
	return text
}

// unreadable says that an operation was started whose state cannot be read.
func (b *Bridge) unreadable(ctx context.Context, run *backend.Run, err error) string {
	text := fmt.Sprintf("The operation has been started. Do not start it again. Its name is %q. Its state could not be read", run.Name())
	status, ok := errors.AsType[*rpc.StatusError](err)
	switch {
	case !ok:
		b.cfg.log.WarnContext(ctx, "the state of an operation cannot be read", "error", err)
		text += "."
	case status.Code() == code.Code_UNIMPLEMENTED:
		return text + ": the service does not offer " + string(operation.ServiceName) + "."
	default:
		text += " (" + status.Code().String() + ")."
	}
	if hint := b.getOperationHint(run.Name()); hint != "" {
		text += " " + hint
	}
	return text
}

// getOperationHint names the tool that asks for an operation, if it is served.
func (b *Bridge) getOperationHint(name string) string {
	t := b.catalog.Load().byMethod(operation.ServiceName.Append("GetOperation"))
	if t == nil {
		return ""
	}
	return fmt.Sprintf(`To see how it gets on, call the tool %s with {"name": %s}.`, t.Name, jsontok.AppendString(nil, name))
}

// byMethod returns the tool of a method, or nil.
func (c *catalog) byMethod(method protoreflect.FullName) *tool { return c.byName[c.names[method]] }
