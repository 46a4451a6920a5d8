package googlemcp

import (
	"context"
	"encoding/json"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// answers are how the methods of MCP are asked, by name.
var answers = map[string]func(a *asking, ctx context.Context, params json.RawMessage) (*protocol.Result, error){
	protocol.MethodListTools: (*asking).listTools,
	protocol.MethodCallTool:  (*asking).callTool,
}

func (a *asking) listTools(ctx context.Context, params json.RawMessage) (*protocol.Result, error) {
	response := &googlepb.ListToolsResponse{}
	if err := a.call(ctx, "ListTools", &googlepb.ListToolsRequest{Common: a.common(params)}, response, "", ""); err != nil {
		return nil, err
	}
	out := &mcpv1.ListToolsResponse{TtlMs: millisOf(response.GetTtl())}
	for _, t := range response.GetTools() {
		out.Tools = append(out.Tools, a.from.tool(t))
	}
	return a.result(out, response.GetCommon())
}

func (a *asking) callTool(ctx context.Context, params json.RawMessage) (*protocol.Result, error) {
	request := &mcpv1.CallToolRequest{}
	if err := a.read(params, request); err != nil {
		return nil, err
	}
	response := &googlepb.CallToolResponse{}
	err := a.call(ctx, "CallTool", &googlepb.CallToolRequest{
		Common: a.common(params),
		Request: &googlepb.CallToolRequest_Request{
			Name: request.GetName(), Arguments: a.to.object(request.GetArguments(), request.GetArgumentsJson()),
		},
	}, response, headerTool, request.GetName())
	if err != nil {
		return nil, err
	}
	return a.result(&mcpv1.CallToolResponse{Result: &mcpv1.CallToolResponse_Complete{Complete: a.from.callResult(response)}}, response.GetCommon())
}
