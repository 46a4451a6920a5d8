package mcptask

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	// MaxWatched is how many tasks one subscription may follow. Those beyond are
	// not acknowledged.
	MaxWatched = 64
	// lookTimeout bounds one look at one task.
	lookTimeout = 10 * time.Second
)

// ErrAway is in the chain of the error of [Subject.Look] where the state of a
// task cannot be had at present, and may be later.
var ErrAway = errors.New("the task cannot be asked for at present")

// Subject is a task that a [Watch] follows.
type Subject struct {
	// Look returns the task as the extension has it. An error other than
	// [ErrAway] means that no more changes will come.
	Look func(ctx context.Context) (json.RawMessage, error)
	// Same reports whether two states are one to the client. Nil means that they
	// must be equal.
	Same func(before, now json.RawMessage) bool
	// MaxPoll is the longest interval between two looks, for a task that asks for
	// a longer one. Zero means the constant [MaxPoll].
	MaxPoll time.Duration
	// Attach has wake called, which does not block, when the task may have
	// changed, until detach is called. It is nil where nobody tells.
	Attach func(wake func()) (detach func())
}

// Watch follows the tasks of one subscriptions/listen request (tasks extension,
// Task Status Notifications). What is told of a task makes it look at once; as
// servers need not tell anything, it polls as well. It is used by the goroutine
// of the request. Stop must be called.
type Watch struct {
	ids   mcpjson.Array
	tasks []*watched
	wake  chan struct{} // holds one signal
	timer *time.Timer   // nil while nothing is watched
}

type watched struct {
	Subject

	due    atomic.Bool
	next   time.Time
	last   json.RawMessage // nil before the first look
	detach func()
}

// NewWatch returns a watch on those tasks of a notification filter that find
// knows to be the caller's.
func NewWatch(r *protocol.Request, filter json.RawMessage, find func(id string) (Subject, bool)) (*Watch, *protocol.Error) {
	w := &Watch{wake: make(chan struct{}, 1)}
	raw, ok := jsontok.Lookup(filter, "taskIds")
	if !ok {
		return w, nil
	}
	if !protocol.HasExtension(r.Meta.Capabilities, protocol.ExtensionTasks) {
		return nil, Missing()
	}
	bad := jsontok.KindOf(raw) != jsontok.KindArray
	known := make(map[string]bool)
	if !bad {
		_ = jsontok.Array(raw, func(_ int, value []byte) error { // valid already
			id, ok := jsontok.String(value)
			bad = bad || !ok
			if known[id] || len(w.tasks) >= MaxWatched {
				return nil
			}
			if s, ok := find(id); ok {
				known[id] = true
				w.tasks = append(w.tasks, &watched{Subject: s})
				w.ids.Add(value)
			}
			return nil
		})
	}
	if bad {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.notifications.taskIds must be a list of strings")
	}
	for _, t := range w.tasks {
		t.detach = func() {}
		if t.Attach != nil {
			t.detach = t.Attach(func() {
				t.due.Store(true)
				w.signal()
			})
		}
	}
	if len(w.tasks) > 0 {
		w.timer = time.AfterFunc(0, w.signal) // what has happened so far is told at once
	}
	return w, nil
}

func (w *Watch) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// IDs returns the ids of the tasks as JSON, for the acknowledgement, or nil
// where there are none.
func (w *Watch) IDs() json.RawMessage {
	if w.ids.Empty() {
		return nil
	}
	return w.ids.JSON()
}

// Due has a value when it is time for [Watch.Look].
func (w *Watch) Due() <-chan struct{} { return w.wake }

// Stop ends the watch.
func (w *Watch) Stop() {
	for _, t := range w.tasks {
		t.detach()
	}
	if w.timer != nil {
		w.timer.Stop()
	}
}

// Look looks at the tasks whose time has come and tells of those that have
// changed. Its error is that of the client, who is gone.
func (w *Watch) Look(ctx context.Context, n protocol.Notifier) error {
	var (
		now  = time.Now()
		left []*watched
		next time.Time
	)
	for i, t := range w.tasks {
		if t.due.Swap(false) || !t.next.After(now) {
			on, err := t.look(ctx, n)
			if err != nil {
				w.tasks = append(left, w.tasks[i:]...)
				return err
			}
			if !on {
				t.detach()
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
	}
	return nil
}

// look reads the state of a task, and reports whether to go on watching it.
func (t *watched) look(ctx context.Context, n protocol.Notifier) (bool, error) {
	reading, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	t.next = time.Now().Add(MaxPoll)
	raw, err := t.Look(reading)
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case errors.Is(err, ErrAway) || err != nil && reading.Err() != nil:
		return true, nil
	case err != nil:
		return false, nil // forgotten: there is nothing to tell
	}
	state := ReadExtension(raw)
	t.next = time.Now().Add(min(max(state.Poll, MinPoll), cmp.Or(t.MaxPoll, MaxPoll)))
	if t.last == nil || !t.same(t.last, raw) {
		t.last = raw
		if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationTask, Params: raw}); err != nil {
			return false, err
		}
	}
	return !state.Terminal(), nil
}

func (t *watched) same(before, now json.RawMessage) bool {
	if t.Same != nil {
		return t.Same(before, now)
	}
	return string(before) == string(now)
}
