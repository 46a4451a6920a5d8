package jsonschema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/jsonschema"
)

func parse(t *testing.T, text string) *jsonschema.Document {
	t.Helper()
	d, err := jsonschema.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestParse(t *testing.T) {
	t.Parallel()
	d := parse(t, `{
		"type": ["object", "null"], "title": "T", "description": "D", "deprecated": true, "default": {"b": 1},
		"properties": {"z": {"type": "string", "minLength": 2.0, "maxLength": 1e1, "pattern": "x"}, "a": false},
		"required": ["z", "q"], "patternProperties": {"^x": true}, "additionalProperties": false,
		"dependencies": {"a": ["z"], "b": {"minProperties": 1}},
		"items": [{"const": null}], "allOf": [{"minimum": 3, "exclusiveMinimum": true, "maximum": 5, "exclusiveMaximum": 4}]
	}`)
	s := d.Root()
	if !s.Types.Has(jsonschema.Object|jsonschema.Null) || s.Types.Has(jsonschema.String) || s.Title != "T" || s.Description != "D" || !s.Deprecated || string(s.Default) != `{"b": 1}` {
		t.Errorf("got %+v", s)
	}
	if len(s.Properties) != 2 || s.Properties[0].Name != "z" || !s.Property("a").Never || s.Property("b") != nil {
		t.Errorf("properties %+v", s.Properties)
	}
	if z := s.Property("z"); *z.MinLength != 2 || *z.MaxLength != 10 || z.Pattern != "x" || z.Pointer != "/properties/z" {
		t.Errorf("z is %+v", z)
	}
	if !s.Requires("q") || s.Requires("a") || !s.AdditionalProperties.Never || len(s.PatternProperties) != 1 {
		t.Errorf("got %+v", s)
	}
	if len(s.DependentSchemas) != 1 || s.DependentSchemas[0].Name != "b" {
		t.Errorf("dependencies %+v", s.DependentSchemas)
	}
	if len(s.PrefixItems) != 1 || string(s.PrefixItems[0].Const) != "null" || s.Items != nil {
		t.Errorf("items %+v, %+v", s.PrefixItems, s.Items)
	}
	if b := s.AllOf[0]; b.Minimum != "" || b.ExclusiveMinimum != "3" || b.Maximum != "5" || b.ExclusiveMaximum != "4" {
		t.Errorf("bounds %+v", b)
	}
	if len(d.Warnings()) > 0 {
		t.Errorf("warnings %q", d.Warnings())
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{``, "no JSON"},
		{`{`, "no JSON"},
		{`"x"`, "an object, not a JSON string"},
		{strings.Repeat(" ", jsonschema.MaxBytes) + `{}`, "too large"},
		{`{"allOf":[` + strings.TrimSuffix(strings.Repeat("{},", jsonschema.MaxSchemas), ",") + `]}`, "more than 20000 schemas"},
	} {
		if _, err := jsonschema.Parse([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.50s: got %v, want %s", tt.text, err, tt.want)
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{`{"type":"thing"}`, `#: the value of "type"`},
		{`{"properties":{"a":5}}`, `#/properties/a: a schema is an object or a boolean, not a JSON number`},
		{`{"properties":{"a":{"enum":{}}}}`, `#/properties/a: the value of "enum"`},
		{`{"minLength":-1}`, `"minLength"`},
		{`{"minimum":"1"}`, `"minimum"`},
		{`{"required":[],"required":[]}`, `occurs twice`},
	} {
		if got := strings.Join(parse(t, tt.text).Warnings(), "\n"); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %s", tt.text, got, tt.want)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	d := parse(t, `{
		"$id": "https://example.com/s",
		"$defs": {"a/b~c %": {"title": "escaped"}, "x": {"$anchor": "here", "title": "anchored"}},
		"properties": {"p": {"items": [{"title": "element"}]}}
	}`)
	for _, tt := range []struct{ ref, title, fault string }{
		{ref: "#/$defs/a~1b~0c%20%25", title: "escaped"},
		{ref: "#here", title: "anchored"},
		{ref: "https://example.com/s#here", title: "anchored"},
		{ref: "#/properties/p/items/0", title: "element"},
		{ref: "#", title: ""},
		{ref: "#/properties/p/items/1", fault: "nothing at that place"},
		{ref: "#/$defs/y", fault: "nothing at that place"},
		{ref: "#there", fault: "no such anchor"},
		{ref: "#/%zz", fault: "invalid URL escape"},
		{ref: "https://example.com/other#here", fault: jsonschema.ErrRemote.Error()},
		{ref: "other.json", fault: jsonschema.ErrRemote.Error()},
	} {
		s, err := d.Resolve(tt.ref)
		if tt.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("%s: got %v, want %s", tt.ref, err, tt.fault)
			}
			continue
		}
		if err != nil || s.Title != tt.title {
			t.Errorf("%s: got %+v, %v", tt.ref, s, err)
			continue
		}
		if again, _ := d.Resolve(tt.ref); again != s {
			t.Errorf("%s: the second time it is another", tt.ref)
		}
	}
	if _, err := d.Resolve("http://x/#"); !errors.Is(err, jsonschema.ErrRemote) {
		t.Errorf("got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"type":["object"],"properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"$anchor":"c","minimum":1e5}},"items":[true]}`), "#c")
	f.Add([]byte(`{"minLength":1e400,"exclusiveMinimum":true}`), "#/minLength")
	f.Fuzz(func(t *testing.T, text []byte, ref string) {
		d, err := jsonschema.Parse(text)
		if err != nil {
			return
		}
		if s, err := d.Resolve(ref); err == nil {
			if again, err := d.Resolve("#" + s.Pointer); err == nil && s.Pointer != "" && again.Pointer != s.Pointer {
				t.Errorf("%q leads to %q, and that to %q", ref, s.Pointer, again.Pointer)
			}
		}
		if n := len(fmt.Sprint(d.Warnings())); n > 50_000 {
			t.Errorf("%d bytes of warnings", n)
		}
	})
}
