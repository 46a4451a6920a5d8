package bridge_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
	"github.com/mcp-bridge/mcp-bridge/internal/samejson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
)

// TestTypedRoundTrip puts a Bridge in front of the typed service of a real MCP
// server: its tools are those of the server again.
func TestTypedRoundTrip(t *testing.T) {
	t.Parallel()
	server, err := stdio.NewClient(stdio.ClientConfig{
		Command: nodetools.Node(t), Args: []string{nodetools.Module(t, "@modelcontextprotocol/server-everything", "dist/index.js")},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	again := overTyped(t, server)

	type tool struct {
		Name, Title, Description  string
		InputSchema, OutputSchema any
	}
	list := func(h protocol.Handler) map[string]tool {
		res, err := h.Handle(t.Context(), request(protocol.MethodListTools, `{}`), protocol.Discard)
		if err != nil {
			t.Fatal(err)
		}
		var page struct{ Tools []tool }
		if err := json.Unmarshal(res.Body, &page); err != nil {
			t.Fatal(err)
		}
		all := make(map[string]tool)
		for _, tool := range page.Tools {
			all[tool.Name] = tool
		}
		return all
	}
	text := func(v any) string {
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	tools := list(again)
	for name, want := range list(server) {
		got, ok := tools[name]
		if !ok {
			t.Errorf("%s is gone", name)
			continue
		}
		if got.Title != want.Title || got.Description != want.Description ||
			text(got.InputSchema) != text(want.InputSchema) || text(got.OutputSchema) != text(want.OutputSchema) {
			t.Errorf("%s: got  %s\nwant %s", name, text(got), text(want))
		}
	}
	for _, params := range []string{
		`{"name":"echo","arguments":{"message":"hi"}}`,
		`{"name":"get-structured-content","arguments":{"location":"New York"}}`,
		`{"name":"get-resource-reference","arguments":{"resourceType":"Blob","resourceId":-1}}`,
		`{"name":"get-tiny-image","arguments":{}}`,
		`{"name":"get-annotated-message","arguments":{"messageType":"error","includeImage":true}}`,
	} {
		want, err := server.Handle(t.Context(), request(protocol.MethodCallTool, params), protocol.Discard)
		if err != nil {
			t.Fatal(err)
		}
		got, err := again.Handle(t.Context(), request(protocol.MethodCallTool, params), protocol.Discard)
		if err != nil {
			t.Fatalf("%s: %v", params, err)
		}
		if !samejson.Equal(got.Body, want.Body) {
			t.Errorf("%s:\ngot  %s\nwant %s", params, got.Body, want.Body)
		}
	}
}

// overTyped returns a Bridge of the typed service of what answers MCP.
func overTyped(t *testing.T, h protocol.Handler) *bridge.Bridge {
	t.Helper()
	typed, err := bridge.NewTypedService(t.Context(), bridge.TypedConfig{Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	grpc, err := bridge.NewGRPCHandler(bridge.GRPCConfig{Handler: h, Typed: []*bridge.TypedService{typed}})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	grpc.Mount(mux)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	backend := httptest.NewUnstartedServer(mux)
	backend.Config.Protocols = &protocols
	backend.Start()
	t.Cleanup(func() {
		typed.Close()
		grpc.Close()
		backend.CloseClientConnections()
		backend.Close()
	})
	caller, err := bridge.Connect("grpc"+strings.TrimPrefix(backend.URL, "http"), bridge.ConnectConfig{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := bridge.New(t.Context(), []bridge.Upstream{{Caller: caller, Services: []string{typed.Name()}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.Close()
		_ = caller.Close()
	})
	return b
}

// TestTypedElicitation asks a client through a Bridge and a typed service.
func TestTypedElicitation(t *testing.T) {
	t.Parallel()
	b := overTyped(t, protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		switch r.Method {
		case protocol.MethodListTools:
			return &protocol.Result{Body: json.RawMessage(`{"tools":[{"name":"ask","inputSchema":{"type":"object"}}]}`)}, nil
		case protocol.MethodListen:
			<-ctx.Done()
			return nil, ctx.Err()
		case protocol.MethodCallTool:
		default:
			return nil, protocol.MethodNotFound(r.Method)
		}
		if !protocol.HasCapability(r.Meta.Capabilities, "elicitation", "form") {
			return nil, protocol.MissingCapability(`{"elicitation":{"form":{}}}`)
		}
		if responses, ok := jsontok.Lookup(r.Params, "inputResponses"); ok {
			state, _ := jsontok.Lookup(r.Params, "requestState")
			return &protocol.Result{Body: json.RawMessage(`{"structuredContent":[` + string(state) + `,` + string(responses) + `]}`), Meta: json.RawMessage(`{"a":1}`)}, nil
		}
		return &protocol.Result{Type: protocol.ResultInputRequired, Body: json.RawMessage(required)}, nil
	}))
	ask := request(protocol.MethodCallTool, `{"name":"ask","arguments":{}}`)
	res, err := b.Handle(t.Context(), ask, protocol.Discard)
	if err != nil || !strings.Contains(string(res.Body), "FAILED_PRECONDITION") {
		t.Errorf("without the capability: %+v, %v", res, err)
	}
	ask.Meta.Capabilities = json.RawMessage(`{"elicitation":{"form":{}}}`)
	res, err = b.Handle(t.Context(), ask, protocol.Discard)
	if err != nil || res.Type != protocol.ResultInputRequired || !samejson.Equal(res.Body, []byte(required)) {
		t.Fatalf("asked: %+v, %v", res, err)
	}
	ask.Params = json.RawMessage(`{"name":"ask","arguments":{},"requestState":"sealed","inputResponses":{"q":{"action":"accept","content":{"name":"Ada"}}}}`)
	res, err = b.Handle(t.Context(), ask, protocol.Discard)
	want := `{"content":[],"structuredContent":["sealed",{"q":{"action":"accept","content":{"name":"Ada"}}}]}`
	if err != nil || !samejson.Equal(res.Body, []byte(want)) || string(res.Meta) != `{"a":1}` {
		t.Errorf("answered: %+v, %v", res, err)
	}
}

const required = `{"requestState":"sealed","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}}}`

// TestTypedByHand puts a Bridge in front of a backend that implements an exported
// service by itself.
func TestTypedByHand(t *testing.T) {
	t.Parallel()
	e, err := bridge.ExportProto(t.Context(), protocol.HandlerFunc(func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		if r.Method != protocol.MethodListTools {
			return nil, protocol.MethodNotFound(r.Method)
		}
		return &protocol.Result{Body: json.RawMessage(`{"tools":[{"name":"paint","inputSchema":{"type":"object","properties":{
			"colour":{"enum":["dark blue","red"]},"coats":{"type":"integer"},"walls":{"type":"array","items":{"type":"array","items":{"type":"string"}}}}}}]}`)}, nil
	}), bridge.ExportConfig{Dir: t.TempDir(), Package: "acme.v1", Name: "painter"})
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	for path, text := range e.Files {
		if strings.HasSuffix(path, ".proto") {
			files[path] = string(text)
		}
	}
	b := start(t, dynbackend.Start(t, files, map[string]dynbackend.Method{
		"Paint": func(_ context.Context, request, response *dynamicpb.Message) error {
			text, err := protojson.Marshal(request)
			if err != nil {
				return err
			}
			if strings.Contains(string(text), "COLOUR_RED") {
				st, err := status.New(codes.Unknown, "no red").WithDetails(&mcpv1.ToolError{Result: &mcpv1.CallToolResult{
					IsError: new(true), Content: []*mcpv1.ContentBlock{{Content: &mcpv1.ContentBlock_Text{Text: &mcpv1.TextContent{Text: "there is no red"}}}},
				}})
				if err != nil {
					return err
				}
				return st.Err()
			}
			return protojson.Unmarshal([]byte(`{"content":[{"text":{"text":"painted"}}],"structuredRaw":"eyJhIjoxfQ=="}`), response)
		},
	}))
	paint := listTools(t, b)["paint"]
	for _, want := range []string{`"enum":["dark blue","red"]`, `"coats":{"type":"integer"`, `"walls":{"type":"array","items":{"type":"array","items":{"type":"string"}}}`} {
		if !strings.Contains(string(paint.InputSchema), want) {
			t.Errorf("%s is missing in %s", want, paint.InputSchema)
		}
	}
	if paint.OutputSchema != nil {
		t.Errorf("%+v", paint)
	}
	res, err := b.Handle(t.Context(), request(protocol.MethodCallTool, `{"name":"paint","arguments":{"colour":"dark blue","coats":2,"walls":[["north"],[]]}}`), protocol.Discard)
	if want := `{"structuredContent":{"a":1},"content":[{"type":"text","text":"painted"}]}`; err != nil || !samejson.Equal(res.Body, []byte(want)) {
		t.Errorf("got %+v, %v", res, err)
	}
	res, err = b.Handle(t.Context(), request(protocol.MethodCallTool, `{"name":"paint","arguments":{"colour":"red"}}`), protocol.Discard)
	if want := `{"content":[{"type":"text","text":"there is no red"}],"isError":true}`; err != nil || !samejson.Equal(res.Body, []byte(want)) {
		t.Errorf("got %+v, %v", res, err)
	}
}
