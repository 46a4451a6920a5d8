package bridge_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
)

// answersProto is an API whose answers say little in canonical ProtoJSON.
const answersProto = `
syntax = "proto3";
package answers.v1;
import "google/protobuf/empty.proto";
service Answers {
  rpc Check(CheckRequest) returns (CheckResponse);
  rpc Delete(CheckRequest) returns (google.protobuf.Empty);
  rpc Write(CheckRequest) returns (WriteResponse);
  rpc Watch(CheckRequest) returns (stream CheckResponse);
}
message CheckRequest { TupleKey tuple_key = 1; int32 page_size = 2; string filter = 3; }
message TupleKey { string user = 1; }
message CheckResponse { bool allowed = 1; repeated string reasons = 2; string note = 3; }
message WriteResponse {}
`

func startAnswers(t *testing.T, opts ...bridge.Option) *bridge.Bridge {
	t.Helper()
	nothing := func(context.Context, *dynamicpb.Message, *dynamicpb.Message) error { return nil }
	return start(t, dynbackend.Start(t, map[string]string{"answers.proto": answersProto}, map[string]dynbackend.Method{
		"Check": nothing, "Delete": nothing, "Write": nothing,
	}), opts...)
}

// TestAnswers tests what calls answer that succeed and have nothing to say.
func TestAnswers(t *testing.T) {
	t.Parallel()
	b, canonical, all := startAnswers(t), startAnswers(t, bridge.WithOutput(bridge.CanonicalOutput)), startAnswers(t, bridge.WithOutput(bridge.AllOutput))
	for _, tt := range []struct {
		b                *bridge.Bridge
		tool, want, text string
	}{
		{b, "Answers_Check", `{"allowed":false,"reasons":[]}`, `{"allowed":false,"reasons":[]}`},
		{canonical, "Answers_Check", `{}`, `{}`},
		{all, "Answers_Check", `{"allowed":false,"reasons":[],"note":""}`, `{"allowed":false,"reasons":[],"note":""}`},
		{b, "Answers_Delete", `{}`, "Delete has succeeded; it returns nothing."},
		{canonical, "Answers_Write", `{}`, "Write has succeeded; it returns nothing."},
	} {
		res, err := call(t.Context(), t, tt.b, tt.tool, `{}`)
		if err != nil || res.IsError || string(res.StructuredContent) != tt.want || len(res.Content) != 1 || res.Content[0].Text != tt.text {
			t.Errorf("%s: %+v, %v", tt.tool, res, err)
		}
		checkOutput(t, tt.b, tt.tool, res.StructuredContent)
	}
	res, err := call(t.Context(), t, b, "Answers_Check", `{"user":"anne"}`)
	if err != nil || !res.IsError || !strings.Contains(res.Content[0].Text, "user: unknown field here; it belongs in tupleKey") {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestTooLarge tests that a result that is too large says how to ask for less.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	b := startAnswers(t, bridge.WithMaxResultBytes(10))
	res, err := call(t.Context(), t, b, "Answers_Check", `{}`)
	const want = "The call succeeded, but its result is longer than 10 bytes, the most that this tool returns. Ask for less: a smaller pageSize or a narrower filter."
	if err != nil || !res.IsError || len(res.Content) != 1 || res.Content[0].Text != want {
		t.Errorf("%+v, %v", res, err)
	}
}
