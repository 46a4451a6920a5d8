package bridge

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// listen answers subscriptions/listen: it acknowledges the part of the filter
// that there is something to hear of, and then tells of every change of the
// tools and of the tasks asked for until the client cancels or the Bridge is closed
// (basic/patterns/subscriptions).
func (b *Bridge) listen(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	filter, ok := jsontok.Lookup(r.Params, "notifications")
	if !ok || jsontok.KindOf(filter) != jsontok.KindObject {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.notifications must be an object that says what to listen for")
	}
	tools := false
	if v, ok := jsontok.Lookup(filter, "toolsListChanged"); ok {
		tools = string(v) == "true"
	}
	watch, err := b.watchTasks(r, filter)
	if err != nil {
		return nil, err
	}
	defer watch.stop()
	changed, closed, leave := b.changes.join()
	defer leave()
	if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationAcknowledged, Params: granted(tools, watch)}); err != nil {
		return nil, err
	}
	for {
		select {
		case <-changed:
			if !tools {
				continue
			}
			if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationToolsChanged}); err != nil {
				return nil, err
			}
		case <-watch.due():
			if err := watch.poll(ctx, n); err != nil {
				return nil, err
			}
		case <-closed:
			return &protocol.Result{}, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// granted is the part of the filter that is acknowledged.
func granted(tools bool, watch *taskWatch) json.RawMessage {
	out := []byte(`{"notifications":{`)
	if tools {
		out = append(out, `"toolsListChanged":true`...)
	}
	for i, t := range watch.tasks {
		switch {
		case i > 0:
			out = append(out, ',')
		case tools:
			out = append(out, `,"taskIds":[`...)
		default:
			out = append(out, `"taskIds":[`...)
		}
		out = jsontok.AppendString(out, t.id)
	}
	if len(watch.tasks) > 0 {
		out = append(out, ']')
	}
	return append(out, '}', '}')
}

// broadcast tells any number of listeners that something has changed. Changes
// that come faster than a listener hears become one.
type broadcast struct {
	mu        sync.Mutex
	listeners map[chan struct{}]struct{}
	closed    chan struct{}
	done      bool
}

func (b *broadcast) init() {
	if b.closed == nil {
		b.closed = make(chan struct{})
		b.listeners = make(map[chan struct{}]struct{})
	}
}

// join adds a listener: changed has a value after a change, closed is closed
// with the broadcast.
func (b *broadcast) join() (changed, closed <-chan struct{}, leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.init()
	ch := make(chan struct{}, 1)
	b.listeners[ch] = struct{}{}
	return ch, b.closed, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, ch)
	}
}

func (b *broadcast) send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ch := range b.listeners {
		select {
		case ch <- struct{}{}:
		default: // it has not heard of the last change yet
		}
	}
}

func (b *broadcast) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.init()
	if !b.done {
		b.done = true
		close(b.closed)
	}
}
