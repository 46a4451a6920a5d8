package eraclient

import (
	"context"
	"log/slog"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// forward passes a notification to the caller as it would see it had it called
// the server itself.
func forward(ctx context.Context, log *slog.Logger, r *protocol.Request, m *jsonrpc.Message, n protocol.Notifier) {
	if m.Params != nil && jsontok.KindOf(m.Params) != jsontok.KindObject {
		log.DebugContext(ctx, "a notification whose params are no object was dropped", "method", m.Method)
		return
	}
	note := &protocol.Notification{Method: m.Method, Params: m.Params}
	switch m.Method {
	case protocol.NotificationProgress:
		note = mcpjson.RestoreToken(m.Params, r.Meta.ProgressToken)
	case protocol.NotificationMessage:
		if !mcpjson.WantsLog(r.Meta.LogLevel, m.Params) {
			note = nil
		}
	case protocol.NotificationElicited:
		if r.Meta.Revision != protocol.Revision20251125 {
			note = nil
		}
	default:
		if r.Method == protocol.MethodListen {
			note.Params = mcpjson.Untag(m.Params)
		}
	}
	if note == nil {
		log.DebugContext(ctx, "a notification that the caller has not asked for was dropped", "method", m.Method)
		return
	}
	if err := n.Notify(ctx, note); err != nil {
		log.DebugContext(ctx, "notification not delivered", "method", m.Method, "error", err)
	}
}
