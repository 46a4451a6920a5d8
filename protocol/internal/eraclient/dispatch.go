package eraclient

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcptask"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

const (
	// maxReplies bounds the answers to the server that are on their way.
	maxReplies = 64
	// replyTimeout bounds one of them.
	replyTimeout = 10 * time.Second
)

// stray takes what the server sends outside any call. It does not block.
func (s *clientSession) stray(m *jsonrpc.Message) {
	if m.Params != nil && jsontok.KindOf(m.Params) != jsontok.KindObject {
		s.client.log.Debug("a message whose params are no object was dropped", "method", m.Method)
		return
	}
	if m.Kind() == jsonrpc.KindRequest {
		s.asked(m, nil)
		return
	}
	if s.noted(m) {
		return
	}
	switch m.Method {
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed",
		protocol.NotificationResourceUpdated:
		s.announce(m)
	case protocol.NotificationCancelled:
		s.withdrawn(m.Params)
	case protocol.NotificationMessage:
		// With more than one call under way nobody can tell whose it is.
		if call := s.onlyCall(); call != nil {
			call.push(m, false)
			return
		}
		if !s.outside(m) {
			s.client.log.Debug("a log message that belongs to no one call was dropped")
		}
	case protocol.NotificationElicited:
		raw, _ := jsontok.Lookup(m.Params, "elicitationId")
		if call := s.elicited(raw); call != nil {
			call.push(m, false)
			return
		}
		s.client.log.Debug("the end of an elicitation of no call was dropped")
	case protocol.NotificationProgress:
		// Progress of a call goes on where it has become a task.
		call := s.related.byToken(m.Params)
		if call == nil {
			call = s.byToken(m.Params) // some servers send it outside the call's stream
		}
		if call != nil {
			if call.hears(m) {
				call.push(m, false)
			}
			return
		}
		s.client.log.Debug("progress of nothing that is under way was dropped")
	default:
		if _, known := protocol.LookupMethod(m.Method); known || !s.outside(m) {
			s.client.log.Debug("a notification that belongs to no call was dropped", "method", m.Method)
		}
	}
}

// asker puts requests of the server to a caller.
type asker interface {
	// ask takes a request, or says why it cannot be put to the caller.
	ask(m *jsonrpc.Message) *protocol.Error
	// withdraw forgets a request.
	withdraw(id json.RawMessage)
}

// asked takes a request of the server. from is what it came on the stream of,
// or nil.
func (s *clientSession) asked(m *jsonrpc.Message, from asker) {
	if m.Method == protocol.MethodPing {
		s.reply(jsonrpc.AppendRawResult(nil, m.ID, json.RawMessage(`{}`)))
		return
	}
	if task, _ := mcptask.Relation(m.Params); task != "" && s.tasks {
		to, later := s.related.find(task, m)
		switch {
		case later:
			return
		case to != nil:
			from = to
		case from == nil:
			s.refuse(m, protocol.Errorf(protocol.CodeInvalidParams, "the task that the request is related to is not known here"))
			return
		}
	}
	if from == nil {
		call, fault := s.attribute(m)
		s.mu.Lock()
		roots := s.roots
		s.mu.Unlock()
		switch {
		case fault != nil && m.Method == protocol.MethodListRoots && roots != nil:
			s.reply(jsonrpc.AppendRawResult(nil, m.ID, roots))
			return
		case fault != nil:
			s.refuse(m, fault)
			return
		}
		from = call
	}
	if fault := from.ask(m); fault != nil {
		s.refuse(m, fault)
	}
}

// attribute finds the call that a request without an address belongs to. It may
// name a call by its progress token. Else it belongs to the calls that run, not
// to those that wait for input themselves, if they are all of one caller: which
// of them it is does not matter then, because the answer finds its way by the
// request's own id.
func (s *clientSession) attribute(m *jsonrpc.Message) (*clientCall, *protocol.Error) {
	meta, _ := jsontok.Lookup(m.Params, "_meta")
	token, _ := jsontok.Lookup(meta, protocol.MetaProgressToken)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) == 0 {
		return nil, protocol.Errorf(protocol.CodeMethodNotFound, "requests can be answered only while a call is under way")
	}
	var running []*clientCall
	for _, call := range s.calls {
		if token != nil && bytes.Equal(call.id, token) {
			return call, nil
		}
		if !call.parked {
			running = append(running, call)
		}
	}
	if len(running) == 0 {
		running = s.calls
	}
	last := running[len(running)-1]
	for _, call := range running {
		if call.who != last.who {
			return nil, protocol.Errorf(protocol.CodeInvalidRequest, "calls of several callers are under way, and the request does not say to which it belongs")
		}
	}
	return last, nil
}

// withdrawn takes back a request of the server.
func (s *clientSession) withdrawn(params json.RawMessage) {
	id, ok := jsontok.Lookup(params, "requestId")
	if !ok {
		return
	}
	s.mu.Lock()
	calls := append([]*clientCall(nil), s.calls...)
	s.mu.Unlock()
	for _, call := range calls {
		call.withdraw(id)
	}
	for _, task := range s.related.all() {
		task.withdraw(id)
	}
}

func (s *clientSession) onlyCall() *clientCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) != 1 {
		return nil
	}
	return s.calls[0]
}

// byToken returns the call that progress belongs to, or nil.
func (s *clientSession) byToken(params json.RawMessage) *clientCall {
	token, ok := jsontok.Lookup(params, protocol.MetaProgressToken)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, call := range s.calls {
		if bytes.Equal(call.id, token) {
			return call
		}
	}
	return nil
}

// elicited returns the call that has asked for an elicitation, or nil.
func (s *clientSession) elicited(id json.RawMessage) *clientCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, call := range s.calls {
		if call.elicits(id) {
			return call
		}
	}
	return nil
}

// refuse answers a request of the server with an error.
func (s *clientSession) refuse(m *jsonrpc.Message, fault *protocol.Error) {
	s.client.log.Debug("a request of the MCP server was refused", "method", m.Method, "error", fault)
	s.reply(jsonrpc.AppendError(nil, m.ID, fault, s.rev))
}

// reply sends an answer to the server without waiting for it.
func (s *clientSession) reply(message []byte) {
	select {
	case s.replies <- struct{}{}:
	default:
		s.client.log.Warn("a request of the MCP server was not answered: it sends too many")
		return
	}
	started := s.client.start(func() {
		defer func() { <-s.replies }()
		ctx, cancel := context.WithTimeout(s.client.ctx, replyTimeout)
		defer cancel()
		s.mu.Lock()
		link := s.link
		s.mu.Unlock()
		if err := link.Send(ctx, message, s.header); err != nil {
			s.client.log.Debug("an answer to the MCP server was not delivered", "error", err)
		}
	})
	if !started {
		<-s.replies
	}
}
