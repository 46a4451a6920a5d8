// Package front is the core of every front, whatever it speaks to clients: who a
// request comes from, and what becomes of it once it is there. A front reads its
// own envelope, builds a [protocol.Request] with the Caller of
// [protocol.NewCaller], and lets a [Core] answer it. So one middleware, and one
// guard, see the requests of all fronts alike, and a Handler that panics or
// returns nothing harms no front.
package front

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Core answers the requests of one front. It is used concurrently.
type Core struct {
	// Handler answers the requests.
	Handler protocol.Handler
	// Log gets what goes wrong.
	Log *slog.Logger
}

// Handle answers a request. It returns either a result or an error: what the
// Handler returns, or, where the Handler panics or returns neither, an internal
// error. The panic of one call is that call's error, and the process lives.
//
// Fronts that speak JSON-RPC call [Core.Answer] instead; others read the error
// themselves, because an [protocol.UpstreamError] may have a status in their own
// protocol.
func (c *Core) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	res, err := c.Contain(ctx, r, n)
	if err == nil {
		return res, nil
	}
	if _, ok := errors.AsType[*protocol.Error](err); !ok && ctx.Err() == nil {
		c.Log.ErrorContext(ctx, "request failed", "method", r.Method, "error", err)
	}
	return nil, err
}

// Contain is [Core.Handle] for callers that handle and log errors themselves:
// it logs only what a Handler must never do.
func (c *Core) Contain(ctx context.Context, r *protocol.Request, n protocol.Notifier) (res *protocol.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.Log.ErrorContext(ctx, "panic while handling a request", "method", r.Method, "panic", p, "stack", string(debug.Stack()))
			res, err = nil, internal()
		}
	}()
	res, err = c.Handler.Handle(ctx, r, n)
	switch {
	case err != nil:
		return nil, err
	case res == nil:
		c.Log.ErrorContext(ctx, "handler returned neither a result nor an error", "method", r.Method)
		return nil, internal()
	}
	return res, nil
}

func internal() *protocol.Error { return protocol.AsError(nil) }

// Answer is [Core.Handle] for fronts that speak JSON-RPC: an error is what
// [protocol.AsError] makes of it.
func (c *Core) Answer(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, *protocol.Error) {
	res, err := c.Handle(ctx, r, n)
	if err != nil {
		return nil, protocol.AsError(err)
	}
	return res, nil
}

// SessionKey identifies the sessions that a principal may use: those of its own
// where somebody has authenticated it, and otherwise those of all that nobody
// has, where the session's unguessable id is the only proof. A front compares it
// for every message that names a session, and answers for the session of
// somebody else what it answers for one that does not exist.
func SessionKey(p *protocol.Principal) string {
	if !p.Authenticated() {
		return ""
	}
	return p.Key()
}

// During returns a Notifier that passes to n what comes before ctx, the
// context of a call, ends: nothing follows a response or a cancellation.
func During(ctx context.Context, n protocol.Notifier) protocol.Notifier {
	return protocol.NotifierFunc(func(own context.Context, note *protocol.Notification) error {
		for _, c := range [...]context.Context{ctx, own} {
			if err := context.Cause(c); err != nil {
				return err
			}
		}
		return n.Notify(own, note)
	})
}
