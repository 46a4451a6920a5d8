package streamable

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/answer"
)

// maxMirroring bounds how many tools with parameters in headers are remembered.
const maxMirroring = 10_000

// paramCheck compares the headers that mirror parameters of tools with the
// arguments of a call (basic/transports/streamable-http, Server Behavior for
// Custom Headers). Which those are is in the tools' schemas: they are read from
// the lists that clients ask for, and before the first call.
type paramCheck struct {
	handler protocol.Handler
	log     *slog.Logger
	listing chan struct{} // holds an element while the list is read for the first call

	mu     sync.RWMutex
	listed bool
	tools  map[string]mcpjson.ParamHeaders // those that have any
}

func newParamCheck(h protocol.Handler, log *slog.Logger) *paramCheck {
	return &paramCheck{handler: h, log: log, listing: make(chan struct{}, 1), tools: make(map[string]mcpjson.ParamHeaders)}
}

// check reports why the headers of a tools/call do not go with it.
func (p *paramCheck) check(ctx context.Context, r *protocol.Request) *protocol.Error {
	p.first(ctx, r)
	p.mu.RLock()
	none := len(p.tools) == 0
	p.mu.RUnlock()
	if none {
		return nil
	}
	raw, _ := jsontok.Lookup(r.Params, "name")
	name, _ := jsontok.String(raw)
	p.mu.RLock()
	plan := p.tools[name]
	p.mu.RUnlock()
	args, _ := jsontok.Lookup(r.Params, "arguments")
	if plan.Check(r.Caller.Header, args) == nil {
		return nil
	}
	// The tool may have changed, or be another one to this caller.
	// Where it cannot be listed, the call itself will say what is wrong.
	plan, _ = p.list(ctx, r, name)
	return plan.Check(r.Caller.Header, args)
}

// first reads the list before the first call.
func (p *paramCheck) first(ctx context.Context, r *protocol.Request) {
	listed := func() bool {
		p.mu.RLock()
		defer p.mu.RUnlock()
		return p.listed
	}
	if listed() {
		return
	}
	select {
	case p.listing <- struct{}{}:
		defer func() { <-p.listing }()
	case <-ctx.Done():
		return
	}
	if listed() {
		return
	}
	if _, fault := p.list(ctx, r, ""); fault != nil {
		p.log.DebugContext(ctx, "tools could not be listed for their x-mcp-header", "error", fault)
		if fault.Code != protocol.CodeMethodNotFound {
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listed = true
}

// list reads all tools that the sender of r has, and returns which parameters
// of the named one go into headers: none where reading fails.
func (p *paramCheck) list(ctx context.Context, r *protocol.Request, name string) (plan mcpjson.ParamHeaders, fault *protocol.Error) {
	_ = mcpjson.EachPage(func(params json.RawMessage) (json.RawMessage, error) { // fault is its error
		var res *protocol.Result
		res, fault = answer.Handle(ctx, p.log, p.handler, &protocol.Request{
			Method: protocol.MethodListTools, Params: params, Caller: r.Caller,
			Meta: protocol.Meta{Revision: r.Meta.Revision, ClientInfo: r.Meta.ClientInfo, Capabilities: r.Meta.Capabilities},
		}, protocol.Discard)
		if fault != nil {
			return nil, fault
		}
		if found, ok := p.learn(res.Body)[name]; ok {
			plan = found
		}
		return res.Body, nil
	})
	if fault != nil {
		return nil, fault
	}
	return plan, nil
}

// learn reads a list of tools, and returns those whose parameters go into
// headers.
func (p *paramCheck) learn(body json.RawMessage) map[string]mcpjson.ParamHeaders {
	p.mu.RLock()
	none := len(p.tools) == 0
	p.mu.RUnlock()
	if none && !mcpjson.MayMirror(body) {
		return nil
	}
	list, _ := jsontok.Lookup(body, "tools")
	if jsontok.KindOf(list) != jsontok.KindArray {
		return nil // the client's affair
	}
	found := make(map[string]mcpjson.ParamHeaders)
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = jsontok.Array(list, func(_ int, tool []byte) error { // valid already
		// A tool that breaks the rules has no headers: clients must not use it.
		name, plan, err := mcpjson.ReadParamHeaders(tool)
		switch {
		case err != nil || len(plan) == 0:
			delete(p.tools, name)
		case len(p.tools) < maxMirroring:
			p.tools[name], found[name] = plan, plan
		}
		return nil
	})
	return found
}
