// Package answer holds what every front does with a request once it has one:
// check it, call the Handler, survive it, and write the response.
package answer

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime/debug"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// Handle calls h and turns whatever happens into a result or an error: a
// panic in one call is that call's internal error, and the process lives.
// Exactly one of the two is nil.
func Handle(ctx context.Context, log *slog.Logger, h protocol.Handler, r *protocol.Request, n protocol.Notifier) (res *protocol.Result, fault *protocol.Error) {
	defer func() {
		if p := recover(); p != nil {
			log.ErrorContext(ctx, "panic while handling a request", "method", r.Method, "panic", p, "stack", string(debug.Stack()))
			res, fault = nil, protocol.Errorf(protocol.CodeInternalError, "internal error")
		}
	}()
	res, err := h.Handle(ctx, r, n)
	switch {
	case err != nil:
		if _, ok := errors.AsType[*protocol.Error](err); !ok && ctx.Err() == nil {
			log.ErrorContext(ctx, "request failed", "method", r.Method, "error", err)
		}
		return nil, protocol.AsError(err)
	case res == nil:
		log.ErrorContext(ctx, "handler returned neither a result nor an error", "method", r.Method)
		return nil, protocol.Errorf(protocol.CodeInternalError, "internal error")
	}
	return res, nil
}

// CheckModern reports why a request of a modern client cannot be handled: its
// metadata, or a method that its revision does not have.
func CheckModern(meta *protocol.Meta, method string) *protocol.Error {
	if fault := meta.CheckModern(); fault != nil {
		return fault
	}
	if !protocol.MethodIn(method, meta.Revision) {
		return protocol.MethodNotFound(method)
	}
	return nil
}

// Modern answers a checked request of a modern client. What a
// subscriptions/listen request yields is tagged with its id
// (basic/patterns/subscriptions), and server/discover says which revisions the
// front speaks, whatever a server behind the Handler does. Exactly one of the
// results is nil.
func Modern(ctx context.Context, log *slog.Logger, h protocol.Handler, id json.RawMessage, r *protocol.Request, n protocol.Notifier) (*protocol.Result, *protocol.Error) {
	switch r.Method {
	case protocol.MethodListen:
		return listen(ctx, log, h, id, r, n)
	case protocol.MethodDiscover:
		return discover(ctx, log, h, r, n)
	default:
		return Handle(ctx, log, h, r, n)
	}
}

func discover(ctx context.Context, log *slog.Logger, h protocol.Handler, r *protocol.Request, n protocol.Notifier) (*protocol.Result, *protocol.Error) {
	res, fault := Handle(ctx, log, h, r, n)
	if fault != nil {
		return nil, fault
	}
	served := *res
	served.Body = mcpjson.Replace(res.Body, "supportedVersions", protocol.AppendRevisions(nil))
	return &served, nil
}

func listen(ctx context.Context, log *slog.Logger, h protocol.Handler, id json.RawMessage, r *protocol.Request, n protocol.Notifier) (*protocol.Result, *protocol.Error) {
	tagged := protocol.NotifierFunc(func(ctx context.Context, note *protocol.Notification) error {
		return n.Notify(ctx, Tag(note, id))
	})
	res, fault := Handle(ctx, log, h, r, tagged)
	if fault != nil {
		return nil, fault
	}
	if ctx.Err() == nil {
		// The server ends the subscription (basic/patterns/cancellation).
		params := append(append([]byte(`{"requestId":`), id...), '}')
		if err := tagged.Notify(ctx, &protocol.Notification{Method: protocol.NotificationCancelled, Params: params}); err != nil {
			log.DebugContext(ctx, "end of a subscription not delivered", "error", err)
		}
	}
	closing := *res
	o := protocol.WithMeta(nil, res.Meta, protocol.MetaSubscriptionID, id)
	closing.Meta, _ = jsontok.Lookup(o, "_meta")
	return &closing, nil
}

// Tag adds the id of a subscription to a notification.
func Tag(n *protocol.Notification, id json.RawMessage) *protocol.Notification {
	var meta json.RawMessage
	rest := []byte{'{'}
	if n.Params != nil {
		// The params come from a Handler and are valid: the only error that
		// can arise is one that the visitor returns, and it returns none.
		_ = jsontok.Object(n.Params, func(key, value []byte) error {
			if string(key) == "_meta" {
				meta = value
				return nil
			}
			if len(rest) > 1 {
				rest = append(rest, ',')
			}
			rest = jsontok.AppendString(rest, string(key))
			rest = append(append(rest, ':'), value...)
			return nil
		})
	}
	return &protocol.Notification{
		Method: n.Method,
		Params: protocol.WithMeta(append(rest, '}'), meta, protocol.MetaSubscriptionID, id),
	}
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

// Response appends the response that (res, fault) is.
func Response(dst []byte, id json.RawMessage, res *protocol.Result, fault *protocol.Error, rev protocol.Revision) []byte {
	if fault != nil {
		return jsonrpc.AppendError(dst, id, fault, rev)
	}
	return jsonrpc.AppendResult(dst, id, res, rev)
}
