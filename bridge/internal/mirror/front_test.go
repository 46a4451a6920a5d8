package mirror

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/structpb"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/gen/mcp/v1/mcpv1connect"
	"github.com/mcp-bridge/mcp-bridge/internal/guard"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server answers by what it is asked for.
func server(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	var p struct {
		Name      string          `json:"name"`
		URI       string          `json:"uri"`
		Arguments json.RawMessage `json:"arguments"`
		Responses json.RawMessage `json:"inputResponses"`
		State     string          `json:"requestState"`
	}
	_ = json.Unmarshal(r.Params, &p)
	switch r.Method {
	case protocol.MethodDiscover:
		return &protocol.Result{Body: json.RawMessage(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)}, nil
	case protocol.MethodListTools:
		return &protocol.Result{Cache: &protocol.Cache{TTLMillis: 5}, Body: json.RawMessage(`{"tools":[{"name":"echo","inputSchema":{"type":"object","x":9007199254740993}}]}`)}, nil
	case protocol.MethodReadResource:
		return nil, &protocol.Error{Code: protocol.CodeInvalidParams, Message: "no such resource", Data: json.RawMessage(`{"uri":"x:y"}`)}
	case protocol.MethodListen:
		for _, note := range []*protocol.Notification{
			{Method: protocol.NotificationAcknowledged, Params: json.RawMessage(`{"notifications":{"toolsListChanged":true}}`)},
			{Method: protocol.NotificationToolsChanged},
		} {
			if err := n.Notify(ctx, note); err != nil {
				return nil, err
			}
		}
		<-ctx.Done()
		return nil, ctx.Err()
	case protocol.MethodCallTool:
	default:
		return nil, protocol.MethodNotFound(r.Method)
	}
	switch p.Name {
	case "echo":
		text, _ := json.Marshal(string(p.Arguments))
		return &protocol.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":` + string(text) + `}],"structuredContent":{"n":1.5},"x/unknown":[null]}`)}, nil
	case "whoami":
		return &protocol.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":"` + r.Caller.Transport + " " + r.Caller.Header.Get("Authorization") + " " + string(r.Meta.Revision) + `"}]}`)}, nil
	case "busy":
		return &protocol.Result{Body: json.RawMessage(`{"content":[],"isError":true,"structuredContent":{"code":"RESOURCE_EXHAUSTED","retryAfterMs":1200}}`)}, nil
	case "broken":
		return &protocol.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":"it does not work"}],"isError":true}`)}, nil
	case "ask":
		if p.Responses != nil {
			return &protocol.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":"` + p.State + `"}],"structuredContent":` + string(p.Responses) + `}`)}, nil
		}
		return &protocol.Result{Type: protocol.ResultInputRequired, Body: json.RawMessage(`{"requestState":"sealed","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}}}`)}, nil
	case "progress":
		meta, _ := jsontok.Lookup(r.Params, "_meta")
		if said, _ := jsontok.Lookup(meta, protocol.MetaProgressToken); string(said) != string(r.Meta.ProgressToken) {
			return nil, protocol.Errorf(protocol.CodeInternalError, "progress token %s, in params %s", r.Meta.ProgressToken, said)
		}
		for _, text := range []string{`{"progressToken":` + string(r.Meta.ProgressToken) + `,"progress":1,"total":2}`, `{"level":"info","data":{"a":1}}`} {
			method := protocol.NotificationProgress
			if strings.Contains(text, "level") {
				method = protocol.NotificationMessage
			} else if r.Meta.ProgressToken == nil {
				continue
			}
			if err := n.Notify(ctx, &protocol.Notification{Method: method, Params: json.RawMessage(text)}); err != nil {
				return nil, err
			}
		}
		return &protocol.Result{Body: json.RawMessage(`{"content":[]}`)}, nil
	case "fail":
		return nil, &protocol.Error{Code: 4711, Message: "it does not work", Data: json.RawMessage(`[1.0]`)}
	case "token":
		return nil, &protocol.Error{Code: protocol.CodeInvalidRequest, Message: "a token, please", Challenge: "Bearer x"}
	case "down":
		return nil, &protocol.UpstreamError{Kind: protocol.UpstreamUnavailable, Message: "the MCP server is down"}
	case "panic":
		panic("the tool panics")
	case "block":
		<-ctx.Done()
		return nil, ctx.Err()
	case "malformed":
		return &protocol.Result{Body: json.RawMessage(`{"content":[],"content":[]}`)}, nil
	}
	return nil, protocol.Errorf(protocol.CodeInvalidParams, "there is no tool %q", p.Name)
}

// start serves, and returns the URL and a client of HTTP/2.
func start(t *testing.T, cfg Config) (string, *http.Client) {
	t.Helper()
	_, url, hc := startFront(t, cfg)
	return url, hc
}

func startFront(t *testing.T, cfg Config) (*Front, string, *http.Client) {
	t.Helper()
	cfg.Handler = protocol.HandlerFunc(server)
	cfg.Logger = slog.New(slog.DiscardHandler)
	f, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	f.Mount(mux)
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s := httptest.NewUnstartedServer(mux)
	s.Config.Protocols = &protocols
	s.Start()
	var h2 http.Protocols
	h2.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &h2}
	t.Cleanup(func() {
		f.Close()
		transport.CloseIdleConnections()
		s.CloseClientConnections()
		s.Close()
	})
	return f, s.URL, &http.Client{Transport: transport}
}

func arguments(t *testing.T, name string, members map[string]any) *mcpv1.CallToolRequest {
	t.Helper()
	s, err := structpb.NewStruct(members)
	if err != nil {
		t.Fatal(err)
	}
	return &mcpv1.CallToolRequest{Name: name, ArgumentsForm: &mcpv1.CallToolRequest_Arguments{Arguments: s}}
}

func text(r *mcpv1.CallToolResponse) string {
	return r.GetComplete().GetContent()[0].GetText().GetText()
}

func TestProtocols(t *testing.T) {
	t.Parallel()
	url, hc := start(t, Config{})
	for _, tt := range []struct {
		name string
		opts []connect.ClientOption
	}{
		{"grpc", []connect.ClientOption{connect.WithGRPC()}},
		{"grpc-web", []connect.ClientOption{connect.WithGRPCWeb()}},
		{"connect", nil},
		{"connect", []connect.ClientOption{connect.WithProtoJSON()}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := mcpv1connect.NewMcpServiceClient(hc, url, tt.opts...)
			ctx, info := connect.NewClientContext(t.Context())
			info.RequestHeader().Set("Authorization", "Bearer x")
			got, err := c.CallTool(ctx, &mcpv1.CallToolRequest{Name: "whoami"})
			if err != nil || text(got) != tt.name+" Bearer x 2026-07-28" {
				t.Fatalf("%v, %v", got, err)
			}
			got, err = c.CallTool(t.Context(), arguments(t, "echo", map[string]any{"a": []any{1.0, nil}}))
			if err != nil || text(got) != `{"a":[1,null]}` || got.GetComplete().GetStructuredContent().GetStructValue().GetFields()["n"].GetNumberValue() != 1.5 ||
				string(got.GetComplete().GetExtra()) != `{"x/unknown":[null]}` {
				t.Errorf("%v, %v", got, err)
			}
			list, err := c.ListTools(t.Context(), &mcpv1.ListToolsRequest{})
			// What a Struct cannot hold is JSON.
			if err != nil || list.GetTools()[0].GetName() != "echo" || string(list.GetTools()[0].GetInputSchemaJson()) != `{"type":"object","x":9007199254740993}` || list.GetTtlMs() != 5 {
				t.Errorf("%v, %v", list, err)
			}
			ctx, info = connect.NewClientContext(t.Context())
			info.RequestHeader().Set(RawHeader, "raw")
			got, err = c.CallTool(ctx, &mcpv1.CallToolRequest{Name: "echo", ArgumentsForm: &mcpv1.CallToolRequest_ArgumentsJson{ArgumentsJson: []byte(`{"n":1.0}`)}})
			if err != nil || text(got) != `{"n":1.0}` || string(got.GetComplete().GetStructuredContentJson()) != `{"n":1.5}` {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// TestToolCode: a tool that fails and says whether to try again does so in trailers.
func TestToolCode(t *testing.T) {
	t.Parallel()
	url, hc := start(t, Config{})
	c := mcpv1connect.NewMcpServiceClient(hc, url, connect.WithGRPC())
	for tool, want := range map[string]string{"busy": "RESOURCE_EXHAUSTED 2", "broken": " ", "echo": " "} {
		ctx, info := connect.NewClientContext(t.Context())
		if _, err := c.CallTool(ctx, &mcpv1.CallToolRequest{Name: tool}); err != nil {
			t.Fatal(err)
		}
		trailer := info.ResponseTrailer()
		if got := trailer.Get(ToolCodeHeader) + " " + trailer.Get("Retry-After"); got != want {
			t.Errorf("%s: trailers say %q, want %q", tool, got, want)
		}
	}
}

func TestInput(t *testing.T) {
	t.Parallel()
	url, hc := start(t, Config{})
	c := mcpv1connect.NewMcpServiceClient(hc, url, connect.WithGRPC())
	got, err := c.CallTool(t.Context(), &mcpv1.CallToolRequest{Name: "ask"})
	in := got.GetInputRequired()
	if err != nil || in.GetRequestState() != "sealed" || in.GetInputRequests()["q"].GetElicitation().GetForm().GetMessage() != "Who?" {
		t.Fatalf("%v, %v", got, err)
	}
	got, err = c.CallTool(t.Context(), &mcpv1.CallToolRequest{Name: "ask", RequestState: in.RequestState, InputResponses: map[string]*mcpv1.InputResponse{
		"q": {Response: &mcpv1.InputResponse_Elicitation{Elicitation: &mcpv1.ElicitResult{Action: mcpv1.ElicitAction_ELICIT_ACTION_DECLINE}}},
	}})
	if err != nil || text(got) != "sealed" || got.GetComplete().GetStructuredContent().GetStructValue().GetFields()["q"].GetStructValue().GetFields()["action"].GetStringValue() != "decline" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	url, hc := start(t, Config{})
	c := mcpv1connect.NewMcpServiceClient(hc, url, connect.WithGRPC())
	// Who says a revision says what it wants to hear of, too.
	for _, tt := range []struct {
		meta     *mcpv1.RequestMeta
		progress bool
	}{
		{nil, true},
		{&mcpv1.RequestMeta{LogLevel: mcpv1.LoggingLevel_LOGGING_LEVEL_DEBUG}, true},
		{&mcpv1.RequestMeta{ProtocolVersion: "2026-07-28"}, false},
	} {
		s, err := c.StreamCallTool(t.Context(), &mcpv1.StreamCallToolRequest{Request: &mcpv1.CallToolRequest{Name: "progress", Meta: tt.meta}})
		if err != nil {
			t.Fatal(err)
		}
		var events []*mcpv1.StreamCallToolResponse
		for s.Receive() {
			events = append(events, s.Msg())
		}
		if s.Err() != nil || tt.progress && (len(events) != 3 || events[0].GetProgress().GetProgress() != 1) || !tt.progress && len(events) != 2 {
			t.Fatalf("%v: %v, %v", tt.meta, events, s.Err())
		}
		last := events[len(events)-2:]
		if last[0].GetLogMessage().GetData().GetStructValue() == nil || last[1].GetResult().GetComplete() == nil {
			t.Errorf("%v: %v", tt.meta, events)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	listen, err := c.Listen(ctx, &mcpv1.ListenRequest{Notifications: &mcpv1.SubscriptionFilter{ToolsListChanged: new(true)}})
	if err != nil {
		t.Fatal(err)
	}
	if !listen.Receive() || !listen.Msg().GetAcknowledged().GetNotifications().GetToolsListChanged() || !listen.Receive() || listen.Msg().GetToolsListChanged() == nil {
		t.Errorf("%v, %v", listen.Msg(), listen.Err())
	}
	cancel()
	if listen.Receive() || connect.CodeOf(listen.Err()) != connect.CodeCanceled {
		t.Errorf("%v", listen.Err())
	}
	_ = listen.Close()
}

func TestErrors(t *testing.T) {
	t.Parallel()
	url, hc := start(t, Config{})
	c := mcpv1connect.NewMcpServiceClient(hc, url, connect.WithGRPC())
	for _, tt := range []struct {
		call   func() error
		code   connect.Code
		detail string
	}{
		{func() error { _, err := c.CallTool(t.Context(), &mcpv1.CallToolRequest{Name: "fail"}); return err }, connect.CodeUnknown, "it does not work"},
		{func() error { _, err := c.CallTool(t.Context(), &mcpv1.CallToolRequest{Name: "none"}); return err }, connect.CodeInvalidArgument, "there is no tool"},
		{func() error { _, err := c.ListPrompts(t.Context(), &mcpv1.ListPromptsRequest{}); return err }, connect.CodeUnimplemented, "prompts/list"},
		{func() error {
			_, err := c.ReadResource(t.Context(), &mcpv1.ReadResourceRequest{Uri: "x:y"})
			return err
		}, connect.CodeNotFound, "no such resource"},
		{func() error { _, err := c.CallTool(t.Context(), &mcpv1.CallToolRequest{Name: "down"}); return err }, connect.CodeUnavailable, "the MCP server is down"},
		{func() error { _, err := c.CallTool(t.Context(), &mcpv1.CallToolRequest{Name: "panic"}); return err }, connect.CodeInternal, ""},
		{func() error { _, err := c.CallTool(t.Context(), &mcpv1.CallToolRequest{Name: "malformed"}); return err }, connect.CodeInternal, ""},
		{func() error {
			_, err := c.CallTool(t.Context(), &mcpv1.CallToolRequest{Name: "echo", ArgumentsForm: &mcpv1.CallToolRequest_ArgumentsJson{ArgumentsJson: []byte(`{`)}})
			return err
		}, connect.CodeInvalidArgument, ""},
		{func() error {
			_, err := c.CallTool(t.Context(), &mcpv1.CallToolRequest{Name: "echo", Meta: &mcpv1.RequestMeta{ProtocolVersion: "2024-11-05"}})
			return err
		}, connect.CodeFailedPrecondition, "2024-11-05"},
		{func() error {
			_, err := c.CallTool(t.Context(), &mcpv1.CallToolRequest{Name: "echo", Meta: &mcpv1.RequestMeta{ProtocolVersion: "2030-01-01"}})
			return err
		}, connect.CodeFailedPrecondition, "2030-01-01"},
		{func() error { _, err := c.CallTool(t.Context(), &mcpv1.CallToolRequest{}); return err }, connect.CodeInvalidArgument, "name is missing, or empty"},
		{func() error { _, err := c.GetTask(t.Context(), &mcpv1.GetTaskRequest{}); return err }, connect.CodeInvalidArgument, "taskId is missing, or empty"},
	} {
		err := tt.call()
		if connect.CodeOf(err) != tt.code {
			t.Errorf("%v, want %v", err, tt.code)
			continue
		}
		fault, _ := errors.AsType[*connect.Error](err)
		details := fault.Details()
		if tt.detail == "" {
			continue
		}
		if len(details) != 1 {
			t.Errorf("%v: details %v", err, details)
			continue
		}
		m, err := details[0].Value()
		if rpcError, ok := m.(*mcpv1.JsonRpcError); err != nil || !ok || !strings.Contains(rpcError.GetMessage(), tt.detail) {
			t.Errorf("detail %v, %v, want %q in it", m, err, tt.detail)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, &mcpv1.CallToolRequest{Name: "block"})
		done <- err
	}()
	cancel()
	if err := <-done; connect.CodeOf(err) != connect.CodeCanceled {
		t.Errorf("cancelled: %v", err)
	}
}

// post sends a request that is not made by a client of Connect.
func post(t *testing.T, method, url, origin, host string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(`{"name":"echo","arguments":{"message":"hi"}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	if host != "" {
		r.Host = host
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func TestPlainJSON(t *testing.T) {
	t.Parallel()
	url, _ := start(t, Config{Policy: guard.Policy{Origins: []string{"https://app.example.com"}}})
	url += mcpv1connect.McpServiceCallToolProcedure
	for _, tt := range []struct {
		method, origin, host string
		status               int
		want                 string
	}{
		{http.MethodPost, "", "", 200, `"text":"{\"message\":\"hi\"}"`},
		{http.MethodPost, "https://app.example.com", "", 200, `"structuredContent":{"n":1.5}`},
		{http.MethodPost, "http://localhost:3000", "", 200, `"structuredContent":{"n":1.5}`},
		{http.MethodPost, "https://evil.example.com", "", 403, "origin"},
		{http.MethodPost, "", "evil.example.com", 403, "host"},
		{http.MethodGet, "", "", 405, "POST"},
	} {
		status, body := post(t, tt.method, url, tt.origin, tt.host)
		// protojson puts spaces where it likes.
		if compact := strings.ReplaceAll(body, ": ", ":"); status != tt.status || !strings.Contains(compact, tt.want) {
			t.Errorf("%s from %q: %d %s", tt.method, tt.origin, status, body)
		}
	}
}

func TestTunnel(t *testing.T) {
	t.Parallel()
	url, hc := start(t, Config{})
	c := mcpv1connect.NewMcpServiceClient(hc, url, connect.WithGRPC())
	s, err := c.Tunnel(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(message, want string) {
		t.Helper()
		if err := s.Send(&mcpv1.TunnelRequest{Message: []byte(message)}); err != nil {
			t.Fatal(err)
		}
		got, err := s.Receive()
		if err != nil || !bytes.Contains(got.GetMessage(), []byte(want)) {
			t.Errorf("%s: %s, %v, want %s in it", message, got.GetMessage(), err, want)
		}
	}
	ask("{\"jsonrpc\":\"2.0\",\n\"id\":\"a\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"x\",\"version\":\"1\"}}}", `"protocolVersion":"2025-06-18"`)
	ask(`{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"echo","arguments":{"n":1.0}}}`, `"text":"{\"n\":1.0}"`)
	ask(`{"jsonrpc":`, `-32700`)
	if err := s.CloseRequest(); err != nil {
		t.Error(err)
	}
	if m, err := s.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v, %v", m, err)
	}
	if err := s.CloseResponse(); err != nil {
		t.Error(err)
	}
}

// TestRules: what the specification limits is checked before the server sees it.
func TestRules(t *testing.T) {
	t.Parallel()
	url, hc := start(t, Config{})
	c := mcpv1connect.NewMcpServiceClient(hc, url, connect.WithGRPC())
	answer := &mcpv1.CreateMessageResult{Model: "m", ContentForm: &mcpv1.CreateMessageResult_Content{Content: &mcpv1.ContentBlock{
		Content: &mcpv1.ContentBlock_Text{Text: &mcpv1.TextContent{Text: "x", Annotations: &mcpv1.Annotations{Priority: new(1.5)}}},
	}}}
	request := &mcpv1.CallToolRequest{Name: "echo", InputResponses: map[string]*mcpv1.InputResponse{
		"q": {Response: &mcpv1.InputResponse_Sampling{Sampling: answer}},
	}}
	_, err := c.CallTool(t.Context(), request)
	fault, ok := errors.AsType[*connect.Error](err)
	if !ok || fault.Code() != connect.CodeInvalidArgument || len(fault.Details()) != 1 {
		t.Fatalf("error %v", err)
	}
	detail, err := fault.Details()[0].Value()
	bad, ok := detail.(*errdetails.BadRequest)
	if err != nil || !ok || len(bad.GetFieldViolations()) != 1 || !strings.HasSuffix(bad.GetFieldViolations()[0].GetField(), "annotations.priority") {
		t.Errorf("detail %v, %v", detail, err)
	}
	stream, err := c.StreamCallTool(t.Context(), &mcpv1.StreamCallToolRequest{Request: request})
	if err != nil {
		t.Fatal(err)
	}
	if stream.Receive() || connect.CodeOf(stream.Err()) != connect.CodeInvalidArgument {
		t.Errorf("stream: %v", stream.Err())
	}
	_ = stream.Close()
}

// TestTunnelEnds: tunnels end with the front, and there are no new ones.
func TestTunnelEnds(t *testing.T) {
	t.Parallel()
	f, url, hc := startFront(t, Config{})
	c := mcpv1connect.NewMcpServiceClient(hc, url, connect.WithGRPC())
	for _, closed := range []bool{false, true} {
		s, err := c.Tunnel(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(&mcpv1.TunnelRequest{Message: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)}); err != nil && !closed {
			t.Fatal(err)
		}
		if !closed {
			if _, err := s.Receive(); err != nil {
				t.Fatal(err)
			}
			f.Close()
		}
		if _, err := s.Receive(); connect.CodeOf(err) != connect.CodeUnavailable {
			t.Errorf("error %v", err)
		}
		_ = s.CloseRequest()
		_ = s.CloseResponse()
	}
}

// TestChallenge tests that clients of every protocol hear what credentials are
// wanted.
func TestChallenge(t *testing.T) {
	t.Parallel()
	url, hc := start(t, Config{})
	for _, option := range []connect.ClientOption{connect.WithGRPC(), connect.WithGRPCWeb(), connect.WithProtoJSON()} {
		ctx, info := connect.NewClientContext(t.Context())
		_, err := mcpv1connect.NewMcpServiceClient(hc, url, option).CallTool(ctx, &mcpv1.CallToolRequest{Name: "token"})
		if got := info.ResponseHeader().Get("Www-Authenticate"); connect.CodeOf(err) != connect.CodeUnauthenticated || got != "Bearer x" {
			t.Errorf("got %v, challenge %q", err, got)
		}
	}
}
