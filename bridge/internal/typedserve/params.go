package typedserve

import (
	"net/http"
	"strings"

	"github.com/yosida95/uritemplate/v3"
	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/header"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typed"
	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// RestHeader is the metadata that has what typed requests have no fields for: a
// mcp.v1.CallToolRequest with input_responses, request_state and meta alone, for
// whatever the RPC stands for.
const RestHeader = "Mcp-Request-Bin"

// restMembers are the members of params that RestHeader may have.
var restMembers = map[string]bool{"inputResponses": true, "requestState": true, "_meta": true}

var restType = (*mcpv1.CallToolRequest)(nil).ProtoReflect().Descriptor()

// params returns the params of a request, and its method.
func (m *method) params(arguments []byte) (params mcpjson.Object, name string, err error) {
	switch m.typed.Kind {
	case typed.PromptMethod:
		name = protocol.MethodGetPrompt
	case typed.TemplateMethod:
		uri, err := m.expand(arguments)
		if err != nil {
			return params, "", err
		}
		params.Add("uri", jsontok.AppendString(nil, uri))
		return params, protocol.MethodReadResource, nil
	case typed.ToolMethod:
		name = protocol.MethodCallTool
	}
	params.Add("name", jsontok.AppendString(nil, m.typed.Name))
	params.Add("arguments", arguments)
	return params, name, nil
}

// expand returns the URI of a resource. Variables that are not set are left out.
func (m *method) expand(variables []byte) (string, error) {
	template, err := uritemplate.New(m.typed.Name)
	if err != nil {
		return "", fault.New(code.Code_UNIMPLEMENTED, err, "the URI template of the resource cannot be read: %v", err)
	}
	values := uritemplate.Values{}
	err = jsontok.Object(variables, func(key, value []byte) error {
		text, ok := jsontok.String(value)
		if strings.ContainsRune(text, 0) {
			return fault.New(code.Code_INVALID_ARGUMENT, nil, "%s: a NUL cannot be in a URI", key)
		}
		if ok {
			values.Set(string(key), uritemplate.String(bytewise(text)))
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	uri, err := template.Expand(values)
	if err != nil {
		return "", fault.New(code.Code_INVALID_ARGUMENT, err, "the variables make no URI: %v", err)
	}
	return uri, nil
}

// bytewise returns a text with a character for each byte. Package uritemplate
// encodes characters where RFC 6570 has bytes of UTF-8 (section 3.2.1).
func bytewise(text string) string {
	runes := make([]rune, len(text))
	for i := range len(text) {
		runes[i] = rune(text[i])
	}
	return string(runes)
}

// addRest adds to params what the metadata of the call has of them. A stream
// asks for progress and logs, unless that says which.
func (m *method) addRest(params *mcpjson.Object, h http.Header) error {
	wire := header.Decode(http.Header{RestHeader: h[RestHeader]}).Get(RestHeader)
	codec, err := details.Codec(restType)
	if err != nil {
		return err
	}
	text, warnings, err := codec.AppendJSON(nil, []byte(wire))
	if err != nil || len(warnings) > 0 {
		return fault.New(code.Code_INVALID_ARGUMENT, err, "the metadata %s is no %s", RestHeader, restType.FullName())
	}
	var meta []byte
	err = jsontok.Object(text, func(key, value []byte) error {
		switch {
		case !restMembers[string(key)]:
			return fault.New(code.Code_INVALID_ARGUMENT, nil, "the metadata %s has the member %q: want input_responses, request_state and meta alone, for the request has the others", RestHeader, key)
		case string(key) == "_meta":
			meta = value
		default:
			params.Add(string(key), value)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if m.streams {
		meta = withDefault(meta, protocol.MetaProgressToken, `"stream"`)
		meta = withDefault(meta, protocol.MetaLogLevel, `"info"`)
	}
	if meta != nil {
		params.Add("_meta", meta)
	}
	return nil
}

// withDefault adds a member to an object that lacks it.
func withDefault(object []byte, name, value string) []byte {
	if _, ok := jsontok.Lookup(object, name); ok {
		return object
	}
	var out mcpjson.Object
	if object != nil {
		// It is valid, and the visitor returns no error.
		_ = jsontok.Object(object, func(key, value []byte) error {
			out.Add(string(key), value)
			return nil
		})
	}
	out.Add(name, []byte(value))
	return out.JSON()
}
