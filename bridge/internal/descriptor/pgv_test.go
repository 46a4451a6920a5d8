package descriptor_test

import (
	"fmt"
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
)

// pgv is a message with one field, as source.
const pgv = `syntax = "proto3";
package a;
import "buf/validate/validate.proto";
import "validate/validate.proto";
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
service S { rpc R(M) returns (M); }
enum E { ZERO = 0; ONE = 1; }
message N { string s = 1 [(validate.rules).string.len = 2]; }
message M {
  %s
}
`

func TestRulesOfPGV(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ field, want string }{ // want is prototext of buf.validate.FieldRules
		{`string f = 1;`, ``},
		{`string f = 1 [(validate.rules).string = {min_len: 1, max_bytes: 9, pattern: "^a", not_contains: "x", email: true}];`, `string: {min_len: 1, max_bytes: 9, pattern: "^a", not_contains: "x", email: true}`},
		{`string f = 1 [(validate.rules).string = {len: 3, len_bytes: 4, in: ["a", "b"], not_in: "c", prefix: "p", suffix: "s", contains: "c", const: "k"}];`, `string: {len: 3, len_bytes: 4, in: ["a", "b"], not_in: "c", prefix: "p", suffix: "s", contains: "c", const: "k"}`},
		{`string f = 1 [(validate.rules).string = {well_known_regex: HTTP_HEADER_NAME, strict: false}];`, `string: {well_known_regex: KNOWN_REGEX_HTTP_HEADER_NAME, strict: false}`},
		{`string f = 1 [(validate.rules).string = {uuid: true, ignore_empty: true}];`, `string: {uuid: true} ignore: IGNORE_IF_ZERO_VALUE`},
		{`optional string f = 1 [(validate.rules).string = {uuid: true, ignore_empty: true}];`, ``},
		{`optional string f = 1 [(validate.rules).string.uuid = true];`, `string: {uuid: true}`},
		{`google.protobuf.StringValue f = 1 [(validate.rules).string.min_len = 2, (validate.rules).message.required = true];`, `string: {min_len: 2} required: true`},
		{`int32 f = 1 [(validate.rules).int32 = {gt: 0, lte: 10, in: [1, 2], not_in: [3]}];`, `int32: {gt: 0, lte: 10, in: [1, 2], not_in: [3]}`},
		{`uint64 f = 1 [(validate.rules).uint64 = {const: 5, ignore_empty: true}];`, `uint64: {const: 5} ignore: IGNORE_IF_ZERO_VALUE`},
		{`sfixed64 f = 1 [(validate.rules).sfixed64.lt = -1];`, `sfixed64: {lt: -1}`},
		{`double f = 1 [(validate.rules).double = {gte: 0.5, lt: 1}];`, `double: {gte: 0.5, lt: 1}`},
		{`float f = 1 [(validate.rules).float.in = 0.5];`, `float: {in: 0.5}`},
		{`bool f = 1 [(validate.rules).bool.const = true];`, `bool: {const: true}`},
		{`bytes f = 1 [(validate.rules).bytes = {len: 4, prefix: "a", in: "abcd", ipv4: true}];`, `bytes: {len: 4, prefix: "a", in: "abcd", ipv4: true}`},
		{`E f = 1 [(validate.rules).enum = {defined_only: true, not_in: 0}];`, `enum: {defined_only: true, not_in: 0}`},
		{`N f = 1 [(validate.rules).message.required = true];`, `required: true`},
		{`N f = 1 [(validate.rules).message.skip = true];`, `ignore: IGNORE_ALWAYS`},
		{`repeated string f = 1 [(validate.rules).repeated = {min_items: 1, max_items: 3, unique: true, items: {string: {min_len: 2, ignore_empty: true}}}];`,
			`repeated: {min_items: 1, max_items: 3, unique: true, items: {string: {min_len: 2} ignore: IGNORE_IF_ZERO_VALUE}}`},
		{`repeated N f = 1 [(validate.rules).repeated = {ignore_empty: true, min_items: 2, items: {message: {skip: true}}}];`,
			`repeated: {min_items: 2, items: {ignore: IGNORE_ALWAYS}} ignore: IGNORE_IF_ZERO_VALUE`},
		{`map<string, int32> f = 1 [(validate.rules).map = {min_pairs: 1, no_sparse: true, keys: {string: {max_len: 3}}, values: {int32: {gt: 0}}}];`,
			`map: {min_pairs: 1, keys: {string: {max_len: 3}}, values: {int32: {gt: 0}}}`},
		{`google.protobuf.Any f = 1 [(validate.rules).any = {required: true, in: "type.googleapis.com/a.N"}];`, `any: {in: "type.googleapis.com/a.N"} required: true`},
		{`google.protobuf.Duration f = 1 [(validate.rules).duration = {required: true, gt: {seconds: 1}}];`, `duration: {gt: {seconds: 1}} required: true`},
		{`google.protobuf.Timestamp f = 1 [(validate.rules).timestamp = {gt_now: true, within: {seconds: 60}}];`, `timestamp: {gt_now: true, within: {seconds: 60}}`},
		{`string f = 1 [(validate.rules).string.min_len = 5, (buf.validate.field).string.min_len = 1];`, `string: {min_len: 1}`},
		{`option (validate.disabled) = true; string f = 1 [(validate.rules).string.min_len = 5];`, ``},
		{`option (validate.ignored) = true; N f = 1 [(validate.rules).message.required = true];`, `ignore: IGNORE_ALWAYS`},
	} {
		t.Run(tt.field, func(t *testing.T) {
			t.Parallel()
			set, err := descriptor.ProtoSources([]string{write(t, map[string]string{"a.proto": fmt.Sprintf(pgv, tt.field)})}, nil).Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want := &validate.FieldRules{}
			if err := prototext.Unmarshal([]byte(tt.want), want); err != nil {
				t.Fatal(err)
			}
			got, err := protovalidate.ResolveFieldRules(set.Message("a.M").Fields().ByName("f"))
			if err != nil {
				t.Fatal(err)
			}
			if got == nil {
				got = &validate.FieldRules{}
			}
			if !proto.Equal(got, want) {
				t.Errorf("rules %v, want %v", got, want)
			}
		})
	}
}

// The types that calls use have the rules as well, and so has a oneof.
func TestRulesOfPGVEverywhere(t *testing.T) {
	t.Parallel()
	set, err := descriptor.ProtoSources([]string{write(t, map[string]string{
		"a.proto": fmt.Sprintf(pgv, `message I { string f = 1 [(validate.rules).string.min_len = 5]; } oneof o { option (validate.required) = true; string a = 1; }`),
	})}, nil).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	method, err := set.Types().FindMethod("a.S.R")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := protovalidate.ResolveFieldRules(method.Input().Messages().ByName("I").Fields().ByName("f"))
	if err != nil || rules.GetString().GetMinLen() != 5 {
		t.Errorf("rules %v, error %v", rules, err)
	}
	oneof, err := protovalidate.ResolveOneofRules(set.Message("a.M").Oneofs().ByName("o"))
	if err != nil || !oneof.GetRequired() {
		t.Errorf("rules %v, error %v", oneof, err)
	}
}

// Options from a hostile descriptor cost no more than themselves.
func FuzzRulesOfPGV(f *testing.F) {
	f.Add([]byte{0x72, 2, 0x10, 1}, false, true)
	f.Add([]byte{0x92, 1, 6, 0x22, 4, 0x72, 2, 0x10, 1}, true, false)
	f.Add([]byte{0x9a, 1, 4, 0x22, 2, 0x72, 0}, false, false)
	f.Fuzz(func(t *testing.T, rules []byte, repeated, message bool) {
		fd := using(file("a.proto", "a", "A", "validate/validate.proto"), ".a.A")
		field := &descriptorpb.FieldDescriptorProto{
			Name: new("f"), Number: new(int32(1)), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Options: &descriptorpb.FieldOptions{},
		}
		if repeated {
			field.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}
		if message {
			field.Type, field.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), new(".a.A")
		}
		b := protowire.AppendTag(nil, 1071, protowire.BytesType)
		field.Options.ProtoReflect().SetUnknown(protowire.AppendBytes(b, rules))
		fd.MessageType[0].Field = []*descriptorpb.FieldDescriptorProto{field}
		set, err := loadFiles(t, fd)
		if err != nil {
			t.Fatal(err)
		}
		got, err := protovalidate.ResolveFieldRules(set.Message("a.A").Fields().Get(0))
		if err != nil {
			t.Fatal(err)
		}
		if size := proto.Size(got); size > 2*len(rules)+64 {
			t.Errorf("%d bytes of rules from %d", size, len(rules))
		}
	})
}
