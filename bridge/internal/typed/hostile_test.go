package typed_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typed"
)

// repeat returns n texts with their numbers in the place of %d.
func repeat(n int, format string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.ReplaceAll(format, "%d", fmt.Sprint(i))
	}
	return strings.Join(all, ",")
}

// chain returns definitions each of which refers twice to the next.
func chain(format string) string {
	var all []string
	for i := range 60 {
		all = append(all, fmt.Sprintf(`"d%d":`+strings.ReplaceAll(format, "NEXT", fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)), i))
	}
	return `"$defs":{` + strings.Join(all, ",") + `,"d60":{"type":"object","properties":{"x":{"type":"string"}}}}`
}

// TestHostile tests that a tool with any schema can be called with any
// arguments, if not with typed ones, and that there is a warning.
func TestHostile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, schema, warning string
		// args are what the request takes, where only a part of it is not
		// typed.
		args string
	}{
		{name: "no JSON", schema: `{`, warning: "no JSON"},
		{name: "no schema", schema: `[]`, warning: "a schema is an object"},
		{name: "too long", schema: `{"description":"` + strings.Repeat("x", 5<<20) + `"}`, warning: "too large"},
		{name: "too deep", schema: strings.Repeat(`{"not":`, 1000) + `{}` + strings.Repeat(`}`, 1000), warning: "nested"},
		{name: "too many schemas", schema: `{"type":"object","properties":{"a":{"allOf":[` + repeat(30_000, `{}`) + `]}}}`, warning: "more than 20000"},
		{name: "remote root", schema: `{"$ref":"http://169.254.169.254/schema"}`, warning: "nothing is fetched"},
		{name: "file", schema: `{"$ref":"file:///etc/passwd"}`, warning: "nothing is fetched"},
		{name: "itself", schema: `{"$ref":"#"}`, warning: "back to themselves"},
		{name: "all of itself", schema: `{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`, warning: ""},
		{name: "one of itself", schema: `{"oneOf":[{"$ref":"#"},{"$ref":"#"}]}`, warning: "parts"},
		{name: "properties", schema: `{"type":"object","properties":{` + repeat(10_000, `"p%d":{"type":"string"}`) + `}}`, warning: "10000 properties"},
		{name: "nested properties", schema: `{"type":"object","properties":{"a":{"type":"object","properties":{` + repeat(10_000, `"p%d":{"type":"string"}`) + `}}}}`, warning: "10000 properties", args: `{"a":{"x":1}}`},
		{name: "doubled allOf", schema: `{"$ref":"#/$defs/d0",` + chain(`{"allOf":[NEXT,NEXT]}`) + `}`, warning: "parts"},
		{name: "doubled anyOf", schema: `{"$ref":"#/$defs/d0",` + chain(`{"anyOf":[NEXT,NEXT]}`) + `}`, warning: "parts"},
		{name: "doubled properties", schema: `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0","properties":{"z":{}}}},` + chain(`{"properties":{"a":{"allOf":[NEXT]},"b":{"allOf":[NEXT]}}}`) + `}`, warning: "parts"},
		{name: "deep properties", schema: `{"type":"object","properties":{"a":` + strings.Repeat(`{"type":"object","properties":{"a":`, 50) + `{}` + strings.Repeat(`}}`, 50) + `}}`, warning: "nested more than", args: `{"a":{"a":{}}}`},
		{name: "long enum", schema: `{"type":"object","properties":{"a":{"enum":[` + repeat(10_000, `"v%d"`) + `]}}}`, warning: "more values", args: `{"a":"anything"}`},
		{name: "longer enum", schema: `{"type":"object","properties":{"a":{"enum":[` + repeat(50_000, `"v%d"`) + `]}}}`, warning: "#/properties/a: it has more values", args: `{"a":"anything"}`},
		{name: "enum of a megabyte", schema: `{"type":"object","properties":{"a":{"enum":["x","` + strings.Repeat("y", 1<<20) + `"]}}}`, warning: "longer than", args: `{"a":"anything"}`},
		{name: "a thousand alternatives", schema: `{"type":"object","properties":{"a":{"oneOf":[` + repeat(1_000, `{"type":"object","properties":{"k":{"const":"k%d"}},"required":["k"]}`) + `]}}}`, warning: "alternatives", args: `{"a":1}`},
		{name: "pattern", schema: `{"type":"object","properties":{"a":{"type":"string","pattern":"^(((a+)+)+)+$"},"b":{"type":"string","pattern":"((a{1000}){1000}){1000}"},"c":{"type":"string","pattern":"(?<n>x)\\k<n>"}}}`, args: `{"a":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!","b":"x","c":"y"}`},
		{name: "colliding names", schema: `{"type":"object","properties":{` + repeat(500, `"`+strings.Repeat("-", 20)+`a`+strings.Repeat("_", 3)+`%d":{},"`+strings.Repeat("é", 300)+`%d":{"type":"object","properties":{"b":{}}}`) + `}}`, args: `{"` + strings.Repeat("é", 300) + `7":{"b":null}}`},
		{name: "names of everything", schema: `{"type":"object","properties":{"\u0000":{},"\ud800":{},"\u202e":{},"//":{},"*/":{},"\"];}":{},"google":{},"mcp":{},"Mcp":{"type":"object","properties":{"x":{}}}}}`, args: `{"\u0000":1,"*/":2}`},
		{name: "comments", schema: `{"type":"object","properties":{"a":{"type":"string","description":"*/ \u2028 message X {}\n\nbuf:lint:ignore X\n@exclude\r\n\u0000\u001b[31m"}}}`, args: `{"a":"x"}`},
		{name: "numbers", schema: `{"type":"object","properties":{"a":{"type":"integer","minimum":1e999999999,"maximum":-1e999999999},"b":{"type":"number","minimum":1e999999999},"c":{"type":"string","minLength":1e300}}}`, args: `{"b":1,"c":""}`, warning: "minLength"},
		{name: "a property twice", schema: `{"type":"object","properties":{"a":{},"a":{}}}`, warning: "properties", args: `{}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, hashed := range []bool{false, true} {
				plan, fd := newPlan(t, typed.Server{Name: "h", Tools: []typed.Tool{{Name: "t", Input: []byte(tt.schema), Output: []byte(tt.schema)}}}, typed.Options{Hashed: hashed, Rules: true, Package: "acme.google.mcp.v1"})
				text := strings.Join(plan.Warnings, "\n")
				if !strings.Contains(text, tt.warning) || len(text) > 10_000 {
					t.Errorf("want a warning with %q, got %.1000s", tt.warning, text)
				}
				compile(t, map[string]string{fd.Path(): string(typed.Render(fd))}, fd.Path())
				args := tt.args
				if args == "" {
					args = `{"anything":[1,null]}`
				}
				codec, err := transcode.New(fd.Messages().ByName(protoreflect.Name("TRequest")), nil, transcode.Options{Exact: true})
				if err != nil {
					t.Fatal(err)
				}
				wire, err := codec.AppendWire(nil, []byte(args))
				if err != nil {
					t.Fatal(err)
				}
				out, _, err := codec.AppendJSON(nil, wire)
				if err != nil || canonical(t, out) != canonical(t, []byte(args)) {
					t.Errorf("%s became %s, %v", args, out, err)
				}
			}
		})
	}
}
