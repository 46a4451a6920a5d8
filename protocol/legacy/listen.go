package legacy

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/answer"
)

// listening is the one subscriptions/listen request that the server holds
// open for all its sessions, so that an idle session costs no goroutine. It
// asks for changes of the lists only, which are the same for every caller.
type listening struct {
	cancel context.CancelFunc
	// ready is closed once the handler has acknowledged the subscription, or
	// has refused it.
	ready chan struct{}
}

// register adds a session and waits until it is sure to be told of changes
// that happen from now on, or ctx ends.
func (s *Server) register(ctx context.Context, session *Session) {
	s.mu.Lock()
	s.sessions[session] = struct{}{}
	if s.listen == nil {
		l := &listening{ready: make(chan struct{})}
		if cancel, ok := s.startLocked(func(ctx context.Context) { s.runListen(ctx, l) }); ok {
			l.cancel = cancel
			s.listen = l
		}
	}
	l := s.listen
	s.mu.Unlock()
	if l == nil {
		return
	}
	select {
	case <-l.ready:
	case <-ctx.Done():
	}
}

// unregister removes a session, and ends the subscription with the last one.
func (s *Server) unregister(session *Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, session)
	if len(s.sessions) == 0 && s.listen != nil {
		s.listen.cancel()
		s.listen = nil
	}
}

func (s *Server) runListen(ctx context.Context, l *listening) {
	// Notifications of one listen request arrive in order, the acknowledgement
	// first (basic/patterns/subscriptions).
	ready := sync.OnceFunc(func() { close(l.ready) })
	_, fault := answer.Handle(ctx, s.log, s.handler, &protocol.Request{
		Method: protocol.MethodListen,
		Params: json.RawMessage(`{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}`),
		Meta:   protocol.Meta{Revision: protocol.Revision20260728, Capabilities: json.RawMessage(`{}`)},
		Caller: &protocol.Caller{Transport: "legacy"},
	}, protocol.NotifierFunc(func(_ context.Context, n *protocol.Notification) error {
		ready()
		if n.Method != protocol.NotificationAcknowledged {
			s.broadcast(n)
		}
		return nil
	}))
	ready()
	if fault != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "sessions are no longer told of changes", "error", fault)
	}
	// Where the handler has ended the subscription, the next session asks for
	// a new one.
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listen == l {
		s.listen = nil
	}
}

func (s *Server) broadcast(n *protocol.Notification) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for session := range s.sessions {
		session.post(n)
	}
}
