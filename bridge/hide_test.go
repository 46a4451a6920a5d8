package bridge_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const hidingProto = `
syntax = "proto3";
package hiding.v1;
import "mcp/options/v1/options.proto";
service Accounts {
  rpc Get(Account) returns (Account) { option (mcp.options.v1.method).prompt = {name: "get"}; }
  rpc List(Account) returns (stream Account);
}
message Account {
  string name = 1;
  // What an audit wants to know.
  string audit_reason = 2 [(mcp.options.v1.field).hide = true];
  oneof proof {
    string password = 3 [(mcp.options.v1.field).hide = true];
    string key = 4;
  }
  map<string, Account> friends = 5;
  string visible_again = 6 [(mcp.options.v1.field).hide = true];
  string ordinary = 7;
  Padding padding = 8;
}
`

// A hidden field is in no schema, no result and no list of arguments, and a
// call that has it is refused, wherever its message occurs.
func TestHiddenFields(t *testing.T) {
	t.Parallel()
	const all = `{"name":"n","visibleAgain":"v"}`
	fill := func(m protoreflect.Message) {
		for i := range m.Descriptor().Fields().Len() {
			if fd := m.Descriptor().Fields().Get(i); fd.Kind() == protoreflect.StringKind && fd.Name() != "key" {
				m.Set(fd, protoreflect.ValueOfString("value of "+string(fd.Name())))
			}
		}
	}
	padding := "message Padding {" // more than a schema has room for
	for i := range 100 {
		padding += fmt.Sprintf("string a_field_that_is_there_to_take_room_%d = %d;", i, i+1)
	}
	backend := dynbackend.Start(t, map[string]string{"hiding.proto": hidingProto + padding + "}"}, map[string]dynbackend.Method{
		"Get": func(_ context.Context, request, response *dynamicpb.Message) error {
			request.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
				switch fd.Name() {
				case "audit_reason", "password", "ordinary":
					t.Errorf("the backend got %s", fd.Name())
				}
				return true
			})
			fill(response)
			friends := response.Mutable(response.Descriptor().Fields().ByName("friends")).Map()
			friend := friends.NewValue()
			fill(friend.Message())
			friends.Set(protoreflect.ValueOfString("f").MapKey(), friend)
			return nil
		},
	})
	const options = `
fields:
  hiding.v1.Account.ordinary: {hide: true}
  hiding.v1.Account.visible_again: {hide: false}
`
	b := start(t, backend, bridge.WithOptions([]byte(options)), bridge.WithSchemas(bridge.PortableSchemas, 2048))
	shown := func(what, text string) {
		t.Helper()
		for _, hidden := range []string{"audit", "password", "ordinary"} {
			if strings.Contains(strings.ToLower(text), hidden) {
				t.Errorf("%s shows %s: %s", what, hidden, text)
			}
		}
		if !strings.Contains(text, "isibleAgain") {
			t.Errorf("%s lacks a field that is not hidden: %s", what, text)
		}
	}
	tools := listTools(t, b)
	delete(tools, bridge.DescribeTypeTool)
	for name, tool := range tools {
		shown("the input of "+name, string(tool.InputSchema))
		shown("the output of "+name, string(tool.OutputSchema))
	}
	res, err := call(t.Context(), t, b, "Accounts_Get", all)
	if err != nil || res.IsError || !strings.Contains(string(res.StructuredContent), `"friends":{"f":{"name":"value of name"`) {
		t.Fatalf("%+v, %v", res, err)
	}
	shown("the result", string(res.StructuredContent))
	for _, arguments := range []string{`{"auditReason":"x"}`, `{"audit_reason":"x"}`, `{"password":"x"}`, `{"proof":{"password":"x"}}`, `{"friends":{"f":{"ordinary":"x"}}}`} {
		res, err := call(t.Context(), t, b, "Accounts_Get", arguments)
		if err != nil || !res.IsError || !strings.Contains(res.Content[0].Text, "unknown field") || strings.Count(res.Content[0].Text, "password") > strings.Count(arguments, "password") {
			t.Errorf("%s: %+v, %v", arguments, res, err)
		}
	}
	prompts, err := b.Handle(t.Context(), request(protocol.MethodListPrompts, `{}`), protocol.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(prompts.Body); strings.Contains(text, "audit") || strings.Contains(text, "password") || !strings.Contains(text, `"visibleAgain"`) {
		t.Errorf("prompts %s", text)
	}
	for range 2 {
		res, err := call(t.Context(), t, b, bridge.DescribeTypeTool, `{"name":"hiding.v1.Account"}`)
		if err != nil {
			t.Fatal(err)
		}
		shown(bridge.DescribeTypeTool, string(res.StructuredContent))
		runtime.GC() // the descriptors are read again
	}

	for yaml, want := range map[string]string{
		"fields: {hiding.v1.Account.ordinaire: {hide: true}}":                             "there is no field hiding.v1.Account.ordinaire",
		`methods: {hiding.v1.Accounts.Get: {resource: {uri_template: "a://{password}"}}}`: "password",
	} {
		_, err := bridge.New(t.Context(), []bridge.Upstream{{Caller: dial(t, backend)}}, bridge.WithOptions([]byte(yaml)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", yaml, err, want)
		}
	}
}
