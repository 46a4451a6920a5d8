package mirror

import (
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/reflect/protoreflect"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func service() protoreflect.ServiceDescriptor {
	return mcpv1.File_mcp_v1_service_proto.Services().ByName("McpService")
}

// rpcs are the RPCs by which the methods of MCP are asked. Those that have
// notifications too have a second one, whose name begins with Stream.
var rpcs = map[string]protoreflect.Name{
	protocol.MethodDiscover:      "Discover",
	protocol.MethodListTools:     "ListTools",
	protocol.MethodCallTool:      "CallTool",
	protocol.MethodListResources: "ListResources",
	protocol.MethodListTemplates: "ListResourceTemplates",
	protocol.MethodReadResource:  "ReadResource",
	protocol.MethodListPrompts:   "ListPrompts",
	protocol.MethodGetPrompt:     "GetPrompt",
	protocol.MethodComplete:      "Complete",
	protocol.MethodListen:        "Listen",
	protocol.MethodGetTask:       "GetTask",
	protocol.MethodUpdateTask:    "UpdateTask",
	protocol.MethodCancelTask:    "CancelTask",
	protocol.MethodListTasks:     "ListTasks",
	protocol.MethodTaskResult:    "GetTaskResult",
}

// Discover answers by [protocol.MethodDiscover].
func (f *Front) Discover(ctx context.Context, r *mcpv1.DiscoverRequest) (*mcpv1.DiscoverResponse, error) {
	return unary[mcpv1.DiscoverResponse](ctx, f, protocol.MethodDiscover, r)
}

// ListTools answers by [protocol.MethodListTools].
func (f *Front) ListTools(ctx context.Context, r *mcpv1.ListToolsRequest) (*mcpv1.ListToolsResponse, error) {
	return unary[mcpv1.ListToolsResponse](ctx, f, protocol.MethodListTools, r)
}

// CallTool answers by [protocol.MethodCallTool].
func (f *Front) CallTool(ctx context.Context, r *mcpv1.CallToolRequest) (*mcpv1.CallToolResponse, error) {
	return unary[mcpv1.CallToolResponse](ctx, f, protocol.MethodCallTool, r)
}

// ListResources answers by [protocol.MethodListResources].
func (f *Front) ListResources(ctx context.Context, r *mcpv1.ListResourcesRequest) (*mcpv1.ListResourcesResponse, error) {
	return unary[mcpv1.ListResourcesResponse](ctx, f, protocol.MethodListResources, r)
}

// ListResourceTemplates answers by [protocol.MethodListTemplates].
func (f *Front) ListResourceTemplates(ctx context.Context, r *mcpv1.ListResourceTemplatesRequest) (*mcpv1.ListResourceTemplatesResponse, error) {
	return unary[mcpv1.ListResourceTemplatesResponse](ctx, f, protocol.MethodListTemplates, r)
}

// ReadResource answers by [protocol.MethodReadResource].
func (f *Front) ReadResource(ctx context.Context, r *mcpv1.ReadResourceRequest) (*mcpv1.ReadResourceResponse, error) {
	return unary[mcpv1.ReadResourceResponse](ctx, f, protocol.MethodReadResource, r)
}

// ListPrompts answers by [protocol.MethodListPrompts].
func (f *Front) ListPrompts(ctx context.Context, r *mcpv1.ListPromptsRequest) (*mcpv1.ListPromptsResponse, error) {
	return unary[mcpv1.ListPromptsResponse](ctx, f, protocol.MethodListPrompts, r)
}

// GetPrompt answers by [protocol.MethodGetPrompt].
func (f *Front) GetPrompt(ctx context.Context, r *mcpv1.GetPromptRequest) (*mcpv1.GetPromptResponse, error) {
	return unary[mcpv1.GetPromptResponse](ctx, f, protocol.MethodGetPrompt, r)
}

// Complete answers by [protocol.MethodComplete].
func (f *Front) Complete(ctx context.Context, r *mcpv1.CompleteRequest) (*mcpv1.CompleteResponse, error) {
	return unary[mcpv1.CompleteResponse](ctx, f, protocol.MethodComplete, r)
}

// GetTask answers by [protocol.MethodGetTask].
func (f *Front) GetTask(ctx context.Context, r *mcpv1.GetTaskRequest) (*mcpv1.GetTaskResponse, error) {
	return unary[mcpv1.GetTaskResponse](ctx, f, protocol.MethodGetTask, r)
}

// UpdateTask answers by [protocol.MethodUpdateTask].
func (f *Front) UpdateTask(ctx context.Context, r *mcpv1.UpdateTaskRequest) (*mcpv1.UpdateTaskResponse, error) {
	return unary[mcpv1.UpdateTaskResponse](ctx, f, protocol.MethodUpdateTask, r)
}

// CancelTask answers by [protocol.MethodCancelTask].
func (f *Front) CancelTask(ctx context.Context, r *mcpv1.CancelTaskRequest) (*mcpv1.CancelTaskResponse, error) {
	return unary[mcpv1.CancelTaskResponse](ctx, f, protocol.MethodCancelTask, r)
}

// ListTasks answers by [protocol.MethodListTasks].
func (f *Front) ListTasks(ctx context.Context, r *mcpv1.ListTasksRequest) (*mcpv1.ListTasksResponse, error) {
	return unary[mcpv1.ListTasksResponse](ctx, f, protocol.MethodListTasks, r)
}

// GetTaskResult answers by [protocol.MethodTaskResult].
func (f *Front) GetTaskResult(ctx context.Context, r *mcpv1.GetTaskResultRequest) (*mcpv1.GetTaskResultResponse, error) {
	return unary[mcpv1.GetTaskResultResponse](ctx, f, protocol.MethodTaskResult, r)
}

// StreamCallTool answers by [protocol.MethodCallTool].
func (f *Front) StreamCallTool(ctx context.Context, r *mcpv1.StreamCallToolRequest, s *connect.ServerStream[mcpv1.StreamCallToolResponse]) error {
	return stream(ctx, f, protocol.MethodCallTool, r.GetRequest(), s)
}

// StreamReadResource answers by [protocol.MethodReadResource].
func (f *Front) StreamReadResource(ctx context.Context, r *mcpv1.StreamReadResourceRequest, s *connect.ServerStream[mcpv1.StreamReadResourceResponse]) error {
	return stream(ctx, f, protocol.MethodReadResource, r.GetRequest(), s)
}

// StreamGetPrompt answers by [protocol.MethodGetPrompt].
func (f *Front) StreamGetPrompt(ctx context.Context, r *mcpv1.StreamGetPromptRequest, s *connect.ServerStream[mcpv1.StreamGetPromptResponse]) error {
	return stream(ctx, f, protocol.MethodGetPrompt, r.GetRequest(), s)
}

// Listen answers by [protocol.MethodListen].
func (f *Front) Listen(ctx context.Context, r *mcpv1.ListenRequest, s *connect.ServerStream[mcpv1.ListenResponse]) error {
	return stream(ctx, f, protocol.MethodListen, r, s)
}
