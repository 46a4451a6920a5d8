package gateway

import (
	"bytes"
	"context"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/mcp-bridge/mcp-bridge/bridge/find"
	"github.com/mcp-bridge/mcp-bridge/bridge/mux"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// pipeline answers the requests of an endpoint, as it is configured at the time.
type pipeline struct {
	current atomic.Pointer[protocol.Handler]
}

// Handle answers one MCP request.
func (p *pipeline) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	return (*p.current.Load()).Handle(ctx, r, n)
}

func (p *pipeline) set(h protocol.Handler) { p.current.Store(&h) }

// chain puts what all requests pass before a view of the Mux.
func (g *Gateway) chain(view protocol.Handler) protocol.Handler {
	return protocol.Chain(view, append([]protocol.Middleware{g.calls.count, expire}, g.opts.middleware...)...)
}

// endpoint returns what answers at an endpoint, for callers over gRPC.
func (g *Gateway) endpoint(name string) (protocol.Handler, bool) {
	e := g.site.Load().endpoints[name]
	if e == nil || name == "" {
		return nil, false
	}
	return e.pipeline, true
}

// update makes the pipeline of an endpoint what a configuration says, unless it is
// that already.
func (g *Gateway) update(e *endpoint, s *settings, name string) error {
	shown, most := s.cfg.GetEndpoints()[name], s.cfg.GetToolsBytes()
	is, err := proto.MarshalOptions{Deterministic: true}.Marshal(&configv1.Config{
		Endpoints: map[string]*configv1.Endpoint{"": shown}, ToolsBytes: &most,
	})
	if err != nil {
		return err
	}
	if e.made && bytes.Equal(e.is, is) {
		return nil
	}
	e.made, e.is = true, is
	view := g.mux.All()
	if name != "" {
		view = g.mux.View(mux.Endpoint{
			Name: name, Upstreams: shown.GetUpstreams(), Include: shown.GetTools().GetInclude(), Exclude: shown.GetTools().GetExclude(),
		})
	}
	if most == 0 {
		e.pipeline.set(g.chain(view))
		return nil
	}
	found := find.Middleware(find.Config{
		Bytes: int(most), Logger: g.log,
		Shown: func(ctx context.Context, r *protocol.Request) (find.Shown, error) {
			tools, err := view.Shown(ctx, r)
			return find.Shown{Tools: tools, Unknown: func(name string) error { return view.UnknownTool(ctx, r, name) }}, err
		},
	})
	e.pipeline.set(g.chain(found(view)))
	return nil
}
