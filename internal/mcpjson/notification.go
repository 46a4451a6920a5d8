package mcpjson

import (
	"bytes"
	"encoding/json"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// RestoreToken returns a progress notification with the token that the caller
// has chosen, and nil where it wants none.
func RestoreToken(params, token json.RawMessage) *protocol.Notification {
	if token == nil {
		return nil
	}
	return &protocol.Notification{
		Method: protocol.NotificationProgress,
		Params: Replace(params, protocol.MetaProgressToken, token),
	}
}

// WantsLog reports whether a log message of a server passes the level that a caller
// has asked for.
func WantsLog(level protocol.LogLevel, params json.RawMessage) bool {
	if level == protocol.LogUnset {
		return true
	}
	raw, _ := jsontok.Lookup(params, "level")
	name, _ := jsontok.String(raw)
	l, ok := protocol.ParseLogLevel(name)
	return ok && level.Wants(l)
}

// Untag returns the params of a notification without the subscription id of
// this hop.
func Untag(params json.RawMessage) json.RawMessage {
	meta, ok := jsontok.Lookup(params, "_meta")
	if !ok || jsontok.KindOf(meta) != jsontok.KindObject {
		return params
	}
	rest := protocol.WithoutMember(meta, protocol.MetaSubscriptionID)
	if bytes.Equal(rest, []byte("{}")) {
		return protocol.WithoutMember(params, "_meta")
	}
	return Replace(params, "_meta", rest)
}
