package framed

import (
	"context"
	"errors"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/blame"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
)

// kinds are what requests by these methods are for. Other requests are never to
// blame: without them no server is of use.
var kinds = map[string]string{
	protocol.MethodCallTool:     "tool",
	protocol.MethodGetPrompt:    "prompt",
	protocol.MethodReadResource: "resource",
}

// suspect names what a request is for, and returns false for requests that are
// never to blame.
func suspect(p *protocol.Principal, method string, params []byte) (blame.Suspect, bool) {
	kind, ok := kinds[method]
	if !ok || jsontok.KindOf(params) != jsontok.KindObject {
		return blame.Suspect{}, false
	}
	info, _ := protocol.LookupMethod(method)
	raw, _ := jsontok.Lookup(params, info.NameParam)
	name, ok := jsontok.String(raw)
	return blame.Suspect{Caller: p.Quota(), Kind: kind, Name: clip.Name(name)}, ok
}

// guarded asks the server, unless requests like this one have ended it before.
func (c *Client) guarded(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	var p *protocol.Principal
	if r.Caller != nil {
		p = r.Caller.Principal
	}
	if !c.blame.Watching() {
		res, err := c.era.Handle(ctx, r, n)
		if ctx.Err() != nil {
			if s, ok := suspect(p, r.Method, r.Params); ok {
				c.blame.Cancelled(s)
			}
		}
		return res, err
	}
	s, ok := suspect(p, r.Method, r.Params)
	if !ok {
		return c.era.Handle(ctx, r, n)
	}
	call, err := c.blame.Begin(ctx, s)
	if err != nil {
		return nil, err
	}
	res, err := c.era.Handle(ctx, r, n)
	if ctx.Err() != nil {
		c.blame.Cancelled(s)
	}
	call.End(answered(res, err))
	return res, err
}

// answered reports whether the server has answered a request and is done with
// it.
func answered(res *protocol.Result, err error) bool {
	if err == nil {
		return res.Type != protocol.ResultInputRequired
	}
	if _, ok := errors.AsType[*protocol.UpstreamError](err); ok {
		return false
	}
	_, ok := errors.AsType[*protocol.Error](err)
	return ok
}

// accuse says which calls are under way when the server ends. It reports whether
// it is known which one is to blame. The calls must not have failed yet: those
// that are made again would be taken for what ended the server.
func (c *Client) accuse(broke []*peer.Call) bool {
	if !c.cfg.Blame {
		return false
	}
	var suspects []blame.Suspect
	for _, call := range broke {
		if s, ok := suspect(call.Principal, call.Method, call.Params); ok {
			suspects = append(suspects, s)
		}
	}
	return c.blame.Ended(suspects)
}
