// Package bridge makes any gRPC, gRPC-Web or Connect service an MCP server:
// its methods become tools, over stdio and Streamable HTTP, in every
// revision of MCP.
//
// [New] makes a [Bridge] of one or more upstreams. A Bridge is a
// [protocol.Handler], and [Bridge.HTTPHandler] and [Bridge.ServeStdio] put it
// on a transport. For a service in the same process no network is involved:
// see [InProcess] and package grpcgo.
package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/broadcast"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Bridge serves the methods of its upstreams as MCP tools. It is used
// concurrently. Close must be called to release it.
type Bridge struct {
	cfg       *config
	server    json.RawMessage // the Implementation object
	upstreams []Upstream

	catalog atomic.Pointer[catalog]
	reload  sync.Mutex // one reload at a time
	changes broadcast.Broadcast

	ctx    context.Context //nolint:containedctx // ends the goroutine that re-reads descriptors
	cancel context.CancelFunc
	wg     sync.WaitGroup
	stale  chan struct{} // a backend did not know a method that we have

	watches resourceWatches
}

var _ protocol.Handler = (*Bridge)(nil)

// New reads the descriptors of all upstreams and returns a Bridge that serves
// them. It fails where an upstream's descriptors cannot be had, or an option
// is wrong; ctx bounds the reading only.
func New(ctx context.Context, upstreams []Upstream, opts ...Option) (*Bridge, error) {
	cfg, err := newConfig(opts)
	if err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	if len(upstreams) == 0 {
		return nil, errors.New("bridge: there is no upstream to serve")
	}
	b := &Bridge{
		cfg:    cfg,
		server: implementation(cfg),
		stale:  make(chan struct{}, 1),
	}
	for i, u := range upstreams {
		if u.err != nil {
			return nil, fmt.Errorf("bridge: upstream %d: %w", i, u.err)
		}
		if u.Caller == nil {
			return nil, fmt.Errorf("bridge: upstream %d has no Caller", i)
		}
		if u.Descriptors == nil {
			u.Descriptors = Reflection(u.Caller)
		}
		b.upstreams = append(b.upstreams, u)
	}
	if _, err := b.Refresh(ctx); err != nil {
		return nil, err
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.wg.Go(b.keepFresh)
	return b, nil
}

// Close ends the Bridge's own work and the subscriptions of its clients. Calls
// in flight go on, but those to an upstream of [InProcess] are waited for.
func (b *Bridge) Close() {
	b.cancel()
	b.changes.Close()
	b.wg.Wait()
	for _, u := range b.upstreams {
		if u.close == nil {
			continue
		}
		if err := u.close(); err != nil {
			b.cfg.log.Warn("an upstream did not close", "error", err)
		}
	}
}

// Handle answers one MCP request.
func (b *Bridge) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	var (
		res *protocol.Result
		err error
	)
	switch r.Method {
	case protocol.MethodDiscover:
		res = b.discover()
	case protocol.MethodListTools:
		res, err = b.listTools(r)
	case protocol.MethodCallTool:
		res, err = b.callTool(ctx, r, n)
	case protocol.MethodGetTask, protocol.MethodUpdateTask, protocol.MethodCancelTask:
		res, err = b.task(ctx, r)
	case protocol.MethodListen:
		res, err = b.listen(ctx, r, n)
	default:
		res, err = b.present(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	res.Server = b.server
	return res, nil
}

// present answers what is about resources, prompts and completion. Where there
// are none, there are no such methods, as the capabilities say.
func (b *Bridge) present(ctx context.Context, r *protocol.Request) (*protocol.Result, error) {
	c := b.catalog.Load()
	if len(c.resources) > 0 {
		switch r.Method {
		case protocol.MethodListResources:
			return b.list(r, c, c.resourcePages)
		case protocol.MethodListTemplates:
			return b.list(r, c, c.templatePages)
		case protocol.MethodReadResource:
			return b.readResource(ctx, r)
		}
	}
	if len(c.prompts) > 0 {
		switch r.Method {
		case protocol.MethodListPrompts:
			return b.list(r, c, c.promptPages)
		case protocol.MethodGetPrompt:
			return b.getPrompt(ctx, r)
		}
	}
	if len(c.completions) > 0 && r.Method == protocol.MethodComplete {
		return b.complete(ctx, r)
	}
	return nil, protocol.MethodNotFound(r.Method)
}

func (b *Bridge) discover() *protocol.Result {
	body := protocol.AppendRevisions([]byte(`{"supportedVersions":`))
	body = append(body, `,"capabilities":{"logging":{},"tools":{"listChanged":true}`...)
	c := b.catalog.Load()
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
	if b.cfg.instructions != "" {
		body = append(body, `,"instructions":`...)
		body = jsontok.AppendString(body, b.cfg.instructions)
	}
	return &protocol.Result{Body: append(body, '}'), Cache: listCache()}
}

// listCache is the caching hint of what is the same for every caller.
func listCache() *protocol.Cache {
	return &protocol.Cache{TTLMillis: DefaultListTTL.Milliseconds()}
}

func implementation(cfg *config) json.RawMessage {
	b := append([]byte(`{"name":`), jsontok.AppendString(nil, cfg.name)...)
	if cfg.title != "" {
		b = append(b, `,"title":`...)
		b = jsontok.AppendString(b, cfg.title)
	}
	b = append(b, `,"version":`...)
	b = jsontok.AppendString(b, cfg.version)
	return append(b, '}')
}
