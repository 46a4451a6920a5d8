package jsonrpc

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// AppendResult appends the response to the request id, as a client of
// revision rev reads it.
func AppendResult(dst []byte, id json.RawMessage, r *protocol.Result, rev protocol.Revision) []byte {
	const envelope = 256 // more than what goes around the parts
	dst = slices.Grow(dst, len(id)+len(r.Meta)+len(r.Server)+len(r.Body)+envelope)
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	dst = append(dst, `,"result":`...)
	dst = protocol.AppendResult(dst, r, rev)
	return append(dst, '}')
}

// AppendResponse appends the response that r, or else fault, is.
func AppendResponse(dst []byte, id json.RawMessage, r *protocol.Result, fault *protocol.Error, rev protocol.Revision) []byte {
	if fault != nil {
		return AppendError(dst, id, fault, rev)
	}
	return AppendResult(dst, id, r, rev)
}

// AppendError appends the error response to the request id. A nil id means
// that it could not be read: revisions before 2025-11-25 then want null, as
// JSON-RPC has it, later ones no id at all.
func AppendError(dst []byte, id json.RawMessage, e *protocol.Error, rev protocol.Revision) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	switch {
	case id != nil:
		dst = append(append(append(dst, `"id":`...), id...), ',')
	case rev < protocol.Revision20251125:
		dst = append(dst, `"id":null,`...)
	}
	dst = append(dst, `"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	dst = append(dst, `,"message":`...)
	dst = jsontok.AppendString(dst, e.Message)
	if e.Data != nil {
		dst = append(append(dst, `,"data":`...), e.Data...)
	}
	return append(dst, "}}"...)
}

// AppendNotification appends a notification.
func AppendNotification(dst []byte, n *protocol.Notification) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":`...)
	dst = jsontok.AppendString(dst, n.Method)
	if n.Params != nil {
		dst = append(append(dst, `,"params":`...), n.Params...)
	}
	return append(dst, '}')
}
