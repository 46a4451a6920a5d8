package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/broadcast"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Engine serves the methods of its upstreams as MCP tools. It is used
// concurrently. Close must be called to release it.
type Engine struct {
	cfg       *config
	server    json.RawMessage // the Implementation object
	upstreams []Upstream

	catalog atomic.Pointer[catalog]
	reload  sync.Mutex // one reload at a time
	// changes tells of other lists, refreshes of other descriptors.
	changes, refreshes broadcast.Broadcast

	ctx    context.Context //nolint:containedctx // ends the goroutine that re-reads descriptors
	cancel context.CancelFunc
	wg     sync.WaitGroup
	stale  chan struct{} // a backend did not know a method that we have

	watches resourceWatches
}

var _ protocol.Handler = (*Engine)(nil)

// Upstream is a backend whose methods become tools.
type Upstream struct {
	// Caller carries the calls.
	Caller rpc.Caller
	// Descriptors says where the backend's descriptors come from.
	Descriptors descriptor.Source
	// Services chooses among the services, by globs over full names. Empty means
	// all.
	Services []string
}

// New reads the descriptors of all upstreams and returns an Engine that serves
// them. It fails where an upstream's descriptors cannot be had, or the
// configuration is wrong; ctx bounds the reading only.
func New(ctx context.Context, upstreams []Upstream, from Config) (*Engine, error) {
	cfg, err := newConfig(from)
	if err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	if len(upstreams) == 0 {
		return nil, errors.New("bridge: there is no upstream to serve")
	}
	e := &Engine{
		cfg:       cfg,
		server:    Implementation(cfg.Name, cfg.Title, cfg.Version),
		upstreams: upstreams,
		stale:     make(chan struct{}, 1),
	}
	if _, err := e.Refresh(ctx); err != nil {
		return nil, err
	}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.wg.Go(e.keepFresh)
	return e, nil
}

// Close ends the Engine's own work and the subscriptions of its clients. Calls
// in flight go on.
func (e *Engine) Close() {
	e.cancel()
	e.changes.Close()
	e.wg.Wait()
}

// Handle answers one MCP request.
func (e *Engine) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	var (
		res *protocol.Result
		err error
	)
	switch r.Method {
	case protocol.MethodDiscover:
		res = e.discover()
	case protocol.MethodListTools:
		res, err = e.listTools(r)
	case protocol.MethodCallTool:
		res, err = e.callTool(ctx, r, n)
	case protocol.MethodGetTask, protocol.MethodUpdateTask, protocol.MethodCancelTask:
		res, err = e.task(ctx, r)
	case protocol.MethodListen:
		res, err = e.listen(ctx, r, n)
	default:
		res, err = e.present(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	res.Server = e.server
	return res, nil
}

// catalogOf returns what a request is answered by: what it was resolved by, if
// somebody has decided by that, and otherwise what is served now.
func (e *Engine) catalogOf(r *protocol.Request) *catalog {
	if c, ok := r.Pin.(*catalog); ok {
		return c
	}
	return e.catalog.Load()
}

// present answers what is about resources, prompts and completion. Where there
// are none, there are no such methods, as the capabilities say.
func (e *Engine) present(ctx context.Context, r *protocol.Request) (*protocol.Result, error) {
	c := e.catalogOf(r)
	if len(c.resources) > 0 {
		switch r.Method {
		case protocol.MethodListResources:
			return e.list(r, c, c.resourcePages)
		case protocol.MethodListTemplates:
			return e.list(r, c, c.templatePages)
		case protocol.MethodReadResource:
			return e.readResource(ctx, r)
		}
	}
	if len(c.prompts) > 0 {
		switch r.Method {
		case protocol.MethodListPrompts:
			return e.list(r, c, c.promptPages)
		case protocol.MethodGetPrompt:
			return e.getPrompt(ctx, r)
		}
	}
	if len(c.completions) > 0 && r.Method == protocol.MethodComplete {
		return e.complete(ctx, r)
	}
	return nil, protocol.MethodNotFound(r.Method)
}

func (e *Engine) discover() *protocol.Result {
	body := protocol.AppendRevisions([]byte(`{"supportedVersions":`))
	body = append(body, `,"capabilities":{"logging":{},"tools":{"listChanged":true}`...)
	c := e.catalog.Load()
	if len(c.resources) > 0 {
		body = append(body, `,"resources":{"listChanged":true`...)
		if slices.ContainsFunc(c.resources, (*resource).watched) {
			body = append(body, `,"subscribe":true`...)
		}
		body = append(body, '}')
	}
	if len(c.prompts) > 0 {
		body = append(body, `,"prompts":{"listChanged":true}`...)
	}
	if len(c.completions) > 0 {
		body = append(body, `,"completions":{}`...)
	}
	if c.operations {
		body = append(body, `,"extensions":{"`+protocol.ExtensionTasks+`":{}}`...)
	}
	body = append(body, '}')
	if c.instructions != "" {
		body = append(body, `,"instructions":`...)
		body = jsontok.AppendString(body, c.instructions)
	}
	return &protocol.Result{Body: append(body, '}'), Cache: listCache()}
}

// listCache is the caching hint of what is the same for every caller.
func listCache() *protocol.Cache {
	return &protocol.Cache{TTLMillis: DefaultListTTL.Milliseconds()}
}

// Implementation returns the Implementation object by which a server or a client
// of MCP presents itself. The title may be empty.
func Implementation(name, title, version string) json.RawMessage {
	out := jsontok.AppendString([]byte(`{"name":`), name)
	if title != "" {
		out = jsontok.AppendString(append(out, `,"title":`...), title)
	}
	return append(jsontok.AppendString(append(out, `,"version":`...), version), '}')
}
