package typedserve

import (
	"net/http"
	"strings"

	"github.com/yosida95/uritemplate/v3"
	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/metadata"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typed"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

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
	rest, err := metadata.Rest(h)
	if err != nil {
		return fault.New(code.Code_INVALID_ARGUMENT, err, "%v", err)
	}
	var meta []byte
	err = jsontok.Object(rest, func(key, value []byte) error {
		if string(key) == "_meta" {
			meta = value
		} else {
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
	if object == nil {
		object = []byte(`{}`)
	}
	return mcpjson.With(object, name, []byte(value))
}
