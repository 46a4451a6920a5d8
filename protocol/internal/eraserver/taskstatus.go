package eraserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// maxAnnounced is of how many tasks of one session changes are told at a time.
// Clients must not rely on being told (2025-11-25 basic/utilities/tasks, Task
// Status Notification).
const maxAnnounced = 16

// errAnnounced ends a subscription of which nothing more is to be expected.
var errAnnounced = errors.New("the task has ended")

// announce tells the client of the changes of a task that its call has become,
// until the task has ended or the session has. The call lends its credentials.
func (h *taskHandler) announce(id string, object json.RawMessage) {
	stop, ok := h.tasks.announcing(id)
	if !ok {
		return
	}
	var filter, params mcpjson.Object
	filter.Add("taskIds", append(jsontok.AppendString([]byte{'['}, id), ']'))
	params.Add("notifications", filter.JSON())
	meta := h.Session.meta(h.meta)
	meta.Revision = protocol.Revision20260728 // which has the method
	meta.Capabilities, meta.ProgressToken = h.taskCapabilities, nil
	r := &protocol.Request{ID: h.id, Method: protocol.MethodListen, Params: params.JSON(), Meta: meta, Caller: h.caller}
	last := bytes.Clone(object)
	cancel, ok := h.server.start(func(ctx context.Context) {
		defer stop()
		_, fault := h.server.core.Answer(ctx, r, protocol.NotifierFunc(func(ctx context.Context, n *protocol.Notification) error {
			if n.Method == protocol.NotificationAcknowledged && !granted(n.Params) {
				return errAnnounced
			}
			if n.Method != protocol.NotificationTask {
				return nil
			}
			t := readTask(n.Params)
			if h.tasks.cancelled(id) {
				return errAnnounced // which the client knows, whatever comes of the call
			}
			if t.id == id && !bytes.Equal(t.object, last) {
				last = t.object
				h.tell(ctx, &protocol.Notification{Method: protocol.NotificationTaskStatus, Params: t.object})
			}
			if t.terminal() {
				return errAnnounced
			}
			return nil
		}))
		if fault != nil && ctx.Err() == nil {
			h.server.log.DebugContext(ctx, "changes of a task are told no more", "error", fault)
		}
	})
	if !ok {
		stop()
		return
	}
	h.tasks.announced(id, cancel)
}

// granted reports whether an acknowledgement is of any task.
func granted(params json.RawMessage) bool {
	filter, _ := jsontok.Lookup(params, "notifications")
	ids, ok := jsontok.Lookup(filter, "taskIds")
	return ok && string(ids) != "[]"
}

// announcing reserves a place among the tasks whose changes are told. stop gives
// it back.
func (b *taskBook) announcing(id string) (stop func(), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended || len(b.following) >= maxAnnounced {
		return nil, false
	}
	if _, ok := b.following[id]; ok {
		return nil, false
	}
	if b.following == nil {
		b.following = make(map[string]context.CancelFunc)
	}
	b.following[id] = nil
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.following, id)
	}, true
}

// announced says how telling the changes of a task is ended.
func (b *taskBook) announced(id string, cancel context.CancelFunc) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		cancel()
		return
	}
	if _, ok := b.following[id]; ok { // else it is over already
		b.following[id] = cancel
	}
}

// end ends telling of changes.
func (b *taskBook) end() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	for _, cancel := range b.following {
		if cancel != nil {
			cancel()
		}
	}
}
