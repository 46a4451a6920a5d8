package eraclient

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

const (
	// maxListens is how many subscriptions one caller may have.
	maxListens = 1000
	// maxWatched is how many resources one listener may subscribe to.
	maxWatched = 1000
	// maxNews is how many changes wait for a listener, and maxNewsBytes how
	// large they are together. They are changes of different things: one that
	// waits is not queued again.
	maxNews      = 4 * maxWatched
	maxNewsBytes = 4 << 20
	// unsubscribeTimeout bounds resources/unsubscribe.
	unsubscribeTimeout = 10 * time.Second
)

// listener is one subscriptions/listen request.
type listener struct {
	lists map[string]bool // methods of notifications
	uris  []string

	mu     sync.Mutex
	news   []*protocol.Notification
	size   int // of news
	queued map[string]bool
	wake   chan struct{}
}

// watch is a resource that at least one listener wants to hear of.
type watch struct {
	users int
	ready chan struct{} // closed once the server has answered
	ok    bool          // set before ready is closed
}

// listen answers subscriptions/listen: the changes that the server announces
// in its session go to whoever has asked for them.
func (s *clientSession) listen(ctx context.Context, r *peer.Request, n protocol.Notifier) (*protocol.Result, error) {
	wants, ok := jsontok.Lookup(r.Params, "notifications")
	if !ok || jsontok.KindOf(wants) != jsontok.KindObject {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.notifications must be an object")
	}
	l := &listener{lists: make(map[string]bool), queued: make(map[string]bool), wake: make(chan struct{}, 1)}
	var honoured mcpjson.Object
	for _, f := range mcpjson.ListFilters {
		if v, _ := jsontok.Lookup(wants, f.Member); string(v) == "true" && s.offer(f.Capability, "listChanged") {
			l.lists[f.Method] = true
			honoured.Add(f.Member, []byte("true"))
		}
	}
	uris, fault := readURIs(wants)
	if fault != nil {
		return nil, fault
	}
	watch, fault := s.client.watchTasks(r, wants)
	if fault != nil {
		return nil, fault
	}
	defer watch.Stop()
	// Registered first: nothing that happens from now on is missed.
	l.uris = uris
	release, fault := s.client.admit(r)
	if fault != nil {
		return nil, fault
	}
	defer release()
	s.mu.Lock()
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.listeners, l)
		s.mu.Unlock()
	}()
	s.hear(ctx)
	var list mcpjson.Array
	for _, uri := range uris {
		if !s.watch(ctx, uri, r) {
			continue
		}
		defer s.unwatch(uri, r)
		list.AddString(uri)
	}
	if !list.Empty() {
		honoured.Add("resourceSubscriptions", list.JSON())
	}
	if ids := watch.IDs(); ids != nil {
		honoured.Add("taskIds", ids)
	}
	var ack mcpjson.Object
	ack.Add("notifications", honoured.JSON())
	note := &protocol.Notification{Method: protocol.NotificationAcknowledged, Params: ack.JSON()}
	if err := n.Notify(ctx, note); err != nil {
		return nil, err
	}
	for {
		select {
		case <-l.wake:
			for _, note := range l.take() {
				if err := n.Notify(ctx, note); err != nil {
					return nil, err
				}
			}
		case <-watch.Due():
			if err := watch.Look(ctx, n); err != nil {
				return nil, err
			}
		case <-s.over:
			return nil, s.ended()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// admit counts a subscription for its caller. release must be called at its end.
func (c *legacyClient) admit(r *peer.Request) (release func(), fault *protocol.Error) {
	if r.Caller != nil && r.Caller.Principal.Internal() {
		return func() {}, nil
	}
	quota := r.Caller.Quota()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.listens[quota] >= maxListens {
		return nil, protocol.Errorf(protocol.CodeInvalidRequest, "a caller may have %d subscriptions: end one first", maxListens)
	}
	c.listens[quota]++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.listens[quota]--; c.listens[quota] == 0 {
			delete(c.listens, quota)
		}
	}, nil
}

// hearTimeout bounds the wait for the stream that carries what belongs to no
// call, from the beginning of the session on: some servers do not answer
// before there is anything.
const hearTimeout = 2 * time.Second

// hear waits until changes, and requests that the server does not tie to a
// call, will be heard of: some servers drop what they cannot send.
func (s *clientSession) hear(ctx context.Context) {
	timer := time.NewTimer(time.Until(s.opened.Add(hearTimeout)))
	defer timer.Stop()
	select {
	case <-s.conn.Listening():
	case <-s.over:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// minListening is how long a subscription must have lasted for the loss of
// its session to be no sign that every session is lost.
const minListening = time.Minute

// acknowledgeOnce returns a notifier for a subscription that may go on in
// another session. There is one acknowledgement; in the place of a further one
// the client hears that whatever it listens to may have changed meanwhile. It
// is used by one goroutine at a time, as listen does.
func acknowledgeOnce(n protocol.Notifier) protocol.Notifier {
	acknowledged := false
	return protocol.NotifierFunc(func(ctx context.Context, note *protocol.Notification) error {
		if note.Method != protocol.NotificationAcknowledged || !acknowledged {
			acknowledged = true
			return n.Notify(ctx, note)
		}
		for _, change := range mcpjson.Acknowledged(note.Params) {
			if err := n.Notify(ctx, change); err != nil {
				return err
			}
		}
		return nil
	})
}

func readURIs(wants json.RawMessage) ([]string, *protocol.Error) {
	raw, ok := jsontok.Lookup(wants, "resourceSubscriptions")
	if !ok {
		return nil, nil
	}
	var (
		uris []string
		seen = make(map[string]bool)
	)
	bad := jsontok.KindOf(raw) != jsontok.KindArray
	if !bad {
		_ = jsontok.Array(raw, func(_ int, v []byte) error { // valid already
			uri, ok := jsontok.String(v)
			if !ok {
				bad = true
			} else if !seen[uri] && len(uris) <= maxWatched {
				seen[uri] = true
				uris = append(uris, uri)
			}
			return nil
		})
	}
	switch {
	case bad:
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.notifications.resourceSubscriptions must be an array of strings")
	case len(uris) > maxWatched:
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.notifications.resourceSubscriptions may have at most %d entries", maxWatched)
	}
	return uris, nil
}

// announce hands a change to the listeners that have asked for it.
func (s *clientSession) announce(m *jsonrpc.Message) {
	uri := ""
	if m.Method == protocol.NotificationResourceUpdated {
		raw, _ := jsontok.Lookup(m.Params, "uri")
		uri, _ = jsontok.String(raw)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.listeners {
		if l.lists[m.Method] || uri != "" && l.covers(uri) {
			if !l.add(&protocol.Notification{Method: m.Method, Params: m.Params}) {
				s.client.log.Debug("a change was dropped, because too many wait for a client", "method", m.Method)
			}
		}
	}
}

// covers reports whether a resource is one of those asked for or below one
// (2025-11-25 server/resources, Subscriptions).
func (l *listener) covers(uri string) bool {
	for _, u := range l.uris {
		if uri == u || strings.HasPrefix(uri, strings.TrimSuffix(u, "/")+"/") {
			return true
		}
	}
	return false
}

// add reports whether the client will hear of a change.
func (l *listener) add(n *protocol.Notification) bool {
	key := n.Method + " " + string(n.Params)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.queued[key]:
		return true
	case len(l.news) >= maxNews || l.size+len(key) > maxNewsBytes:
		return false
	}
	l.queued[key] = true
	l.news = append(l.news, n)
	l.size += len(key)
	signal(l.wake)
	return true
}

func (l *listener) take() []*protocol.Notification {
	l.mu.Lock()
	defer l.mu.Unlock()
	news := l.news
	l.news, l.size = nil, 0
	clear(l.queued)
	return news
}

// watch subscribes to a resource where nobody has yet, and reports whether
// changes of it will be heard of.
func (s *clientSession) watch(ctx context.Context, uri string, r *peer.Request) bool {
	if !s.offer("resources", "subscribe") {
		return false
	}
	s.mu.Lock()
	w := s.watched[uri]
	first := w == nil
	if first {
		w = &watch{ready: make(chan struct{})}
		s.watched[uri] = w
	}
	w.users++
	s.mu.Unlock()
	if first {
		w.ok = s.subscribe(ctx, uri, r, true)
		close(w.ready)
	}
	select {
	case <-w.ready:
	case <-ctx.Done():
	}
	select {
	case <-w.ready:
		if w.ok {
			return true
		}
	default:
	}
	s.drop(uri, w)
	return false
}

// drop gives up a user's part in a watch, and reports whether it was the last.
func (s *clientSession) drop(uri string, w *watch) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.users--
	if w.users > 0 || s.watched[uri] != w {
		return false
	}
	delete(s.watched, uri)
	return true
}

func (s *clientSession) unwatch(uri string, r *peer.Request) {
	s.mu.Lock()
	w := s.watched[uri]
	s.mu.Unlock()
	if w == nil || !s.drop(uri, w) || s.isOver() {
		return
	}
	release := s.use()
	if !s.client.start(func() {
		defer release()
		ctx, cancel := context.WithTimeout(s.client.ctx, unsubscribeTimeout)
		defer cancel()
		s.subscribe(ctx, uri, r, false)
	}) {
		release()
	}
}

// subscribe subscribes to a resource, or unsubscribes where nobody has
// subscribed again. One of these is under way at a time, so that the last one
// counts.
func (s *clientSession) subscribe(ctx context.Context, uri string, r *peer.Request, on bool) bool {
	select {
	case s.subscribing <- struct{}{}:
		defer func() { <-s.subscribing }()
	case <-ctx.Done():
		return false
	}
	method := protocol.MethodSubscribe
	if !on {
		method = protocol.MethodUnsubscribe
		s.mu.Lock()
		again := s.watched[uri] != nil
		s.mu.Unlock()
		if again {
			return false
		}
	}
	var params mcpjson.Object
	params.Add("uri", jsontok.AppendString(nil, uri))
	m, err := s.conn.Call(ctx, &peer.Call{ID: s.conn.NextID(), Method: method, Params: params.JSON(), Header: r.Header})
	if err == nil && m.Error != nil {
		err = jsonrpc.ReadError(m.Error)
	}
	if err != nil {
		s.client.log.DebugContext(ctx, "the MCP server did not take a subscription", "method", method, "error", err)
	}
	return err == nil
}
