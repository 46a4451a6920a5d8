package legacy

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
)

const (
	// maxWatchedTasks is how many tasks one listener may follow. Those beyond
	// are not acknowledged.
	maxWatchedTasks = 64
	// taskLookTimeout bounds one look at one task.
	taskLookTimeout = 10 * time.Second
)

// taskWatch follows the tasks of one subscriptions/listen request (tasks
// extension, Task Status Notifications). What the server tells of a task makes
// it look at once; as servers need not tell anything, it polls as well. It is
// used by the goroutine of the request.
type taskWatch struct {
	header http.Header
	tasks  []*watchedTask
	wake   chan struct{} // holds one signal
	timer  *time.Timer   // nil while there is nothing to watch
}

type watchedTask struct {
	task *clientTask
	due  atomic.Bool
	wake chan struct{}
	next time.Time
	last string
}

// watchTasks returns a watch on those tasks of a filter that the caller has,
// and their ids as JSON, or nil where there are none.
func (c *Client) watchTasks(r *peer.Request, filter json.RawMessage) (*taskWatch, json.RawMessage, error) {
	w := &taskWatch{header: r.Header, wake: make(chan struct{}, 1)}
	raw, ok := jsontok.Lookup(filter, "taskIds")
	if !ok {
		return w, nil, nil
	}
	if !protocol.HasExtension(r.Meta.Capabilities, protocol.ExtensionTasks) {
		return nil, nil, missingTasks()
	}
	ids, bad := []byte{'['}, jsontok.KindOf(raw) != jsontok.KindArray
	known := make(map[*clientTask]bool)
	if !bad {
		_ = jsontok.Array(raw, func(_ int, value []byte) error { // valid already
			id, ok := jsontok.String(value)
			bad = bad || !ok
			if t := c.tasks.find(id, bound(r)); t != nil && !known[t] && len(w.tasks) < maxWatchedTasks {
				known[t] = true
				w.tasks = append(w.tasks, &watchedTask{task: t, wake: w.wake})
				if len(ids) > 1 {
					ids = append(ids, ',')
				}
				ids = append(ids, value...)
			}
			return nil
		})
	}
	if bad {
		return nil, nil, protocol.Errorf(protocol.CodeInvalidParams, "params.notifications.taskIds must be a list of strings")
	}
	if len(w.tasks) == 0 {
		return w, nil, nil
	}
	for _, t := range w.tasks {
		t.task.watch(t)
	}
	w.timer = time.NewTimer(0) // what has happened so far is told at once
	return w, append(ids, ']'), nil
}

// watch adds a watcher.
func (t *clientTask) watch(w *watchedTask) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.watchers == nil {
		t.watchers = make(map[*watchedTask]struct{})
	}
	t.watchers[w] = struct{}{}
}

func (t *clientTask) unwatch(w *watchedTask) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.watchers, w)
}

// due has a value when it is time to look. It is nil where nothing is watched.
func (w *taskWatch) due() <-chan time.Time {
	if w.timer == nil {
		return nil
	}
	return w.timer.C
}

func (w *taskWatch) stop() {
	for _, t := range w.tasks {
		t.task.unwatch(t)
	}
	if w.timer != nil {
		w.timer.Stop()
	}
}

// look looks at the tasks whose time has come and tells of those that have
// changed. Its error is that of the caller, who is gone.
func (w *taskWatch) look(ctx context.Context, n protocol.Notifier) error {
	var (
		now  = time.Now()
		left []*watchedTask
		next time.Time
	)
	for i, t := range w.tasks {
		if t.due.Swap(false) || !t.next.After(now) {
			on, err := w.lookAt(ctx, n, t)
			if err != nil {
				w.tasks = append(left, w.tasks[i:]...)
				return err
			}
			if !on {
				t.task.unwatch(t)
				continue
			}
		}
		left = append(left, t)
		if next.IsZero() || t.next.Before(next) {
			next = t.next
		}
	}
	w.tasks = left
	if len(left) > 0 {
		w.timer.Reset(time.Until(next))
	} else if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	return nil
}

// lookAt reads the state of a task, and reports whether to go on watching it.
func (w *taskWatch) lookAt(ctx context.Context, n protocol.Notifier, t *watchedTask) (bool, error) {
	reading, cancel := context.WithTimeout(ctx, taskLookTimeout)
	defer cancel()
	t.next = time.Now().Add(maxTaskPoll)
	res, err := t.task.get(reading, w.header)
	switch _, away := errors.AsType[*protocol.UpstreamError](err); {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case away || reading.Err() != nil:
		return true, nil // the server is there again later, or its session is over
	case err != nil:
		t.task.session.client.log.DebugContext(ctx, "a task is not watched any more", "error", err)
		return false, nil // forgotten: there is nothing to tell
	}
	raw, _ := jsontok.Lookup(res.Body, "pollIntervalMs")
	interval, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		interval = float64(defaultTaskPoll / time.Millisecond)
	}
	interval = min(max(interval, float64(minTaskPoll/time.Millisecond)), float64(maxTaskPoll/time.Millisecond))
	t.next = time.Now().Add(time.Duration(interval) * time.Millisecond)
	if said := string(res.Body); said != t.last {
		t.last = said
		if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationTask, Params: res.Body}); err != nil {
			return false, err
		}
	}
	status, _ := jsontok.Lookup(res.Body, "status")
	switch string(status) {
	case `"` + statusWorking + `"`, `"` + statusInput + `"`:
		return true, nil
	}
	return false, nil
}
