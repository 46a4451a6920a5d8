package mcpjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// paramKey is the keyword of a schema that mirrors a parameter.
const paramKey = "x-mcp-header"

// HeaderParamPrefix begins the headers that mirror parameters of tools.
const HeaderParamPrefix = "Mcp-Param-"

// ParamHeaders are the parameters of one tool that go into headers
// (basic/transports/streamable-http, Custom Headers from Tool Parameters).
type ParamHeaders []paramHeader

type paramHeader struct {
	header string
	path   []string
}

// ReadParamHeaders returns the name of a Tool object, and which parameters its
// inputSchema mirrors. It fails where that is against the rules: clients must
// not use such a tool (basic/transports/streamable-http, Schema Extension).
func ReadParamHeaders(tool []byte) (name string, plan ParamHeaders, err error) {
	if jsontok.KindOf(tool) != jsontok.KindObject {
		return "", nil, nil // the client's affair
	}
	raw, _ := jsontok.Lookup(tool, "name")
	name, _ = jsontok.String(raw)
	schema, _ := jsontok.Lookup(tool, "inputSchema")
	plan, err = compileParams(schema)
	return name, plan, err
}

// MayMirror reports whether text of a Tool object, or of a list of them, may
// have parameters that go into headers. It is quick, and true more often than
// needed.
func MayMirror(raw json.RawMessage) bool {
	// A key written with escapes needs the full scan as well.
	return bytes.Contains(raw, []byte(paramKey)) || bytes.Contains(raw, []byte(`\u00`))
}

// compileParams finds the parameters of a schema that go into headers.
func compileParams(schema json.RawMessage) (ParamHeaders, error) {
	if !MayMirror(schema) {
		return nil, nil
	}
	w := &schemaWalk{names: make(map[string]bool)}
	err := w.schema(schema, nil, true)
	return w.plan, err
}

type schemaWalk struct {
	plan  ParamHeaders
	names map[string]bool
}

// schema looks at one schema. path is that of the value it describes, static
// as long as only properties lead there. The depth is bounded, because jsontok
// has validated all of the text.
func (w *schemaWalk) schema(raw json.RawMessage, path []string, static bool) error {
	if jsontok.KindOf(raw) != jsontok.KindObject {
		return nil // true, false, or a fault that is not ours to find
	}
	return jsontok.Object(raw, func(k, value []byte) error {
		switch key := string(k); key {
		case paramKey:
			return w.annotated(raw, value, path, static)
		case "properties":
			return members(value, func(name string, schema []byte) error {
				return w.schema(schema, append(slices.Clip(path), name), static)
			})
		case "patternProperties", "$defs", "definitions", "dependentSchemas":
			return members(value, func(_ string, schema []byte) error { return w.schema(schema, nil, false) })
		case "items", "prefixItems", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contains", "additionalItems",
			"additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema":
			if jsontok.KindOf(value) != jsontok.KindArray {
				return w.schema(value, nil, false)
			}
			return jsontok.Array(value, func(_ int, schema []byte) error { return w.schema(schema, nil, false) })
		}
		return nil
	})
}

func members(raw []byte, visit func(name string, value []byte) error) error {
	if jsontok.KindOf(raw) != jsontok.KindObject {
		return nil
	}
	return jsontok.Object(raw, func(k, v []byte) error { return visit(string(k), v) })
}

func (w *schemaWalk) annotated(schema, value []byte, path []string, static bool) error {
	name, ok := jsontok.String(value)
	switch {
	case !ok || !isToken(name):
		return fmt.Errorf("%s %s is no name for a header", paramKey, clip.Name(value))
	case !static || len(path) == 0:
		return fmt.Errorf("%s %q is where no chain of properties leads", paramKey, clip.Name(name))
	case w.names[strings.ToLower(name)]:
		return fmt.Errorf("%s %q is there twice", paramKey, clip.Name(name))
	}
	raw, _ := jsontok.Lookup(schema, "type")
	switch t, _ := jsontok.String(raw); t {
	case "string", "integer", "boolean":
	default:
		return fmt.Errorf("%s %q is on a parameter whose type is not string, integer or boolean", paramKey, clip.Name(name))
	}
	w.names[strings.ToLower(name)] = true
	w.plan = append(w.plan, paramHeader{header: HeaderParamPrefix + name, path: path})
	return nil
}

// isToken reports whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		alnum := '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		return !alnum && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// Set sets the headers of a call with the given arguments.
func (p ParamHeaders) Set(header http.Header, arguments json.RawMessage) {
	for _, m := range p {
		if text, err := paramText(m.find(arguments)); err == nil {
			header.Set(m.header, EncodeHeader(text))
		}
	}
}

// Check compares the headers of a call with its arguments
// (basic/transports/streamable-http, Server Validation).
func (p ParamHeaders) Check(header http.Header, arguments json.RawMessage) *protocol.Error {
	for _, m := range p {
		value := m.find(arguments)
		want, err := paramText(value)
		if err != nil {
			if header.Values(m.header) != nil {
				return protocol.Errorf(protocol.CodeHeaderMismatch, "the %s header is there, and the body has no value for it", m.header)
			}
			continue
		}
		got, fault := mirrored(header, m.header, want, true)
		if fault != nil {
			return fault
		}
		same := got == want
		if !same && jsontok.KindOf(value) == jsontok.KindNumber && isNumber(got) {
			text, _ := paramText([]byte(got)) // 42.0 and 42 are the same
			same = text == want
		}
		if !same {
			return mismatch(m.header, got, want)
		}
	}
	return nil
}

func isNumber(s string) bool {
	return jsontok.KindOf([]byte(s)) == jsontok.KindNumber && jsontok.Valid([]byte(s), jsontok.Limits{}) == nil
}

// find returns the parameter's value, or nil.
func (m paramHeader) find(arguments json.RawMessage) []byte {
	value := []byte(arguments)
	for _, name := range m.path {
		value, _ = jsontok.Lookup(value, name)
	}
	return value
}

// errNoHeader is for values that have no header: null, absent, or of a type
// that the server will refuse by itself.
var errNoHeader = errors.New("the value has no header")

func paramText(value []byte) (string, error) {
	switch jsontok.KindOf(value) {
	case jsontok.KindString:
		s, _ := jsontok.String(value)
		return s, nil
	case jsontok.KindBool:
		return string(value), nil
	case jsontok.KindNumber:
		// Exponents would make huge numbers of short text.
		if !strings.ContainsAny(string(value), ".eE") {
			return string(value), nil
		}
		const limit = 32
		if len(value) > limit || strings.Contains(strings.ToLower(string(value)), "e") {
			return string(value), nil
		}
		if r, ok := new(big.Rat).SetString(string(value)); ok && r.IsInt() {
			return r.Num().String(), nil
		}
		return string(value), nil
	}
	return "", errNoHeader
}
