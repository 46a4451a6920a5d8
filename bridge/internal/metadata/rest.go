package metadata

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/header"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// RestHeader is the metadata that has what requests of typed services have no
// fields for: a mcp.v1.CallToolRequest with input_responses, request_state and
// meta alone, for whatever the RPC stands for.
const RestHeader = "Mcp-Request-Bin"

// restMembers are the members of params that RestHeader may have.
var restMembers = map[string]bool{"inputResponses": true, "requestState": true, "_meta": true}

var restType = (*mcpv1.CallToolRequest)(nil).ProtoReflect().Descriptor()

// restCodec returns the codec of what RestHeader has.
var restCodec = sync.OnceValues(func() (*transcode.Codec, error) {
	return transcode.New(restType, nil, transcode.Options{Exact: true})
})

// Rest returns what RestHeader has of the params of a request, an object. The
// error says what is wrong with it, to the client. The header is as it came.
func Rest(h http.Header) (json.RawMessage, error) {
	if len(h[RestHeader]) == 0 {
		return json.RawMessage(`{}`), nil
	}
	wire := header.Decode(http.Header{RestHeader: h[RestHeader]}).Get(RestHeader)
	codec, err := restCodec()
	if err != nil {
		return nil, err
	}
	text, warnings, err := codec.AppendJSON(nil, []byte(wire))
	if err != nil || len(warnings) > 0 {
		return nil, fmt.Errorf("the metadata %s is no %s", RestHeader, restType.FullName())
	}
	return text, jsontok.Object(text, func(key, _ []byte) error {
		if !restMembers[string(key)] {
			return fmt.Errorf("the metadata %s has the member %q: want input_responses, request_state and meta alone, for the request has the others", RestHeader, key)
		}
		return nil
	})
}

// SetRest is the reverse of [Rest]: it sets RestHeader, to raw bytes, unless there
// is nothing to say.
func SetRest(h http.Header, rest json.RawMessage) error {
	codec, err := restCodec()
	if err != nil {
		return err
	}
	wire, err := codec.AppendWire(nil, rest)
	if err != nil {
		return fmt.Errorf("the metadata %s: %w", RestHeader, err)
	}
	if len(wire) > 0 {
		h.Set(RestHeader, string(wire))
	}
	return nil
}
