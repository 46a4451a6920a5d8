package googlemcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectcall"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/googlemcp"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol/modelcontextprotocolconnect"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// TestMetadata: a server sees what proxies are to see.
func TestMetadata(t *testing.T) {
	t.Parallel()
	c := (&peer{call: func(ctx context.Context, _ *googlepb.CallToolRequest) (*googlepb.CallToolResponse, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		text := strings.Join(md.Get("mcp_tool"), ",") + " " + strings.Join(md.Get("mcp-protocol-version"), ",")
		return &googlepb.CallToolResponse{Content: []*googlepb.CallToolResponse_Content{{Text: &googlepb.TextContent{Text: text}}}}, nil
	}}).serve(t)
	for name, want := range map[string]string{"t/1": "t/1 2025-06-18", "ü": " 2025-06-18", " t": " 2025-06-18"} {
		got, err := ask(t.Context(), c, protocol.MethodCallTool, `{"name":"`+name+`"}`)
		if err != nil || got != `{"resultType":"complete","content":[{"type":"text","text":"`+want+`"}]}` {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// TestVersion: a server that speaks another version says which, and is asked once
// more.
func TestVersion(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	c := (&peer{call: func(ctx context.Context, r *googlepb.CallToolRequest) (*googlepb.CallToolResponse, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		version := md.Get("mcp-protocol-version")[0]
		mu.Lock()
		asked = append(asked, version)
		mu.Unlock()
		speaks := map[string]string{"old": "2025-03-26", "unknown": "1999-01-01", "never": version + "x"}[r.GetRequest().GetName()]
		if r.GetRequest().GetName() == "never" {
			speaks = map[string]string{"2025-03-26": "2025-11-25", "2025-11-25": "2025-06-18"}[version]
		}
		if version == speaks {
			return &googlepb.CallToolResponse{}, nil
		}
		if err := grpc.SendHeader(ctx, metadata.Pairs("mcp-protocol-version", speaks)); err != nil {
			return nil, err
		}
		return nil, status.Error(codes.Unimplemented, "another version")
	}}).serve(t)
	for range 2 {
		if got, err := ask(t.Context(), c, protocol.MethodCallTool, `{"name":"old"}`); err != nil {
			t.Errorf("%s, %v", got, err)
		}
	}
	_, err := ask(t.Context(), c, protocol.MethodCallTool, `{"name":"unknown"}`)
	if upstream, ok := errors.AsType[*protocol.UpstreamError](err); !ok || upstream.Kind != protocol.UpstreamMalformed {
		t.Error(err)
	}
	_, err = ask(t.Context(), c, protocol.MethodCallTool, `{"name":"never"}`)
	if fault, ok := errors.AsType[*protocol.Error](err); !ok || fault.Code != protocol.CodeMethodNotFound {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(asked, " "); got != "2025-06-18 2025-03-26 2025-03-26 2025-03-26 2025-03-26 2025-11-25" {
		t.Errorf("asked in %s", got)
	}
}

// TestFrontVersion: clients are answered in their version, or told of another.
func TestFrontVersion(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, echo)
	conn := grpcGo(t, url)
	for _, tt := range []struct {
		version, want string
		code          codes.Code
	}{
		{"", "2025-06-18", codes.OK},
		{"2025-03-26", "2025-03-26", codes.OK},
		{"2026-07-28", "2026-07-28", codes.OK},
		{"1999-01-01", "2025-06-18", codes.Unimplemented},
	} {
		ctx := t.Context()
		if tt.version != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "mcp-protocol-version", tt.version)
		}
		var header metadata.MD
		err := conn.Invoke(ctx, "/model_context_protocol.Mcp/ListTools", &googlepb.ListToolsRequest{}, &googlepb.ListToolsResponse{}, grpc.Header(&header))
		if got := header.Get("mcp-protocol-version"); status.Code(err) != tt.code || len(got) != 1 || got[0] != tt.want {
			t.Errorf("%q: %v, %v", tt.version, err, header)
		}
	}
}

// TestAbout: metadata that names something else than the request is refused.
func TestAbout(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, echo)
	conn := grpcGo(t, url)
	for _, tt := range []struct {
		key, value, name string
		want             string
	}{
		{"mcp_tool", "t", "t", ""},
		{"mcp-tool-name", "t", "t", ""},
		{"mcp-name", "t", "t", ""},
		{"mcp_tool", "a%20%C3%BC", "a ü", ""},
		{"mcp-name", "=?base64?w7w=?=", "ü", ""},
		{"mcp_prompt", "x", "t", ""},
		{"mcp_tool", "x", "t", `the metadata mcp_tool has "x", the request "t"`},
		{"mcp-tool-name", "%", "t", `the metadata mcp-tool-name has "%", the request "t"`},
	} {
		var trailer metadata.MD
		err := conn.Invoke(metadata.AppendToOutgoingContext(t.Context(), tt.key, tt.value), "/model_context_protocol.Mcp/CallTool",
			&googlepb.CallToolRequest{Request: &googlepb.CallToolRequest_Request{Name: tt.name}}, &googlepb.CallToolResponse{}, grpc.Trailer(&trailer))
		if tt.want == "" {
			if err != nil {
				t.Errorf("%s: %s: %v", tt.key, tt.value, err)
			}
			continue
		}
		if s := status.Convert(err); s.Code() != codes.InvalidArgument || s.Message() != tt.want || trailer.Get("mcp-error-code")[0] != "-32020" {
			t.Errorf("%s: %s: %v, %v", tt.key, tt.value, err, trailer)
		}
	}
}

// TestCapabilities: servers may ask for what the client has declared and the
// service can say.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	var asked protocol.Meta
	url, hc := serve(t, func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		asked = r.Meta
		return result(`{"resultType":"complete","content":[]}`), nil
	})
	c := modelcontextprotocolconnect.NewMcpClient(hc, url)
	for _, tt := range []struct{ metadata, want string }{
		{`{}`, `{"elicitation":{},"sampling":{},"roots":{}}`},
		{`{"io.modelcontextprotocol/clientCapabilities":{}}`, `{}`},
		{`{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`, `{"elicitation":{},"sampling":{}}`},
		{`{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}},"roots":{}},"progressToken":1,"io.modelcontextprotocol/logLevel":"info","io.modelcontextprotocol/protocolVersion":"x"}`, `{"roots":{}}`},
	} {
		m := &structpb.Struct{}
		if err := m.UnmarshalJSON([]byte(tt.metadata)); err != nil {
			t.Fatal(err)
		}
		_, err := c.CallTool(t.Context(), &googlepb.CallToolRequest{Common: &googlepb.RequestFields{Metadata: m}, Request: &googlepb.CallToolRequest_Request{Name: "t"}})
		if err != nil || string(asked.Capabilities) != tt.want || asked.ProgressToken != nil || asked.LogLevel != protocol.LogNone || asked.Revision != protocol.Revision20260728 {
			t.Errorf("%s: %+v, %v", tt.metadata, asked, err)
		}
	}
	m := &structpb.Struct{Fields: map[string]*structpb.Value{"traceparent": structpb.NewNumberValue(1)}}
	_, err := c.ListTools(t.Context(), &googlepb.ListToolsRequest{Common: &googlepb.RequestFields{Metadata: m}})
	if connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Error(err)
	}
}

// TestUndeclared: what a client has not declared it is not asked.
func TestUndeclared(t *testing.T) {
	t.Parallel()
	var ask *googlepb.ServerInitiatedRequest
	c := (&peer{call: func(context.Context, *googlepb.CallToolRequest) (*googlepb.CallToolResponse, error) {
		return &googlepb.CallToolResponse{Common: &googlepb.ResponseFields{DependentRequests: map[string]*googlepb.ServerInitiatedRequest{"q": ask}}}, nil
	}}).serve(t)
	for _, tt := range []struct {
		ask          *googlepb.ServerInitiatedRequest
		capabilities string
		want         string
	}{
		{&googlepb.ServerInitiatedRequest{ElicitRequest: &googlepb.ElicitRequest{}}, `{"elicitation":{"url":{}},"sampling":{}}`, `{"requiredCapabilities":{"elicitation":{}}}`},
		{&googlepb.ServerInitiatedRequest{SamplingCreateMessage: &googlepb.SamplingCreateMessageRequest{}}, `{"elicitation":{}}`, `{"requiredCapabilities":{"sampling":{}}}`},
		{&googlepb.ServerInitiatedRequest{ListRootsRequest: &googlepb.ListRootsRequest{}}, `{}`, `{"requiredCapabilities":{"roots":{}}}`},
		{&googlepb.ServerInitiatedRequest{ListRootsRequest: &googlepb.ListRootsRequest{}}, `{"roots":{}}`, ``},
		{&googlepb.ServerInitiatedRequest{NotifyOnRootListUpdate: true}, `{"roots":{}}`, `malformed`},
	} {
		ask = tt.ask
		got, err := c.Handle(t.Context(), &protocol.Request{
			Method: protocol.MethodCallTool, Params: json.RawMessage(`{"name":"t"}`), Caller: &protocol.Caller{}, Meta: protocol.Meta{Capabilities: json.RawMessage(tt.capabilities)},
		}, protocol.Discard)
		upstream, malformed := errors.AsType[*protocol.UpstreamError](err)
		fault, ok := errors.AsType[*protocol.Error](err)
		switch {
		case tt.want == "malformed":
			if !malformed || upstream.Kind != protocol.UpstreamMalformed {
				t.Errorf("%v: %v", tt.ask, err)
			}
		case tt.want == "":
			if err != nil || string(got.Body) != `{"inputRequests":{"q":{"method":"roots/list","params":{}}}}` {
				t.Errorf("%v: %+v, %v", tt.ask, got, err)
			}
		case !ok || fault.Code != protocol.CodeMissingClientCapability || string(fault.Data) != tt.want:
			t.Errorf("%v: %v", tt.ask, err)
		}
	}
}

// TestBase64: some servers put the text of base64 into bytes.
func TestBase64(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		data    string
		off, on string
	}{
		{"\x00\x01\x02", "AAEC", "AAEC"},
		{"AAEC", "QUFFQw==", "AAEC"},
		{"AAE=", "QUFFPQ==", "AAE="},
		{"AAE", "QUFF", "QUFF"}, // no base64
		{"", "", ""},
	} {
		server := &peer{call: func(context.Context, *googlepb.CallToolRequest) (*googlepb.CallToolResponse, error) {
			return &googlepb.CallToolResponse{Content: []*googlepb.CallToolResponse_Content{{Image: &googlepb.ImageContent{Data: []byte(tt.data), MimeType: "a/b"}}}}, nil
		}}
		for on, want := range map[bool]string{false: tt.off, true: tt.on} {
			c := server.serve(t, func(cfg *googlemcp.ClientConfig) { cfg.Base64 = on })
			got, err := ask(t.Context(), c, protocol.MethodCallTool, `{"name":"t"}`)
			if err != nil || got != `{"resultType":"complete","content":[{"type":"image","data":"`+want+`","mimeType":"a/b"}]}` {
				t.Errorf("%q %v: %s, %v", tt.data, on, got, err)
			}
		}
	}
}

// TestOtherServer: what comes from servers that do not know what MCP wants.
func TestOtherServer(t *testing.T) {
	t.Parallel()
	c := (&peer{
		list: func(context.Context, *googlepb.ListToolsRequest) (*googlepb.ListToolsResponse, error) {
			return &googlepb.ListToolsResponse{Tools: []*googlepb.Tool{{Name: "t", OutputSchema: &structpb.Struct{}}}}, nil
		},
		call: func(context.Context, *googlepb.CallToolRequest) (*googlepb.CallToolResponse, error) {
			return &googlepb.CallToolResponse{Content: []*googlepb.CallToolResponse_Content{
				{}, {EmbeddedResource: &googlepb.EmbeddedResource{}},
				{Text: &googlepb.TextContent{Text: "a", Annotations: &googlepb.Annotations{Audience: []googlepb.Role{0, 7}}}, Image: &googlepb.ImageContent{}},
			}}, nil
		},
	}).serve(t)
	for method, want := range map[string]string{
		protocol.MethodListTools: `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"t","inputSchema":{"type":"object"}}]}`,
		protocol.MethodCallTool: `{"resultType":"complete","content":[{"type":"resource","resource":{"text":""}},` +
			`{"type":"text","text":"a","annotations":{}},{"type":"image","data":""}]}`,
	} {
		got, err := ask(t.Context(), c, method, `{}`)
		if err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", method, got, err, want)
		}
	}
	for method, params := range map[string]string{protocol.MethodListTools: `{"cursor":"x"}`, protocol.MethodComplete: `{"ref":{"type":"x"},"argument":{}}`} {
		_, err := ask(t.Context(), c, method, params)
		if fault, ok := errors.AsType[*protocol.Error](err); !ok || fault.Code != protocol.CodeInvalidParams {
			t.Errorf("%s: %v", method, err)
		}
	}
	if _, err := ask(t.Context(), c, protocol.MethodListen, `{}`); protocol.AsError(err).Code != protocol.CodeMethodNotFound {
		t.Error(err)
	}
}

func TestDiscover(t *testing.T) {
	t.Parallel()
	info := &structpb.Struct{Fields: map[string]*structpb.Value{protocol.MetaServerInfo: structpb.NewStructValue(
		&structpb.Struct{Fields: map[string]*structpb.Value{"name": structpb.NewStringValue("s")}},
	)}}
	const versions = `"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]`
	c := (&peer{list: func(context.Context, *googlepb.ListToolsRequest) (*googlepb.ListToolsResponse, error) {
		return &googlepb.ListToolsResponse{Common: &googlepb.ResponseFields{Instructions: "use it", Metadata: info}}, nil
	}}).serve(t)
	got, err := ask(t.Context(), c, protocol.MethodDiscover, `{}`)
	want := `{"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}},` + versions + `,"capabilities":{"tools":{}},"instructions":"use it"}`
	if err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}

	c = (&peer{}).serve(t)
	_, err = ask(t.Context(), c, protocol.MethodDiscover, `{}`)
	if upstream, ok := errors.AsType[*protocol.UpstreamError](err); !ok || upstream.Kind != protocol.UpstreamMalformed {
		t.Errorf("none of the methods: %v", err)
	}
	c = (&peer{list: func(context.Context, *googlepb.ListToolsRequest) (*googlepb.ListToolsResponse, error) {
		return nil, status.Error(codes.Unavailable, "down")
	}}).serve(t)
	_, err = ask(t.Context(), c, protocol.MethodDiscover, `{}`)
	if upstream, ok := errors.AsType[*protocol.UpstreamError](err); !ok || upstream.Kind != protocol.UpstreamUnavailable {
		t.Errorf("down: %v", err)
	}
	c = (&peer{list: func(context.Context, *googlepb.ListToolsRequest) (*googlepb.ListToolsResponse, error) {
		return nil, status.Error(codes.Internal, "it fails")
	}}).serve(t)
	if got, err = ask(t.Context(), c, protocol.MethodDiscover, `{}`); err != nil || !strings.Contains(got, `"capabilities":{"tools":{}}`) {
		t.Errorf("it fails: %s, %v", got, err)
	}

	// Through a Front: what the server behind it has.
	url, hc := serve(t, func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		switch r.Method {
		case protocol.MethodDiscover:
			return result(`{"resultType":"complete","supportedVersions":[],"capabilities":{},"instructions":"read it"}`), nil
		case protocol.MethodListResources:
			return &protocol.Result{Body: json.RawMessage(`{"resources":[]}`), Server: json.RawMessage(`{"name":"r","version":"1"}`)}, nil
		case protocol.MethodComplete:
			return nil, protocol.Errorf(protocol.CodeInvalidParams, "of what?")
		default:
			return nil, protocol.MethodNotFound(r.Method)
		}
	})
	got, err = ask(t.Context(), dial(t, hc, url, connectcall.ProtocolGRPCWeb), protocol.MethodDiscover, `{}`)
	want = `{"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"r","version":"1"}},` + versions + `,"capabilities":{"resources":{},"completions":{}},"instructions":"read it"}`
	if err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
}
