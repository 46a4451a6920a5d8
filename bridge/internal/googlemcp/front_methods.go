package googlemcp

import (
	"context"
	"encoding/json"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// ListTools answers by [protocol.MethodListTools].
func (f *Front) ListTools(ctx context.Context, r *googlepb.ListToolsRequest) (*googlepb.ListToolsResponse, error) {
	out := &googlepb.ListToolsResponse{}
	to := &toGoogle{codecs: f.codecs}
	common, ttl, err := list(ctx, f, r.GetCommon(), protocol.MethodListTools, func(page *mcpv1.ListToolsResponse) *int64 {
		for _, t := range page.GetTools() {
			out.Tools = append(out.Tools, to.tool(t))
		}
		return page.TtlMs
	}, to)
	if err != nil {
		return nil, err
	}
	out.Common, out.Ttl = common, ttlOf(ttl)
	return out, nil
}

// CallTool answers by [protocol.MethodCallTool].
func (f *Front) CallTool(ctx context.Context, r *googlepb.CallToolRequest) (*googlepb.CallToolResponse, error) {
	c, err := f.begin(ctx, r.GetCommon())
	if err != nil {
		return nil, err
	}
	request := &mcpv1.CallToolRequest{Name: r.GetRequest().GetName()}
	if args := r.GetRequest().GetArguments(); args != nil {
		request.ArgumentsForm = &mcpv1.CallToolRequest_Arguments{Arguments: args}
	}
	params, err := f.codecs.json(request)
	if err != nil {
		return nil, c.failure(protocol.Errorf(protocol.CodeInvalidParams, "%v", err))
	}
	response := &mcpv1.CallToolResponse{}
	meta, err := c.ask(ctx, protocol.MethodCallTool, params, response)
	if err != nil {
		return nil, c.failure(err)
	}
	to := &toGoogle{codecs: f.codecs}
	out := to.callResult(response.GetComplete())
	out.Common = to.common(meta)
	if to.err != nil {
		return nil, c.failure(to.err)
	}
	return out, nil
}

func (c *toGoogle) common(meta json.RawMessage) *googlepb.ResponseFields {
	if m := c.metadata(meta); len(m.GetFields()) > 0 {
		return &googlepb.ResponseFields{Metadata: m}
	}
	return nil
}
