package googlemcp

import (
	"context"

	"google.golang.org/protobuf/proto"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// ListTools answers by [protocol.MethodListTools].
func (f *Front) ListTools(ctx context.Context, r *googlepb.ListToolsRequest) (*googlepb.ListToolsResponse, error) {
	out := &googlepb.ListToolsResponse{}
	to := &toGoogle{codecs: f.codecs}
	common, ttl, err := list(ctx, f, to, r.GetCommon(), protocol.MethodListTools, func(page *mcpv1.ListToolsResponse) *int64 {
		for _, t := range page.GetTools() {
			out.Tools = append(out.Tools, to.tool(t))
		}
		return page.TtlMs
	})
	if err != nil {
		return nil, err
	}
	out.Common, out.Ttl = common, ttl
	return out, nil
}

// ListResources answers by [protocol.MethodListResources].
func (f *Front) ListResources(ctx context.Context, r *googlepb.ListResourcesRequest) (*googlepb.ListResourcesResponse, error) {
	out := &googlepb.ListResourcesResponse{}
	to := &toGoogle{codecs: f.codecs}
	common, ttl, err := list(ctx, f, to, r.GetCommon(), protocol.MethodListResources, func(page *mcpv1.ListResourcesResponse) *int64 {
		for _, r := range page.GetResources() {
			out.Resources = append(out.Resources, resource(r))
		}
		return page.TtlMs
	})
	if err != nil {
		return nil, err
	}
	out.Common, out.Ttl = common, ttl
	return out, nil
}

// ListResourceTemplates answers by [protocol.MethodListTemplates].
func (f *Front) ListResourceTemplates(ctx context.Context, r *googlepb.ListResourceTemplatesRequest) (*googlepb.ListResourceTemplatesResponse, error) {
	out := &googlepb.ListResourceTemplatesResponse{}
	to := &toGoogle{codecs: f.codecs}
	common, ttl, err := list(ctx, f, to, r.GetCommon(), protocol.MethodListTemplates, func(page *mcpv1.ListResourceTemplatesResponse) *int64 {
		for _, t := range page.GetResourceTemplates() {
			out.ResourceTemplates = append(out.ResourceTemplates, template(t))
		}
		return page.TtlMs
	})
	if err != nil {
		return nil, err
	}
	out.Common, out.Ttl = common, ttl
	return out, nil
}

// ListPrompts answers by [protocol.MethodListPrompts].
func (f *Front) ListPrompts(ctx context.Context, r *googlepb.ListPromptsRequest) (*googlepb.ListPromptsResponse, error) {
	out := &googlepb.ListPromptsResponse{}
	to := &toGoogle{codecs: f.codecs}
	common, ttl, err := list(ctx, f, to, r.GetCommon(), protocol.MethodListPrompts, func(page *mcpv1.ListPromptsResponse) *int64 {
		for _, p := range page.GetPrompts() {
			out.Prompts = append(out.Prompts, prompt(p))
		}
		return page.TtlMs
	})
	if err != nil {
		return nil, err
	}
	out.Common, out.Ttl = common, ttl
	return out, nil
}

// CallTool answers by [protocol.MethodCallTool].
func (f *Front) CallTool(ctx context.Context, r *googlepb.CallToolRequest) (*googlepb.CallToolResponse, error) {
	c, again, err := f.beginAgain(ctx, r.GetCommon())
	if err != nil {
		return nil, err
	}
	called := r.GetRequest()
	if called == nil {
		called = again.called
	}
	if called == nil {
		return nil, c.failure(protocol.Errorf(protocol.CodeInvalidParams, "request is missing: it may be left out only with the resume_data of a response"))
	}
	if err := c.about(called.GetName(), toolHeaders); err != nil {
		return nil, c.failure(err)
	}
	response := &mcpv1.CallToolResponse{}
	common, err := c.rounds(ctx, protocol.MethodCallTool, again, called, response, func(again *retry) proto.Message {
		request := &mcpv1.CallToolRequest{Name: called.GetName(), InputResponses: again.responses, RequestState: again.state}
		if args := called.GetArguments(); args != nil {
			request.ArgumentsForm = &mcpv1.CallToolRequest_Arguments{Arguments: args}
		}
		return request
	})
	if err != nil {
		return nil, err
	}
	to := &toGoogle{codecs: f.codecs}
	out := to.callResult(response.GetComplete())
	if to.err != nil {
		return nil, c.failure(to.err)
	}
	out.Common = common
	return out, nil
}

// GetPrompt answers by [protocol.MethodGetPrompt].
func (f *Front) GetPrompt(ctx context.Context, r *googlepb.GetPromptRequest) (*googlepb.GetPromptResponse, error) {
	c, again, err := f.beginAgain(ctx, r.GetCommon())
	if err != nil {
		return nil, err
	}
	if err := c.about(r.GetName(), promptHeaders); err != nil {
		return nil, c.failure(err)
	}
	response := &mcpv1.GetPromptResponse{}
	common, err := c.rounds(ctx, protocol.MethodGetPrompt, again, nil, response, func(again *retry) proto.Message {
		return &mcpv1.GetPromptRequest{Name: r.GetName(), Arguments: r.GetArguments(), InputResponses: again.responses, RequestState: again.state}
	})
	if err != nil {
		return nil, err
	}
	to := &toGoogle{codecs: f.codecs}
	out := to.promptResult(response.GetComplete())
	if to.err != nil {
		return nil, c.failure(to.err)
	}
	out.Common = common
	return out, nil
}

// ReadResource answers by [protocol.MethodReadResource].
func (f *Front) ReadResource(ctx context.Context, r *googlepb.ReadResourceRequest) (*googlepb.ReadResourceResponse, error) {
	c, again, err := f.beginAgain(ctx, r.GetCommon())
	if err != nil {
		return nil, err
	}
	if err := c.about(r.GetUri(), resourceHeaders); err != nil {
		return nil, c.failure(err)
	}
	response := &mcpv1.ReadResourceResponse{}
	common, err := c.rounds(ctx, protocol.MethodReadResource, again, nil, response, func(again *retry) proto.Message {
		return &mcpv1.ReadResourceRequest{Uri: r.GetUri(), InputResponses: again.responses, RequestState: again.state}
	})
	if err != nil {
		return nil, err
	}
	out := readResult(response.GetComplete())
	out.Common = common
	return out, nil
}

// Complete answers by [protocol.MethodComplete].
func (f *Front) Complete(ctx context.Context, r *googlepb.CompletionRequest) (*googlepb.CompletionResponse, error) {
	c, err := f.begin(ctx, r.GetCommon())
	if err != nil {
		return nil, err
	}
	request := &mcpv1.CompleteRequest{Argument: &mcpv1.CompleteArgument{Name: r.GetArgument().GetName(), Value: r.GetArgument().GetValue()}}
	var of string
	switch {
	case r.GetPromptReference() != nil:
		of = r.GetPromptReference().GetName()
		request.Ref = &mcpv1.CompletionReference{Reference: &mcpv1.CompletionReference_Prompt{
			Prompt: &mcpv1.PromptReference{Name: of, Title: r.GetPromptReference().GetTitle()},
		}}
	case r.GetResourceReference() != nil:
		of = r.GetResourceReference().GetUri()
		request.Ref = &mcpv1.CompletionReference{Reference: &mcpv1.CompletionReference_Resource{
			Resource: &mcpv1.ResourceTemplateReference{Uri: of},
		}}
	}
	if args := r.GetContext().GetArguments(); len(args) > 0 {
		request.Context = &mcpv1.CompleteContext{Arguments: args}
	}
	if err := c.about(of, completeHeaders); err != nil {
		return nil, c.failure(err)
	}
	params, err := f.codecs.json(request)
	if err != nil {
		return nil, c.failure(protocol.Errorf(protocol.CodeInvalidParams, "%v", err))
	}
	response := &mcpv1.CompleteResponse{}
	meta, err := c.ask(ctx, protocol.MethodComplete, params, response)
	if err != nil {
		return nil, c.failure(err)
	}
	out := completion(response.GetCompletion())
	if out.Common, err = c.common(meta); err != nil {
		return nil, c.failure(err)
	}
	return out, nil
}
