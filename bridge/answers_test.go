package bridge_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
)

// answersProto is an API whose answers say little in canonical ProtoJSON.
const answersProto = `
syntax = "proto3";
package answers.v1;
import "google/protobuf/empty.proto";
import "google/protobuf/field_mask.proto";
service Answers {
  rpc Check(CheckRequest) returns (CheckResponse);
  rpc Delete(CheckRequest) returns (google.protobuf.Empty);
  rpc Write(CheckRequest) returns (WriteResponse);
  rpc ReadTuples(ReadTuplesRequest) returns (stream ReadTuplesResponse);
  rpc Get(Key) returns (Key);
  rpc UpdateTuple(UpdateTupleRequest) returns (TupleKey);
}
message ReadTuplesRequest { int32 optional_limit = 1; Cursor optional_cursor = 2; }
message ReadTuplesResponse { TupleKey key = 1; Cursor after_result_cursor = 2; }
message Key { bytes user = 1; }
message Cursor { string token = 1; }
message UpdateTupleRequest { TupleKey tuple = 1; google.protobuf.FieldMask update_mask = 2; }
message CheckRequest { TupleKey tuple_key = 1; int32 page_size = 2; string filter = 3; }
message TupleKey { string user = 1; repeated string caveats = 2; optional int32 age = 3; }
message CheckResponse { bool allowed = 1; repeated string reasons = 2; string note = 3; }
message WriteResponse {}
`

func startAnswers(t *testing.T, opts ...bridge.Option) *bridge.Bridge {
	t.Helper()
	nothing := func(context.Context, *dynamicpb.Message, *dynamicpb.Message) error { return nil }
	backend := dynbackend.Start(t, map[string]string{"answers.proto": answersProto}, map[string]dynbackend.Method{
		"Check": nothing, "Delete": nothing, "Write": nothing, "UpdateTuple": nothing,
		"Get": func(_ context.Context, request, response *dynamicpb.Message) error {
			proto.Merge(response, request)
			return nil
		},
	})
	backend.HandleStream("ReadTuples", func(stream grpc.ServerStream, method protoreflect.MethodDescriptor) error {
		return eachLine(stream, method, func(request *dynamicpb.Message) error {
			for i := range request.Get(request.Descriptor().Fields().ByName("optional_limit")).Int() {
				response := dynamicpb.NewMessage(method.Output())
				cursor := response.Mutable(method.Output().Fields().ByName("after_result_cursor")).Message()
				cursor.Set(cursor.Descriptor().Fields().ByName("token"), protoreflect.ValueOfString(strconv.FormatInt(i, 10)))
				if err := stream.SendMsg(response); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return start(t, backend, opts...)
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

// TestNotes tests what is said beside a result that is easily misread.
func TestNotes(t *testing.T) {
	t.Parallel()
	b := startAnswers(t)
	const more = "The server may have more. To go on after the last message, call again with its afterResultCursor as optionalCursor."
	cleared := func(fields string) string {
		return "An empty value is not told from an absent one here: the server may have left " + fields + " as before. To clear a field, name it in updateMask."
	}
	for _, tt := range []struct{ tool, arguments, note string }{
		{"Answers_Get", `{"user":"Zm9v"}`, "Base64 that is text:\nuser: \"foo\""},
		{"Answers_Get", `{"user":"/w=="}`, ""},
		{"Answers_ReadTuples", `{"optionalLimit":2}`, more},
		{"Answers_ReadTuples", `{"optionalLimit":5,"_limits":{"messages":2}}`, more},
		{"Answers_ReadTuples", `{}`, ""},
		{"Answers_UpdateTuple", `{"tuple":{"user":"","caveats":[],"age":0}}`, cleared("user, caveats")},
		{"Answers_UpdateTuple", `{"tuple":{"user":"anne","caveats":[ ]},"update_mask":null}`, cleared("caveats")},
		{"Answers_UpdateTuple", `{"tuple":{"user":"anne","caveats":[]},"update_mask":"caveats"}`, ""},
		{"Answers_UpdateTuple", `{"tuple":{"user":"anne"}}`, ""},
		{"Answers_UpdateTuple", `{}`, ""},
	} {
		res, err := call(t.Context(), t, b, tt.tool, tt.arguments)
		if err != nil || res.IsError {
			t.Errorf("%s %s: %+v, %v", tt.tool, tt.arguments, res, err)
			continue
		}
		note := ""
		if len(res.Content) == 2 {
			note = res.Content[1].Text
		}
		if note != tt.note || res.Content[0].Text != string(res.StructuredContent) {
			t.Errorf("%s %s: %+v, want %q", tt.tool, tt.arguments, res, tt.note)
		}
	}
	res, err := call(t.Context(), t, b, "Answers_UpdateTuple", `{"tuple":{"user":"anne"},"updateMask":"usr"}`)
	if err != nil || !res.IsError || !strings.Contains(res.Content[0].Text, `there is no field usr in answers.v1.TupleKey, so the path would change or show nothing; did you mean "user"?`) {
		t.Errorf("%+v, %v", res, err)
	}
}
