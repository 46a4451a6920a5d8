package schema

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/internal/realapis"
)

const openapiProto = `syntax = "proto3";
package o;
import "protoc-gen-openapiv2/options/annotations.proto";
service S {
  option (grpc.gateway.protoc_gen_openapiv2.options.openapiv2_tag) = {description: "Keeps books. And more."};
  rpc Told(M) returns (M) {
    option (grpc.gateway.protoc_gen_openapiv2.options.openapiv2_operation) = {summary: "Lends a book", description: "The book must be on its shelf.\n\nReturns the loan."};
  }
  rpc Same(M) returns (M) {
    option (grpc.gateway.protoc_gen_openapiv2.options.openapiv2_operation) = {summary: "Lends a book.", description: "Lends a book to a reader."};
  }
  // The comment.
  rpc Commented(M) returns (M) {
    option (grpc.gateway.protoc_gen_openapiv2.options.openapiv2_operation) = {summary: "Not this"};
  }
  rpc Untold(M) returns (M);
}
enum Kind {
  option (grpc.gateway.protoc_gen_openapiv2.options.openapiv2_enum) = {title: "A kind", description: "Of book"};
  KIND_UNSPECIFIED = 0;
  KIND_NOVEL = 1;
}
message M {
  option (grpc.gateway.protoc_gen_openapiv2.options.openapiv2_schema) = {json_schema: {title: "A loan"}};
  string name = 1 [(grpc.gateway.protoc_gen_openapiv2.options.openapiv2_field) = {title: "The name", description: "of the book", example: "\"shelves/1/books/2\""}];
  int32 days = 2 [(grpc.gateway.protoc_gen_openapiv2.options.openapiv2_field) = {description: "How long.", example: "14"}];
  int32 wrong = 3 [(grpc.gateway.protoc_gen_openapiv2.options.openapiv2_field) = {example: "\"x\""}];
  repeated string list = 4 [(grpc.gateway.protoc_gen_openapiv2.options.openapiv2_field) = {description: "Several.", example: "[1]"}];
  Kind kind = 5;
}
`

// Options for OpenAPI take the place of comments that are missing.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	fd := compileSource(t, openapiProto)
	methods := fd.Services().Get(0).Methods()
	for name, want := range map[protoreflect.Name]string{
		"Told": "Lends a book. The book must be on its shelf.\nReturns the loan.", "Same": "Lends a book to a reader.",
		"Commented": "The comment.", "Untold": "Calls o.S/Untold. Keeps books.",
	} {
		if got := describe(methods.ByName(name), ""); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	in, err := Input(fd.Messages().Get(0), Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"object","description":"A loan","properties":{` +
		`"name":{"type":"string","description":"The name. of the book","examples":["shelves/1/books/2"]},` +
		`"days":{"type":"integer","description":"How long.","examples":[14]},"wrong":{"type":"integer"},` +
		`"list":{"type":"array","description":"Several.","items":{"type":"string"}},` +
		`"kind":{"type":"string","description":"A kind. Of book","enum":["KIND_NOVEL"]}}}`
	if string(in.JSON) != want {
		t.Errorf("schema\n%s\nwant\n%s", in.JSON, want)
	}
}

// compileSource compiles one file with all that sources may import.
func compileSource(t *testing.T, text string) protoreflect.FileDescriptor {
	t.Helper()
	path := filepath.Join(t.TempDir(), "o.proto")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := descriptor.ProtoSources([]string{path}, nil).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return set.Services()[0].ParentFile()
}

// Of the real APIs, those with such options say what their methods do.
func TestOpenAPIOfRealAPIs(t *testing.T) {
	t.Parallel()
	set, err := descriptor.FromFileDescriptorSet(realapis.Linked(t)).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	told, examples := 0, 0
	for _, service := range set.Services() {
		for i := range service.Methods().Len() {
			m := service.Methods().Get(i)
			if !strings.HasPrefix(Description(m), "Calls ") {
				told++
			}
			in, err := Input(m.Input(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			examples += strings.Count(string(in.JSON), `,"examples":[`)
		}
	}
	if told < 20 || examples < 50 {
		t.Errorf("%d methods say what they do, and there are %d examples", told, examples)
	}
	t.Logf("%d methods say what they do, and there are %d examples", told, examples)
}

func FuzzOpenAPI(f *testing.F) {
	f.Add([]byte("\x12\x01a\x1a\x01b"), []byte("*\x01a2\x01bJ\x01\"1\""), uint8(9))
	f.Fuzz(func(t *testing.T, operation, field []byte, kind uint8) {
		typ := descriptorpb.FieldDescriptorProto_Type(kind%18 + 1)
		if typ == descriptorpb.FieldDescriptorProto_TYPE_GROUP || typ == descriptorpb.FieldDescriptorProto_TYPE_MESSAGE || typ == descriptorpb.FieldDescriptorProto_TYPE_ENUM {
			return
		}
		option := func(m proto.Message, b []byte) {
			m.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, openapiNumber, protowire.BytesType), b))
		}
		method, member := &descriptorpb.MethodOptions{}, &descriptorpb.FieldOptions{}
		option(method, operation)
		option(member, field)
		file, err := protodesc.FileOptions{AllowUnresolvable: true}.New(&descriptorpb.FileDescriptorProto{
			Name: new("o.proto"), Syntax: new("proto3"), Dependency: []string{"protoc-gen-openapiv2/options/annotations.proto"},
			MessageType: []*descriptorpb.DescriptorProto{{Name: new("M"), Field: []*descriptorpb.FieldDescriptorProto{{
				Name: new("f"), Number: new(int32(1)), Type: typ.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Options: member,
			}}}},
			Service: []*descriptorpb.ServiceDescriptorProto{{Name: new("S"), Method: []*descriptorpb.MethodDescriptorProto{{
				Name: new("R"), InputType: new(".M"), OutputType: new(".M"), Options: method,
			}}}},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		m := file.Services().Get(0).Methods().Get(0)
		if got := Description(m); got == "" || len(got) > maxText {
			t.Errorf("a description of %d bytes", len(got))
		}
		in, err := Input(m.Input(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		validator(t, in.JSON)
	})
}
