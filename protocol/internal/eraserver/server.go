package eraserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/internal/front"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// Server opens sessions. It is used concurrently. Close must be called to
// release it.
type Server struct {
	core front.Core
	log  *slog.Logger

	ctx    context.Context //nolint:containedctx // ends the listen streams, which outlive any call
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	sessions map[*Session]struct{}
	listen   *listening // nil while no session is open
}

// NewServer returns a Server whose sessions are answered by h.
func NewServer(h protocol.Handler, log *slog.Logger) *Server {
	ctx, cancel := context.WithCancel(context.Background())
	return &Server{core: front.Core{Handler: h, Log: log}, log: log, ctx: ctx, cancel: cancel, sessions: make(map[*Session]struct{})}
}

// Close ends the listen streams and waits for them. Sessions that
// are still open keep answering but are no longer told of changes.
func (s *Server) Close() {
	s.mu.Lock() // nothing starts after this
	s.cancel()
	s.mu.Unlock()
	s.wg.Wait()
}

// start runs f until the context that it gets ends. It returns false once the
// Server is closed.
func (s *Server) start(f func(ctx context.Context)) (cancel context.CancelFunc, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.startLocked(f)
}

func (s *Server) startLocked(f func(ctx context.Context)) (cancel context.CancelFunc, ok bool) {
	if s.ctx.Err() != nil {
		return nil, false
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.wg.Go(func() {
		defer cancel()
		f(ctx)
	})
	return cancel, true
}

// Open answers m, an initialize request, and opens a session. Change
// notifications that belong to no request go to post, which must not block.
func (s *Server) Open(ctx context.Context, m *jsonrpc.Message, caller *protocol.Caller, post func(*protocol.Notification)) (*Session, *protocol.Result, *protocol.Error) {
	session, fault := s.negotiate(m.Params)
	if fault != nil {
		return nil, nil, fault
	}
	session.post = post
	done := make(chan struct{})
	session.client = &protocol.ClientSession{ID: rand.Text(), Done: done, Tell: session.outside}
	session.done = sync.OnceFunc(func() { close(done) })
	session.capabilities = expressible(session.capabilities, session.Revision)
	without, with := taskCapabilities(session.capabilities)
	session.capabilities = without
	res, caps, fault := s.initializeResult(ctx, session, m.ID, caller)
	if fault != nil {
		return nil, nil, fault
	}
	if caps.tasks() && session.Revision >= protocol.Revision20251125 {
		session.tasks, session.taskCapabilities = newTaskBook(), with
	}
	if caps.listChanged() {
		s.register(ctx, session)
	}
	return session, res, nil
}

// Stateless returns a session for a single request whose client has none. It
// gets no change notifications and needs no Close.
func (s *Server) Stateless(rev protocol.Revision) *Session {
	return &Session{server: s, Revision: rev}
}

// maxClientBytes bounds what a session keeps of its client: the capabilities and
// the Implementation.
const maxClientBytes = 64 << 10

// negotiate reads the params of initialize. A revision that is unknown, or
// too new to be opened this way, is answered with the newest legacy one
// (2025-11-25 basic/lifecycle, Version Negotiation).
func (s *Server) negotiate(params json.RawMessage) (*Session, *protocol.Error) {
	session := &Session{server: s}
	var asked string
	if params == nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "initialize needs params with protocolVersion, capabilities and clientInfo")
	}
	err := jsontok.Object(params, func(key, value []byte) error {
		switch string(key) {
		case "protocolVersion":
			asked, _ = jsontok.String(value)
		case "capabilities":
			session.capabilities = value
		case "clientInfo":
			session.clientInfo = value
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params: %v", err)
	case asked == "":
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.protocolVersion must be a non-empty string")
	case len(session.capabilities)+len(session.clientInfo) > maxClientBytes:
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.capabilities and params.clientInfo have %d bytes; together they may have %d",
			len(session.capabilities)+len(session.clientInfo), maxClientBytes)
	}
	// The message is not kept for their sake.
	session.capabilities, session.clientInfo = bytes.Clone(session.capabilities), bytes.Clone(session.clientInfo)
	session.Revision = protocol.Revision(asked)
	if !session.Revision.Known() || session.Revision.Modern() {
		session.Revision = protocol.LatestLegacy
	}
	return session, nil
}

// initializeResult makes an InitializeResult of what the handler says to
// server/discover. id is that of the initialize request.
func (s *Server) initializeResult(ctx context.Context, session *Session, id json.RawMessage, caller *protocol.Caller) (*protocol.Result, capabilities, *protocol.Error) {
	res, fault := s.core.Answer(ctx, &protocol.Request{
		ID:     id,
		Method: protocol.MethodDiscover,
		Params: json.RawMessage(`{}`),
		Meta:   session.meta(protocol.Meta{}),
		Caller: caller,
	}, protocol.Discard)
	if fault != nil {
		return nil, nil, fault
	}
	caps, ok := jsontok.Lookup(res.Body, "capabilities")
	if !ok {
		caps = []byte("{}")
	}
	server := res.Server
	if server == nil {
		server = []byte(`{"name":"mcp-bridge","version":"unknown"}`)
	}
	body := append([]byte(`{"protocolVersion":`), jsontok.AppendString(nil, string(session.Revision))...)
	declared := protocol.WithoutMember(caps, "extensions")
	if capabilities(caps).tasks() && session.Revision >= protocol.Revision20251125 {
		declared = mcpjson.Set(protocol.WithoutMember(declared, "tasks"), "tasks", json.RawMessage(tasksCapability))
	}
	body = append(append(body, `,"capabilities":`...), declared...)
	body = append(append(body, `,"serverInfo":`...), server...)
	if text, ok := jsontok.Lookup(res.Body, "instructions"); ok {
		body = append(append(body, `,"instructions":`...), text...)
	}
	return &protocol.Result{Body: append(body, '}')}, capabilities(caps), nil
}

// capabilities is a raw ServerCapabilities object.
type capabilities json.RawMessage

// listChanged reports whether the server announces changes of any list.
func (c capabilities) listChanged() bool {
	for _, feature := range []string{"tools", "prompts", "resources"} {
		f, ok := jsontok.Lookup(c, feature)
		if !ok || jsontok.KindOf(f) != jsontok.KindObject {
			continue
		}
		if v, ok := jsontok.Lookup(f, "listChanged"); ok && string(v) == "true" {
			return true
		}
	}
	return false
}

// tasks reports whether the server has the tasks extension.
func (c capabilities) tasks() bool {
	return protocol.HasExtension(json.RawMessage(c), protocol.ExtensionTasks)
}
