package status

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/code"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/samejson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// TestTool tests that results are the same after they have been statuses.
func TestTool(t *testing.T) {
	t.Parallel()
	const task = `{"taskId":"7","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":1000}`
	for _, tt := range []struct {
		name string
		res  protocol.Result
		code code.Code
	}{
		{"success", protocol.Result{Body: json.RawMessage(`{"content":[],"isError":false}`)}, code.Code_OK},
		{"error", protocol.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":"no"},{"type":"new","x":1.50}],"isError":true,"structuredContent":9007199254740993,"x/y":[null]}`), Meta: json.RawMessage(`{"a":{"b":1}}`)}, code.Code_UNKNOWN},
		{"error without content", protocol.Result{Body: json.RawMessage(`{"content":[],"isError":true}`)}, code.Code_UNKNOWN},
		{"input", protocol.Result{Type: protocol.ResultInputRequired, Body: json.RawMessage(`{"requestState":"s","inputRequests":{"a":{"method":"roots/list"}}}`)}, code.Code_FAILED_PRECONDITION},
		{"task", protocol.Result{Type: protocol.ResultTask, Body: json.RawMessage(task)}, code.Code_UNKNOWN},
		{"new type", protocol.Result{Type: "later", Body: json.RawMessage(`{"when":"soon"}`)}, code.Code_UNKNOWN},
	} {
		st, err := OfTool(protocol.MethodCallTool, &tt.res)
		if err != nil || code.Code(st.GetCode()) != tt.code {
			t.Errorf("%s: got %v, %v; want %v", tt.name, st, err, tt.code)
			continue
		}
		if st == nil {
			continue
		}
		back := ToolResult(st)
		if back == nil {
			t.Errorf("%s: %v has no result", tt.name, st)
			continue
		}
		if back.Type == protocol.ResultComplete {
			back.Type = ""
		}
		if back.Type != tt.res.Type || !samejson.Equal(back.Body, tt.res.Body) || string(back.Meta) != string(tt.res.Meta) {
			t.Errorf("%s: became %q %s %s", tt.name, back.Type, back.Body, back.Meta)
		}
	}
	if st, err := OfTool(protocol.MethodReadResource, &protocol.Result{Body: json.RawMessage(`{"contents":[],"isError":true}`)}); st != nil || err != nil {
		t.Errorf("a resource that looks like a failed tool: %v, %v", st, err)
	}
	if _, err := OfTool(protocol.MethodCallTool, &protocol.Result{Body: json.RawMessage(`{"content":[],"content":[],"isError":true}`)}); err == nil || !strings.Contains(err.Error(), "content") {
		t.Errorf("no MCP: %v", err)
	}
}

// TestNoToolResult tests statuses that have no result.
func TestNoToolResult(t *testing.T) {
	t.Parallel()
	empty, err := anypb.New(&mcpv1.ToolError{})
	if err != nil {
		t.Fatal(err)
	}
	for name, st := range map[string]*statuspb.Status{
		"nil":        nil,
		"no details": {Code: 2},
		"empty":      {Code: 2, Details: []*anypb.Any{empty}},
		"broken":     {Code: 2, Details: []*anypb.Any{{TypeUrl: empty.GetTypeUrl(), Value: []byte{0xff}}}},
		"no MCP":     {Code: 2, Details: []*anypb.Any{{TypeUrl: "type.googleapis.com/mcp.v1.CallToolResponse", Value: []byte{0x7a, 1, '['}}}},
	} {
		if res := ToolResult(st); res != nil {
			t.Errorf("%s: got %+v", name, res)
		}
	}
}
