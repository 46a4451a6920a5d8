package eraclient

import (
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// clients are those whose requests a session has carried.
type clients struct {
	sessions map[string]*protocol.ClientSession // by id
	others   bool                               // some have no session of their own
}

// meet notes whose request the session carries.
func (s *clientSession) meet(r *peer.Request) {
	if r.Caller != nil && r.Caller.Principal.Internal() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	front := r.Meta.Session
	if front == nil {
		s.clients.others = true
		return
	}
	if s.clients.sessions[front.ID] != nil {
		return
	}
	if s.clients.sessions == nil {
		s.clients.sessions = make(map[string]*protocol.ClientSession)
	}
	s.forgetClients()
	s.clients.sessions[front.ID] = front
}

// forgetClients forgets those whose own sessions are over, under the lock.
func (s *clientSession) forgetClients() {
	for id, front := range s.clients.sessions {
		select {
		case <-front.Done:
			delete(s.clients.sessions, id)
		default:
		}
	}
}

// onlyClient returns the client that alone has used the session, or nil where there
// are more or none.
func (s *clientSession) onlyClient() *protocol.ClientSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetClients()
	if s.clients.others || len(s.clients.sessions) != 1 {
		return nil
	}
	for _, front := range s.clients.sessions {
		return front
	}
	return nil
}

// outside passes on a notification that belongs to no call, if it is certain whom it
// is for. It reports whether it is.
func (s *clientSession) outside(m *jsonrpc.Message) bool {
	front := s.onlyClient()
	if front == nil || front.Tell == nil {
		return false
	}
	front.Tell(&protocol.Notification{Method: m.Method, Params: m.Params})
	return true
}
