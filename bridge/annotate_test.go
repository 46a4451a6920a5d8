package bridge_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	_ "github.com/mcp-bridge/mcp-bridge/gen/mcp/options/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
)

const annotatedProto = `
syntax = "proto3";
package annotated.v1;
import "mcp/options/v1/options.proto";
service Shop {
  rpc Find(Item) returns (Item) {
    option (mcp.options.v1.method) = {
      name: "find_item" title: "Find" description: "Finds an item." timeout: {seconds: 90}
      annotations: {read_only: true open_world: false}
    };
  }
  rpc Other(Item) returns (Item);
  rpc Secret(Item) returns (Item) { option (mcp.options.v1.method).hide = true; }
  rpc Big(Item) returns (Item) { option (mcp.options.v1.method).max_result_bytes = 40; }
  rpc Bad(Item) returns (Item) { option (mcp.options.v1.method) = {name: "not a name" timeout: {seconds: -1}}; }
}
service Back {
  option (mcp.options.v1.service).hide = true;
  rpc Hidden(Item) returns (Item);
  rpc Shown(Item) returns (Item) { option (mcp.options.v1.method).hide = false; }
}
message Item { string name = 1 [(mcp.options.v1.field).description = "What it is called."]; string left = 2; }
`

func annotated(t *testing.T) *dynbackend.Backend {
	t.Helper()
	return dynbackend.Start(t, map[string]string{"annotated.proto": annotatedProto}, map[string]dynbackend.Method{
		"Find": func(ctx context.Context, _, response *dynamicpb.Message) error {
			deadline, _ := ctx.Deadline()
			response.Set(response.Descriptor().Fields().ByName("left"), protoreflect.ValueOfString(remaining(deadline)))
			return nil
		},
		"Big": func(_ context.Context, request, response *dynamicpb.Message) error {
			name := request.Get(request.Descriptor().Fields().ByName("name"))
			response.Set(response.Descriptor().Fields().ByName("name"), name)
			return nil
		},
	})
}

// What an API's author says of methods and fields, by options that reflection
// brings along, is what clients see.
func TestAnnotated(t *testing.T) {
	t.Parallel()
	b := start(t, annotated(t))
	tools := listTools(t, b)
	var names []string
	for name := range tools {
		names = append(names, name)
	}
	for _, want := range []string{"find_item", "Shop_Other", "Shop_Big", "Shop_Bad", "Back_Shown"} {
		if _, ok := tools[want]; !ok {
			t.Errorf("%s is missing in %q", want, names)
		}
	}
	if len(tools) != 5 {
		t.Errorf("tools %q", names)
	}
	find := tools["find_item"]
	if find.Title != "Find" || !strings.HasPrefix(find.Description, "Finds an item.") || !strings.Contains(string(find.InputSchema), "What it is called.") {
		t.Errorf("%+v", find)
	}
	if want := `{"title":"Find","readOnlyHint":true,"openWorldHint":false}`; string(find.Annotations) != want {
		t.Errorf("annotations %s, want %s", find.Annotations, want)
	}
	res, err := call(t.Context(), t, b, "find_item", `{}`)
	if err != nil || string(res.StructuredContent) != `{"left":"1m30s"}` {
		t.Errorf("%+v, %v", res, err)
	}
	if res, err := call(t.Context(), t, b, "Shop_Big", `{"name":"`+strings.Repeat("x", 20)+`"}`); err != nil || res.IsError {
		t.Errorf("%+v, %v", res, err)
	}
	res, err = call(t.Context(), t, b, "Shop_Big", `{"name":"`+strings.Repeat("x", 40)+`"}`)
	if err != nil || !res.IsError || !strings.Contains(res.Content[0].Text, "The call succeeded, but its result is longer than 40 bytes, the most that this tool returns.") {
		t.Errorf("%+v, %v", res, err)
	}
	warnings := strings.Join(b.Warnings(), "\n")
	for _, want := range []string{`options of annotated.v1.Shop.Bad: the name "not a name" is none`, "options of annotated.v1.Shop.Bad: the timeout must be"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("%q is missing in:\n%s", want, warnings)
		}
	}
}

// A file says the same, over the descriptors, and what is wrong with it is
// told.
func TestOptionsFile(t *testing.T) {
	t.Parallel()
	backend := annotated(t)
	b := start(t, backend, bridge.WithOptions([]byte(`
services:
  annotated.v1.Back: {hide: false}
methods:
  annotated.v1.Shop.Find: {title: Look for}
  annotated.v1.Shop.Other: {name: find_other, annotations: {destructive: false}}
  annotated.v1.Shop.Bad: {hide: true}
fields:
  annotated.v1.Item.left: {description: What is left.}
`)))
	tools := listTools(t, b)
	if len(tools) != 5 || tools["find_item"].Title != "Look for" || tools["find_other"].Annotations == nil || tools["Back_Hidden"].Name == "" {
		t.Errorf("%+v", tools)
	}
	if text := string(tools["find_other"].InputSchema); !strings.Contains(text, "What is left.") || !json.Valid([]byte(text)) {
		t.Error(text)
	}
	for yaml, want := range map[string][]string{
		"methods: {annotated.v1.Shop.Fnd: {}, annotated.v1.Shp.Find: {}}\nfields: {annotated.v1.Item.nme: {}}\nservices: {annotated.v1.Shops: {}}": {
			"there is no method annotated.v1.Shop.Fnd", "did you mean annotated.v1.Shop.Find?", "there is no field annotated.v1.Item.nme", "there is no service annotated.v1.Shops; did you mean annotated.v1.Shop?",
		},
		"methods: {annotated.v1.Shop.Find: {titel: x, timeout: soon}}":                     {`titel: unknown key; did you mean "title"?`, `timeout: not a duration`},
		"methods: {annotated.v1.Shop.Find: {name: a b}}":                                   {`the name "a b" is none that all hosts accept`},
		"methods: {annotated.v1.Shop.Find: {name: x}, annotated.v1.Shop.Other: {name: x}}": {`has the name "x" already`},
		"methods: [": {"options:1:1: not valid YAML"},
		"- 1":        {"wrong type"},
		"methods: {annotated.v1.Shop.Find: {stream: {messages: -1}, max_result_bytes: -2}}": {"must not be negative"},
		"methods: {annotated.v1.Shop.Find: {tool: {input_schema: '[]'}}, annotated.v1.Shop.Other: {tool: {output_schema: '{'}}}": {
			"annotated.v1.Shop.Find: tool: the input_schema is no JSON object", "annotated.v1.Shop.Other: tool: the output_schema is no JSON object",
		},
	} {
		_, err := bridge.New(t.Context(), []bridge.Upstream{{Caller: dial(t, backend)}}, bridge.WithOptions([]byte(yaml)))
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s\n%q is missing in %v", yaml, w, err)
			}
		}
	}
}
