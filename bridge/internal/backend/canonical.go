package backend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
)

// Canonical is what a call with some arguments sends.
type Canonical struct {
	// Message is the canonical ProtoJSON of the request message, or an object with
	// the list [MessagesArgument] of them where the client streams.
	Message json.RawMessage
	// Arguments are arguments of a call that sends exactly Message.
	Arguments json.RawMessage
}

// Canonical returns what a call with the given arguments sends, in whichever of the
// accepted ways they are written. Arguments that do not fit are a
// [*transcode.ArgumentError].
func (p *Plan) Canonical(arguments json.RawMessage) (*Canonical, error) {
	c, err := p.compiled()
	if err != nil {
		return nil, err
	}
	message, limits, err := p.canonical(c, arguments)
	if err != nil {
		return nil, err
	}
	out := &Canonical{Message: message, Arguments: message}
	if raw, ok := p.limitsOf(arguments); ok && jsontok.KindOf(raw) != jsontok.KindNull {
		out.Arguments = mcpjson.With(message, LimitsArgument, limits.json())
	}
	// What a guard has read is what is sent, or else nothing is.
	again, _, err := p.canonical(c, out.Arguments)
	if err == nil && !bytes.Equal(again, message) {
		err = errors.New("it is read back as another one")
	}
	if err != nil {
		return nil, fmt.Errorf("the canonical form of a message for %s: %w", p.procedure, err)
	}
	return out, nil
}

// canonical returns the canonical form of what arguments send.
func (p *Plan) canonical(c *compiled, arguments json.RawMessage) (json.RawMessage, Limits, error) {
	requests, limits, err := p.requests(c, arguments)
	if err != nil {
		return nil, limits, err
	}
	if !p.clientStreams() {
		message, err := c.canonical(requests[0])
		return message, limits, err
	}
	var list mcpjson.Array
	for _, request := range requests {
		message, err := c.canonical(request)
		if err != nil {
			return nil, limits, err
		}
		list.Add(message)
	}
	var out mcpjson.Object
	out.Add(MessagesArgument, list.JSON())
	return out.JSON(), limits, nil
}

// canonical returns the canonical ProtoJSON of a request message.
func (c *compiled) canonical(request []byte) (json.RawMessage, error) {
	message, warnings, err := c.in.AppendJSON(nil, request)
	if err == nil && len(warnings) > 0 {
		err = fmt.Errorf("a message of %s has no canonical form: %s", c.method.Input().FullName(), warnings[0])
	}
	return message, err
}

// limitsOf returns the limits that arguments ask for.
func (p *Plan) limitsOf(arguments json.RawMessage) (json.RawMessage, bool) {
	if !p.limited {
		return nil, false
	}
	return jsontok.Lookup(arguments, LimitsArgument)
}

// json returns the limits as [LimitsArgument] has them.
func (l Limits) json() json.RawMessage {
	out := strconv.AppendInt([]byte(`{"messages":`), int64(l.Messages), 10)
	out = strconv.AppendInt(append(out, `,"bytes":`...), int64(l.Bytes), 10)
	out = strconv.AppendFloat(append(out, `,"seconds":`...), l.Time.Seconds(), 'f', -1, 64)
	return append(out, '}')
}
