package backend

import (
	"encoding/json"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/schema"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// Kind returns the kind of the method.
func (p *Plan) Kind() rpc.Kind { return p.kind }

// InputSchema returns the schema of the arguments of calls, given that of the
// request message.
func (p *Plan) InputSchema(message json.RawMessage) json.RawMessage {
	out := message
	if p.clientStreams() {
		out = schema.Messages(out)
	}
	if p.limited {
		l := p.settings.Limits
		out = schema.WithLimits(out, LimitsArgument, l.Messages, l.Bytes, l.Time.Seconds())
	}
	return out
}

// OutputSchema returns the schema of the structured content of results, given
// that of the response message.
func (p *Plan) OutputSchema(message json.RawMessage) json.RawMessage {
	if p.Streams() {
		return schema.Stream(message)
	}
	return message
}
