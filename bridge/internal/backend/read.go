package backend

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Reading is what a method returned, for uses other than a tool's result.
type Reading struct {
	// JSON is the response, or nil where it is a google.api.HttpBody.
	JSON json.RawMessage
	// Content and ContentType are those of a google.api.HttpBody.
	Content     []byte
	ContentType string
}

// maxReading is how many bytes of JSON a reading may have. It is not for a model
// alone, and therefore longer than a result; without a bound, messages of many
// fields that are zero would be thousands of times as long as what was sent.
const maxReading = 64 << 20

// Read calls a method that does not stream. Arguments that do not fit are a
// [*transcode.ArgumentError], a status other than OK is a [*CallError].
func (p *Plan) Read(ctx context.Context, arguments json.RawMessage, r *protocol.Request) (*Reading, error) {
	var response []byte
	c, err := p.exchange(ctx, arguments, r, func(message []byte) error {
		response = message
		return nil
	})
	if err != nil {
		return nil, err
	}
	if p.httpBody {
		var b httpBody
		if _, err := b.add(response, 0); err != nil {
			return nil, err
		}
		return &Reading{Content: b.data, ContentType: strings.ToValidUTF8(b.contentType, "\uFFFD")}, nil
	}
	value, _, err := c.out.Writing(p.settings.Output, maxReading).AppendJSON(nil, response)
	if err != nil {
		return nil, err
	}
	return &Reading{JSON: value}, nil
}

// Follow calls a method whose responses are a stream, and calls received for
// each of them, until the stream ends or ctx does. Errors are as for
// [Plan.Read].
func (p *Plan) Follow(ctx context.Context, arguments json.RawMessage, r *protocol.Request, received func()) error {
	_, err := p.exchange(ctx, arguments, r, func([]byte) error {
		received()
		return nil
	})
	return err
}

func (p *Plan) exchange(ctx context.Context, arguments json.RawMessage, r *protocol.Request, receive func([]byte) error) (*compiled, error) {
	c, err := p.compiled()
	if err != nil {
		return nil, err
	}
	requests, _, err := p.requests(c, arguments)
	if err != nil {
		return nil, err
	}
	_, err = p.env.Caller.Call(ctx, &rpc.Call{
		Procedure: p.procedure,
		Kind:      p.kind,
		Requests:  requests,
		Header:    p.env.Metadata.Request(r.Caller, r.Meta),
	}, receive)
	return c, callError(err, nil)
}
