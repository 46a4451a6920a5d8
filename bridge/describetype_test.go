package bridge_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// wideProto is an API whose one method takes a message too wide for a small
// budget.
func wideProto() map[string]string {
	var source strings.Builder
	source.WriteString(`syntax = "proto3";
package wide.v1;
service Wide {
  rpc Call(Request) returns (Request);
  rpc Stream(stream Request) returns (stream Request);
  rpc Climb(stream Node) returns (stream Node);
}
message Node { Node up = 1; Node down = 2; int32 height = 3; }
message Request { Inner inner = 1; repeated Inner more = 2; oneof one { string a = 3; string b = 4; } }
enum Kind { KIND_UNSPECIFIED = 0; KIND_SMALL = 1; }
message Inner {
  Kind kind = 1;
`)
	for i := range 40 {
		fmt.Fprintf(&source, "  string field_number_%d = %d;\n", i, i+2)
	}
	source.WriteString("}\n")
	return map[string]string{"wide.proto": source.String()}
}

func listTools(t *testing.T, b *bridge.Bridge) map[string]bridge.Tool {
	t.Helper()
	res, err := b.Handle(t.Context(), request(protocol.MethodListTools, `{}`), protocol.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Tools []bridge.Tool }
	if err := json.Unmarshal(res.Body, &list); err != nil {
		t.Fatal(err)
	}
	tools := make(map[string]bridge.Tool)
	for _, tool := range list.Tools {
		tools[tool.Name] = tool
	}
	return tools
}

// What a schema has no room for, a tool tells of.
func TestDescribeType(t *testing.T) {
	t.Parallel()
	backend := dynbackend.Start(t, wideProto(), nil)
	if _, listed := listTools(t, start(t, backend))[bridge.DescribeTypeTool]; listed {
		t.Error("listed, though nothing is left out")
	}
	b := start(t, backend, bridge.WithSchemas(bridge.PortableSchemas, 2048))
	tools := listTools(t, b)
	if _, listed := tools[bridge.DescribeTypeTool]; !listed {
		t.Fatalf("not listed: %v", tools)
	}
	wide := tools["Wide_Call"]
	if text := string(wide.InputSchema); !strings.Contains(text, "wide.v1.Inner") || !strings.Contains(text, bridge.DescribeTypeTool) || len(text) > 2048 {
		t.Errorf("input %s", text)
	}
	for range 2 {
		res, err := call(t.Context(), t, b, bridge.DescribeTypeTool, `{"name":"wide.v1.Inner"}`)
		if err != nil || res.IsError || !strings.Contains(string(res.StructuredContent), `"fieldNumber39"`) {
			t.Fatalf("%+v, %v", res, err)
		}
		runtime.GC() // the descriptors are read again
	}
	for arguments, want := range map[string]string{
		`{"name":"wide.v1.Kind"}`: "KIND_SMALL",
		`{"name":"wide.v1.Wide"}`: "there is no such type",
		`{"name":"no.Such"}`:      "there is no such type",
		`{}`:                      "name: is required",
		`{"name":"x","nome":"y"}`: "unknown member",
	} {
		res, err := call(t.Context(), t, b, bridge.DescribeTypeTool, arguments)
		if err != nil || !strings.Contains(res.Content[0].Text, want) {
			t.Errorf("%s: %+v, %v", arguments, res, err)
		}
	}
}

// Schemas of the full profile are valid, for every kind of method.
func TestFullSchemas(t *testing.T) {
	t.Parallel()
	b := start(t, dynbackend.Start(t, wideProto(), nil), bridge.WithSchemas(bridge.FullSchemas, bridge.DefaultSchemaBytes))
	for name, tool := range listTools(t, b) {
		for kind, raw := range map[string]json.RawMessage{"input": tool.InputSchema, "output": tool.OutputSchema} {
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			compiler := jsonschema.NewCompiler()
			compiler.DefaultDraft(jsonschema.Draft2020)
			if err := compiler.AddResource("schema", doc); err != nil {
				t.Fatal(err)
			}
			compiled, err := compiler.Compile("schema")
			if err != nil {
				t.Fatalf("%s of %s: %v\n%s", kind, name, err, raw)
			}
			good, bad := `{"inner":{"kind":"KIND_SMALL"},"more":[{}],"a":"x"}`, `{"inner":{"kind":7.5}}`
			if name == "Wide_Climb" {
				good = `{"height":0,"up":{"height":0,"up":{"height":0,"down":{"height":1}}}}`
				bad = strings.ReplaceAll(good, "1", "1.5")
			}
			switch {
			case name != "Wide_Call" && kind == "input":
				good, bad = `{"messages":[`+good+`],"_limits":{"messages":3}}`, `{"messages":[`+bad+`]}`
			case name != "Wide_Call":
				good = `{"messages":[` + good + `],"count":1,"complete":true,"stopReason":"eof"}`
				bad = `{"messages":[` + bad + `],"count":1,"complete":true,"stopReason":"eof"}`
			}
			for text, valid := range map[string]bool{good: true, bad: false} {
				value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				if err := compiled.Validate(value); (err == nil) != valid {
					t.Errorf("%s of %s: %s: %v\n%s", kind, name, text, err, raw)
				}
			}
		}
	}
}
