package bridge_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// pgvProto is what a backend has of protoc-gen-validate that uses two rules of it.
const pgvProto = `
syntax = "proto2";
package validate;
import "google/protobuf/descriptor.proto";
extend google.protobuf.FieldOptions { optional FieldRules rules = 1071; }
message FieldRules { oneof type { StringRules string = 14; RepeatedRules repeated = 18; } }
message StringRules { optional uint64 min_len = 2; optional string pattern = 6; }
message RepeatedRules { optional uint64 min_items = 1; }
`

const checkedProto = `
syntax = "proto3";
package checked.v1;
import "validate/validate.proto";
service Checked { rpc Check(Request) returns (Request); }
message Request {
  string user = 1 [(validate.rules).string = {min_len: 1, pattern: "^[a-z]+$"}];
  repeated string tuples = 2 [(validate.rules).repeated.min_items = 1];
  string note = 3;
}
`

// Rules of protoc-gen-validate that come by reflection are in the schema and are
// checked before the call.
func TestRulesOfPGV(t *testing.T) {
	t.Parallel()
	backend := dynbackend.Start(t, map[string]string{"validate/validate.proto": pgvProto, "checked.proto": checkedProto}, map[string]dynbackend.Method{
		"Check": func(context.Context, *dynamicpb.Message, *dynamicpb.Message) error { return nil },
	})
	b := start(t, backend)
	res, err := b.Handle(t.Context(), request(protocol.MethodListTools, `{}`), protocol.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"minLength":1`, `"pattern":"^[a-z]+$"`, `"minItems":1`, `"required":["user","tuples"]`} {
		if !strings.Contains(string(res.Body), want) {
			t.Errorf("%s is missing in:\n%s", want, res.Body)
		}
	}
	for arguments, want := range map[string]string{
		`{}`:                          "- user: is required (left out, it counts as \"\"): must be at least 1 characters",
		`{"user":"U","tuples":["x"]}`: "user: does not match regex pattern",
		`{"user":"u"}`:                "tuples: is required (left out, it counts as empty): must contain at least 1 item",
		`{"user":"u","tuples":["x"]}`: "",
	} {
		got, err := call(t.Context(), t, b, "Checked_Check", arguments)
		if err != nil {
			t.Fatal(err)
		}
		if got.IsError != (want != "") || want != "" && !strings.Contains(got.Content[0].Text, want) {
			t.Errorf("%s: %+v, want %q", arguments, got, want)
		}
	}
}
