package main

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"connectrpc.com/connect"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

// tool is something that the server can do.
type tool struct {
	name, description string
	schema            string            // of the arguments, JSON Schema; without it, there are none
	tasks             mcpv1.TaskSupport // whether calls become tasks
	run               func(context.Context, *call) (*mcpv1.CallToolResponse, error)
}

func allTools() []*tool {
	return slices.Concat(contentTools(), reportingTools(), askingTools(), roundTools(), changingTools(), taskTools())
}

// call is a call of a tool.
type call struct {
	server  *server
	request *mcpv1.CallToolRequest
	state   string // what the tool has left when it asked the client for something
	send    func(*mcpv1.StreamCallToolResponse) error
}

// ListTools lists the tools, all on one page.
func (s *server) ListTools(_ context.Context, r *mcpv1.ListToolsRequest) (*mcpv1.ListToolsResponse, error) {
	if err := onlyPage(r); err != nil {
		return nil, err
	}
	response := &mcpv1.ListToolsResponse{TtlMs: new(cacheFor), CacheScope: mcpv1.CacheScope_CACHE_SCOPE_PUBLIC}
	for _, t := range s.tools.all() {
		listed := &mcpv1.Tool{
			Name:        t.name,
			Description: t.description,
			InputSchemaForm: &mcpv1.Tool_InputSchemaJson{
				InputSchemaJson: []byte(cmp.Or(t.schema, `{"type":"object"}`)),
			},
		}
		if t.tasks != mcpv1.TaskSupport_TASK_SUPPORT_UNSPECIFIED {
			listed.Execution = &mcpv1.ToolExecution{TaskSupport: t.tasks}
		}
		response.Tools = append(response.Tools, listed)
	}
	return response, nil
}

// onlyPage refuses requests for another page than the first.
func onlyPage(r interface{ GetCursor() string }) error {
	if r.GetCursor() != "" {
		return invalid("there is one page only")
	}
	return nil
}

// CallTool calls a tool.
func (s *server) CallTool(ctx context.Context, r *mcpv1.CallToolRequest) (*mcpv1.CallToolResponse, error) {
	return s.call(ctx, r, func(*mcpv1.StreamCallToolResponse) error { return nil })
}

// StreamCallTool calls a tool, and sends its progress and its log before the
// result.
func (s *server) StreamCallTool(ctx context.Context, r *mcpv1.StreamCallToolRequest, stream *connect.ServerStream[mcpv1.StreamCallToolResponse]) error {
	response, err := s.call(ctx, r.GetRequest(), stream.Send)
	if err != nil {
		return err
	}
	return stream.Send(&mcpv1.StreamCallToolResponse{Event: &mcpv1.StreamCallToolResponse_Result{Result: response}})
}

func (s *server) call(ctx context.Context, r *mcpv1.CallToolRequest, send func(*mcpv1.StreamCallToolResponse) error) (*mcpv1.CallToolResponse, error) {
	t, ok := s.tools.get(r.GetName())
	if !ok {
		return nil, invalid("there is no tool %q", r.GetName())
	}
	c := &call{server: s, request: r, send: send}
	if r.RequestState != nil {
		var err error
		if c.state, err = s.open(t.name, r.GetRequestState()); err != nil {
			return nil, err
		}
	}
	if t.tasks == mcpv1.TaskSupport_TASK_SUPPORT_REQUIRED {
		if err := needsTasks(r.GetMeta()); err != nil {
			return nil, err
		}
	}
	return t.run(ctx, c)
}

// arguments reads the arguments of a call. Where they do not fit, the error is
// for the model.
func (c *call) arguments(into any) error {
	text, err := json.Marshal(c.request.GetArguments().AsMap())
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// done is the response of a tool that has done its work.
func done(content ...*mcpv1.ContentBlock) (*mcpv1.CallToolResponse, error) {
	return completed(&mcpv1.CallToolResult{Content: content}), nil
}

// failed is the response of a tool that could not do its work, and tells the
// model why.
func failed(why string) (*mcpv1.CallToolResponse, error) {
	return completed(&mcpv1.CallToolResult{Content: []*mcpv1.ContentBlock{text(why)}, IsError: new(true)}), nil
}

func completed(result *mcpv1.CallToolResult) *mcpv1.CallToolResponse {
	return &mcpv1.CallToolResponse{Result: &mcpv1.CallToolResponse_Complete{Complete: result}}
}
