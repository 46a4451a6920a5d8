package eraserver

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/backoff"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

const (
	// maxFollowed is how many resources one session may be subscribed to.
	maxFollowed = 256
	// A subscription that the handler ends is asked for again after a time
	// that doubles within these bounds.
	minListenAgain = time.Second
	maxListenAgain = time.Minute
	// healthyListen is how long a subscription must last for the time to start
	// anew.
	healthyListen = time.Minute
)

// following is what a session follows by resources/subscribe: one
// subscriptions/listen request for all its resources. A change of them opens a
// new request, waits for the acknowledgement, and then ends the old one, so
// that a change of a resource may be told twice but is not missed. The zero
// value is ready for use.
type following struct {
	mu     sync.Mutex
	turn   chan struct{} // held while the subscriptions change
	ended  bool
	uris   []string
	listen *resourceListen // nil where there are no uris
}

// resourceListen is one subscriptions/listen request for resources.
type resourceListen struct {
	uris   []string
	cancel context.CancelFunc
	// settled is closed once the handler has acknowledged the subscription or
	// has refused it: then there is either a fault or what was granted.
	settled chan struct{}
	fault   *protocol.Error

	mu      sync.Mutex
	granted []string
}

// end ends the subscriptions, and all that are still to come.
func (f *following) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	if f.listen != nil {
		f.listen.cancel()
	}
}

// hold waits for the right to change the subscriptions.
func (f *following) hold(ctx context.Context) (release func(), fault *protocol.Error) {
	f.mu.Lock()
	if f.turn == nil {
		f.turn = make(chan struct{}, 1)
	}
	turn := f.turn
	f.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, protocol.AsError(ctx.Err())
	}
}

// subscribe answers resources/subscribe and resources/unsubscribe. The request
// that changes the subscriptions lends its credentials to the one that serves
// them.
func (s *Session) subscribe(ctx context.Context, m *jsonrpc.Message, meta protocol.Meta, caller *protocol.Caller) (*protocol.Result, *protocol.Error) {
	if s.post == nil {
		return nil, protocol.Errorf(protocol.CodeInvalidRequest, "%s needs a session: send initialize first", m.Method)
	}
	raw, _ := jsontok.Lookup(m.Params, "uri")
	uri, ok := jsontok.String(raw)
	if !ok || uri == "" {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.uri must be the URI of a resource")
	}
	f := &s.following
	release, fault := f.hold(ctx)
	if fault != nil {
		return nil, fault
	}
	defer release()
	on := m.Method == protocol.MethodSubscribe
	if slices.Contains(f.uris, uri) == on {
		return &protocol.Result{}, nil
	}
	var uris []string
	if on {
		if len(f.uris) >= maxFollowed {
			return nil, protocol.Errorf(protocol.CodeInvalidRequest, "a session may be subscribed to %d resources: unsubscribe from one first", maxFollowed)
		}
		uris = append(slices.Clone(f.uris), uri)
	} else {
		uris = slices.DeleteFunc(slices.Clone(f.uris), func(u string) bool { return u == uri })
	}
	var next *resourceListen
	if len(uris) > 0 {
		if next, fault = s.listen(ctx, m.ID, uris, meta, caller); fault != nil {
			return nil, fault
		}
		granted := next.acknowledged()
		if on && !slices.Contains(granted, uri) {
			next.cancel()
			return nil, protocol.Errorf(protocol.CodeInvalidParams, "the resource %q is not there, or its changes are not announced", clip.Name(uri))
		}
		for _, u := range uris {
			if !slices.Contains(granted, u) {
				s.server.log.WarnContext(ctx, "the changes of a resource are no longer announced", "uri", u)
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listen != nil {
		f.listen.cancel()
	}
	f.uris, f.listen = uris, next
	if f.ended && next != nil {
		next.cancel()
	}
	return &protocol.Result{}, nil
}

// listen opens a subscription and returns once it is acknowledged.
func (s *Session) listen(ctx context.Context, id json.RawMessage, uris []string, meta protocol.Meta, caller *protocol.Caller) (*resourceListen, *protocol.Error) {
	var quoted mcpjson.Array
	for _, uri := range uris {
		quoted.AddString(uri)
	}
	var filter, params mcpjson.Object
	filter.Add("resourceSubscriptions", quoted.JSON())
	params.Add("notifications", filter.JSON())
	meta = s.meta(meta)
	meta.ProgressToken = nil
	l := &resourceListen{uris: uris, settled: make(chan struct{})}
	request := &protocol.Request{ID: id, Method: protocol.MethodListen, Params: params.JSON(), Meta: meta, Caller: caller}
	cancel, ok := s.server.start(func(ctx context.Context) { s.follow(ctx, l, request) })
	if !ok {
		return nil, protocol.Errorf(protocol.CodeInternalError, "the server is shutting down")
	}
	l.cancel = cancel
	select {
	case <-l.settled:
	case <-ctx.Done():
		l.cancel()
		return nil, protocol.AsError(ctx.Err())
	}
	return l, l.fault
}

// follow holds a subscription until it is cancelled. Where the handler ends an
// acknowledged one, it is asked for again, and the client is told of all
// resources as of changed ones, because they may be.
func (s *Session) follow(ctx context.Context, l *resourceListen, r *protocol.Request) {
	settle := sync.OnceFunc(func() { close(l.settled) })
	retry := backoff.Backoff{Min: minListenAgain, Max: maxListenAgain, Healthy: healthyListen}
	for {
		begun := time.Now()
		_, fault := s.server.core.Answer(ctx, r, protocol.NotifierFunc(func(_ context.Context, n *protocol.Notification) error {
			switch {
			case n.Method == protocol.NotificationAcknowledged && l.grant(n.Params):
				settle()
			case n.Method == protocol.NotificationAcknowledged: // once more
				for _, uri := range l.uris {
					params := append(jsontok.AppendString([]byte(`{"uri":`), uri), '}')
					s.tell(ctx, &protocol.Notification{Method: protocol.NotificationResourceUpdated, Params: params})
				}
			case n.Method == protocol.NotificationResourceUpdated:
				s.tell(ctx, n)
			}
			return nil
		}))
		switch {
		case l.acknowledged() == nil:
			if fault == nil {
				fault = protocol.Errorf(protocol.CodeInternalError, "the server has ended the subscription before it had begun")
			}
			l.fault = fault
			settle()
			return
		case ctx.Err() != nil:
			return
		}
		s.server.log.WarnContext(ctx, "a subscription to resources has ended; it is asked for again", "error", fault)
		if backoff.Pause(ctx, retry.After(time.Since(begun))) != nil {
			return
		}
	}
}

// grant takes the acknowledgement of a subscription. It returns false where
// there has been one before.
func (l *resourceListen) grant(params json.RawMessage) bool {
	granted := []string{}
	filter, _ := jsontok.Lookup(params, "notifications")
	if list, ok := jsontok.Lookup(filter, "resourceSubscriptions"); ok && jsontok.KindOf(list) == jsontok.KindArray {
		_ = jsontok.Array(list, func(_ int, value []byte) error { // valid, as it comes from a Handler
			if uri, ok := jsontok.String(value); ok {
				granted = append(granted, uri)
			}
			return nil
		})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.granted != nil {
		return false
	}
	l.granted = granted
	return true
}

// acknowledged returns the resources whose changes are announced, or nil as
// long as nobody has said so.
func (l *resourceListen) acknowledged() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.granted
}

// tell passes a change on, unless the subscription or the session is over.
func (s *Session) tell(ctx context.Context, n *protocol.Notification) {
	s.following.mu.Lock()
	defer s.following.mu.Unlock()
	if !s.following.ended && ctx.Err() == nil {
		s.post(n)
	}
}
