package eraserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eraserver"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newServer(t *testing.T, h protocol.Handler) *eraserver.Server {
	t.Helper()
	s := eraserver.NewServer(h, slog.New(slog.DiscardHandler))
	t.Cleanup(s.Close)
	return s
}

var caller = &protocol.Caller{Transport: "test"}

func params(rev string) json.RawMessage {
	return json.RawMessage(`{"protocolVersion":"` + rev + `","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
}

// initialize returns an initialize request.
func initialize(params json.RawMessage) *jsonrpc.Message {
	return &jsonrpc.Message{ID: json.RawMessage(`"i"`), Method: protocol.MethodInitialize, Params: params}
}

// open opens a session, whose change notifications go to the channel.
func open(t *testing.T, s *eraserver.Server) (*eraserver.Session, <-chan string) {
	t.Helper()
	posts := make(chan string, 100)
	session, _, fault := s.Open(t.Context(), initialize(params("2025-11-25")), caller, func(n *protocol.Notification) { posts <- n.Method })
	if fault != nil {
		t.Fatal(fault)
	}
	return session, posts
}

func TestNegotiation(t *testing.T) {
	t.Parallel()
	s := newServer(t, prototest.NewHandler())
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "2099-01-01": "2025-11-25", "1999-01-01": "2025-11-25", "x": "2025-11-25",
	} {
		session, res, fault := s.Open(t.Context(), initialize(params(asked)), caller, func(*protocol.Notification) {})
		if fault != nil {
			t.Fatal(fault)
		}
		defer session.Close()
		if string(session.Revision) != want || !strings.HasPrefix(string(res.Body), `{"protocolVersion":"`+want+`",`) {
			t.Errorf("asked for %s: session of %s, result %s; want %s", asked, session.Revision, res.Body, want)
		}
	}
	for raw, want := range map[string]string{
		``:                         "initialize needs params with protocolVersion, capabilities and clientInfo",
		`[]`:                       "params: at byte 0: want an object, got '['",
		`{"a":1,"a":2}`:            `params: at byte 7: member "a" occurs twice`,
		`{}`:                       "params.protocolVersion must be a non-empty string",
		`{"protocolVersion":""}`:   "params.protocolVersion must be a non-empty string",
		`{"protocolVersion":2025}`: "params.protocolVersion must be a non-empty string",
	} {
		var p json.RawMessage
		if raw != "" {
			p = json.RawMessage(raw)
		}
		_, _, fault := s.Open(t.Context(), initialize(p), caller, func(*protocol.Notification) {})
		if fault == nil || fault.Code != protocol.CodeInvalidParams || fault.Message != want {
			t.Errorf("params %s: fault %v, want %s", raw, fault, want)
		}
	}
}

// TestInitializeResult is about servers that say little of themselves.
func TestInitializeResult(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		discover *protocol.Result
		err      error
		want     string
	}{
		{discover: &protocol.Result{}, want: `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"mcp-bridge","version":"unknown"}}`},
		{
			discover: &protocol.Result{
				Server: json.RawMessage(`{"name":"s","version":"2"}`),
				Meta:   json.RawMessage(`{"a":1}`),
				Body:   json.RawMessage(`{"supportedVersions":[],"capabilities":{"extensions":{},"tools":{},"a\nb":{"extensions":1}},"instructions":"i"}`),
			},
			want: `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"a\nb":{"extensions":1}},"serverInfo":{"name":"s","version":"2"},"instructions":"i"}`,
		},
		{err: protocol.Errorf(-1, "closed today"), want: "closed today (code -1)"},
		{err: errors.New("secret"), want: "internal error (code -32603)"},
	} {
		s := newServer(t, protocol.HandlerFunc(func(context.Context, *protocol.Request, protocol.Notifier) (*protocol.Result, error) {
			return tt.discover, tt.err
		}))
		session, res, fault := s.Open(t.Context(), initialize(params("2025-11-25")), caller, func(*protocol.Notification) {})
		switch {
		case fault != nil && fault.Error() != tt.want, fault == nil && string(res.Body) != tt.want:
			t.Errorf("result %v, fault %v\nwant %s", res, fault, tt.want)
		case fault == nil:
			session.Close()
		}
	}
}

// TestSubscriptionIsShared: all sessions together cost one subscription, and
// only as long as there are any.
func TestSubscriptionIsShared(t *testing.T) {
	t.Parallel()
	h := prototest.NewHandler()
	s := newServer(t, h)
	first, firstPosts := open(t, s)
	second, secondPosts := open(t, s)
	h.Trigger("notifications/tools/list_changed")
	for _, posts := range []<-chan string{firstPosts, secondPosts} {
		if m := prototest.Await(t, posts, "change"); m != "notifications/tools/list_changed" {
			t.Errorf("notification %s", m)
		}
	}
	first.Close()
	h.Trigger("notifications/prompts/list_changed")
	prototest.Await(t, secondPosts, "change")
	if len(firstPosts) != 0 {
		t.Error("a closed session is told of changes")
	}
	if n := h.ListenCalls(); n != 1 {
		t.Errorf("%d subscriptions, want 1", n)
	}
	second.Close()
	second.Close() // twice is as good as once
	_ = prototest.Await(t, h.Causes(), "end of the subscription")

	_, posts := open(t, s)
	h.Trigger("notifications/tools/list_changed")
	prototest.Await(t, posts, "change")
	if n := h.ListenCalls(); n != 2 {
		t.Errorf("%d subscriptions, want a second one", n)
	}
}

// TestSubscriptionThatTheHandlerEnds is asked for again by the next session.
func TestSubscriptionThatTheHandlerEnds(t *testing.T) {
	t.Parallel()
	h := prototest.NewHandler()
	s := newServer(t, h)
	_, firstPosts := open(t, s)
	h.EndListen()
	for { // until the Server has noticed too
		_, posts := open(t, s)
		if h.ListenCalls() == 2 {
			h.Trigger("notifications/tools/list_changed")
			prototest.Await(t, posts, "change")
			break
		}
	}
	prototest.Await(t, firstPosts, "change")
}

func TestHandlerThatRefusesSubscriptions(t *testing.T) {
	t.Parallel()
	discover := prototest.NewHandler()
	for name, listen := range map[string]protocol.HandlerFunc{
		"error": func(context.Context, *protocol.Request, protocol.Notifier) (*protocol.Result, error) {
			return nil, protocol.MethodNotFound("subscriptions/listen")
		},
		"panic": func(context.Context, *protocol.Request, protocol.Notifier) (*protocol.Result, error) { panic("no") },
		"silence": func(ctx context.Context, _ *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
				if r.Method == protocol.MethodListen {
					return listen(ctx, r, n)
				}
				return discover.Handle(ctx, r, n)
			}))
			ctx, cancel := context.WithCancel(t.Context())
			if name == "silence" {
				cancel() // the client waits no longer for the acknowledgement
			}
			defer cancel()
			session, _, fault := s.Open(ctx, initialize(params("2025-11-25")), caller, func(*protocol.Notification) {})
			if fault != nil {
				t.Fatal(fault)
			}
			session.Close()
		})
	}
}

// TestNotifierOfTheSubscriptionIsConcurrent, as every Notifier is.
func TestNotifierOfTheSubscriptionIsConcurrent(t *testing.T) {
	t.Parallel()
	discover := prototest.NewHandler()
	s := newServer(t, protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
		if r.Method != protocol.MethodListen {
			return discover.Handle(ctx, r, n)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { _ = n.Notify(ctx, &protocol.Notification{Method: "notifications/tools/list_changed"}) })
		}
		wg.Wait()
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	session, posts := open(t, s)
	for range 8 {
		prototest.Await(t, posts, "change")
	}
	session.Close()
}

func TestServerThatIsClosed(t *testing.T) {
	t.Parallel()
	h := prototest.NewHandler()
	s := eraserver.NewServer(h, slog.New(slog.DiscardHandler))
	session, _ := open(t, s)
	s.Close()
	late, _ := open(t, s)
	if n, _ := h.Listeners(); n != 0 {
		t.Errorf("%d subscriptions after Close", n)
	}
	m, fault := jsonrpc.Parse([]byte(prototest.Call("1", "echo")))
	if fault != nil {
		t.Fatal(fault)
	}
	if got := string(late.Call(t.Context(), m, caller, eraserver.Stream{Notifier: protocol.Discard}).Body); !strings.Contains(got, `"result"`) {
		t.Errorf("response %s, want a result still", got)
	}
	session.Close()
	late.Close()
}

func TestStateless(t *testing.T) {
	t.Parallel()
	session := newServer(t, prototest.NewHandler()).Stateless(protocol.Revision20250618)
	for request, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:                                              `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel"}`:                                  `"code":-32602`,
		`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":7}}`:             `"code":-32602`,
		`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`:       `"result":{}`,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/list"}`:                                        `"code":-32601`,
		prototest.Call("1", "fail", `"arguments":{"code":-32020,"message":"m"}`):                `"error":{"code":-32602,"message":"m","data":{"code":-32020}}`,
		prototest.Call("1", "fail", `"arguments":{"code":-32022,"message":"m","data":[1.0]}`):   `"error":{"code":-32602,"message":"m","data":{"code":-32022,"data":[1.0]}}`,
		prototest.Call("1", "fail", `"arguments":{"code":-32042,"message":"m","data":{"a":1}}`): `"error":{"code":-32042,"message":"m","data":{"a":1}}`,
		prototest.Call("1", "input"):                                                            `"text":"state"`,
		prototest.Call("1", "input", `"arguments":{"rounds":[{"a":{"method":"roots/list"}}]}`):  `"data":{"code":-32021,"data":{"requiredCapabilities":{"roots":{}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:b"}}`:        `"message":"resources/subscribe needs a session: send initialize first"`,
	} {
		m, fault := jsonrpc.Parse([]byte(request))
		if fault != nil {
			t.Fatal(fault)
		}
		if got := string(session.Call(t.Context(), m, caller, eraserver.Stream{Notifier: protocol.Discard}).Body); !strings.Contains(got, want) {
			t.Errorf("%s: response %s, want one with %s", request, got, want)
		}
	}
}
