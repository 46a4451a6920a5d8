package bridge_test

import (
	"context"
	"strings"
	"testing"

	_ "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
)

const ruledProto = `
syntax = "proto3";
package ruled.v1;
import "buf/validate/validate.proto";
service Ruled {
  rpc Echo(Request) returns (Request);
  rpc Send(stream Request) returns (Request);
}
message Request {
  option (buf.validate.message).cel = {id: "order" message: "low_end must not be above high_end" expression: "this.low_end <= this.high_end"};
  int32 low_end = 1 [(buf.validate.field).int32.gte = 0];
  int32 high_end = 2;
  repeated Item items = 3;
  map<string, Item> by_name = 4;
}
message Item { string display_name = 1 [(buf.validate.field).string.min_len = 2]; }
`

// Rules that come by reflection are checked before the call: a model hears of
// all violations by the paths that it wrote.
func TestValidation(t *testing.T) {
	t.Parallel()
	backend := dynbackend.Start(t, map[string]string{"ruled.proto": ruledProto}, map[string]dynbackend.Method{
		"Echo": func(_ context.Context, request, response *dynamicpb.Message) error {
			request.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
				response.Set(fd, v)
				return true
			})
			return nil
		},
	})
	backend.HandleStream("Send", func(stream grpc.ServerStream, method protoreflect.MethodDescriptor) error {
		if err := eachLine(stream, method, func(*dynamicpb.Message) error { return nil }); err != nil {
			return err
		}
		return stream.SendMsg(dynamicpb.NewMessage(method.Output()))
	})
	checks, sends := start(t, backend), start(t, backend, bridge.WithoutValidation())
	for _, tt := range []struct {
		name, tool, arguments string
		want                  []string
	}{
		{"all", "Echo", `{"lowEnd":-1,"highEnd":-2,"items":[{"displayName":"ok"},{"displayName":"x"}],"byName":{"a b":{"displayName":"y"}}}`, []string{
			"- lowEnd: ", "- items[1].displayName: ", `- byName["a b"].displayName: `, "low_end must not be above high_end",
		}},
		{"stream", "Send", `{"messages":[{},{"lowEnd":-1,"highEnd":-2}]}`, []string{"- messages[1].lowEnd: ", "- messages[1]: low_end must not be above high_end"}},
		{"fine", "Echo", `{"lowEnd":1,"highEnd":2}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res, err := call(t.Context(), t, checks, "Ruled_"+tt.tool, tt.arguments)
			if err != nil {
				t.Fatal(err)
			}
			if res.IsError != (tt.want != nil) {
				t.Fatalf("isError is %t: %+v", res.IsError, res)
			}
			for _, want := range tt.want {
				if text := res.Content[0].Text; !strings.Contains(text, want) || !strings.Contains(text, "so nothing was called") {
					t.Errorf("%q is missing in:\n%s", want, text)
				}
			}
			if res, err := call(t.Context(), t, sends, "Ruled_"+tt.tool, tt.arguments); err != nil || res.IsError {
				t.Errorf("without validation: %+v, %v", res, err)
			}
		})
	}
}
