package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectcall"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/gen/mcp/v1/mcpv1connect"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// dial returns a client of a Front, over a protocol of RPCs.
func dial(t *testing.T, scheme string) *Client {
	t.Helper()
	url, _ := start(t, Config{})
	u, err := upstreamurl.Parse(strings.Replace(url, "http://", scheme, 1))
	if err != nil {
		t.Fatal(err)
	}
	caller, err := connectcall.Dial(u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = caller.Close() })
	return client(t, caller)
}

func client(t *testing.T, caller rpc.Caller) *Client {
	t.Helper()
	c, err := NewClient(ClientConfig{Caller: caller, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ask(method, params string) *protocol.Request {
	return &protocol.Request{
		Method: method, Params: json.RawMessage(params), Caller: &protocol.Caller{},
		Meta: protocol.Meta{Revision: protocol.Revision20260728, Capabilities: json.RawMessage(`{}`)},
	}
}

func TestClient(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"grpc://", "grpcweb+http://", "connect+http://"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			c := dial(t, scheme)
			for _, tt := range []struct {
				method, params string
				want           string // type and body of the result, or the error
			}{
				{protocol.MethodDiscover, `{}`, `complete {"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`},
				{protocol.MethodListTools, `{}`, `complete {"tools":[{"name":"echo","inputSchema":{"type":"object","x":9007199254740993}}]}`},
				{protocol.MethodCallTool, `{"name":"echo","arguments":{"n":1.0,"big":9007199254740993},"x":[1.0]}`,
					`complete {"content":[{"type":"text","text":"{\"n\":1.0,\"big\":9007199254740993}"}],"structuredContent":{"n":1.5},"x/unknown":[null]}`},
				{protocol.MethodCallTool, `{"name":"ask"}`,
					`input_required {"inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"sealed"}`},
				{protocol.MethodCallTool, `{"name":"ask","inputResponses":{"q":{"action":"accept","content":{"a":1.5}}},"requestState":"sealed"}`,
					`complete {"content":[{"type":"text","text":"sealed"}],"structuredContent":{"q":{"action":"accept","content":{"a":1.5}}}}`},
				{protocol.MethodCallTool, `{"name":"fail"}`, `4711 it does not work [1.0]`},
				{protocol.MethodCallTool, `{"name":"down"}`, `unavailable`},
				{protocol.MethodCallTool, `{"name":"malformed"}`, `rejected`},
				{protocol.MethodCallTool, `{"name":"none"}`, `-32602 there is no tool "none" `},
				{protocol.MethodReadResource, `{"uri":"x:y"}`, `-32602 no such resource {"uri":"x:y"}`},
				{protocol.MethodListPrompts, `{}`, `-32601 method "prompts/list" is not available `},
				{"x/unknown", `{}`, `-32601 method "x/unknown" is not available `},
			} {
				res, err := c.Handle(t.Context(), ask(tt.method, tt.params), protocol.Discard)
				if got := outcome(res, err); got != tt.want {
					t.Errorf("%s %s:\ngot  %s\nwant %s", tt.method, tt.params, got, tt.want)
				}
			}
			// What a bridge says of the server behind it reaches the client.
			_, err := c.Handle(t.Context(), ask(protocol.MethodCallTool, `{"name":"down"}`), protocol.Discard)
			if got := protocol.AsError(err); got.Code != protocol.CodeInternalError || got.Message != "the MCP server is down" {
				t.Errorf("down: %v", got)
			}
		})
	}
}

// outcome writes what came of a request.
func outcome(res *protocol.Result, err error) string {
	if up, ok := errors.AsType[*protocol.UpstreamError](err); ok {
		return up.Kind.String()
	}
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		text, _, _ := strings.Cut(e.Error(), " (code ")
		return strings.Join([]string{json.Number(jsonInt(e.Code)).String(), text, string(e.Data)}, " ")
	}
	if err != nil {
		return err.Error()
	}
	kind := res.Type
	if kind == "" {
		kind = protocol.ResultComplete
	}
	return string(kind) + " " + string(res.Body)
}

func jsonInt(n int) string {
	text, _ := json.Marshal(n)
	return string(text)
}

// TestClientNotifications: they come with the caller's own token, and only
// those that it has asked for.
func TestClientNotifications(t *testing.T) {
	t.Parallel()
	c := dial(t, "grpc://")
	for _, tt := range []struct {
		token string
		level protocol.LogLevel
		want  string
	}{
		{"", protocol.LogNone, ""},
		{"7.0", protocol.LogNone, `notifications/progress {"progressToken":7.0,"progress":1,"total":2};`},
		{"", protocol.LogInfo, `notifications/message {"level":"info","data":{"a":1}};`},
		{`"p"`, protocol.LogError, `notifications/progress {"progressToken":"p","progress":1,"total":2};`},
	} {
		r := ask(protocol.MethodCallTool, `{"name":"progress"}`)
		if tt.token != "" {
			r.Meta.ProgressToken = json.RawMessage(tt.token)
		}
		r.Meta.LogLevel = tt.level
		got := ""
		res, err := c.Handle(t.Context(), r, protocol.NotifierFunc(func(_ context.Context, n *protocol.Notification) error {
			got += n.Method + " " + string(n.Params) + ";"
			return nil
		}))
		if text := outcome(res, err); text != `complete {"content":[]}` || got != tt.want {
			t.Errorf("token %s, level %s: %s, notifications %s\nwant %s", tt.token, tt.level, text, got, tt.want)
		}
	}
}

// TestNotificationOfAnyName: a server may call its notifications what it likes.
func TestNotificationOfAnyName(t *testing.T) {
	t.Parallel()
	f, err := New(Config{Logger: slog.New(slog.DiscardHandler), MaxMessageBytes: 1 << 20, Handler: protocol.HandlerFunc(
		func(ctx context.Context, _ *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
			if err := n.Notify(ctx, &protocol.Notification{Method: "x/\u0001\u007f\"\U000e0001"}); err != nil {
				return nil, err
			}
			return &protocol.Result{Body: json.RawMessage(`{"content":[]}`)}, nil
		})})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mux := http.NewServeMux()
	f.Mount(mux)
	caller, err := connectcall.NewInProcess(mux, upstreamurl.Connect)
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	r := ask(protocol.MethodCallTool, `{"name":"x"}`)
	r.Meta.ProgressToken = json.RawMessage(`1`)
	got := ""
	res, err := client(t, caller).Handle(t.Context(), r, protocol.NotifierFunc(func(_ context.Context, n *protocol.Notification) error {
		got = n.Method
		return nil
	}))
	if text := outcome(res, err); text != `complete {"content":[]}` || got != "x/\u0001\u007f\"\U000e0001" {
		t.Errorf("%s, notification %q", text, got)
	}
}

func TestClientListen(t *testing.T) {
	t.Parallel()
	c := dial(t, "grpc://")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	_, err := c.Handle(ctx, ask(protocol.MethodListen, `{"notifications":{"toolsListChanged":true}}`), protocol.NotifierFunc(func(_ context.Context, n *protocol.Notification) error {
		if got = append(got, n.Method); len(got) == 2 {
			cancel()
		}
		return nil
	}))
	if !errors.Is(err, context.Canceled) || len(got) != 2 || got[0] != protocol.NotificationAcknowledged || got[1] != protocol.NotificationToolsChanged {
		t.Errorf("notifications %v, error %v", got, err)
	}
}

// TestClientStatus: what a server answers that knows nothing of JsonRpcError.
func TestClientStatus(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method string
		err    *rpc.StatusError
		want   string
	}{
		{protocol.MethodListTools, peerStatus(code.Code_UNIMPLEMENTED, "x"), `-32601 method "tools/list" is not available `},
		{protocol.MethodCallTool, peerStatus(code.Code_INVALID_ARGUMENT, "no"), `-32602 no `},
		{protocol.MethodCallTool, peerStatus(code.Code_FAILED_PRECONDITION, "no"), `-32602 no `},
		{protocol.MethodReadResource, peerStatus(code.Code_NOT_FOUND, "none"), `-32602 none {"uri":"a:b"}`},
		{protocol.MethodCallTool, peerStatus(code.Code_NOT_FOUND, "none"), `-32602 none `},
		{protocol.MethodCallTool, peerStatus(code.Code_UNAVAILABLE, "x"), "unavailable"},
		{protocol.MethodCallTool, peerStatus(code.Code_RESOURCE_EXHAUSTED, "x"), "throttled"},
		{protocol.MethodCallTool, fault.New(code.Code_RESOURCE_EXHAUSTED, nil, "x"), "too large"},
		{protocol.MethodCallTool, peerStatus(code.Code_UNAUTHENTICATED, "x"), "unauthenticated"},
		{protocol.MethodCallTool, peerStatus(code.Code_PERMISSION_DENIED, "x"), "permission denied"},
		{protocol.MethodCallTool, peerStatus(code.Code_DEADLINE_EXCEEDED, "x"), "timeout"},
		{protocol.MethodCallTool, peerStatus(code.Code_INTERNAL, "secret"), "rejected"},
	} {
		c := client(t, rpc.CallerFunc(func(context.Context, *rpc.Call, func([]byte) error) (*rpc.Trailer, error) {
			return &rpc.Trailer{Header: http.Header{"Www-Authenticate": {"Bearer x"}}}, tt.err
		}))
		res, err := c.Handle(t.Context(), ask(tt.method, `{"uri":"a:b"}`), protocol.Discard)
		if got := outcome(res, err); got != tt.want {
			t.Errorf("%s, %s: got %s, want %s", tt.method, tt.err, got, tt.want)
		}
		if up, ok := errors.AsType[*protocol.UpstreamError](err); ok && (up.Challenge != "") != (up.Kind == protocol.UpstreamUnauthenticated) {
			t.Errorf("%s: challenge %q", tt.err, up.Challenge)
		}
	}
}

// peerStatus is one that a peer has sent.
func peerStatus(c code.Code, message string) *rpc.StatusError {
	s := fault.New(c, nil, "%s", message)
	s.Local = false
	return s
}

// TestRoutingMetadata: what proxies read is what the message says, or the
// request is refused.
func TestRoutingMetadata(t *testing.T) {
	t.Parallel()
	url, hc := start(t, Config{})
	c := mcpv1connect.NewMcpServiceClient(hc, url)
	call := func(key, value string) error {
		ctx, info := connect.NewClientContext(t.Context())
		info.RequestHeader().Set(key, value)
		_, err := c.CallTool(ctx, &mcpv1.CallToolRequest{Name: "echo"})
		return err
	}
	for _, tt := range []struct {
		key, value string
		ok         bool
	}{
		{"mcp-method", "tools/call", true},
		{"mcp-method", "tools/list", false},
		{"mcp-name", "echo", true},
		{"mcp-name", "=?base64?ZWNobw==?=", true},
		{"mcp-name", "other", false},
		{"mcp-protocol-version", "2026-07-28", true},
		{"mcp-protocol-version", "2025-11-25", false},
	} {
		err := call(tt.key, tt.value)
		if (err == nil) != tt.ok {
			t.Errorf("%s: %s: error %v", tt.key, tt.value, err)
		}
	}
}
