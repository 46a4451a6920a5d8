package eraserver

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/backoff"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
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

// registerTimeout bounds the wait for the acknowledgement, so that initialize
// does not hang where an upstream does.
const registerTimeout = 2 * time.Second

// register adds a session and waits a little until it is sure to be told of
// changes that happen from now on.
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
	timer := time.NewTimer(registerTimeout)
	defer timer.Stop()
	select {
	case <-l.ready:
	case <-timer.C:
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

// runListen holds the subscription. Where the handler ends it, it is asked for
// again, and the sessions are told that everything may have changed meanwhile.
func (s *Server) runListen(ctx context.Context, l *listening) {
	var (
		ready        = sync.OnceFunc(func() { close(l.ready) })
		acknowledged = false
		retry        = backoff.Backoff{Min: minListenAgain, Max: maxListenAgain, Healthy: healthyListen}
	)
	defer ready()
	for {
		begun := time.Now()
		// Notifications of one listen request arrive in order, the
		// acknowledgement first (basic/patterns/subscriptions).
		_, fault := s.core.Answer(ctx, &protocol.Request{
			Method: protocol.MethodListen,
			Params: json.RawMessage(`{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}`),
			Meta:   protocol.Meta{Revision: protocol.LatestLegacy, Capabilities: json.RawMessage(`{}`)},
			Caller: protocol.InternalCaller(),
		}, protocol.NotifierFunc(func(_ context.Context, n *protocol.Notification) error {
			switch {
			case n.Method != protocol.NotificationAcknowledged:
				s.broadcast(n)
			case acknowledged:
				s.broadcast(mcpjson.Acknowledged(n.Params)...)
			default:
				acknowledged = true
			}
			ready()
			return nil
		}))
		ready()
		if ctx.Err() != nil {
			return
		}
		if !acknowledged && fault != nil && fault.Code == protocol.CodeMethodNotFound {
			s.log.WarnContext(ctx, "sessions are not told of changes", "error", fault)
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.listen == l {
				s.listen = nil // the next session may ask another server
			}
			return
		}
		s.log.WarnContext(ctx, "the subscription to changes of lists has ended; it is asked for again", "error", fault)
		if backoff.Pause(ctx, retry.After(time.Since(begun))) != nil {
			return
		}
	}
}

func (s *Server) broadcast(notes ...*protocol.Notification) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for session := range s.sessions {
		for _, n := range notes {
			session.post(n)
		}
	}
}
