package googlemcp

import (
	"context"
	"encoding/json"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// answers are how the methods of MCP are asked, by name.
var answers = map[string]func(a *asking, ctx context.Context, params json.RawMessage) (*protocol.Result, error){
	protocol.MethodDiscover:      (*asking).discover,
	protocol.MethodListTools:     (*asking).listTools,
	protocol.MethodCallTool:      (*asking).callTool,
	protocol.MethodListResources: (*asking).listResources,
	protocol.MethodListTemplates: (*asking).listTemplates,
	protocol.MethodReadResource:  (*asking).readResource,
	protocol.MethodListPrompts:   (*asking).listPrompts,
	protocol.MethodGetPrompt:     (*asking).getPrompt,
	protocol.MethodComplete:      (*asking).complete,
}

// listFields makes the common fields of a request for a list, which has one page.
func (a *asking) listFields(params json.RawMessage) (*googlepb.RequestFields, error) {
	if _, ok := jsontok.Lookup(params, "cursor"); ok {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.cursor is not one of this server: its lists have one page")
	}
	return a.fields(params, nil, nil)
}

func (a *asking) listTools(ctx context.Context, params json.RawMessage) (*protocol.Result, error) {
	common, err := a.listFields(params)
	if err != nil {
		return nil, err
	}
	response := &googlepb.ListToolsResponse{}
	if err := a.call(ctx, "ListTools", &googlepb.ListToolsRequest{Common: common}, response, "", ""); err != nil {
		return nil, err
	}
	out := &mcpv1.ListToolsResponse{TtlMs: millisOf(response.GetTtl())}
	for _, t := range response.GetTools() {
		out.Tools = append(out.Tools, a.from.tool(t))
	}
	return a.result(out, response.GetCommon())
}

func (a *asking) listResources(ctx context.Context, params json.RawMessage) (*protocol.Result, error) {
	common, err := a.listFields(params)
	if err != nil {
		return nil, err
	}
	response := &googlepb.ListResourcesResponse{}
	if err := a.call(ctx, "ListResources", &googlepb.ListResourcesRequest{Common: common}, response, "", ""); err != nil {
		return nil, err
	}
	out := &mcpv1.ListResourcesResponse{TtlMs: millisOf(response.GetTtl())}
	for _, r := range response.GetResources() {
		out.Resources = append(out.Resources, a.from.resource(r))
	}
	return a.result(out, response.GetCommon())
}

func (a *asking) listTemplates(ctx context.Context, params json.RawMessage) (*protocol.Result, error) {
	common, err := a.listFields(params)
	if err != nil {
		return nil, err
	}
	response := &googlepb.ListResourceTemplatesResponse{}
	if err := a.call(ctx, "ListResourceTemplates", &googlepb.ListResourceTemplatesRequest{Common: common}, response, "", ""); err != nil {
		return nil, err
	}
	out := &mcpv1.ListResourceTemplatesResponse{TtlMs: millisOf(response.GetTtl())}
	for _, t := range response.GetResourceTemplates() {
		out.ResourceTemplates = append(out.ResourceTemplates, a.from.template(t))
	}
	return a.result(out, response.GetCommon())
}

func (a *asking) listPrompts(ctx context.Context, params json.RawMessage) (*protocol.Result, error) {
	common, err := a.listFields(params)
	if err != nil {
		return nil, err
	}
	response := &googlepb.ListPromptsResponse{}
	if err := a.call(ctx, "ListPrompts", &googlepb.ListPromptsRequest{Common: common}, response, "", ""); err != nil {
		return nil, err
	}
	out := &mcpv1.ListPromptsResponse{TtlMs: millisOf(response.GetTtl())}
	for _, p := range response.GetPrompts() {
		out.Prompts = append(out.Prompts, a.from.prompt(p))
	}
	return a.result(out, response.GetCommon())
}

func (a *asking) callTool(ctx context.Context, params json.RawMessage) (*protocol.Result, error) {
	request := &mcpv1.CallToolRequest{}
	if err := a.read(params, request); err != nil {
		return nil, err
	}
	if raw := request.GetArgumentsJson(); raw != nil && jsontok.KindOf(raw) != jsontok.KindObject {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.arguments must be an object")
	}
	called := &googlepb.CallToolRequest_Request{Name: request.GetName(), Arguments: a.to.object(request.GetArguments(), request.GetArgumentsJson())}
	common, err := a.fields(params, request.GetInputResponses(), request.RequestState)
	if err != nil {
		return nil, err
	}
	response := &googlepb.CallToolResponse{}
	if err := a.call(ctx, "CallTool", &googlepb.CallToolRequest{Common: common, Request: called}, response, headerTool, request.GetName()); err != nil {
		return nil, err
	}
	in, err := a.needs(response.GetCommon())
	if err != nil {
		return nil, err
	}
	out := &mcpv1.CallToolResponse{Result: &mcpv1.CallToolResponse_InputRequired{InputRequired: in}}
	if in == nil {
		out.Result = &mcpv1.CallToolResponse_Complete{Complete: a.from.callResult(response)}
	}
	return a.result(out, response.GetCommon())
}

func (a *asking) readResource(ctx context.Context, params json.RawMessage) (*protocol.Result, error) {
	request := &mcpv1.ReadResourceRequest{}
	if err := a.read(params, request); err != nil {
		return nil, err
	}
	common, err := a.fields(params, request.GetInputResponses(), request.RequestState)
	if err != nil {
		return nil, err
	}
	response := &googlepb.ReadResourceResponse{}
	if err := a.call(ctx, "ReadResource", &googlepb.ReadResourceRequest{Common: common, Uri: request.GetUri()}, response, headerResource, request.GetUri()); err != nil {
		return nil, err
	}
	in, err := a.needs(response.GetCommon())
	if err != nil {
		return nil, err
	}
	out := &mcpv1.ReadResourceResponse{Result: &mcpv1.ReadResourceResponse_InputRequired{InputRequired: in}}
	if in == nil {
		out.Result = &mcpv1.ReadResourceResponse_Complete{Complete: a.from.readResult(response)}
	}
	return a.result(out, response.GetCommon())
}

func (a *asking) getPrompt(ctx context.Context, params json.RawMessage) (*protocol.Result, error) {
	request := &mcpv1.GetPromptRequest{}
	if err := a.read(params, request); err != nil {
		return nil, err
	}
	common, err := a.fields(params, request.GetInputResponses(), request.RequestState)
	if err != nil {
		return nil, err
	}
	response := &googlepb.GetPromptResponse{}
	if err := a.call(ctx, "GetPrompt", &googlepb.GetPromptRequest{Common: common, Name: request.GetName(), Arguments: request.GetArguments()}, response, headerPrompt, request.GetName()); err != nil {
		return nil, err
	}
	in, err := a.needs(response.GetCommon())
	if err != nil {
		return nil, err
	}
	out := &mcpv1.GetPromptResponse{Result: &mcpv1.GetPromptResponse_InputRequired{InputRequired: in}}
	if in == nil {
		out.Result = &mcpv1.GetPromptResponse_Complete{Complete: a.from.promptResult(response)}
	}
	return a.result(out, response.GetCommon())
}

func (a *asking) complete(ctx context.Context, params json.RawMessage) (*protocol.Result, error) {
	request := &mcpv1.CompleteRequest{}
	if err := a.read(params, request); err != nil {
		return nil, err
	}
	common, err := a.fields(params, nil, nil)
	if err != nil {
		return nil, err
	}
	out := &googlepb.CompletionRequest{
		Common:   common,
		Argument: &googlepb.CompletionRequest_Argument{Name: request.GetArgument().GetName(), Value: request.GetArgument().GetValue()},
	}
	var of string
	switch {
	case request.GetRef().GetPrompt() != nil:
		of = request.GetRef().GetPrompt().GetName()
		out.PromptReference = &googlepb.PromptReference{Name: of, Title: request.GetRef().GetPrompt().GetTitle()}
	case request.GetRef().GetResource() != nil:
		of = request.GetRef().GetResource().GetUri()
		out.ResourceReference = &googlepb.ResourceReference{Uri: of}
	default:
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.ref must be of type ref/prompt or ref/resource")
	}
	if args := request.GetContext().GetArguments(); len(args) > 0 {
		out.Context = &googlepb.CompletionRequest_Context{Arguments: args}
	}
	response := &googlepb.CompletionResponse{}
	if err := a.call(ctx, "Complete", out, response, headerResource, of); err != nil {
		return nil, err
	}
	return a.result(&mcpv1.CompleteResponse{Completion: a.from.completion(response)}, response.GetCommon())
}
