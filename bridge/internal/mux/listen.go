package mux

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// ackTimeout is how long a part may take to acknowledge a subscription before
// the whole is acknowledged without it.
const ackTimeout = 10 * time.Second

// The flags of a filter, and what is sent when a part comes or goes.
var listFlags = []struct{ member, notification string }{
	{"toolsListChanged", protocol.NotificationToolsChanged},
	{"promptsListChanged", protocol.NotificationPromptsChanged},
	{"resourcesListChanged", protocol.NotificationResourcesChanged},
}

// subscription is a subscriptions/listen request. It is one such request to
// every part, for as long as the part is there.
type subscription struct {
	mux      *Mux
	request  *protocol.Request
	filter   json.RawMessage
	notifier protocol.Notifier

	acked chan struct{} // closed once the client knows what it will hear of
	mu    sync.Mutex    // of notifier, one at a time, and of granted
	// What the parts have acknowledged: sets by member, of strings.
	granted map[string]map[string]bool
}

func (m *Mux) listen(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	filter, ok := jsontok.Lookup(r.Params, "notifications")
	if !ok || jsontok.KindOf(filter) != jsontok.KindObject {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.notifications must be an object that says what to listen for")
	}
	s := &subscription{mux: m, request: r, filter: filter, notifier: n, acked: make(chan struct{}), granted: make(map[string]map[string]bool)}
	changed, closed, leave := m.changes.Join()
	defer leave()

	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var settled sync.WaitGroup
	for _, p := range m.parts {
		settled.Add(1)
		wg.Go(func() { s.follow(ctx, p, sync.OnceFunc(settled.Done)) })
	}
	all := make(chan struct{})
	wg.Go(func() { settled.Wait(); close(all) })
	timer := time.NewTimer(ackTimeout)
	defer timer.Stop()
	select {
	case <-all:
	case <-timer.C:
	case <-closed:
		return &protocol.Result{}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := s.acknowledge(ctx); err != nil {
		return nil, err
	}
	for {
		select {
		case <-changed:
			if err := s.tellChanges(ctx); err != nil {
				return nil, err
			}
		case <-closed:
			return &protocol.Result{}, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// follow listens to a part whenever it is available, until ctx ends. It calls
// settled once it is known what the part grants at first.
func (s *subscription) follow(ctx context.Context, p *part, settled func()) {
	defer settled()
	pause := s.mux.cfg.MinPause
	for {
		if p.settled(ctx) != nil {
			settled()
		}
		select {
		case <-p.available():
		case <-ctx.Done():
			return
		}
		own, ok := s.part(p)
		if !ok {
			return // nothing that this part could know of
		}
		_, err := p.ask(ctx, own, protocol.NotifierFunc(func(ctx context.Context, note *protocol.Notification) error {
			if note.Method == protocol.NotificationAcknowledged {
				s.grant(p, note.Params)
				settled()
				return nil
			}
			return s.tell(ctx, p.rename(note))
		}))
		settled()
		if fault, ok := err.(*protocol.Error); ok && fault.Code == protocol.CodeMethodNotFound { //nolint:errorlint // no UpstreamError
			return // it tells of nothing, ever
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		pause = min(2*pause, s.mux.cfg.MaxPause)
	}
}

// part returns the request for a part: with its own tasks only.
func (s *subscription) part(p *part) (*protocol.Request, bool) {
	var filter mcpjson.Object
	_ = jsontok.Object(s.filter, func(key, value []byte) error { // it is valid
		if string(key) == "taskIds" {
			value = p.tasks(value)
			if value == nil {
				return nil
			}
		}
		filter.Add(string(key), value)
		return nil
	})
	if filter.Empty() {
		return nil, false
	}
	own := *s.request
	own.Params = mcpjson.Replace(s.request.Params, "notifications", filter.JSON())
	return &own, true
}

// tasks returns those ids of a list that are of the part, by its own names, or
// nil.
func (p *part) tasks(ids json.RawMessage) json.RawMessage {
	list := []byte{'['}
	_ = jsontok.Array(ids, func(_ int, value []byte) error { // what is no list has no tasks
		id, _ := jsontok.String(value)
		if inner, ok := strings.CutPrefix(id, p.name+taskSeparator); ok {
			if len(list) > 1 {
				list = append(list, ',')
			}
			list = jsontok.AppendString(list, inner)
		}
		return nil
	})
	if len(list) == 1 {
		return nil
	}
	return append(list, ']')
}

// grant notes what a part has acknowledged.
func (s *subscription) grant(p *part, params json.RawMessage) {
	filter, _ := jsontok.Lookup(params, "notifications")
	s.mu.Lock()
	defer s.mu.Unlock()
	for member, prefix := range map[string]string{"resourceSubscriptions": "", "taskIds": p.name + taskSeparator} {
		list, ok := jsontok.Lookup(filter, member)
		if !ok {
			continue
		}
		if s.granted[member] == nil {
			s.granted[member] = make(map[string]bool)
		}
		_ = jsontok.Array(list, func(_ int, value []byte) error { // what is no list grants nothing
			if text, ok := jsontok.String(value); ok {
				s.granted[member][prefix+text] = true
			}
			return nil
		})
	}
}

// wants reports whether the client asked for a flag.
func (s *subscription) wants(member string) bool {
	v, _ := jsontok.Lookup(s.filter, member)
	return string(v) == "true"
}

// acknowledge tells the client what it will hear of. Lists change with the parts
// that are there, so of those it hears in any case.
func (s *subscription) acknowledge(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var filter mcpjson.Object
	for _, flag := range listFlags {
		if s.wants(flag.member) {
			filter.Add(flag.member, []byte("true"))
		}
	}
	for _, member := range []string{"resourceSubscriptions", "taskIds"} {
		asked, _ := jsontok.Lookup(s.filter, member)
		list := []byte{'['}
		_ = jsontok.Array(asked, func(_ int, value []byte) error { // the parts say what is wrong with it
			text, _ := jsontok.String(value)
			if s.granted[member][text] {
				if len(list) > 1 {
					list = append(list, ',')
				}
				list = append(list, value...)
			}
			return nil
		})
		if len(list) > 1 {
			filter.Add(member, append(list, ']'))
		}
	}
	var params mcpjson.Object
	params.Add("notifications", filter.JSON())
	defer close(s.acked)
	return s.notifier.Notify(ctx, &protocol.Notification{Method: protocol.NotificationAcknowledged, Params: params.JSON()})
}

// tell passes a notification on, after the acknowledgement.
func (s *subscription) tell(ctx context.Context, note *protocol.Notification) error {
	select {
	case <-s.acked:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.notifier.Notify(ctx, note)
}

// tellChanges says that a part has come or gone.
func (s *subscription) tellChanges(ctx context.Context) error {
	for _, flag := range listFlags {
		if s.wants(flag.member) {
			if err := s.tell(ctx, &protocol.Notification{Method: flag.notification}); err != nil {
				return err
			}
		}
	}
	return nil
}
