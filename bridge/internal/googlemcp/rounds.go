package googlemcp

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
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

// rounds asks until there is a response: a result, or what the server needs.
func (c *call) rounds(ctx context.Context, params json.RawMessage, again *retry, called *googlepb.CallToolRequest_Request) (proto.Message, error) {
	pause := minPause
	for n := 1; ; n++ {
		result := c.method.result.New().Interface()
		needed, meta, err := c.ask(ctx, c.method.name, again.addTo(params), result)
		if err != nil {
			return nil, err
		}
		common, err := c.common(meta)
		switch {
		case err != nil:
			return nil, err
		case needed == nil:
			return c.respond(result, common)
		case len(needed.GetInputRequests()) > 0:
			if common == nil {
				common = &googlepb.ResponseFields{}
			}
			if err := c.front.converter.neededToGoogle(common, needed, called); err != nil {
				return nil, protocol.Errorf(protocol.CodeInternalError, "%v", err)
			}
			return c.respond(nil, common)
		case needed.RequestState == nil || n == maxRounds:
			return nil, protocol.Errorf(protocol.CodeInternalError, "the MCP server needs input, and does not say which")
		}
		again = &retry{state: jsontok.AppendString(nil, needed.GetRequestState())}
		select {
		case <-time.After(pause):
			pause = min(2*pause, maxPause)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// respond makes the response of a result and the common fields. Either may be
// nil.
func (c *call) respond(result proto.Message, common *googlepb.ResponseFields) (proto.Message, error) {
	out := c.method.response.New()
	if result != nil {
		if err := c.front.converter.toGoogle(out.Interface(), result); err != nil {
			return nil, err
		}
	}
	if common != nil {
		out.Set(out.Descriptor().Fields().ByName(commonField), protoreflect.ValueOfMessage(common.ProtoReflect()))
	}
	return out.Interface(), nil
}

// common makes the common fields of a response, which are nil without any.
func (c *call) common(meta json.RawMessage) (*googlepb.ResponseFields, error) {
	if meta == nil {
		return nil, nil //nolint:nilnil // none is a value here
	}
	m, err := c.front.converter.structOf(meta)
	if err != nil {
		return nil, err
	}
	return &googlepb.ResponseFields{Metadata: m}, nil
}

// about refuses a request whose metadata names something else than the request
// does: a proxy may have let it pass for what the metadata says. Metadata may be
// absent, and encoded.
func (c *call) about(name string) error {
	for _, key := range c.method.about {
		for _, value := range c.rpc.Header.Values(key) {
			if !names(value, name) {
				return protocol.Errorf(protocol.CodeHeaderMismatch, "the metadata %s has %q, the request %q",
					strings.ToLower(key), clip.Text(value, maxEchoed), clip.Text(name, maxEchoed))
			}
		}
	}
	return nil
}

// maxEchoed bounds how much of a request an error repeats, in bytes.
const maxEchoed = 256

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
