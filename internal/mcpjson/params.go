package mcpjson

import (
	"bytes"
	"encoding/json"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// ModernParams returns the params of a request with the metadata that every
// modern request has, and with token in the place of the caller's progress
// token. clientInfo is for callers that have none.
func ModernParams(r *protocol.Request, token, clientInfo json.RawMessage) (json.RawMessage, *protocol.Error) {
	var params, meta Object
	set := func(key string, value []byte) {
		if len(value) > 0 {
			meta.Add(key, value)
		}
	}
	text := func(key, value string) {
		if value != "" {
			meta.Add(key, jsontok.AppendString(nil, value))
		}
	}
	text(protocol.MetaProtocolVersion, string(protocol.Revision20260728))
	if r.Meta.ClientInfo != nil {
		clientInfo = r.Meta.ClientInfo
	}
	set(protocol.MetaClientInfo, clientInfo)
	if r.Meta.Capabilities != nil {
		set(protocol.MetaClientCapabilities, r.Meta.Capabilities)
	} else {
		set(protocol.MetaClientCapabilities, []byte("{}"))
	}
	text(protocol.MetaLogLevel, r.Meta.LogLevel.Asked().String())
	if r.Meta.ProgressToken != nil {
		set(protocol.MetaProgressToken, token)
	}
	text("traceparent", r.Meta.TraceParent)
	text("tracestate", r.Meta.TraceState)
	text("baggage", r.Meta.Baggage)

	rest, err := Split(r.Params, func(key string, value []byte) bool {
		if key != "_meta" {
			return false
		}
		// ReadMeta has seen that it is an object.
		_ = jsontok.Object(value, func(key, value []byte) error {
			if !ours(string(key)) {
				meta.Add(string(key), value)
			}
			return nil
		})
		return true
	})
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params: %v", err)
	}
	params.Add("_meta", meta.JSON())
	if inner := bytes.TrimSpace(rest); len(inner) > 2 {
		_ = jsontok.Object(inner, func(key, value []byte) error {
			params.Add(string(key), value)
			return nil
		})
	}
	return params.JSON(), nil
}

// ours reports whether ModernParams writes a member of _meta itself.
func ours(key string) bool {
	switch key {
	case protocol.MetaProtocolVersion, protocol.MetaClientInfo, protocol.MetaClientCapabilities, protocol.MetaLogLevel,
		protocol.MetaProgressToken, "traceparent", "tracestate", "baggage":
		return true
	}
	return false
}
