package typed_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typed"
)

// value returns a random value that fits a schema of this evolution. Lists and
// maps in it are not empty, for those are as if absent.
func (e *evolution) value(schema any) any {
	if o, ok := schema.(*object); ok {
		return e.members(o)
	}
	m, _ := schema.(map[string]any)
	switch {
	case m["enum"] != nil:
		return choose(e, m["enum"].([]string)...)
	case m["const"] != nil:
		return m["const"]
	case m["oneOf"] != nil:
		return e.value(choose(e, m["oneOf"].([]any)...))
	}
	switch m["type"] {
	case "string":
		return choose(e, "", "x", "\u0000\U0001f600", "null")
	case "integer":
		return choose(e, 0, -1, 1<<53+1, -1<<63, 1<<63-1)
	case "number":
		return choose(e, 0, 1.5, -1e300)
	case "boolean":
		return e.IntN(2) == 0
	case "array":
		list := make([]any, 1+e.IntN(3))
		for i := range list {
			list[i] = e.value(m["items"])
		}
		return list
	case "object":
		members := make(map[string]any)
		for _, name := range []string{"k", "", "é", "a b"}[:1+e.IntN(4)] {
			members[name] = e.value(m["additionalProperties"])
		}
		return members
	default: // any
		return choose[any](e, nil, "x", 1.5, []any{}, map[string]any{"a": nil}, false)
	}
}

func (e *evolution) members(o *object) map[string]any {
	members := make(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(o.properties)) {
		if e.IntN(4) > 0 || slices.Contains(o.required, name) {
			members[name] = e.value(o.properties[name])
		}
	}
	return members
}

// TestRandomValues tests that JSON is the same after it has been a message of a
// random type, with the exact codec and the lenient one.
func TestRandomValues(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		e := newEvolution(2000 + seed)
		schema := e.object(0)
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		server := typed.Server{Name: "s", Tools: []typed.Tool{{Name: "t", Input: text}}}
		_, fd := newPlan(t, server, typed.Options{Hashed: seed%2 == 0})
		for _, exact := range []bool{true, false} {
			codec, err := transcode.New(fd.Messages().ByName("TRequest"), nil, transcode.Options{Exact: exact})
			if err != nil {
				t.Fatal(err)
			}
			for range 5 {
				in, err := json.Marshal(e.members(schema))
				if err != nil {
					t.Fatal(err)
				}
				wire, err := codec.AppendWire(nil, in)
				if err != nil {
					t.Fatalf("%s\n%s: %v", text, in, err)
				}
				out, warnings, err := codec.AppendJSON(nil, wire)
				if err != nil || len(warnings) > 0 || canonical(t, out) != canonical(t, in) {
					t.Fatalf("%s\n%s became\n%s, %q, %v", text, in, out, warnings, err)
				}
			}
		}
	}
}

// TestResponse tests that a response is the result of a tool, whatever its
// structured content is.
func TestResponse(t *testing.T) {
	t.Parallel()
	_, fd := newPlan(t, typed.Server{Name: "s", Tools: []typed.Tool{
		{Name: "t", Output: []byte(`{"type":"object","properties":{"sum":{"type":"integer"}}}`)},
		{Name: "list", Output: []byte(`{"type":"array","items":{"type":"string"}}`)},
		{Name: "none"},
		{Name: "null", Output: []byte(`{"type":"object","properties":{"s":{"type":["string","null"]},"l":{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]},"o":{"anyOf":[{"type":"object","properties":{"s":{"type":["integer","null"]}},"required":["s"]},{"type":"null"}]},"e":{"enum":["a","b",null]},"m":{"type":"object","additionalProperties":{"type":"string"}},"any":{}}}`)},
		{Name: "required", Output: []byte(`{"type":"object","properties":{"s":{"type":["string","null"]},"l":{"type":["array","null"],"items":{"type":"string"}},"o":{"anyOf":[{"type":"object","additionalProperties":false},{"type":"null"}]},"m":{"type":"object","additionalProperties":{"type":"string"}}},"required":["s","l","o","m"]}`)},
	}}, typed.Options{})
	const rest = `"content":[{"type":"text","text":"3"}],"_meta":{"a":[1]}`
	for _, tt := range []struct {
		message, structured string
		field               protoreflect.Name
		// again is what is written, where that is not the same.
		again string
	}{
		{"TResponse", `{"sum":3}`, "structured", ""},
		{"TResponse", `{"sum":3.5}`, "structured_raw", ""},
		{"TResponse", `{"sum":3,"more":null}`, "structured_raw", ""},
		{"TResponse", `[1]`, "structured_raw", ""},
		{"ListResponse", `["a"]`, "structured", ""},
		{"ListResponse", `{"a":1e400}`, "structured_raw", ""},
		{"NoneResponse", `{"a":1}`, "structured_raw", ""},
		{"NullResponse", `{"s":null,"l":null,"o":null,"e":null,"m":{}}`, "structured", `{}`},
		{"NullResponse", `{"s":"","l":[],"o":{"s":null},"any":null}`, "structured", `{"s":"","o":{"s":null},"any":null}`},
		{"NullResponse", `{"m":null}`, "structured_raw", ""},
		{"NullResponse", `{"l":[null]}`, "structured_raw", ""},
		{"RequiredResponse", `{"s":null,"l":null,"o":null,"m":{}}`, "structured", ""},
		{"RequiredResponse", `{"s":"x","l":["y"],"o":{},"m":{"a":"b"}}`, "structured", ""},
		{"RequiredResponse", `{"s":"x","l":[],"o":null,"m":{}}`, "structured_raw", ""},
	} {
		md := fd.Messages().ByName(protoreflect.Name(tt.message))
		codec, err := transcode.New(md, nil, transcode.Options{Exact: true})
		if err != nil {
			t.Fatal(err)
		}
		in := `{"structuredContent":` + tt.structured + `,` + rest + `}`
		wire, err := codec.AppendWire(nil, []byte(in))
		if err != nil {
			t.Errorf("%s: %s: %v", tt.message, in, err)
			continue
		}
		if m := unmarshal(t, md, wire); !m.Has(md.Fields().ByName(tt.field)) {
			t.Errorf("%s: %s: %s is not set", tt.message, in, tt.field)
		}
		want := in
		if tt.again != "" {
			want = `{"structuredContent":` + tt.again + `,` + rest + `}`
		}
		out, _, err := codec.AppendJSON(nil, wire)
		if err != nil || string(out) != want {
			t.Errorf("%s: %s became %s, %v", tt.message, in, out, err)
		}
	}
}

// TestFills tests what requests have beside their fields.
func TestFills(t *testing.T) {
	t.Parallel()
	plan, fd := newPlan(t, typed.Server{Name: "s", Tools: []typed.Tool{{Name: "t", Input: []byte(`{
		"type": "object", "required": ["version", "n", "maybe", "whole"],
		"properties": {
			"version": {"const": 2}, "optional": {"const": 1}, "whole": {"const": {"a": [1]}}, "n": {"type": "null"}, "maybe": {"type": ["string", "null"]},
			"o": {"type": "object", "properties": {"kind": {"enum": ["k"]}, "o": {"$ref": "#/properties/o"}}, "required": ["kind"], "additionalProperties": {"$ref": "#/properties/o"}},
			"list": {"type": "array", "items": {"$ref": "#/properties/o"}},
			"lists": {"type": "array", "items": {"type": "array", "items": {"$ref": "#/properties/o"}}},
			"map": {"type": "object", "additionalProperties": {"$ref": "#/properties/o"}},
			"u": {"oneOf": [{"type": "object", "properties": {"t": {"const": "a"}, "v": {"const": 1}}, "required": ["t", "v"]}, {"type": "object", "properties": {"t": {"const": "b"}}, "required": ["t"]}]},
			"any": {}
		}}`)}, {Name: "plain", Input: []byte(`{"type": "object"}`)}}}, typed.Options{})
	filler := typed.NewFiller(fd.Messages().ByName("TRequest"), plan.Methods[0].Fills)
	const more = `"version":2,"whole":{"a": [1]},"n":null,"maybe":null}`
	for _, tt := range []struct{ in, want string }{
		{`{}`, `{` + more},
		{`{"n":null,"maybe":"x","version":3,"whole":0}`, `{"n":null,"maybe":"x","version":3,"whole":0}`},
		{`{"o":{}}`, `{"o":{"kind":"k"},` + more},
		{`{"o":{"o":{"kind":"z"},"else":{}}}`, `{"o":{"o":{"kind":"z"},"else":{"kind":"k"},"kind":"k"},` + more},
		{`{"list":[{},{"kind":"k"}]}`, `{"list":[{"kind":"k"},{"kind":"k"}],` + more},
		{`{"lists":[[],[{}]]}`, `{"lists":[[],[{"kind":"k"}]],` + more},
		{`{"map":{"a":{},"b\n":{}}}`, `{"map":{"a":{"kind":"k"},"b\n":{"kind":"k"}},` + more},
		{`{"u":{"t":"a"}}`, `{"u":{"t":"a","v":1},` + more},
		{`{"u":{"t":"b"}}`, `{"u":{"t":"b"},` + more},
		{`{"u":{},"o":1,"list":{},"map":[],"any":{"o":{}}}`, `{"u":{},"o":1,"list":{},"map":[],"any":{"o":{}},` + more},
		{`{"a":1,"a":2}`, `{"a":1,"a":2}`},
		{`[1]`, `[1]`},
	} {
		if got := string(filler.Append(nil, []byte(tt.in))); got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.in, got, tt.want)
		}
	}
	if plain := typed.NewFiller(fd.Messages().ByName("PlainRequest"), plan.Methods[1].Fills); plain != nil || string(plain.Append(nil, []byte(`{}`))) != `{}` {
		t.Error("there is nothing to fill in")
	}
}
