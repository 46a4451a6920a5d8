package main

import (
	"context"
	"crypto/rand"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/gen/mcp/v1/mcpv1connect"
)

// tasksExtension is the extension of MCP by which calls become tasks.
const tasksExtension = "io.modelcontextprotocol/tasks"

// cacheFor is how long clients may keep lists and resources, in milliseconds.
const cacheFor = int64(time.Minute / time.Millisecond)

// server implements McpService. Methods that it has not got, such as those of
// tasks in 2025-11-25, are UNIMPLEMENTED, which is "method not found" in MCP.
type server struct {
	mcpv1connect.UnimplementedMcpServiceHandler

	tools     *registry[*tool]
	prompts   *registry[*prompt]
	resources *registry[*resource]
	listeners *listeners
	tasks     *tasks
	key       []byte // signs the states of calls
	stop      context.CancelFunc
	stopped   chan struct{}
}

var _ mcpv1connect.McpServiceHandler = (*server)(nil)

// newServer returns a server whose tasks end with ctx. It must be closed.
func newServer(ctx context.Context) *server {
	ctx, stop := context.WithCancel(ctx)
	s := &server{
		tools:     newRegistry[*tool](),
		prompts:   newRegistry[*prompt](),
		resources: newRegistry[*resource](),
		listeners: newListeners(),
		key:       []byte(rand.Text()),
		stop:      stop,
		stopped:   make(chan struct{}),
	}
	s.tasks = newTasks(ctx, s.listeners)
	for _, t := range allTools() {
		s.tools.add(t.name, t)
	}
	for _, p := range allPrompts() {
		s.prompts.add(p.description.GetName(), p)
	}
	for _, r := range allResources() {
		s.resources.add(r.description.GetUri(), r)
	}
	go func() {
		defer close(s.stopped)
		s.updateWatched(ctx)
	}()
	return s
}

// close ends the tasks and waits for them.
func (s *server) close() {
	s.stop()
	s.tasks.wait()
	<-s.stopped
}

// Discover says what the server is and can do.
func (s *server) Discover(context.Context, *mcpv1.DiscoverRequest) (*mcpv1.DiscoverResponse, error) {
	return &mcpv1.DiscoverResponse{
		SupportedVersions: []string{"2026-07-28"},
		Capabilities: &mcpv1.ServerCapabilities{
			Tools:       &mcpv1.ToolsCapability{ListChanged: new(true)},
			Prompts:     &mcpv1.PromptsCapability{ListChanged: new(true)},
			Resources:   &mcpv1.ResourcesCapability{Subscribe: new(true)},
			Completions: &structpb.Struct{},
			Logging:     &structpb.Struct{},
			Extensions:  map[string]*structpb.Struct{tasksExtension: {}},
		},
		TtlMs:      new(cacheFor),
		CacheScope: mcpv1.CacheScope_CACHE_SCOPE_PUBLIC,
		Meta: &mcpv1.ResultMeta{ServerInfo: &mcpv1.Implementation{
			Name:    "example-server",
			Title:   "A server that is only gRPC",
			Version: "1.0.0",
		}},
	}, nil
}
