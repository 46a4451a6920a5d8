package mux

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/backoff"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// ackTimeout is how long an upstream may take to acknowledge a subscription before
// the whole is acknowledged without it.
const ackTimeout = 10 * time.Second

// subscription is a subscriptions/listen request of a client. Changes of lists come
// from the hub, which each upstream tells once for all clients. Resources and tasks
// are listened to at their upstreams in the name of the client, as long as it is
// there.
type subscription struct {
	v        *View
	a        *asker // of the present snapshot
	filter   json.RawMessage
	notifier protocol.Notifier
	feeds    map[*conn]*feed
	wg       sync.WaitGroup

	acked chan struct{} // closed once the client knows what it will hear of
	mu    sync.Mutex    // of notifier, one at a time, and of what follows
	// What upstreams have acknowledged, by public names.
	granted map[string]map[string]bool
	alone   json.RawMessage // the filter that the only upstream has acknowledged
}

// feed is what a subscription hears from one upstream.
type feed struct {
	member  *member
	request *protocol.Request
	tasks   map[string]string // public ids by own ones
	alone   bool              // the upstream speaks for itself
	cancel  context.CancelFunc
}

// listen answers subscriptions/listen.
func (v *View) listen(a *asker, n protocol.Notifier) (*protocol.Result, error) {
	filter, ok := jsontok.Lookup(a.r.Params, "notifications")
	if !ok || jsontok.KindOf(filter) != jsontok.KindObject {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.notifications must be an object that says what to listen for")
	}
	if a.guarded() {
		if err := jsontok.Unique(a.r.Params); err != nil {
			return nil, protocol.Errorf(protocol.CodeInvalidParams, "params: %v", err)
		}
	}
	s := &subscription{
		v: v, a: a, filter: filter, notifier: n, feeds: make(map[*conn]*feed),
		acked: make(chan struct{}), granted: make(map[string]map[string]bool),
	}
	changed := v.mux.hub.join(a.era.side())
	defer changed.leave()
	ctx, cancel := context.WithCancel(a.ctx)
	defer s.wg.Wait()
	defer cancel()

	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	for {
		select {
		case <-changed.ready:
			if err := s.tellChanges(ctx, changed.take()); err != nil {
				return nil, err
			}
		case <-v.mux.hub.closed:
			return &protocol.Result{}, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// begin listens to the upstreams, waits until it is known what they grant, and tells
// the client.
func (s *subscription) begin(ctx context.Context) error {
	var settled sync.WaitGroup
	s.follow(ctx, &settled)
	all := make(chan struct{})
	s.wg.Go(func() { settled.Wait(); close(all) })
	timer := time.NewTimer(ackTimeout)
	defer timer.Stop()
	select {
	case <-all:
	case <-timer.C:
	case <-s.v.mux.hub.closed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return s.acknowledge(ctx)
}

// follow listens to those upstreams of the present snapshot that have something for
// the client, and to others no more. settled, if it is not nil, is done once it is
// known what they grant.
func (s *subscription) follow(ctx context.Context, settled *sync.WaitGroup) {
	wanted := s.plan()
	for c, old := range s.feeds {
		next := wanted[c]
		if next != nil && string(next.request.Params) == string(old.request.Params) && next.member.prefixed == old.member.prefixed {
			delete(wanted, c)
			continue
		}
		old.cancel()
		delete(s.feeds, c)
	}
	for c, f := range wanted {
		var own context.Context
		own, f.cancel = context.WithCancel(ctx)
		s.feeds[c] = f
		done := func() {}
		if settled != nil {
			settled.Add(1)
			done = sync.OnceFunc(settled.Done)
		}
		s.wg.Go(func() {
			defer f.cancel()
			defer context.AfterFunc(c.ctx, f.cancel)()
			s.hear(own, f, done)
		})
	}
}

// plan returns what to listen to at each upstream.
func (s *subscription) plan() map[*conn]*feed {
	a := s.a
	uris, tasks := make(map[*member][]string), make(map[*member][]string)
	public := make(map[*member]map[string]string)
	pins := make(map[*member]any)
	if !a.principal.Internal() {
		eachText(s.filter, "resourceSubscriptions", func(uri string) {
			m, own, err := s.v.findURI(a, uri)
			if err != nil {
				return
			}
			pin := pins[m]
			if s.allowed(m, own, &pin) {
				uris[m] = append(uris[m], own)
			}
			pins[m] = pin
		})
		eachText(s.filter, "taskIds", func(id string) {
			c, ok := s.v.findTask(a, id)
			if !ok || !s.allows(c) {
				return
			}
			ref, _ := s.v.openTask(a, id)
			tasks[c.member] = append(tasks[c.member], ref.id)
			if public[c.member] == nil {
				public[c.member] = make(map[string]string)
			}
			public[c.member][ref.id] = id
		})
	}
	feeds := make(map[*conn]*feed)
	for _, m := range s.v.members(a.s) {
		var filter mcpjson.Object
		if m == a.s.alone {
			// It hears everything that the client has said.
			_ = jsontok.Object(s.filter, func(key, value []byte) error { // it is valid
				if k := string(key); k != "resourceSubscriptions" && k != "taskIds" {
					filter.Add(k, value)
				}
				return nil
			})
		} else {
			m.lists.followSide(a.era.side())
		}
		if len(uris[m]) > 0 {
			filter.Add("resourceSubscriptions", textList(uris[m]))
		}
		if len(tasks[m]) > 0 {
			filter.Add("taskIds", textList(tasks[m]))
		}
		if filter.Empty() {
			continue
		}
		own := *a.r
		own.Params, own.Pin = mcpjson.Replace(a.r.Params, "notifications", filter.JSON()), pins[m]
		feeds[m.conn] = &feed{member: m, request: &own, tasks: public[m], alone: m == a.s.alone}
	}
	return feeds
}

// allowed reports whether the guard lets the client listen to a URI: whether it may
// read the resource, and run what tells of its changes, if that is another RPC. All URIs
// of a member are resolved by the same pin.
func (s *subscription) allowed(m *member, own string, pin *any) bool {
	if !s.a.guarded() {
		return true
	}
	about := func(method string, params json.RawMessage) *call {
		request := *s.a.r
		request.Method, request.Params, request.Pin = method, params, *pin
		return &call{asker: s.a, member: m, target: newTarget(m, protocol.TargetResource, listResources, own), request: &request}
	}
	var uri, filter, listen mcpjson.Object
	uri.Add("uri", jsontok.AppendString(nil, own))
	read := about(protocol.MethodReadResource, uri.JSON())
	if !s.allows(read) {
		return false
	}
	*pin = read.request.Pin
	resolver := m.resolver()
	if resolver == nil {
		return true
	}
	filter.Add("resourceSubscriptions", textList([]string{own}))
	listen.Add("notifications", filter.JSON())
	watch := about(protocol.MethodListen, listen.JSON())
	res, err := m.resolve(s.a.ctx, resolver, watch.request)
	if err != nil {
		return false
	}
	return res == nil || res.RPC == "" || res.RPC == read.target.RPC || s.allows(watch)
}

// allows reports whether the guard lets the client listen to what a call is about.
// Nobody can be asked to confirm a subscription.
func (s *subscription) allows(c *call) bool {
	if !s.a.guarded() {
		return true
	}
	d, err := c.access()
	return err == nil && d.Allow && (d.Confirm == "" || c.target.Kind == protocol.TargetTask)
}

// hear listens to an upstream whenever it is available, until ctx ends. It calls
// settled once it is known what the upstream grants at first.
func (s *subscription) hear(ctx context.Context, f *feed, settled func()) {
	defer settled()
	m := f.member
	pauses := m.pauses
	for first := true; ; first = false {
		if m.settled(ctx, firstTimeout) != nil {
			settled()
		}
		select {
		case <-m.available():
		case <-ctx.Done():
			return
		}
		begun := time.Now()
		_, err := m.ask(ctx, f.request, protocol.NotifierFunc(func(ctx context.Context, note *protocol.Notification) error {
			if note.Method == protocol.NotificationAcknowledged {
				s.grant(f, note.Params)
				settled()
				if !first && f.alone {
					return s.tellLists(ctx, everyList) // nobody has heard what has changed meanwhile
				}
				return nil
			}
			return s.tell(ctx, f.public(note))
		}))
		settled()
		if fault, ok := err.(*protocol.Error); ok && fault.Code == protocol.CodeMethodNotFound { //nolint:errorlint // no UpstreamError
			return // it tells of nothing, ever
		}
		if backoff.Pause(ctx, pauses.After(time.Since(begun))) != nil {
			return
		}
	}
}

// public returns a notification with public names.
func (f *feed) public(note *protocol.Notification) *protocol.Notification {
	switch note.Method {
	case protocol.NotificationResourceUpdated:
		return f.member.publicUpdate(note)
	case protocol.NotificationTask:
		own, _ := text(note.Params, "taskId")
		params := replaceText(note.Params, "taskId", f.tasks[own])
		if f.member.prefixed {
			params = editMember(params, "result", f.member.publicContents)
		}
		return &protocol.Notification{Method: note.Method, Params: params}
	}
	return note
}

// grant notes what an upstream has acknowledged.
func (s *subscription) grant(f *feed, params json.RawMessage) {
	filter, _ := jsontok.Lookup(params, "notifications")
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.alone {
		s.alone = filter
	}
	for _, member := range []string{"resourceSubscriptions", "taskIds"} {
		if s.granted[member] == nil {
			s.granted[member] = make(map[string]bool)
		}
		eachText(filter, member, func(own string) {
			public := f.tasks[own]
			if member == "resourceSubscriptions" {
				public = f.member.publicURI(own)
			}
			s.granted[member][public] = true
		})
	}
}

// acknowledge tells the client what it will hear of. Lists change with the upstreams
// that are there, so of those it hears in any case.
func (s *subscription) acknowledge(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var filter mcpjson.Object
	flags := s.filter
	if s.alone != nil {
		flags = s.alone
	}
	_ = jsontok.Object(flags, func(key, value []byte) error { // it is valid
		switch k := string(key); {
		case k == "resourceSubscriptions" || k == "taskIds":
		case s.alone != nil || isFlag(k) && string(value) == "true":
			filter.Add(k, value)
		}
		return nil
	})
	for _, member := range []string{"resourceSubscriptions", "taskIds"} {
		var granted []string
		eachText(s.filter, member, func(public string) {
			if s.granted[member][public] {
				granted = append(granted, public)
			}
		})
		if len(granted) > 0 {
			filter.Add(member, textList(granted))
		}
	}
	var params mcpjson.Object
	params.Add("notifications", filter.JSON())
	defer close(s.acked)
	return s.notifier.Notify(ctx, &protocol.Notification{Method: protocol.NotificationAcknowledged, Params: params.JSON()})
}

func isFlag(name string) bool {
	for _, info := range listInfo {
		if info.flag == name {
			return true
		}
	}
	return false
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

// tellChanges tells the client what has changed, and follows another configuration.
func (s *subscription) tellChanges(ctx context.Context, what changes) error {
	if what&topologyChanged != 0 {
		next := *s.a
		next.s = s.v.snapshot()
		s.a = &next
		s.follow(ctx, nil)
		what |= everyList
	} else if s.a.s.alone != nil {
		return nil // the upstream tells the client itself
	}
	return s.tellLists(ctx, what)
}

// tellLists tells the client of those lists that it wants to hear of.
func (s *subscription) tellLists(ctx context.Context, what changes) error {
	told := changes(0)
	for _, info := range listInfo {
		if info.changed&what&^told == 0 {
			continue
		}
		told |= info.changed
		if v, _ := jsontok.Lookup(s.filter, info.flag); string(v) != "true" {
			continue
		}
		if err := s.tell(ctx, &protocol.Notification{Method: info.notification}); err != nil {
			return err
		}
	}
	return nil
}

// eachText calls visit for each string of a list that is a member of an object.
func eachText(object json.RawMessage, member string, visit func(text string)) {
	list, _ := jsontok.Lookup(object, member)
	if jsontok.KindOf(list) != jsontok.KindArray {
		return
	}
	_ = jsontok.Array(list, func(_ int, value []byte) error { // it is valid
		if text, ok := jsontok.String(value); ok {
			visit(text)
		}
		return nil
	})
}

// textList returns a list of strings.
func textList(texts []string) json.RawMessage {
	var list mcpjson.Array
	for _, text := range texts {
		list.AddString(text)
	}
	return list.JSON()
}
