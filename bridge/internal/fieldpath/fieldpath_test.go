package fieldpath_test

import (
	"strings"
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/fieldpath"
)

func TestFromText(t *testing.T) {
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
		if got := fieldpath.FromText(tt.in, file); got != tt.want {
			t.Errorf("FromText(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
	object := (&structpb.Struct{}).ProtoReflect().Descriptor()
	for _, tt := range []struct{ in, want string }{
		{`fields["a.]\"b"].number_value`, `fields["a.]\"b"].numberValue`},
		{"fields[number_value].number_value", "fields[number_value].numberValue"},
		{"fields.some_key.number_value", "fields.some_key.numberValue"},
	} {
		if got := fieldpath.FromText(tt.in, object); got != tt.want {
			t.Errorf("FromText(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
	if got := fieldpath.FromText("a_b", nil); got != "a_b" {
		t.Errorf("without a descriptor: %q", got)
	}
}

func FuzzFromText(f *testing.F) {
	f.Add("message_type[0].oneof_decl[\"a\"].x")
	f.Add("message_type.0.")
	file := (&descriptorpb.FileDescriptorProto{}).ProtoReflect().Descriptor()
	f.Fuzz(func(t *testing.T, path string) {
		if got := fieldpath.FromText(path, file); len(got) > 2*len(path) {
			t.Errorf("FromText(%q) = %q", path, got)
		}
	})
}

func TestFromProto(t *testing.T) {
	t.Parallel()
	file := (&descriptorpb.FileDescriptorProto{}).ProtoReflect().Descriptor()
	element := func(number int32, name string) *validate.FieldPathElement {
		return &validate.FieldPathElement{FieldNumber: new(number), FieldName: new(name)}
	}
	keyed := func(e *validate.FieldPathElement, set func(*validate.FieldPathElement)) *validate.FieldPathElement {
		set(e)
		return e
	}
	for _, tt := range []struct {
		elements []*validate.FieldPathElement
		want     string
	}{
		{nil, ""},
		{[]*validate.FieldPathElement{element(4, "message_type"), element(8, "oneof_decl"), element(99, "no_such")}, "messageType.oneofDecl.no_such"},
		{[]*validate.FieldPathElement{keyed(element(4, "message_type"), func(e *validate.FieldPathElement) { e.SetIndex(2) }), element(1, "name")}, "messageType[2].name"},
		{[]*validate.FieldPathElement{keyed(element(98, "m"), func(e *validate.FieldPathElement) { e.SetBoolKey(true) })}, `m["true"]`},
		{[]*validate.FieldPathElement{keyed(element(98, "m"), func(e *validate.FieldPathElement) { e.SetIntKey(-1) })}, `m["-1"]`},
		{[]*validate.FieldPathElement{keyed(element(98, "m"), func(e *validate.FieldPathElement) { e.SetUintKey(7) })}, `m["7"]`},
		{[]*validate.FieldPathElement{keyed(element(98, "m"), func(e *validate.FieldPathElement) { e.SetStringKey("a\"b") })}, `m["a\"b"]`},
		{[]*validate.FieldPathElement{keyed(element(98, "m"), func(e *validate.FieldPathElement) { e.SetStringKey(strings.Repeat("ü", 60)) })}, `m["` + strings.Repeat("ü", 38) + `..."]`},
	} {
		if got := fieldpath.FromProto(&validate.FieldPath{Elements: tt.elements}, file); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
	long := make([]*validate.FieldPathElement, 5000)
	for i := range long {
		long[i] = element(1, "a")
	}
	if got := fieldpath.FromProto(&validate.FieldPath{Elements: long}, nil); len(got) > 2100 || !strings.HasSuffix(got, "...") {
		t.Errorf("a path of %d bytes", len(got))
	}
}
