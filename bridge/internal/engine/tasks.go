package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/backend"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/operation"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// The interval at which clients are asked to poll a task grows with its age,
// to a tenth of that.
const (
	minTaskPoll = time.Second
	maxTaskPoll = 30 * time.Second
)

// canFollow reports whether the client of a request has declared that it can
// follow tasks (tasks extension, Capability Negotiation).
func canFollow(r *protocol.Request) bool {
	return protocol.HasExtension(r.Meta.Capabilities, protocol.ExtensionTasks)
}

// refuseTask returns the error for a client of 2025-11-25 that asks for a task
// where the tool has none to give (basic/utilities/tasks, Tool-Level
// Negotiation).
func (e *Engine) refuseTask(r *protocol.Request, t *tool) error {
	if r.Meta.Revision != protocol.Revision20251125 || t.operations != nil || !canFollow(r) {
		return nil
	}
	if raw, ok := jsontok.Lookup(r.Params, "task"); !ok || jsontok.KindOf(raw) != jsontok.KindObject {
		return nil
	}
	return protocol.Errorf(protocol.CodeMethodNotFound, "the tool %q cannot be called as a task; call it without params.task", cmp.Or(e.cfg.public(t.Name), t.Name))
}

// startTask makes a task of an operation. It asks for the operation's state
// first, because tasks/get must work from the start. It returns nil where the
// operation cannot be followed: then it must be waited for.
func (e *Engine) startTask(ctx context.Context, r *protocol.Request, t *tool, run *backend.Run) (*protocol.Result, error) {
	now := time.Now()
	ref := taskRef{method: t.Method, operation: run.Name(), created: now.Truncate(time.Millisecond), ttl: e.cfg.TaskTTL}
	id, err := ref.seal(e.cfg.box, r.Caller)
	if err != nil {
		e.cfg.Log.WarnContext(ctx, "an operation cannot be a task", "method", t.Method, "error", err)
		return nil, nil //nolint:nilnil // no task, and no fault either
	}
	if run.Name() == "" {
		return nil, nil //nolint:nilnil // there is nothing to ask for
	}
	if err := run.Refresh(ctx); err != nil {
		switch {
		case ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded):
			return nil, context.Cause(ctx)
		case !operation.Passing(err):
			return run.Unfinished(e.unreadable(ctx, run, err))
		}
		// The service is there and will say more later.
	}
	if run.Done() && r.Meta.Revision.Modern() {
		return nil, nil //nolint:nilnil // the response can be given at once
	}
	s := taskState{id: id, ref: ref, status: "working", progress: run.Progress()}
	return &protocol.Result{Type: protocol.ResultTask, Body: s.append(nil, now)}, nil
}

// task answers tasks/get, tasks/update and tasks/cancel.
func (e *Engine) task(ctx context.Context, r *protocol.Request) (*protocol.Result, error) {
	if !e.catalogOf(r).operations {
		return nil, protocol.MethodNotFound(r.Method)
	}
	if !canFollow(r) {
		return nil, protocol.MissingCapability(`{"extensions":{"` + protocol.ExtensionTasks + `":{}}}`)
	}
	id, err := readTaskID(r)
	if err != nil {
		return nil, err
	}
	ref, t, err := e.openTask(r, id)
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "%v", err)
	}
	if e.cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.cfg.Timeout)
		defer cancel()
	}
	switch r.Method {
	case protocol.MethodGetTask:
		s, err := e.readTask(ctx, r, t, id, ref)
		if err != nil {
			return nil, err
		}
		return &protocol.Result{Body: s.append(nil, time.Now())}, nil
	case protocol.MethodCancelTask:
		return e.cancelTask(ctx, r, t, ref)
	default:
		return updateTask(r)
	}
}

// readTaskID returns the task that a request names.
func readTaskID(r *protocol.Request) (string, error) {
	raw, ok := jsontok.Lookup(r.Params, "taskId")
	id, isString := jsontok.String(raw)
	if !ok || !isString {
		return "", protocol.Errorf(protocol.CodeInvalidParams, "params.taskId must be the id of a task")
	}
	return id, nil
}

// openTask reads the id of a task on behalf of a caller.
func (e *Engine) openTask(r *protocol.Request, id string) (taskRef, *tool, error) {
	ref, err := openTaskID(e.cfg.box, id, r.Caller)
	if err != nil {
		return ref, nil, err
	}
	t := e.catalogOf(r).byMethod(protoreflect.FullName(ref.method))
	if t == nil || t.operations == nil {
		return ref, nil, fmt.Errorf("%w: %s is not served any more", errUnknownTask, ref.method)
	}
	return ref, t, nil
}

// updateTask answers tasks/update. Operations ask for no input, and responses
// to what was not asked are ignored (tasks extension, Task Update Requests).
func updateTask(r *protocol.Request) (*protocol.Result, error) {
	raw, ok := jsontok.Lookup(r.Params, "inputResponses")
	if !ok || jsontok.KindOf(raw) != jsontok.KindObject {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.inputResponses must be an object")
	}
	return &protocol.Result{}, nil
}

// cancelTask answers tasks/cancel. What comes of it shows in the task. That the
// operation has ended already, or cannot be cancelled, is no error: the request
// only tells what the client wants (tasks extension, Task Cancellation).
func (e *Engine) cancelTask(ctx context.Context, r *protocol.Request, t *tool, ref taskRef) (*protocol.Result, error) {
	err := t.operations.Cancel(ctx, ref.operation, r)
	e.cfg.Log.DebugContext(ctx, "cancelled a task", "method", ref.method, "error", err)
	if err == nil {
		return &protocol.Result{}, nil
	}
	status, ok := errors.AsType[*rpc.StatusError](err)
	if ok && !status.Local {
		switch status.Code() {
		case code.Code_UNIMPLEMENTED, code.Code_FAILED_PRECONDITION:
			return &protocol.Result{}, nil
		default:
		}
	}
	return nil, e.taskFault(r, t, status, err)
}

// readTask asks for the state of a task.
func (e *Engine) readTask(ctx context.Context, r *protocol.Request, t *tool, id string, ref taskRef) (*taskState, error) {
	s := &taskState{id: id, ref: ref, status: "working", progress: backend.Progress{Percent: -1}}
	run, err := t.operations.Find(ctx, ref.operation, r)
	switch status, _ := errors.AsType[*rpc.StatusError](err); {
	case err == nil:
		s.progress = run.Progress()
	case operation.Passing(err) && context.Cause(ctx) == nil:
		s.progress.Text = "the service is not available now"
	default:
		return nil, e.taskFault(r, t, status, err)
	}
	if run != nil && run.Done() {
		res, err := run.Result()
		switch fault, ok := errors.AsType[*protocol.Error](err); {
		case run.Cancelled():
			s.status = "cancelled"
		case ok:
			s.status, s.fault = "failed", fault
		case err != nil:
			e.cfg.Log.ErrorContext(ctx, "the response of an operation cannot be read", "method", ref.method, "error", err)
			s.status, s.fault = "failed", protocol.AsError(err)
		default:
			s.status, s.result = "completed", res
		}
	}
	return s, nil
}

// taskFault is the error for an operation that cannot be asked for or
// cancelled.
func (e *Engine) taskFault(r *protocol.Request, t *tool, status *rpc.StatusError, err error) error {
	if status == nil {
		return err
	}
	switch status.Code() {
	case code.Code_NOT_FOUND:
		return protocol.Errorf(protocol.CodeInvalidParams, "%v: the service does not know the operation any more", errUnknownTask)
	case code.Code_UNAUTHENTICATED:
		if _, fault := t.operations.Failure(status, r, 0); fault != nil {
			return fault
		}
	default:
	}
	return protocol.Errorf(protocol.CodeInternalError, "the service answered %s when it was asked for the operation", status.Code())
}

// taskState is a DetailedTask of the tasks extension.
type taskState struct {
	id       string
	ref      taskRef
	status   string
	progress backend.Progress
	result   *protocol.Result
	fault    *protocol.Error
}

// append appends the task as a JSON object. Where the service does not say
// when the operation has changed last, it is now that its state was read.
func (s *taskState) append(dst []byte, now time.Time) json.RawMessage {
	updated := now
	if u := s.progress.Updated; u.After(s.ref.created) && u.Before(now) {
		updated = u
	}
	message := s.progress.Text
	if s.fault != nil {
		message = s.fault.Message
	}
	dst = append(dst, `{"taskId":`...)
	dst = jsontok.AppendString(dst, s.id)
	dst = append(dst, `,"status":`...)
	dst = jsontok.AppendString(dst, s.status)
	if message != "" {
		dst = append(dst, `,"statusMessage":`...)
		dst = jsontok.AppendString(dst, message)
	}
	dst = fmt.Appendf(dst, `,"createdAt":%q,"lastUpdatedAt":%q`, stamp(s.ref.created), stamp(updated))
	dst = append(dst, `,"ttlMs":`...)
	dst = strconv.AppendInt(dst, s.ref.ttl.Milliseconds(), 10)
	dst = append(dst, `,"pollIntervalMs":`...)
	dst = strconv.AppendInt(dst, pollInterval(s.ref, now).Milliseconds(), 10)
	switch {
	case s.fault != nil:
		dst = fmt.Appendf(dst, `,"error":{"code":%d,"message":`, s.fault.Code)
		dst = append(jsontok.AppendString(dst, s.fault.Message), '}')
	case s.result != nil:
		dst = append(dst, `,"result":`...)
		dst = protocol.AppendResult(dst, s.result, protocol.Revision20260728)
	}
	return append(dst, '}')
}

// pollInterval is the time until the state of a task should be read again.
func pollInterval(ref taskRef, now time.Time) time.Duration {
	return min(max(now.Sub(ref.created)/10, minTaskPoll), maxTaskPoll)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// paginateForTasks renders the pages of tools/list once more, with what
// revision 2025-11-25, and no other, says of tasks in them. They have the
// cursors of the other pages.
func (c *catalog) paginateForTasks(size int) {
	if !c.operations {
		return
	}
	var entry []byte
	page := 0
	for chunk := range slices.Chunk(c.listed, size) {
		var tools mcpjson.Array
		for _, t := range chunk {
			entry = t.append(entry[:0], nil)
			if t.operations != nil {
				entry = append(entry[:len(entry)-1], `,"execution":{"taskSupport":"optional"}}`...)
			}
			tools.Add(entry)
		}
		var out mcpjson.Object
		out.Add("tools", tools.JSON())
		if page++; page < len(c.pages) {
			out.Add("nextCursor", jsontok.AppendString(nil, c.cursor(page)))
		}
		c.taskPages = append(c.taskPages, out.JSON())
	}
}
