package engine

import (
	"context"
	"encoding/json"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/backend"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Resolve returns the RPC that a request runs. It reads requests as Handle does, so
// whatever a client has spelled in which way, both mean the same. The result is pinned
// to the catalog of now, also where there is no RPC: there may be one later.
//
// The RPC of a task is the one that was called, and there is no message: what the
// task was called with is not known any more, so the object is empty.
func (e *Engine) Resolve(_ context.Context, r *protocol.Request) (*protocol.Resolution, error) {
	c := e.catalogOf(r)
	res := e.resolve(c, r)
	if res == nil {
		res = &protocol.Resolution{}
	}
	res.Pin = c
	return res, nil
}

// resolve returns what a request runs, or nil where that is no RPC.
func (e *Engine) resolve(c *catalog, r *protocol.Request) *protocol.Resolution {
	switch r.Method {
	case protocol.MethodCallTool:
		name, arguments, err := readCall(r)
		if err != nil {
			return nil
		}
		if t := c.tool(name); t != nil {
			return t.resolution(arguments, withArguments(r))
		}
	case protocol.MethodGetPrompt:
		p, arguments, err := c.readPrompt(r)
		if err != nil {
			return nil
		}
		return p.tool.resolution(arguments, withArguments(r))
	case protocol.MethodReadResource:
		uri, err := readURI(r)
		if err != nil {
			return nil
		}
		if res, arguments := c.findResource(uri); res != nil {
			return res.tool.resolution(arguments, unchanged(r))
		}
		if res := c.templated(uri); res != nil {
			return &protocol.Resolution{RPC: res.tool.Method, Hints: res.tool.hints()}
		}
	case protocol.MethodListen:
		uri, ok := onlyResource(r)
		if !ok {
			return nil
		}
		res, arguments := c.findResource(uri)
		switch {
		case res == nil || !res.watched():
		case res.watch != nil:
			return res.watch.resolution(res.watchArguments(uri), unchanged(r))
		default:
			return res.tool.resolution(arguments, unchanged(r))
		}
	case protocol.MethodComplete:
		asked, err := c.readCompletion(r)
		if err != nil || asked.by == nil || asked.by.tool == nil {
			return nil // the values of enums and booleans need no RPC
		}
		return asked.by.tool.resolution(asked.by.arguments(asked.typed, asked.others), unchanged(r))
	case protocol.MethodGetTask, protocol.MethodUpdateTask, protocol.MethodCancelTask:
		id, err := readTaskID(r)
		if err != nil {
			return nil
		}
		if _, t, err := e.openTask(r, id); err == nil {
			return &protocol.Resolution{RPC: t.Method, Hints: t.hints(), Message: func() (json.RawMessage, *protocol.Request, error) {
				return json.RawMessage(`{}`), r, nil
			}}
		}
	}
	return nil
}

// onlyResource returns the URI of a subscription to one resource.
func onlyResource(r *protocol.Request) (uri string, ok bool) {
	filter, _ := jsontok.Lookup(r.Params, "notifications")
	list, _ := jsontok.Lookup(filter, "resourceSubscriptions")
	if jsontok.KindOf(list) != jsontok.KindArray {
		return "", false
	}
	n := 0
	err := jsontok.Array(list, func(_ int, value []byte) error {
		n++
		uri, ok = jsontok.String(value)
		return nil
	})
	return uri, ok && err == nil && n == 1
}

// resolution is that of a call of the tool. The request that sends what the
// arguments stand for is made by send.
func (t *tool) resolution(arguments json.RawMessage, send func(*backend.Canonical) *protocol.Request) *protocol.Resolution {
	return &protocol.Resolution{
		RPC: t.Method, Hints: t.hints(),
		Message: func() (json.RawMessage, *protocol.Request, error) {
			canonical, err := t.plan.Canonical(arguments)
			if err != nil {
				return nil, nil, err
			}
			return canonical.Message, send(canonical), nil
		},
	}
}

// withArguments makes r a request that passes canonical arguments.
func withArguments(r *protocol.Request) func(*backend.Canonical) *protocol.Request {
	return func(c *backend.Canonical) *protocol.Request {
		out := *r
		out.Params = mcpjson.Set(r.Params, "arguments", c.Arguments)
		return &out
	}
}

// unchanged is for requests whose arguments follow from a name.
func unchanged(r *protocol.Request) func(*backend.Canonical) *protocol.Request {
	return func(*backend.Canonical) *protocol.Request { return r }
}

// hints are the tool's annotations after defaults.
func (t *tool) hints() protocol.Hints { return protocol.DefaultHints().With(t.Annotations) }
