package backend

import (
	"encoding/json"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/metadata"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// addRest adds to a call what the request of a tool says beside its arguments:
// answers to what the tool has asked for, and what it may ask.
func addRest(call *rpc.Call, r *protocol.Request) error {
	var rest mcpjson.Object
	for _, name := range []string{"inputResponses", "requestState"} {
		if value, ok := jsontok.Lookup(r.Params, name); ok {
			rest.Add(name, value)
		}
	}
	if c := r.Meta.Capabilities; c != nil && string(c) != "{}" {
		var meta mcpjson.Object
		meta.Add(protocol.MetaClientCapabilities, c)
		rest.Add("_meta", meta.JSON())
	}
	if rest.Empty() {
		return nil
	}
	if err := metadata.SetRest(call.Header, rest.JSON()); err != nil {
		return protocol.Errorf(protocol.CodeInvalidParams, "params: %v", err)
	}
	return nil
}

// toolResult returns the result that a response is.
func (p *Plan) toolResult(c *compiled, response []byte, trailer *rpc.Trailer) (*protocol.Result, error) {
	value, warnings, err := c.out.AppendJSON(nil, response)
	if err != nil {
		return c.tooLarge(err)
	}
	res, err := mcpjson.ReadResult(protocol.MethodCallTool, value, true)
	if err != nil {
		return nil, err
	}
	if _, ok := jsontok.Lookup(res.Body, "content"); !ok {
		res.Body = mcpjson.With(res.Body, "content", []byte(`[]`))
	}
	res.Meta = merged(res.Meta, p.meta(trailer, warnings))
	return res, nil
}

// merged returns the members of two objects, of which either may be nil. Where
// both have one, it is that of the second.
func merged(first, second json.RawMessage) json.RawMessage {
	if first == nil || second == nil {
		if first == nil {
			return second
		}
		return first
	}
	var out mcpjson.Object
	for i, object := range []json.RawMessage{first, second} {
		// Both are valid, and the visitor returns no error.
		_ = jsontok.Object(object, func(key, value []byte) error {
			if _, twice := jsontok.Lookup(second, string(key)); i == 1 || !twice {
				out.Add(string(key), value)
			}
			return nil
		})
	}
	return out.JSON()
}
