package eraserver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/internal/mcptask"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Tasks of revision 2025-11-25 (basic/utilities/tasks) are those of the tasks
// extension in other words: a client asks for one by params.task instead of
// declaring that it can follow one, the task stands in a member of the result,
// and the result of the call is fetched by a request of its own, which blocks.
// What the extension has not got, a list and a cancellation that is certain, is
// what a session remembers.

const (
	// tasksCapability is what a session declares whose server has the
	// extension.
	tasksCapability = `{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`

	// tasksPerPage is how many tasks tasks/list returns at a time. The state
	// of each is asked for.
	tasksPerPage = 20
)

// taskHandler answers requests about tasks of one session on behalf of one
// request.
type taskHandler struct {
	*Session
	tasks            *taskBook       // of the session, unless it knows nothing of these tasks
	taskCapabilities json.RawMessage // with those for tasks
	id               json.RawMessage // of the client's message
	meta             protocol.Meta
	caller           *protocol.Caller
	stream           Stream
}

func (s *Session) taskHandler(id json.RawMessage, meta protocol.Meta, caller *protocol.Caller, st Stream) *taskHandler {
	return &taskHandler{s, s.tasks, s.taskCapabilities, id, meta, caller, st}
}

// taskState is the state of a task at one time.
type taskState struct {
	id, status string
	object     json.RawMessage // the Task object of 2025-11-25
	interval   time.Duration
	// result and fault are how the call ended. Both are nil while it has not,
	// or where there is nothing to say of that.
	result json.RawMessage
	fault  *protocol.Error
	// requests are the inputRequests, or nil.
	requests json.RawMessage
}

func (t *taskState) terminal() bool {
	return mcptask.Terminal(t.status)
}

// wantsTask reports whether a tools/call is to become a task. In a session that
// has not declared the capability params.task means nothing.
func (s *Session) wantsTask(method string, params json.RawMessage) bool {
	if s.tasks == nil || method != protocol.MethodCallTool {
		return false
	}
	raw, ok := jsontok.Lookup(params, "task")
	return ok && jsontok.KindOf(raw) == jsontok.KindObject
}

// handle asks the server, as a client that can follow tasks.
func (h *taskHandler) handle(ctx context.Context, method string, params json.RawMessage, n protocol.Notifier) (*protocol.Result, *protocol.Error) {
	meta := h.Session.meta(h.meta)
	meta.Capabilities = h.stream.reach(h.taskCapabilities)
	return h.server.core.Answer(ctx, &protocol.Request{
		ID: h.id, Method: method, Params: params, Meta: meta, Caller: h.caller,
	}, n)
}

// call answers a tools/call that is to become a task. A server that answers at
// once has the answer kept for tasks/result.
func (h *taskHandler) call(ctx context.Context, params json.RawMessage) (*protocol.Result, *protocol.Error) {
	res, fault := h.rounds(ctx, h.stream, params, func(params json.RawMessage) (*protocol.Result, *protocol.Error) {
		return h.handle(ctx, protocol.MethodCallTool, params, h.stream.Notifier)
	})
	if fault != nil {
		return nil, fault
	}
	var object json.RawMessage
	switch res.Type {
	case protocol.ResultTask:
		t := readTask(res.Body)
		h.tasks.add(t.id)
		object = t.object
		defer h.announce(t.id, object)
	case "", protocol.ResultComplete:
		object = h.tasks.keep(protocol.AppendResult(nil, res, h.Revision), time.Now())
	default:
		return nil, h.unanswerable(res)
	}
	// What there is to say of the call itself is in its result.
	return &protocol.Result{Body: append(append([]byte(`{"task":`), object...), '}')}, nil
}

// answer answers the methods of tasks.
func (h *taskHandler) answer(ctx context.Context, method string, params json.RawMessage) (*protocol.Result, *protocol.Error) {
	if method == protocol.MethodListTasks {
		return h.list(ctx, params)
	}
	raw, ok := jsontok.Lookup(params, "taskId")
	id, isString := jsontok.String(raw)
	if !ok || !isString {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.taskId must be the id of a task")
	}
	switch method {
	case protocol.MethodCancelTask:
		return h.cancel(ctx, id)
	case protocol.MethodTaskResult:
		return h.result(ctx, id)
	default:
		t, fault := h.get(ctx, id)
		if fault != nil {
			return nil, fault
		}
		return &protocol.Result{Body: t.object}, nil
	}
}

// get returns the present state of a task. The session remembers tasks that it
// is asked for, so that what can be got is in its list.
func (h *taskHandler) get(ctx context.Context, id string) (*taskState, *protocol.Error) {
	if t := h.tasks.local(id, time.Now()); t != nil {
		return t, nil
	}
	res, fault := h.handle(ctx, protocol.MethodGetTask, mcptask.Params(id), protocol.Discard)
	if fault != nil {
		if fault.Code == protocol.CodeInvalidParams {
			h.tasks.remove(id)
		}
		return nil, fault
	}
	t := readTask(res.Body)
	t.id = id
	h.tasks.add(id)
	if h.tasks.cancelled(id) {
		t.cancel()
	}
	return t, nil
}

// cancel answers tasks/cancel. The task is cancelled for this session from then
// on, whatever becomes of the call (2025-11-25 basic/utilities/tasks, Task
// Cancellation).
func (h *taskHandler) cancel(ctx context.Context, id string) (*protocol.Result, *protocol.Error) {
	t, fault := h.get(ctx, id)
	if fault != nil {
		return nil, fault
	}
	if t.terminal() {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "the task cannot be cancelled: its status is %q already", t.status)
	}
	if _, fault := h.handle(ctx, protocol.MethodCancelTask, mcptask.Params(id), protocol.Discard); fault != nil {
		return nil, fault
	}
	h.tasks.cancel(id)
	t.cancel()
	return &protocol.Result{Body: t.object}, nil
}

// result answers tasks/result, which blocks until the task has ended. What the
// task asks meanwhile is put to the client (2025-11-25 basic/utilities/tasks,
// Input Required Status).
func (h *taskHandler) result(ctx context.Context, id string) (*protocol.Result, *protocol.Error) {
	for {
		t, fault := h.get(ctx, id)
		if fault != nil {
			return nil, fault
		}
		if t.terminal() {
			return t.payload()
		}
		if t.requests != nil && h.stream.Send != nil {
			if fault := h.input(ctx, t, mcptask.Params(t.id)); fault != nil {
				return nil, fault
			}
		}
		if fault := t.pause(ctx); fault != nil {
			return nil, fault
		}
	}
}

// pause waits until the task is to be asked for again.
func (t *taskState) pause(ctx context.Context) *protocol.Error {
	return pause(ctx, t.interval)
}

// input gets what a task asks for and has not been asked of the client before.
// The client is told to which task that belongs, unless related is nil.
func (h *taskHandler) input(ctx context.Context, t *taskState, related json.RawMessage) *protocol.Error {
	inputs, fault := readInputs(t.requests, h.stream.reach(h.capabilities), h.Revision)
	if fault != nil {
		return fault
	}
	inputs, giveBack := h.tasks.claim(t.id, inputs)
	if len(inputs) == 0 {
		return nil
	}
	for i := range inputs {
		if related == nil {
			break
		}
		meta, _ := jsontok.Lookup(inputs[i].params, "_meta")
		inputs[i].params = protocol.WithMeta(protocol.WithoutMember(mcpjson.OrEmpty(inputs[i].params), "_meta"), mcpjson.OrEmpty(meta), protocol.MetaRelatedTask, related)
	}
	responses, fault := h.ask(ctx, h.stream, inputs)
	if fault == nil {
		var params mcpjson.Object
		params.Add("taskId", jsontok.AppendString(nil, t.id))
		params.Add("inputResponses", responses)
		_, fault = h.handle(ctx, protocol.MethodUpdateTask, params.JSON(), protocol.Discard)
	}
	if fault != nil {
		giveBack()
	}
	return fault
}

// payload is the outcome as the answer to tasks/result.
func (t *taskState) payload() (*protocol.Result, *protocol.Error) {
	res, fault := t.outcome()
	if fault != nil {
		return nil, fault
	}
	o := protocol.WithMeta(nil, res.Meta, protocol.MetaRelatedTask, mcptask.Params(t.id))
	res.Meta, _ = jsontok.Lookup(o, "_meta")
	return res, nil
}

// outcome is what the call of a task that has ended would have returned.
func (t *taskState) outcome() (*protocol.Result, *protocol.Error) {
	if t.fault != nil {
		return nil, t.fault
	}
	raw := t.result
	if raw == nil {
		raw = json.RawMessage(`{"content":[{"type":"text","text":"The task was cancelled."}],"isError":true}`)
	}
	meta, _ := jsontok.Lookup(raw, "_meta")
	return &protocol.Result{Body: protocol.WithoutMember(protocol.WithoutMember(raw, "_meta"), "resultType"), Meta: meta}, nil
}

// list answers tasks/list with the tasks of the session, oldest first. A
// cursor is the id of the last task before the page.
func (h *taskHandler) list(ctx context.Context, params json.RawMessage) (*protocol.Result, *protocol.Error) {
	var cursor string
	if raw, ok := jsontok.Lookup(params, "cursor"); ok {
		if cursor, ok = jsontok.String(raw); !ok || cursor == "" {
			return nil, protocol.Errorf(protocol.CodeInvalidParams, "the cursor is unknown: list again without it")
		}
	}
	ids, more, ok := h.tasks.page(cursor, tasksPerPage)
	if !ok {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "the cursor is unknown, or its task is gone: list again without it")
	}
	var list mcpjson.Array
	for _, id := range ids {
		t, fault := h.get(ctx, id)
		switch {
		case fault != nil && fault.Challenge != "":
			return nil, fault
		case fault != nil:
			continue // what cannot be got is not listed
		}
		list.Add(t.object)
	}
	body := append([]byte(`{"tasks":`), list.JSON()...)
	if more {
		body = jsontok.AppendString(append(body, `,"nextCursor":`...), ids[len(ids)-1])
	}
	return &protocol.Result{Body: append(body, '}')}, nil
}

// readTask turns a task of the extension into one of 2025-11-25.
func readTask(body json.RawMessage) *taskState {
	task := mcptask.ReadExtension(body)
	object, status := task.Legacy()
	return &taskState{
		id: task.ID, status: status, object: object, interval: task.Interval(),
		result: task.Result, fault: task.Fault(), requests: task.Requests,
	}
}

// cancel makes the state that of a cancelled task.
func (t *taskState) cancel() {
	if t.status == "cancelled" {
		return
	}
	t.status, t.result, t.fault = "cancelled", nil, nil
	object := protocol.WithoutMember(protocol.WithoutMember(t.object, "status"), "statusMessage")
	t.object = append(object[:len(object)-1:len(object)-1], `,"status":"cancelled","statusMessage":"The task was cancelled by request."}`...)
}

// taskCapabilities returns a client's capabilities without and with the tasks
// extension. In a legacy session it counts what a request asks for, not what
// the client has declared.
func taskCapabilities(declared json.RawMessage) (without, with json.RawMessage) {
	caps := mcpjson.OrEmpty(declared)
	rest := protocol.WithoutMember(caps, "extensions")
	raw, had := jsontok.Lookup(caps, "extensions")
	extensions := protocol.WithoutMember(mcpjson.OrEmpty(raw), protocol.ExtensionTasks)
	without = declared
	if had {
		without = mcpjson.Set(rest, "extensions", extensions)
	}
	return without, mcpjson.Set(rest, "extensions", mcpjson.Set(extensions, protocol.ExtensionTasks, json.RawMessage("{}")))
}
