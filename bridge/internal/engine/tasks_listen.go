package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/mcptask"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// watchTasks returns a watch on those tasks that a filter names and that the
// caller has. Operations have nobody who tells of their changes, so it only
// polls them, as seldom as clients are asked to.
func (e *Engine) watchTasks(r *protocol.Request, filter json.RawMessage) (*mcptask.Watch, *protocol.Error) {
	return mcptask.NewWatch(r, filter, func(id string) (mcptask.Subject, bool) {
		if _, _, err := e.openTask(r, id); err != nil {
			return mcptask.Subject{}, false
		}
		look := func(ctx context.Context) (json.RawMessage, error) { return e.lookAtTask(ctx, r, id) }
		return mcptask.Subject{Look: look, Same: sameTask, MaxPoll: maxTaskPoll}, true
	})
}

// lookAtTask reads the state of a task that a subscription follows. It opens the
// task anew, as that may have expired, or its method be served no more.
func (e *Engine) lookAtTask(ctx context.Context, r *protocol.Request, id string) (json.RawMessage, error) {
	ref, t, err := e.openTask(r, id)
	if err != nil {
		return nil, err
	}
	s, err := e.readTask(ctx, r, t, id, ref)
	if err != nil {
		e.cfg.Log.DebugContext(ctx, "a task could not be looked at", "method", ref.method, "error", err)
		return nil, err
	}
	return s.append(nil, time.Now()), nil
}

// sameTask reports whether two states of a task are one to the client: the times
// in them change with every look.
func sameTask(before, now json.RawMessage) bool {
	a, b := mcptask.ReadExtension(before), mcptask.ReadExtension(now)
	return a.Status == b.Status && a.Message == b.Message
}
