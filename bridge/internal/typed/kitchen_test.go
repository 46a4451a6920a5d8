package typed_test

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typed"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// dish is a case of the kitchen sink: a schema, and values that are the same
// after they have been messages.
type dish struct {
	name, schema string
	values       []string
}

// defs are the definitions that dishes refer to.
const defs = `{
	"Node": {"type": "object", "description": "A node.", "properties": {"next": {"$ref": "#/$defs/Node"}, "value": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}},
	"Color": {"enum": ["red", "green"]},
	"Expr": {"oneOf": [{"$ref": "#/$defs/Literal"}, {"type": "object", "properties": {"op": {"const": "add"}, "left": {"$ref": "#/$defs/Expr"}, "right": {"$ref": "#/$defs/Expr"}}, "required": ["op"]}]},
	"Literal": {"type": "object", "properties": {"op": {"const": "literal"}, "n": {"type": "number"}}, "required": ["op"]},
	"Loop": {"$ref": "#/$defs/Loop2"}, "Loop2": {"$ref": "#/$defs/Loop"},
	"Nested": {"type": "array", "items": {"$ref": "#/$defs/Nested"}},
	"Base": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
	"Anchored": {"$anchor": "here", "type": "object", "properties": {"a": {"type": "boolean"}}},
	"a/b~c %": {"type": "string"}
}`

var kitchen = []dish{
	{"string", `{"type":"string","minLength":1,"maxLength":5,"pattern":"^[a-z]*$","description":"A string."}`, []string{`""`, `"a\u0000\ud83d\ude00"`}},
	{"email", `{"type":"string","format":"email"}`, []string{`"a@b.c"`}},
	{"date-time", `{"type":"string","format":"date-time"}`, []string{`"no date"`}},
	{"base64", `{"type":"string","contentEncoding":"base64"}`, []string{`"AQ="`}},
	{"bad pattern", `{"type":"string","pattern":"(?<=a)b(\\1"}`, []string{`"x"`}},
	{"integer", `{"type":"integer","minimum":-5,"exclusiveMaximum":100}`, []string{`0`, `-9223372036854775808`, `9223372036854775807`}},
	{"draft-04 bounds", `{"type":"integer","minimum":1,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}`, []string{`2`}},
	{"unsigned", `{"type":"integer","minimum":0,"maximum":18446744073709551615}`, []string{`18446744073709551615`}},
	{"rounded", `{"type":"integer","minimum":-9223372036854776000,"maximum":9223372036854776000}`, []string{`-9223372036854775808`, `9223372036854775807`}},
	{"rounded unsigned", `{"type":"integer","minimum":0,"maximum":18446744073709552000}`, []string{`18446744073709551615`}},
	{"huge", `{"type":"integer","maximum":1e30}`, []string{`123`}},
	{"number", `{"type":"number","minimum":0.5,"maximum":1e300,"multipleOf":0.5}`, []string{`1.5`, `0`, `-1e-7`}},
	{"equal lengths", `{"type":"string","minLength":3,"maxLength":3}`, []string{`"abc"`}},
	{"inverted lengths", `{"type":"string","minLength":4,"maxLength":3}`, []string{`"abc"`}},
	{"inverted items", `{"type":"array","items":{"type":"string"},"minItems":3,"maxItems":2}`, []string{`["a"]`}},
	{"inverted properties", `{"type":"object","additionalProperties":{"type":"string"},"minProperties":2,"maxProperties":1}`, []string{`{"a":"b"}`}},
	{"inverted bounds", `{"type":"number","minimum":5,"maximum":1}`, []string{`1.5`}},
	{"integer or number", `{"type":["integer","number"]}`, []string{`1.5`}},
	{"boolean", `{"type":"boolean","default":true}`, []string{`true`, `false`}},
	{"null", `{"type":"null"}`, []string{`null`}},
	{"enum", `{"enum":["a","A","b c","é","日本","",">=","x-1"]}`, []string{`"é"`}},
	{"strings", `{"type":"string","enum":["a","A","a b","a_b","é","e","日本",">=","x-1","1","unspecified","UNSPECIFIED","null"]}`, []string{`"a"`, `"A"`, `"a b"`, `"a_b"`, `"日本"`, `"unspecified"`, `">="`}},
	{"nullable enum", `{"enum":["a","b",null]}`, []string{`"a"`}},
	{"integers", `{"enum":[1,2,-3]}`, []string{`-3`}},
	{"numbers", `{"enum":[1,2.5]}`, []string{`2.5`}},
	{"booleans", `{"enum":[true]}`, []string{`true`}},
	{"mixed enum", `{"enum":["a",1]}`, []string{`"a"`, `1`}},
	{"typed enum", `{"type":"integer","enum":["a",1]}`, []string{`1`}},
	{"const", `{"const":"x"}`, []string{`"x"`}},
	{"const number", `{"const":3}`, []string{`3`}},
	{"const null", `{"const":null}`, []string{`null`}},
	{"const object", `{"const":{"a":[1]}}`, []string{`{"a":[1]}`}},
	{"nullable", `{"type":["string","null"]}`, []string{`"a"`}},
	{"any of null", `{"anyOf":[{"type":"integer","description":"inner"},{"type":"null"}],"default":null}`, []string{`5`}},
	{"nullable object", `{"anyOf":[{"$ref":"#/$defs/Base"},{"type":"null"}]}`, []string{`{"id":"x"}`}},
	{"types", `{"type":["string","integer"]}`, []string{`"a"`, `1`, `null`}},
	{"anything", `{}`, []string{`"a"`, `1`, `null`, `[]`, `{}`, `{"a":[null,1.5]}`}},
	{"true", `true`, []string{`[true]`}},
	{"false", `false`, nil},
	{"not", `{"not":{"type":"string"}}`, []string{`1`}},
	{"string that is not", `{"type":"string","not":{"const":"x"}}`, []string{`"y"`}},
	{"object", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"object","properties":{"c":{"type":"integer"}}}},"required":["a"],"additionalProperties":false}`, []string{`{"a":"x"}`, `{"a":"","b":{}}`, `{"b":{"c":0}}`}},
	{"closed object", `{"type":"object","additionalProperties":false}`, []string{`{}`}},
	{"open object", `{"type":"object"}`, []string{`{}`, `{"a":null,"b":[{}]}`}},
	{"map", `{"type":"object","additionalProperties":{"type":"integer"}}`, []string{`{"a":1,"b":0}`}},
	{"map of anything", `{"type":"object","additionalProperties":{}}`, []string{`{"a":null}`}},
	{"map of lists", `{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}}`, []string{`{"a":[],"b":["x"]}`}},
	{"map of maps", `{"type":"object","additionalProperties":{"type":"object","additionalProperties":{"type":"boolean"}}}`, []string{`{"a":{},"b":{"x":false}}`}},
	{"map of objects", `{"type":"object","additionalProperties":{"type":"object","properties":{"a":{"enum":["x","y"]}}}}`, []string{`{"k":{"a":"y"},"l":{}}`}},
	{"map of nullables", `{"type":"object","additionalProperties":{"type":["string","null"]}}`, []string{`{"a":null,"b":"x"}`}},
	{"patterns", `{"type":"object","patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}`, []string{`{"x-a":"b"}`}},
	{"two patterns", `{"type":"object","patternProperties":{"^x-":{"type":"string"},"^y":{}}}`, []string{`{"x-a":"b","y":1}`}},
	{"object and others", `{"type":"object","properties":{"a":{"type":"string"},"extra":{"type":"integer"}},"additionalProperties":{"type":"number"}}`, []string{`{"a":"x","extra":1,"z":0.5}`, `{}`}},
	{"object and anything", `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":true}`, []string{`{"a":"x","z":[null]}`}},
	{"object and lists", `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"array","items":{"type":"integer"}}}`, []string{`{"a":"x","z":[1]}`}},
	{"array", `{"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":3,"uniqueItems":true}`, []string{`[1,0,2]`}},
	{"array of anything", `{"type":"array"}`, []string{`[]`, `[null,1,"a",{}]`}},
	{"array of arrays", `{"type":"array","items":{"type":"array","items":{"type":"array","items":{"type":"number"}}}}`, []string{`[[],[[]],[[1.5],[2,3]]]`}},
	{"array of nullables", `{"type":"array","items":{"type":["string","null"]}}`, []string{`["a",null]`}},
	{"array of objects", `{"type":"array","items":{"type":"object","properties":{"a":{"type":"array","items":{"enum":["x","y"]}}}}}`, []string{`[{"a":["x","y"]},{}]`}},
	{"array of structs", `{"type":"array","items":{"type":"object"}}`, []string{`[{"a":1},{}]`}},
	{"array of nulls", `{"type":"array","items":{"type":"null"}}`, []string{`[null,null]`}},
	{"tuple", `{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}]}`, []string{`["a",1]`}},
	{"old tuple", `{"type":"array","items":[{"type":"string"}],"additionalItems":false}`, []string{`["a"]`}},
	{"reference", `{"$ref":"#/$defs/Node","description":"The first node."}`, []string{`{"value":1,"next":{"next":{},"children":[{},{"value":2}]}}`}},
	{"reference to an enum", `{"$ref":"#/$defs/Color"}`, []string{`"red"`}},
	{"reference by anchor", `{"$ref":"#here"}`, []string{`{"a":true}`}},
	{"reference with escapes", `{"$ref":"#/$defs/a~1b~0c%20%25"}`, []string{`"x"`}},
	{"reference to a property", `{"$ref":"#/properties/object"}`, []string{`{"a":"x"}`}},
	{"reference to itself", `{"$ref":"#/$defs/Loop"}`, []string{`[1]`}},
	{"reference to nested arrays", `{"$ref":"#/$defs/Nested"}`, []string{`[[],[[]]]`}},
	{"remote reference", `{"$ref":"https://example.com/schema.json"}`, []string{`{"a":1}`}},
	{"dangling reference", `{"$ref":"#/$defs/Nothing"}`, []string{`1`}},
	{"union", `{"oneOf":[{"type":"object","properties":{"kind":{"const":"circle"},"r":{"type":"number"}},"required":["kind","r"]},{"type":"object","properties":{"kind":{"enum":["square"]},"side":{"type":"integer"}},"required":["kind"]}]}`, []string{`{"kind":"circle","r":1.5}`, `{"kind":"square","side":0}`}},
	{"recursive union", `{"$ref":"#/$defs/Expr"}`, []string{`{"op":"add","left":{"op":"literal","n":1},"right":{"op":"add"}}`}},
	{"union with a base", `{"type":"object","properties":{"id":{"type":"string"}},"oneOf":[{"properties":{"t":{"const":"a"}},"required":["t"]},{"properties":{"t":{"const":"b"},"x":{"type":"integer"}},"required":["t"]}]}`, []string{`{"t":"a","id":"1"}`, `{"t":"b","id":"2","x":5}`}},
	{"overlapping objects", `{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{"b":{"type":"string"}}}]}`, []string{`{"a":"x","b":1}`}},
	{"titled enum", `{"oneOf":[{"const":"a","title":"The first"},{"const":"b","title":"The second"}]}`, []string{`"a"`, `"b"`}},
	{"enum or string", `{"anyOf":[{"type":"string","enum":["a","b"]},{"type":"string"}]}`, []string{`"z"`}},
	{"string or number", `{"anyOf":[{"type":"string"},{"type":"number"}]}`, []string{`"z"`, `1.5`}},
	{"number or integer", `{"anyOf":[{"type":"integer"},{"type":"number"}]}`, []string{`1.5`}},
	{"string or list", `{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`, []string{`"z"`, `["a"]`}},
	{"one or the other", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`, []string{`{"a":"x"}`}},
	{"all of", `{"allOf":[{"$ref":"#/$defs/Base"},{"type":"object","properties":{"x":{"type":"integer","minimum":1}},"required":["x"]}],"description":"Merged."}`, []string{`{"id":"a","x":1}`}},
	{"all of one", `{"allOf":[{"$ref":"#/$defs/Color"}],"default":"red"}`, []string{`"green"`}},
	{"all of the same", `{"allOf":[{"properties":{"a":{"type":"number","minimum":1}}},{"type":"object","properties":{"a":{"type":"integer","maximum":5}}}]}`, []string{`{"a":2}`}},
	{"all of that exclude", `{"allOf":[{"type":"string"},{"type":"integer"}]}`, []string{`1`}},
	{"if", `{"type":"object","properties":{"a":{"type":"string"}},"if":{"properties":{"a":{"const":"x"}}},"then":{"properties":{"b":{"type":"integer"}},"required":["b"]},"else":{"properties":{"c":{"type":"boolean"}}}}`, []string{`{"a":"x","b":1}`, `{"a":"y","c":false}`}},
	{"dependencies", `{"type":"object","properties":{"a":{"type":"string"}},"dependentSchemas":{"a":{"properties":{"b":{"type":"integer"}}}},"dependencies":{"b":["a"],"c":{"properties":{"d":{"type":"string"}}}}}`, []string{`{"a":"x","b":1,"d":"y"}`}},
	{"names", `{"type":"object","properties":{"fooBar":{"type":"string"},"foo_bar":{"type":"string"},"FooBar":{"type":"string"},"foo-bar":{"type":"string"},"_foo":{"type":"string"},"1st":{"type":"string"},"é":{"type":"string"},"日本":{"type":"string"},"[x]":{"type":"string"},"x":{"type":"string"},"x2":{"type":"string"},"message":{"type":"string"},"a.b/c":{"type":"string"},"$":{"type":"string"},"q\"\\\n":{"type":"string"},"class":{"type":"string"}}}`,
		[]string{`{"fooBar":"1","foo_bar":"2","FooBar":"3","foo-bar":"4","_foo":"5","1st":"6","é":"7","日本":"8","[x]":"9","x":"10","x2":"11","message":"12","a.b/c":"13","$":"14","q\"\\\n":"15","class":"16"}`}},
	{"maps and entries", `{"type":"object","properties":{"a":{"type":"object","additionalProperties":{"type":"string"}},"a_entry":{"type":"object","properties":{"x":{"type":"string"}}}}}`, []string{`{"a":{"k":"v"},"a_entry":{"x":"y"}}`}},
	{"names of accessors", `{"type":"object","properties":{"has_a":{"type":"integer"},"a":{"type":"string"},"a_bytes":{"type":"integer"},"set_a":{"type":"string"},"b":{"type":"array","items":{"type":"string"}},"b_size":{"type":"integer"},"add_b":{"type":"boolean"},"file":{"type":"string"},"file_size":{"type":"integer"},"clear_b":{"enum":["x","y"]},"clear_b_value":{"type":"integer"},"descriptor":{"type":"string"},"variant":{"oneOf":[{"type":"object","properties":{"k":{"const":"has_variant"}},"required":["k"]},{"type":"object","properties":{"k":{"const":"variant_case"}},"required":["k"]}]}}}`,
		[]string{`{"has_a":1,"a":"2","a_bytes":3,"set_a":"4","b":["5"],"b_size":6,"add_b":true,"file":"7","file_size":8,"clear_b":"x","clear_b_value":9,"descriptor":"10","variant":{"k":"has_variant"}}`}},
	{"names of methods", `{"type":"object","properties":{"builder":{"type":"object","properties":{"a":{"type":"string"}}},"types":{"type":"object","properties":{"a":{"type":"string"}}},"swap":{"type":"object","properties":{"a":{"type":"string"}}},"clear":{"enum":["x","y"]}}}`, []string{`{"builder":{"a":"x"},"types":{},"swap":{"a":""},"clear":"y"}`}},
	{"own name", `{"type":"object","properties":{"own name":{"type":"object","properties":{"KitchenRequest":{"type":"object","properties":{"z":{"enum":["p","q"]}}}}}}}`, []string{`{"own name":{"KitchenRequest":{"z":"p"}}}`}},
	{"empty name", `{"type":"object","properties":{"":{"type":"string"},"a":{"type":"string"}}}`, []string{`{"":"x","a":"y"}`}},
	{"deprecated", `{"type":"string","deprecated":true,"description":"Old.\n\nbuf:lint:ignore ALL\nDo not use: ` + strings.Repeat("because it is old, ", 10) + `."}`, []string{`"x"`}},
	{"wrong keywords", `{"type":"thing","minLength":-1,"properties":5,"enum":[],"required":"x"}`, []string{`1`}},
	{"no schema", `5`, []string{`1`}},
}

// kitchenTool returns a tool of which every dish is an argument, in a place in
// the schema of the argument.
func kitchenTool(name, format string, required bool) typed.Tool {
	var b strings.Builder
	var names []string
	for i, d := range kitchen {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(d.name)
		b.Write(name)
		b.WriteString(":" + strings.ReplaceAll(format, "SCHEMA", d.schema))
		names = append(names, string(name))
	}
	schema := `{"type":"object","properties":{` + b.String() + `},"$defs":` + defs
	if required {
		schema += `,"required":[` + strings.Join(names, ",") + `]`
	}
	return typed.Tool{Name: name, Description: "All kinds of schemas.", Input: []byte(schema + "}")}
}

// kitchenServer offers every dish in several places.
func kitchenServer() typed.Server {
	return typed.Server{Name: "kitchen", Tools: []typed.Tool{
		kitchenTool("kitchen", "SCHEMA", false),
		kitchenTool("required", "SCHEMA", true),
		kitchenTool("lists", `{"type":"array","items":SCHEMA}`, false),
		kitchenTool("maps", `{"type":"object","additionalProperties":SCHEMA}`, false),
		kitchenTool("nullables", `{"anyOf":[SCHEMA,{"type":"null"}]}`, false),
		kitchenTool("objects", `{"type":"object","properties":{"a":SCHEMA,"b":{"type":"integer"}},"additionalProperties":SCHEMA}`, false),
	}}
}

// TestKitchenValues tests that JSON is the same after it has been a message.
func TestKitchenValues(t *testing.T) {
	t.Parallel()
	for _, hashed := range []bool{false, true} {
		_, fd := newPlan(t, kitchenServer(), typed.Options{Hashed: hashed})
		for tool, format := range map[string]string{
			"Kitchen": "VALUE", "Lists": "[VALUE]", "Maps": `{"k":VALUE}`, "Nullables": "VALUE",
			"Objects": `{"a":VALUE,"b":7,"c":VALUE}`,
		} {
			md := fd.Messages().ByName(protoreflect.Name(tool + "Request"))
			codec, err := transcode.New(md, nil, transcode.Options{Exact: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range kitchen {
				name, _ := json.Marshal(d.name)
				if tool != "Kitchen" && strings.Contains(d.schema, "#/properties") {
					continue // it is another property there
				}
				for _, value := range d.values {
					value = strings.ReplaceAll(format, "VALUE", value)
					in := "{" + string(name) + ":" + value + "}"
					wire, err := codec.AppendWire(nil, []byte(in))
					if err != nil {
						t.Errorf("%s: %s: %v", tool, in, err)
						continue
					}
					out, warnings, err := codec.AppendJSON(nil, wire)
					if err != nil || len(warnings) > 0 || canonical(t, out) != canonical(t, []byte(in)) {
						t.Errorf("%s: %s became %s, %q, %v", tool, in, out, warnings, err)
					}
				}
			}
		}
	}
}

// canonical returns JSON with sorted members.
func canonical(tb testing.TB, text []byte) string {
	tb.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		tb.Fatalf("%v: %s", err, text)
	}
	out, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	if jsontok.KindOf(out) != jsontok.KindObject {
		tb.Fatalf("%s is no object", out)
	}
	return string(out)
}
