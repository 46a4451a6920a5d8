package eraserver

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// What a result has that no legacy revision knows passes, because clients
// ignore it. What their schemas forbid does not: a client that checks them
// would refuse the whole result.

// older returns a result without what the schemas of legacy revisions forbid.
func (s *Session) older(ctx context.Context, method string, res *protocol.Result) *protocol.Result {
	if res == nil || s.Revision.Modern() {
		return res
	}
	var (
		body json.RawMessage
		lost bool
	)
	switch method {
	case protocol.MethodListTools:
		body, lost = withoutOtherSchemas(res.Body)
	case protocol.MethodCallTool, protocol.MethodTaskResult:
		body, lost = withoutOtherStructure(res.Body)
	}
	if !lost {
		return res
	}
	s.server.log.DebugContext(ctx, "what is no object was left out of structured content, or of its schema", "method", method, "revision", s.Revision)
	left := *res
	left.Body = body
	return &left
}

// withoutOtherSchemas returns a list of tools without the schemas of output
// that is no object, and whether it had any.
func withoutOtherSchemas(body json.RawMessage) (json.RawMessage, bool) {
	raw, ok := jsontok.Lookup(body, "tools")
	if !ok || jsontok.KindOf(raw) != jsontok.KindArray {
		return nil, false
	}
	var tools mcpjson.Array
	lost := false
	// The body is valid, and the visitor returns no error.
	_ = jsontok.Array(raw, func(_ int, tool []byte) error {
		if schema, ok := jsontok.Lookup(tool, "outputSchema"); ok {
			kind, _ := jsontok.Lookup(schema, "type")
			if name, _ := jsontok.String(kind); name != "object" {
				tool, lost = protocol.WithoutMember(tool, "outputSchema"), true
			}
		}
		tools.Add(tool)
		return nil
	})
	if !lost {
		return nil, false
	}
	return mcpjson.Replace(body, "tools", tools.JSON()), true
}

// structured is the member of the result of a tool that holds its data.
const structured = "structuredContent"

// withoutOtherStructure returns the result of a tool without structured content
// that is no object, and whether it had that. It becomes a text where the
// server has given none.
func withoutOtherStructure(body json.RawMessage) (json.RawMessage, bool) {
	if !mayHaveOther(body) {
		return nil, false
	}
	value, ok := jsontok.Lookup(body, structured)
	if !ok || jsontok.KindOf(value) == jsontok.KindObject {
		return nil, false
	}
	body = protocol.WithoutMember(body, structured)
	var blocks mcpjson.Array
	content, ok := jsontok.Lookup(body, "content")
	if ok {
		texts := false
		_ = jsontok.Array(content, func(_ int, block []byte) error { // valid, as above
			kind, _ := jsontok.Lookup(block, "type")
			name, _ := jsontok.String(kind)
			texts = texts || name == "text"
			blocks.Add(block)
			return nil
		})
		if texts {
			return body, true
		}
	}
	text := jsontok.AppendString([]byte(`{"type":"text","text":`), jsontok.AppendCompact(nil, value))
	blocks.Add(append(text, '}'))
	if !ok {
		return mcpjson.With(body, "content", blocks.JSON()), true
	}
	return mcpjson.Replace(body, "content", blocks.JSON()), true
}

// mayHaveOther reports whether a result may have structured content that is no
// object. Most do not, and finding that out must not cost as much as reading
// them.
func mayHaveOther(body []byte) bool {
	const space = " \t\r\n"
	for {
		_, rest, ok := bytes.Cut(body, []byte(`"`+structured+`"`))
		if !ok {
			return false
		}
		body = rest
		value, ok := bytes.CutPrefix(bytes.TrimLeft(rest, space), []byte{':'})
		if ok && !bytes.HasPrefix(bytes.TrimLeft(value, space), []byte{'{'}) {
			return true
		}
	}
}

// olderFault gives an error the code that legacy revisions have for it. The
// codes that only 2026-07-28 defines become invalid params, with the original
// in data.
func (s *Session) olderFault(method string, e *protocol.Error) *protocol.Error {
	if e == nil || s.Revision.Modern() {
		return e
	}
	switch e.Code {
	case protocol.CodeHeaderMismatch, protocol.CodeMissingClientCapability, protocol.CodeUnsupportedProtocolVersion:
		data := append([]byte(`{"code":`), strconv.Itoa(e.Code)...)
		if e.Data != nil {
			data = append(append(data, `,"data":`...), e.Data...)
		}
		return &protocol.Error{Code: protocol.CodeInvalidParams, Message: e.Message, Data: append(data, '}'), Challenge: e.Challenge}
	case protocol.CodeInvalidParams:
		if _, ok := jsontok.Lookup(e.Data, "uri"); !ok || method != protocol.MethodReadResource {
			return e
		}
		older := *e
		older.Code = protocol.CodeResourceNotFound
		return &older
	}
	return e
}
