package main

import (
	"context"
	"slices"
	"sync"

	"connectrpc.com/connect"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

// change is something that clients can be notified of.
type change struct {
	of   kind
	name string // the URI of a resource, the id of a task
}

// kind is what has changed.
type kind int

const (
	toolsList kind = iota
	promptsList
	resourceContents
	taskStatus
)

// listeners are the streams of changes that clients have open.
type listeners struct {
	mu  sync.Mutex
	all map[*listener]struct{}
}

func newListeners() *listeners { return &listeners{all: make(map[*listener]struct{})} }

// listener is one stream. Changes that it has not sent yet are kept once each, so
// that a slow client costs no more than what it has asked for.
type listener struct {
	wants   map[change]bool
	mu      sync.Mutex
	pending []change
	wake    chan struct{} // has one element where something is pending
}

// notify tells all listeners that want to know.
func (ls *listeners) notify(c change) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for l := range ls.all {
		l.add(c)
	}
}

func (ls *listeners) open(wants map[change]bool) *listener {
	l := &listener{wants: wants, wake: make(chan struct{}, 1)}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.all[l] = struct{}{}
	return l
}

func (ls *listeners) close(l *listener) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	delete(ls.all, l)
}

func (l *listener) add(c change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.wants[c] || slices.Contains(l.pending, c) {
		return
	}
	l.pending = append(l.pending, c)
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take returns what is pending.
func (l *listener) take() []change {
	l.mu.Lock()
	defer l.mu.Unlock()
	pending := l.pending
	l.pending = nil
	return pending
}

// Listen notifies of changes until the client has enough. First it says which of
// those that were asked for there are.
func (s *server) Listen(ctx context.Context, r *mcpv1.ListenRequest, stream *connect.ServerStream[mcpv1.ListenResponse]) error {
	filter, wants := s.agree(r)
	l := s.listeners.open(wants)
	defer s.listeners.close(l)
	if err := stream.Send(&mcpv1.ListenResponse{Event: &mcpv1.ListenResponse_Acknowledged{
		Acknowledged: &mcpv1.SubscriptionsAcknowledgedNotificationParams{Notifications: filter},
	}}); err != nil {
		return err
	}
	for {
		select {
		case <-l.wake:
		case <-ctx.Done():
			return stream.Send(&mcpv1.ListenResponse{Event: &mcpv1.ListenResponse_Result{Result: &mcpv1.ListenResult{}}})
		}
		for _, c := range l.take() {
			event := s.event(c)
			if event == nil {
				continue
			}
			if err := stream.Send(event); err != nil {
				return err
			}
		}
	}
}

// agree returns what of a request the server notifies of.
func (s *server) agree(r *mcpv1.ListenRequest) (*mcpv1.SubscriptionFilter, map[change]bool) {
	asked, filter, wants := r.GetNotifications(), &mcpv1.SubscriptionFilter{}, make(map[change]bool)
	if asked.GetToolsListChanged() {
		filter.ToolsListChanged, wants[change{of: toolsList}] = new(true), true
	}
	if asked.GetPromptsListChanged() {
		filter.PromptsListChanged, wants[change{of: promptsList}] = new(true), true
	}
	for _, uri := range asked.GetResourceSubscriptions() {
		if _, err := s.read(uri); err == nil {
			filter.ResourceSubscriptions = append(filter.ResourceSubscriptions, uri)
			wants[change{of: resourceContents, name: uri}] = true
		}
	}
	for _, id := range asked.GetTaskIds() {
		if _, ok := s.tasks.get(id); ok && needsTasks(r.GetMeta()) == nil {
			filter.TaskIds = append(filter.TaskIds, id)
			wants[change{of: taskStatus, name: id}] = true
		}
	}
	return filter, wants
}

// event is a change as clients are told of it, or nil where it is of no interest
// any more.
func (s *server) event(c change) *mcpv1.ListenResponse {
	switch c.of {
	case toolsList:
		return &mcpv1.ListenResponse{Event: &mcpv1.ListenResponse_ToolsListChanged{ToolsListChanged: &mcpv1.NotificationParams{}}}
	case promptsList:
		return &mcpv1.ListenResponse{Event: &mcpv1.ListenResponse_PromptsListChanged{PromptsListChanged: &mcpv1.NotificationParams{}}}
	case resourceContents:
		return &mcpv1.ListenResponse{Event: &mcpv1.ListenResponse_ResourceUpdated{
			ResourceUpdated: &mcpv1.ResourceUpdatedNotificationParams{Uri: c.name},
		}}
	case taskStatus:
		if t, ok := s.tasks.get(c.name); ok {
			return &mcpv1.ListenResponse{Event: &mcpv1.ListenResponse_TaskUpdated{TaskUpdated: t.notification()}}
		}
	}
	return nil
}
