package googlemcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol/modelcontextprotocolconnect"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// echo answers a call with its params and its metadata.
func echo(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
	switch r.Method {
	case protocol.MethodListTools:
		return &protocol.Result{Body: json.RawMessage(`{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)}, nil
	case protocol.MethodCallTool:
		text, err := json.Marshal(fmt.Sprintf("%s %s %s", r.Caller.Transport, r.Caller.Header.Get("Authorization"), r.Params))
		if err != nil {
			return nil, err
		}
		return &protocol.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":` + string(text) + `}]}`)}, nil
	default:
		return nil, protocol.MethodNotFound(r.Method)
	}
}

func TestProtocols(t *testing.T) {
	t.Parallel()
	url, hc := serve(t, echo)
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
			c := modelcontextprotocolconnect.NewMcpClient(hc, url, tt.opts...)
			list, err := c.ListTools(t.Context(), &googlepb.ListToolsRequest{})
			if err != nil || list.GetTools()[0].GetName() != "echo" || list.GetTools()[0].GetInputSchema().GetFields()["type"].GetStringValue() != "object" {
				t.Errorf("%v, %v", list, err)
			}
			ctx, info := connect.NewClientContext(t.Context())
			info.RequestHeader().Set("Authorization", "Bearer x")
			args := &structpb.Struct{Fields: map[string]*structpb.Value{"n": structpb.NewNumberValue(1)}}
			got, err := c.CallTool(ctx, &googlepb.CallToolRequest{Request: &googlepb.CallToolRequest_Request{Name: "echo", Arguments: args}})
			want := tt.name + ` Bearer x {"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
				`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}}},"name":"echo","arguments":{"n":1}}`
			if text := got.GetContent(); err != nil || len(text) != 1 || text[0].GetText().GetText() != want {
				t.Errorf("%v, %v, want %s", got, err, want)
			}
			if v := info.ResponseHeader().Get("Mcp-Protocol-Version"); v != "2025-06-18" {
				t.Errorf("version %q", v)
			}
		})
	}
}
