package eraserver

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/internal/mcptask"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Some tools can be called as tasks only, and refuse clients that cannot follow
// any. A client of a legacy revision that calls one without asking for a task
// need not be able to: the call lasts until the task has ended.

// abandonTimeout bounds the cancellation of a task that nobody waits for any
// more.
const abandonTimeout = 5 * time.Second

// callTool makes a tools/call by handle. Where the server wants a client that
// can follow tasks, it has done nothing yet, and the call is made once more, by
// one that can.
func (s *Session) callTool(ctx context.Context, st Stream, params json.RawMessage, handle func(json.RawMessage) (*protocol.Result, *protocol.Error), follower func() *taskHandler) (*protocol.Result, *protocol.Error) {
	var h *taskHandler
	res, fault := s.rounds(ctx, st, params, func(params json.RawMessage) (*protocol.Result, *protocol.Error) {
		if h == nil {
			res, fault := handle(params)
			if !wantsFollower(fault) {
				return res, fault
			}
			h = follower()
		}
		return h.handle(ctx, protocol.MethodCallTool, params, h.stream.Notifier)
	})
	if fault != nil || h == nil || res.Type != protocol.ResultTask {
		return res, fault
	}
	t := readTask(res.Body)
	h.tasks.add(t.id)
	return h.await(ctx, t.id)
}

// wantsFollower reports whether a call was refused because the client cannot
// follow tasks.
func wantsFollower(fault *protocol.Error) bool {
	if fault == nil || fault.Code != protocol.CodeMissingClientCapability || jsontok.KindOf(fault.Data) != jsontok.KindObject {
		return false
	}
	required, _ := jsontok.Lookup(fault.Data, "requiredCapabilities")
	return capabilities(mcpjson.OrEmpty(required)).tasks()
}

// follower returns what follows the task of one call, of which the session
// knows nothing.
func (s *Session) follower(id json.RawMessage, meta protocol.Meta, caller *protocol.Caller, st Stream) *taskHandler {
	_, with := taskCapabilities(s.capabilities)
	return &taskHandler{s, newTaskBook(), with, id, meta, caller, st}
}

// await waits until a task has ended. A task that is waited for no longer is
// cancelled.
func (h *taskHandler) await(ctx context.Context, id string) (*protocol.Result, *protocol.Error) {
	steps := &steps{handler: h}
	for {
		t, fault := h.get(ctx, id)
		if fault == nil {
			if t.terminal() {
				return t.outcome()
			}
			steps.tell(ctx, t)
			if t.requests != nil {
				fault = h.input(ctx, t, nil)
			}
		}
		if fault == nil {
			fault = t.pause(ctx)
		}
		if fault != nil {
			h.abandon(ctx, id)
			return nil, fault
		}
	}
}

// abandon cancels a task after ctx may have ended.
func (h *taskHandler) abandon(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
	defer cancel()
	if _, fault := h.handle(ctx, protocol.MethodCancelTask, mcptask.Params(id), protocol.Discard); fault != nil {
		h.server.log.DebugContext(ctx, "a task that nobody waits for was not cancelled", "error", fault)
	}
}

// steps are what a task says of itself, as the progress of its call.
type steps struct {
	handler *taskHandler
	said    string
	n       int
}

// tell notifies of what is new.
func (s *steps) tell(ctx context.Context, t *taskState) {
	message, ok := jsontok.Lookup(t.object, "statusMessage")
	if !ok || s.handler.meta.ProgressToken == nil || string(message) == s.said {
		return
	}
	s.said = string(message)
	s.n++
	var params mcpjson.Object
	params.Add("progressToken", s.handler.meta.ProgressToken)
	params.Add("progress", strconv.AppendInt(nil, int64(s.n), 10))
	params.Add("message", message)
	n := &protocol.Notification{Method: protocol.NotificationProgress, Params: params.JSON()}
	if err := s.handler.stream.Notifier.Notify(ctx, n); err != nil {
		s.handler.server.log.DebugContext(ctx, "progress of a task was not delivered", "error", err)
	}
}
