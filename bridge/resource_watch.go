package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	// minPoll is the shortest interval at which a resource is read again.
	minPoll = 100 * time.Millisecond
	// rewatchDelay is how long a watch that has failed waits before it is
	// opened again.
	rewatchDelay = 5 * time.Second
	// maxWatchedResources is how many resources one subscription may follow.
	// Those beyond are not acknowledged.
	maxWatchedResources = 64
)

// bindWatch connects a resource with the method that tells of its changes.
func (r *resource) bindWatch(watch *tool, method protoreflect.MethodDescriptor) {
	r.watch, r.watchVariables = watch, make(map[string][]string)
	for name := range r.variables {
		if p, err := findField(method.Input(), name); err == nil {
			r.watchVariables[name] = p.names
		}
	}
}

// watched reports whether changes of the resource are noticed.
func (r *resource) watched() bool { return r.poll > 0 || r.watch != nil }

// resourceWatches are the watches that run, one for a URI and an owner however
// many subscribers there are.
type resourceWatches struct {
	mu  sync.Mutex
	all map[watchKey]*resourceWatch
}

type watchKey struct{ owner, uri string }

type resourceWatch struct {
	subscribers map[*resourceUpdates]bool
	cancel      context.CancelFunc
}

// resourceUpdates are the resources of one subscriber that have changed and
// that it has not heard of yet.
type resourceUpdates struct {
	b    *Bridge
	keys []watchKey
	wake chan struct{}

	mu      sync.Mutex
	changed map[string]bool
}

// watchResources returns the updates of those resources that a filter names
// and whose changes are noticed. They must be stopped.
func (b *Bridge) watchResources(r *protocol.Request, filter []byte) (*resourceUpdates, error) {
	u := &resourceUpdates{b: b, wake: make(chan struct{}, 1), changed: make(map[string]bool)}
	raw, ok := jsontok.Lookup(filter, "resourceSubscriptions")
	if !ok {
		return u, nil
	}
	c, owner := b.catalog.Load(), b.cfg.taskOwner(r.Caller)
	err := jsontok.Array(raw, func(_ int, value []byte) error {
		uri, ok := jsontok.String(value)
		if !ok {
			return protocol.Errorf(protocol.CodeInvalidParams, "params.notifications.resourceSubscriptions must be a list of strings")
		}
		key := watchKey{owner, uri}
		res, arguments := c.findResource(uri)
		if res == nil || !res.watched() || slices.Contains(u.keys, key) || len(u.keys) == maxWatchedResources {
			return nil
		}
		u.keys = append(u.keys, key)
		b.watches.join(b, key, u, res, arguments, r)
		return nil
	})
	if err != nil {
		u.stop()
		return nil, protocol.AsError(err)
	}
	return u, nil
}

// uris returns the URIs that are followed.
func (u *resourceUpdates) uris() []string {
	uris := make([]string, len(u.keys))
	for i, key := range u.keys {
		uris[i] = key.uri
	}
	return uris
}

// add notes a change.
func (u *resourceUpdates) add(uri string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.changed[uri] = true
	select {
	case u.wake <- struct{}{}:
	default: // it is to wake already
	}
}

// tell sends a notification for each resource that has changed.
func (u *resourceUpdates) tell(ctx context.Context, n protocol.Notifier) error {
	u.mu.Lock()
	changed := u.changed
	u.changed = make(map[string]bool)
	u.mu.Unlock()
	for _, uri := range u.uris() {
		if !changed[uri] {
			continue
		}
		params := append(jsontok.AppendString([]byte(`{"uri":`), uri), '}')
		if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationResourceUpdated, Params: params}); err != nil {
			return err
		}
	}
	return nil
}

// stop ends the watches that nobody else needs.
func (u *resourceUpdates) stop() {
	for _, key := range u.keys {
		u.b.watches.leave(key, u)
	}
}

func (w *resourceWatches) join(b *Bridge, key watchKey, u *resourceUpdates, res *resource, arguments json.RawMessage, r *protocol.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if watch := w.all[key]; watch != nil {
		watch.subscribers[u] = true
		return
	}
	ctx, cancel := context.WithCancel(b.ctx)
	if w.all == nil {
		w.all = make(map[watchKey]*resourceWatch)
	}
	w.all[key] = &resourceWatch{subscribers: map[*resourceUpdates]bool{u: true}, cancel: cancel}
	changed := func() { w.tell(key) }
	// The request of who comes first has the credentials.
	b.wg.Go(func() {
		if res.watch != nil {
			b.follow(ctx, res, key.uri, r, changed)
		} else {
			b.poll(ctx, res, arguments, r, changed)
		}
	})
}

func (w *resourceWatches) leave(key watchKey, u *resourceUpdates) {
	w.mu.Lock()
	defer w.mu.Unlock()
	watch := w.all[key]
	if watch == nil {
		return
	}
	delete(watch.subscribers, u)
	if len(watch.subscribers) == 0 {
		watch.cancel()
		delete(w.all, key)
	}
}

func (w *resourceWatches) tell(key watchKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if watch := w.all[key]; watch != nil {
		for u := range watch.subscribers {
			u.add(key.uri)
		}
	}
}

// poll reads a resource again and again. What cannot be read has not changed.
func (b *Bridge) poll(ctx context.Context, res *resource, arguments json.RawMessage, r *protocol.Request, changed func()) {
	var last [sha256.Size]byte
	known := false
	ticker := time.NewTicker(res.poll)
	defer ticker.Stop()
	for {
		readCtx, cancel := context.WithTimeout(ctx, watchTimeout)
		reading, err := res.tool.plan.Read(readCtx, arguments, r)
		cancel()
		if err != nil {
			b.cfg.log.DebugContext(ctx, "a resource could not be read again", "method", res.tool.Method, "error", err)
		} else {
			sum := sha256.Sum256(slices.Concat(reading.JSON, reading.Content))
			if known && sum != last {
				changed()
			}
			last, known = sum, true
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// follow keeps a call of the watch method open: each message is a change.
func (b *Bridge) follow(ctx context.Context, res *resource, uri string, r *protocol.Request, changed func()) {
	arguments := json.RawMessage(`{}`)
	if match := res.template.Match(uri); match != nil {
		arguments = assign(res.values(match), res.watchVariables)
	}
	for {
		if err := res.watch.plan.Follow(ctx, arguments, r, changed); err != nil && ctx.Err() == nil {
			b.cfg.log.WarnContext(ctx, "the watch of a resource has ended; it is opened again", "method", res.watch.Method, "error", err)
		}
		select {
		case <-time.After(rewatchDelay):
		case <-ctx.Done():
			return
		}
	}
}
