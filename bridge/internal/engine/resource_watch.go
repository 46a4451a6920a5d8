package engine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/backend"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	// minPoll is the shortest interval at which a resource is read again.
	minPoll = 100 * time.Millisecond
	// watchTimeout bounds one look at one resource.
	watchTimeout = 10 * time.Second
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

// watchArguments returns the arguments of the watch of a URI.
func (r *resource) watchArguments(uri string) json.RawMessage {
	if match := r.template.Match(uri); match != nil {
		return assign(r.values(match), r.watchVariables)
	}
	return json.RawMessage(`{}`)
}

// methods names the methods that look at the resource.
func (r *resource) methods() string {
	if r.watch == nil {
		return r.tool.Method
	}
	return r.tool.Method + " " + r.watch.Method
}

// watched reports whether changes of the resource are noticed.
func (r *resource) watched() bool { return r.poll > 0 || r.watch != nil }

// resourceWatches are the watches that run, one for a URI and a principal however
// many subscribers there are.
type resourceWatches struct {
	mu  sync.Mutex
	all map[watchKey]*resourceWatch
}

// watchKey tells watches apart. decided is which methods the subscribers have been
// allowed to look with, or empty where nobody decides.
type watchKey struct{ principal, uri, decided string }

// resourceWatch looks at a resource in the name of the first of its subscribers.
// When that one leaves, the next one takes over: no credentials are used after
// their owner has left. It ends with the last one.
type resourceWatch struct {
	engine      *Engine
	key         watchKey
	ctx         context.Context //nolint:containedctx // ends with the last subscriber
	cancel      context.CancelFunc
	subscribers []*resourceUpdates // in the order in which they came
}

// resourceUpdates are the resources of one subscriber that have changed and
// that it has not heard of yet.
type resourceUpdates struct {
	engine  *Engine
	request *protocol.Request // has the credentials
	ctx     context.Context   //nolint:containedctx // ends when the subscriber leaves
	cancel  context.CancelFunc
	keys    []watchKey
	wake    chan struct{}

	mu      sync.Mutex
	changed map[string]bool
}

// watchResources returns the updates of those resources that a filter names
// and whose changes are noticed. They must be stopped.
func (e *Engine) watchResources(ctx context.Context, r *protocol.Request, filter []byte) (*resourceUpdates, error) {
	own := *r
	own.Pin = nil // which would keep a catalog for as long as the subscription lasts
	u := &resourceUpdates{engine: e, request: &own, wake: make(chan struct{}, 1), changed: make(map[string]bool)}
	u.ctx, u.cancel = context.WithCancel(ctx)
	raw, ok := jsontok.Lookup(filter, "resourceSubscriptions")
	if !ok {
		return u, nil
	}
	c := e.catalogOf(r)
	err := jsontok.Array(raw, func(_ int, value []byte) error {
		uri, ok := jsontok.String(value)
		if !ok {
			return protocol.Errorf(protocol.CodeInvalidParams, "params.notifications.resourceSubscriptions must be a list of strings")
		}
		key := watchKey{principal: r.Caller.Key(), uri: uri}
		res, _ := c.findResource(uri)
		if r.Pin != nil && res != nil {
			key.decided = res.methods()
		}
		if res == nil || !res.watched() || slices.Contains(u.keys, key) || len(u.keys) == maxWatchedResources {
			return nil
		}
		u.keys = append(u.keys, key)
		e.watches.join(key, u)
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

// stop ends the watches that nobody else needs, and all use of the subscriber's
// credentials.
func (u *resourceUpdates) stop() {
	for _, key := range u.keys {
		u.engine.watches.leave(key, u)
	}
	u.cancel()
}

func (w *resourceWatches) join(key watchKey, u *resourceUpdates) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if watch := w.all[key]; watch != nil {
		watch.subscribers = append(watch.subscribers, u)
		return
	}
	watch := &resourceWatch{engine: u.engine, key: key, subscribers: []*resourceUpdates{u}}
	watch.ctx, watch.cancel = context.WithCancel(u.engine.ctx)
	if w.all == nil {
		w.all = make(map[watchKey]*resourceWatch)
	}
	w.all[key] = watch
	u.engine.wg.Go(watch.run)
}

func (w *resourceWatches) leave(key watchKey, u *resourceUpdates) {
	w.mu.Lock()
	defer w.mu.Unlock()
	watch := w.all[key]
	if watch == nil {
		return
	}
	watch.subscribers = slices.DeleteFunc(watch.subscribers, func(other *resourceUpdates) bool { return other == u })
	if len(watch.subscribers) == 0 {
		watch.cancel()
		delete(w.all, key)
	}
}

// lead returns the subscriber whose credentials are used. Where all are about to
// leave, it ends the watch and returns nil: who comes now gets another one.
func (w *resourceWatch) lead() *resourceUpdates {
	watches := &w.engine.watches
	watches.mu.Lock()
	defer watches.mu.Unlock()
	for _, u := range w.subscribers {
		if u.ctx.Err() == nil {
			return u
		}
	}
	w.cancel()
	if watches.all[w.key] == w {
		delete(watches.all, w.key)
	}
	return nil
}

func (w *resourceWatch) tell() {
	w.engine.watches.mu.Lock()
	defer w.engine.watches.mu.Unlock()
	for _, u := range w.subscribers {
		u.add(w.key.uri)
	}
}

// run looks at the resource until nobody is subscribed. Each look is at the
// resource as it is served at that time.
func (w *resourceWatch) run() {
	refreshed, _, leave := w.engine.refreshes.Join()
	defer leave()
	p := poller{}
	for w.ctx.Err() == nil {
		lead := w.lead()
		if lead == nil {
			return
		}
		res, arguments := w.engine.catalog.Load().findResource(w.key.uri)
		var pause <-chan time.Time // nil lasts until the next refresh
		switch {
		case res == nil || !res.watched():
		case w.key.decided != "" && w.key.decided != res.methods():
			w.engine.cfg.Log.WarnContext(w.ctx, "a resource is not watched any more: other methods serve it than those that were allowed", "uri", w.key.uri)
		case res.watch != nil:
			w.follow(lead, res, refreshed)
			if lead.ctx.Err() != nil { // the next one takes over
				w.tell() // of what the stream may have missed
				continue
			}
			pause = time.After(rewatchDelay)
		default:
			w.poll(&p, lead, res, arguments)
			pause = time.After(res.poll)
		}
		select {
		case <-pause:
		case <-refreshed:
			w.tell()
		case <-w.ctx.Done():
		}
	}
}

// poller is what polling remembers of a resource.
type poller struct {
	last  [sha256.Size]byte
	known bool
}

// poll reads the resource once. What cannot be read has not changed.
func (w *resourceWatch) poll(p *poller, lead *resourceUpdates, res *resource, arguments json.RawMessage) {
	ctx, cancel := w.look(lead)
	defer cancel()
	ctx, timeout := context.WithTimeout(ctx, watchTimeout)
	defer timeout()
	var reading *backend.Reading
	err := caught(func() (err error) {
		reading, err = res.tool.plan.Read(ctx, arguments, lead.request)
		return err
	})
	if err != nil {
		w.engine.cfg.Log.DebugContext(ctx, "a resource could not be read again", "method", res.tool.Method, "error", err)
		return
	}
	sum := sha256.Sum256(slices.Concat(reading.JSON, reading.Content))
	if p.known && sum != p.last {
		w.tell()
	}
	p.last, p.known = sum, true
}

// follow keeps a call of the watch method open, each message of which is a change,
// until it ends, the subscriber leaves or the resource is served in another way.
func (w *resourceWatch) follow(lead *resourceUpdates, res *resource, refreshed <-chan struct{}) {
	ctx, cancel := w.look(lead)
	var err error
	done := make(chan struct{})
	w.engine.wg.Go(func() {
		defer close(done)
		err = caught(func() error { return res.watch.plan.Follow(ctx, res.watchArguments(w.key.uri), lead.request, w.tell) })
	})
	select {
	case <-done:
		if err != nil && ctx.Err() == nil {
			w.engine.cfg.Log.WarnContext(ctx, "the watch of a resource has ended; it is opened again", "method", res.watch.Method, "error", err)
		}
		cancel()
	case <-refreshed:
		cancel()
		<-done
		w.tell()
	}
}

// look returns a context for a look at the resource with a subscriber's credentials:
// it ends when the subscriber leaves or the engine is closed.
func (w *resourceWatch) look(lead *resourceUpdates) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(lead.ctx)
	stop := context.AfterFunc(w.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// caught calls f, and returns a panic as an error.
func caught(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}
