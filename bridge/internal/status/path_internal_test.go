package status

import (
	"testing"

	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"
)

func TestJSONPath(t *testing.T) {
	t.Parallel()
	file := (&descriptorpb.FileDescriptorProto{}).ProtoReflect().Descriptor()
	tests := []struct{ in, want string }{
		{"", ""},
		{"name", "name"},
		{"message_type", "messageType"},
		{"messageType.oneof_decl", "messageType.oneofDecl"},
		{"message_type[0].oneof_decl[12].name", "messageType[0].oneofDecl[12].name"},
		{"message_type.0.oneof_decl", "messageType.0.oneofDecl"},
		{"message_type.oneof_decl", "messageType.oneofDecl"},
		{"message_type.no_such.oneof_decl", "messageType.no_such.oneof_decl"},
		{"no_such", "no_such"},
		{"name.no_such", "name.no_such"},
		{"message_type[0", "messageType[0"},
		{"message_type[0]x", "messageType[0]x"},
		{".", "."},
		{"message_type.", "messageType."},
	}
	for _, tt := range tests {
		if got := jsonPath(tt.in, file); got != tt.want {
			t.Errorf("jsonPath(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
	object := (&structpb.Struct{}).ProtoReflect().Descriptor()
	for _, tt := range []struct{ in, want string }{
		{`fields["a.]\"b"].number_value`, `fields["a.]\"b"].numberValue`},
		{"fields[number_value].number_value", "fields[number_value].numberValue"},
		{"fields.some_key.number_value", "fields.some_key.numberValue"},
	} {
		if got := jsonPath(tt.in, object); got != tt.want {
			t.Errorf("jsonPath(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
	if got := jsonPath("a_b", nil); got != "a_b" {
		t.Errorf("without a descriptor: %q", got)
	}
}

func FuzzJSONPath(f *testing.F) {
	f.Add("message_type[0].oneof_decl[\"a\"].x")
	f.Add("message_type.0.")
	file := (&descriptorpb.FileDescriptorProto{}).ProtoReflect().Descriptor()
	f.Fuzz(func(t *testing.T, path string) {
		if got := jsonPath(path, file); len(got) > 2*len(path) {
			t.Errorf("jsonPath(%q) = %q", path, got)
		}
	})
}
