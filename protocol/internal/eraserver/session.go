package eraserver

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/front"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/rounds"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// Session is what a legacy revision keeps between the requests of one client.
// It is used concurrently.
type Session struct {
	// Revision is the negotiated revision.
	Revision protocol.Revision
	// Calls are the requests that have no response yet.
	Calls jsonrpc.Calls

	server *Server
	// client is what upstreams see of the session, and done ends it. Both are nil
	// where a session is for a single request.
	client       *protocol.ClientSession
	done         func()
	post         func(*protocol.Notification)
	clientInfo   json.RawMessage
	capabilities json.RawMessage
	level        atomic.Int32
	asking       asking
	following    following
	// tasks is nil in sessions that have none, and taskCapabilities then is
	// too.
	tasks            *taskBook
	taskCapabilities json.RawMessage
}

// Close ends the session: it is no longer told of changes, and its client is
// no longer waited for.
func (s *Session) Close() {
	if s.done != nil {
		s.done()
	}
	s.server.unregister(s)
	s.following.end()
	s.tasks.end()
	s.asking.end()
}

// Notified takes a notification of the client.
func (s *Session) Notified(m *jsonrpc.Message) {
	if m.Method == protocol.NotificationCancelled {
		s.Calls.Cancel(m.Params)
	}
}

// Response is the answer to one request.
type Response struct {
	// Body is the encoded response, or nil where the client has cancelled the
	// request.
	Body []byte
	// Challenge is that of the [protocol.Error], if there is one.
	Challenge string
}

// Call answers one request of the client, other than initialize.
func (s *Session) Call(ctx context.Context, m *jsonrpc.Message, caller *protocol.Caller, st Stream) Response {
	return s.Begin(ctx, m, caller, st)()
}

// Begin is the first half of [Session.Call]: once it has returned, the client
// can cancel the request. The function it returns does the rest, and must be
// called.
func (s *Session) Begin(ctx context.Context, m *jsonrpc.Message, caller *protocol.Caller, st Stream) func() Response {
	ctx, end, ok := s.Calls.Begin(ctx, m.ID)
	if !ok {
		fault := protocol.Errorf(protocol.CodeInvalidRequest, "a request with id %s is still under way", clip.Name(m.ID))
		return func() Response { return Response{Body: jsonrpc.AppendError(nil, m.ID, fault, s.Revision)} }
	}
	ctx = rounds.With(ctx)
	return func() Response {
		defer end()
		st.Notifier = front.During(ctx, st.Notifier)
		res, fault := s.answer(ctx, m, caller, st)
		if jsonrpc.Cancelled(ctx) {
			return Response{}
		}
		r := Response{Body: jsonrpc.AppendResponse(nil, m.ID, s.older(ctx, m.Method, res), s.olderFault(m.Method, fault), s.Revision)}
		if fault != nil {
			r.Challenge = fault.Challenge
		}
		return r
	}
}

func (s *Session) answer(ctx context.Context, m *jsonrpc.Message, caller *protocol.Caller, st Stream) (*protocol.Result, *protocol.Error) {
	if !protocol.MethodIn(m.Method, s.Revision) {
		return nil, protocol.MethodNotFound(m.Method)
	}
	switch m.Method {
	case protocol.MethodInitialize:
		return nil, protocol.Errorf(protocol.CodeInvalidRequest, "this session is already initialized")
	case protocol.MethodPing:
		return &protocol.Result{}, nil
	case protocol.MethodSetLevel:
		return s.setLevel(m.Params)
	}
	meta, fault := protocol.ReadMeta(m.Params)
	if fault != nil {
		return nil, fault
	}
	st = st.withHeartbeat(meta.ProgressToken)
	switch m.Method {
	case protocol.MethodSubscribe, protocol.MethodUnsubscribe:
		return s.subscribe(ctx, m, meta, caller)
	case protocol.MethodGetTask, protocol.MethodTaskResult, protocol.MethodListTasks, protocol.MethodCancelTask:
		if s.tasks == nil {
			return nil, protocol.MethodNotFound(m.Method)
		}
		return s.taskHandler(m.ID, meta, caller, st).answer(ctx, m.Method, m.Params)
	}
	if s.wantsTask(m.Method, m.Params) {
		return s.taskHandler(m.ID, meta, caller, st).call(ctx, m.Params)
	}
	own := s.meta(meta)
	own.Capabilities = st.reach(own.Capabilities)
	handle := func(params json.RawMessage) (*protocol.Result, *protocol.Error) {
		return s.server.core.Answer(ctx, &protocol.Request{
			ID: m.ID, Method: m.Method, Params: params, Meta: own, Caller: caller,
		}, st.Notifier)
	}
	var res *protocol.Result
	switch {
	case m.Method == protocol.MethodCallTool:
		res, fault = s.callTool(ctx, st, m.Params, handle, func() *taskHandler { return s.follower(m.ID, meta, caller, st) })
	case protocol.TakesInput(m.Method):
		res, fault = s.rounds(ctx, st, m.Params, handle)
	default:
		res, fault = handle(m.Params)
	}
	if fault == nil && res.Type != "" && res.Type != protocol.ResultComplete {
		return nil, s.unanswerable(res)
	}
	return res, fault
}

// unanswerable is the error for a result of a type that the client does not
// know.
func (s *Session) unanswerable(res *protocol.Result) *protocol.Error {
	return protocol.Errorf(protocol.CodeInternalError,
		"the answer is of type %q, which a client of revision %s cannot be given", clip.Name(res.Type), s.Revision)
}

// setLevel answers logging/setLevel.
func (s *Session) setLevel(params json.RawMessage) (*protocol.Result, *protocol.Error) {
	var level protocol.LogLevel
	raw, ok := jsontok.Lookup(params, "level")
	if ok {
		var name string
		name, _ = jsontok.String(raw)
		level, ok = protocol.ParseLogLevel(name)
	}
	if !ok {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.level must be one of debug, info, notice, warning, error, critical, alert, emergency")
	}
	s.level.Store(int32(level))
	return &protocol.Result{}, nil
}

// logLevel is the level that the client has set.
func (s *Session) logLevel() protocol.LogLevel {
	if level := protocol.LogLevel(s.level.Load()); level != protocol.LogNone {
		return level
	}
	return protocol.LogUnset
}

// outside tells the client what belongs to no request.
func (s *Session) outside(n *protocol.Notification) {
	if n.Method == protocol.NotificationMessage && !mcpjson.WantsLog(s.logLevel(), n.Params) {
		return
	}
	s.tell(s.server.ctx, n)
}

// meta completes what a request says about itself by what its session knows.
func (s *Session) meta(m protocol.Meta) protocol.Meta {
	m.Revision = s.Revision
	m.ClientInfo = s.clientInfo
	m.Capabilities = s.capabilities
	m.LogLevel = s.logLevel()
	m.Session = s.client
	return m
}
