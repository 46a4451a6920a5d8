package googlemcp

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// A server that needs nothing but to be asked again later is asked again here, as
// the service cannot say that: so often at most, and after these pauses.
const (
	maxRounds = 10
	minPause  = 100 * time.Millisecond
	maxPause  = 5 * time.Second
)

// beginAgain begins a request that may be one made again.
func (f *Front) beginAgain(ctx context.Context, common *googlepb.RequestFields) (*call, *retry, error) {
	c, err := f.begin(ctx, common)
	if err != nil {
		return nil, nil, err
	}
	again, err := new(toMCP).retry(common, f.codecs)
	if err != nil {
		return nil, nil, c.failure(protocol.Errorf(protocol.CodeInvalidParams, "common: %v", err))
	}
	return c, again, nil
}

// rounds asks by a method whose result may be that the server needs something,
// and returns the common fields of the response, which then say so. An error is
// a status.
func (c *call) rounds(ctx context.Context, method string, again *retry, called *googlepb.CallToolRequest_Request, response asks, request func(*retry) proto.Message) (*googlepb.ResponseFields, error) {
	pause := minPause
	for n := 1; ; n++ {
		params, err := c.front.codecs.json(request(again))
		if err != nil {
			return nil, c.failure(protocol.Errorf(protocol.CodeInvalidParams, "%v", err))
		}
		proto.Reset(response)
		meta, err := c.ask(ctx, method, params, response)
		if err != nil {
			return nil, c.failure(err)
		}
		in := response.GetInputRequired()
		if in == nil || len(in.GetInputRequests()) > 0 {
			out, err := c.answer(meta, in, called)
			if err != nil {
				return nil, c.failure(err)
			}
			return out, nil
		}
		if in.RequestState == nil || n == maxRounds {
			return nil, c.failure(protocol.Errorf(protocol.CodeInternalError, "the MCP server needs input, and does not say which"))
		}
		again = &retry{state: in.RequestState}
		select {
		case <-time.After(pause):
			pause = min(2*pause, maxPause)
		case <-ctx.Done():
			return nil, c.failure(ctx.Err())
		}
	}
}

// answer makes the common fields of a response that may say that the server
// needs something.
func (c *call) answer(meta json.RawMessage, in *mcpv1.InputRequiredResult, called *googlepb.CallToolRequest_Request) (*googlepb.ResponseFields, error) {
	out, err := c.common(meta)
	if err != nil || in == nil {
		return out, err
	}
	if out == nil {
		out = &googlepb.ResponseFields{}
	}
	if err := (&toGoogle{codecs: c.front.codecs}).inputRequired(in, called, out); err != nil {
		return nil, protocol.Errorf(protocol.CodeInternalError, "%v", err)
	}
	return out, nil
}

// common makes the common fields of a response, which are nil without any.
func (c *call) common(meta json.RawMessage) (*googlepb.ResponseFields, error) {
	if meta == nil {
		return nil, nil //nolint:nilnil // none is a value here
	}
	m, err := c.front.codecs.structOf(meta)
	if err != nil {
		return nil, err
	}
	return &googlepb.ResponseFields{Metadata: m}, nil
}

// The metadata, in canonical HTTP form, by which clients say to proxies what a
// request is about: as the comments of the service have it, as implementations
// send it, and as HTTP has it in MCP.
var (
	toolHeaders     = []string{headerTool, "Mcp-Tool", "Mcp-Tool-Name", mcpjson.HeaderName}
	promptHeaders   = []string{headerPrompt, "Mcp-Prompt", "Mcp-Prompt-Name", mcpjson.HeaderName}
	resourceHeaders = []string{headerResource, "Mcp-Resource", "Mcp-Resource-Uri", mcpjson.HeaderName}
	completeHeaders = []string{headerResource}
)

// about refuses a request whose metadata names something else than the request
// does: a proxy may have let it pass for what the metadata says. Metadata may be
// absent, and encoded.
func (c *call) about(name string, keys []string) error {
	header := c.info.RequestHeader()
	for _, key := range keys {
		for _, value := range header.Values(key) {
			if !names(value, name) {
				return protocol.Errorf(protocol.CodeHeaderMismatch, "the metadata %s has %q, the request %q", strings.ToLower(key), value, name)
			}
		}
	}
	return nil
}

func names(value, name string) bool {
	if value == name {
		return true
	}
	if decoded, ok := mcpjson.DecodeHeader(value); ok && decoded == name {
		return true
	}
	decoded, err := url.PathUnescape(value)
	return err == nil && decoded == name
}
