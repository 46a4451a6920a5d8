package typed_test

import (
	"bytes"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typed"
)

// ruled are cases beside those of the kitchen sink: what rules could refuse and
// schemas accept.
var ruled = []dish{
	{"list of some", `{"type":"array","items":{"type":"string","minLength":2},"minItems":2,"uniqueItems":true}`, []string{`["ab","cd"]`}},
	{"map of some", `{"type":"object","additionalProperties":{"type":"integer","minimum":5},"minProperties":1,"maxProperties":2}`, []string{`{"a":5}`}},
	{"nullable list of some", `{"type":["array","null"],"items":{"type":"number","exclusiveMinimum":0},"minItems":1}`, []string{`[0.5]`}},
	{"lists of some", `{"type":"array","items":{"type":"array","items":{"type":"string"},"minItems":1},"minItems":1}`, []string{`[["a"]]`}},
	{"space", `{"type":"string","pattern":"^\\s$"}`, []string{`" "`, `"\u00a0"`}},
	{"no space", `{"type":"string","pattern":"^[^\\S]$"}`, []string{`"\u2003"`}},
	{"any class", `{"type":"string","pattern":"^[^]$"}`, []string{`"]"`, `"a"`}},
	{"code points", `{"type":"string","minLength":1,"maxLength":1}`, []string{`"\ud83d\ude00"`}},
	{"formats", `{"type":"object","properties":{"u":{"type":"string","format":"uri"},"r":{"type":"string","format":"uri-reference"},"h":{"type":"string","format":"hostname"},"v4":{"type":"string","format":"ipv4"},"v6":{"type":"string","format":"ipv6"},"id":{"type":"string","format":"uuid"}}}`, []string{
		`{"u":"urn:x:y","r":"../a?b#c","h":"a-b.example","v4":"127.0.0.1","v6":"::ffff:127.0.0.1","id":"6BA7B810-9dad-11d1-80b4-00c04fd430c8"}`,
	}},
	{"default bounds", `{"type":"integer","minimum":0,"maximum":0}`, []string{`0`}},
}

// TestRulesAccept tests that rules refuse nothing that the schema accepts.
func TestRulesAccept(t *testing.T) {
	t.Parallel()
	validator, err := protovalidate.New()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, d := range append(ruled, kitchen...) {
		for _, required := range []string{"", `,"required":["x"]`} {
			text := `{"type":"object","properties":{"x":` + d.schema + `},"$defs":` + defs + required + `}`
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if err != nil {
				t.Fatalf("%s: %v", d.name, err)
			}
			c := jsonschema.NewCompiler()
			if err := c.AddResource("schema.json", doc); err != nil {
				continue // no schema to validators
			}
			compiled, err := c.Compile("schema.json")
			if err != nil {
				continue
			}
			_, fd := newPlan(t, typed.Server{Name: "s", Tools: []typed.Tool{{Name: "t", Input: []byte(text)}}}, typed.Options{Rules: true})
			md := fd.Messages().ByName("TRequest")
			codec, err := transcode.New(md, nil, transcode.Options{Exact: true})
			if err != nil {
				t.Fatal(err)
			}
			all := []string{`{}`}
			for _, v := range d.values {
				all = append(all, `{"x":`+v+`}`)
			}
			for _, in := range all {
				v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(in)))
				if err != nil {
					t.Fatal(err)
				}
				if compiled.Validate(v) != nil {
					continue
				}
				wire, err := codec.AppendWire(nil, []byte(in))
				if err != nil {
					t.Errorf("%s: %s: %v", d.name, in, err)
					continue
				}
				checked++
				if err := validator.Validate(unmarshal(t, md, wire).Interface()); err != nil {
					t.Errorf("%s%s: %s: %v", d.name, required, in, err)
				}
			}
		}
	}
	if checked < len(kitchen) {
		t.Errorf("only %d values were checked", checked)
	}
}
