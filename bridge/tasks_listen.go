package bridge

import (
	"context"
	"time"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/task"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	// maxWatchedTasks is how many tasks one subscription may follow. Those
	// beyond are not acknowledged.
	maxWatchedTasks = 64
	// watchTimeout bounds one look at one task.
	watchTimeout = 10 * time.Second
)

// taskWatch follows the tasks of one subscriptions/listen request (tasks
// extension, Task Status Notifications). Operations have nobody who tells of
// their changes, so it polls them, in the goroutine of the request.
type taskWatch struct {
	b     *Bridge
	r     *protocol.Request
	tasks []*watchedTask
	timer *time.Timer
}

type watchedTask struct {
	id   string
	ref  task.Ref
	next time.Time // when it is looked at next
	last string    // what was told of it
}

// watchTasks returns a watch on those tasks that a filter names and that the
// caller has.
func (b *Bridge) watchTasks(r *protocol.Request, filter []byte) (*taskWatch, error) {
	w := &taskWatch{b: b, r: r}
	raw, ok := jsontok.Lookup(filter, "taskIds")
	if !ok {
		return w, nil
	}
	if !canFollow(r) {
		return nil, protocol.MissingCapability(`{"extensions":{"` + protocol.ExtensionTasks + `":{}}}`)
	}
	known := make(map[string]bool)
	err := jsontok.Array(raw, func(_ int, value []byte) error {
		id, ok := jsontok.String(value)
		if !ok {
			return protocol.Errorf(protocol.CodeInvalidParams, "params.notifications.taskIds must be a list of strings")
		}
		ref, _, err := b.openTask(r, id)
		if err == nil && !known[id] && len(w.tasks) < maxWatchedTasks {
			known[id] = true
			w.tasks = append(w.tasks, &watchedTask{id: id, ref: ref})
		}
		return nil
	})
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.notifications.taskIds must be a list of strings")
	}
	if len(w.tasks) > 0 {
		w.timer = time.NewTimer(0) // what has happened so far is told at once
	}
	return w, nil
}

// due has a value when it is time to poll. It is nil where nothing is watched.
func (w *taskWatch) due() <-chan time.Time {
	if w.timer == nil {
		return nil
	}
	return w.timer.C
}

func (w *taskWatch) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// poll looks at the tasks whose time has come and tells of those that have
// changed. Tasks that have ended, or cannot be read any more, are not looked at
// again.
func (w *taskWatch) poll(ctx context.Context, n protocol.Notifier) error {
	var (
		now  = time.Now()
		left []*watchedTask
		next time.Time
	)
	for _, t := range w.tasks {
		if !t.next.After(now) {
			on, err := w.look(ctx, n, t)
			if err != nil {
				return err
			}
			if !on {
				continue
			}
		}
		left = append(left, t)
		if next.IsZero() || t.next.Before(next) {
			next = t.next
		}
	}
	w.tasks = left
	if len(left) == 0 {
		w.timer = nil
		return nil
	}
	w.timer.Reset(time.Until(next))
	return nil
}

// look reads the state of a task, and reports whether to go on watching it. Its
// error is that of the client, who is gone.
func (w *taskWatch) look(ctx context.Context, n protocol.Notifier, t *watchedTask) (bool, error) {
	_, tool, err := w.b.openTask(w.r, t.id)
	if err != nil {
		return false, nil // expired, or served no more: there is nothing to tell
	}
	reading, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	s, err := w.b.readTask(reading, w.r, tool, t.id, t.ref)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	now := time.Now()
	t.next = now.Add(pollInterval(t.ref, now))
	if err != nil {
		w.b.cfg.log.DebugContext(ctx, "a task is not watched any more", "method", t.ref.Method, "error", err)
		return false, nil
	}
	if said := s.status + " " + s.progress.Text; said != t.last {
		t.last = said
		if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationTask, Params: s.append(nil, now)}); err != nil {
			return false, err
		}
	}
	return s.status == "working", nil
}
