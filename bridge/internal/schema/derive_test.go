package schema

import (
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

const derivedProto = `syntax = "proto3";
package d;
import "google/api/annotations.proto";
import "google/api/resource.proto";
import "google/api/field_behavior.proto";
import "google/protobuf/field_mask.proto";
option (google.api.resource_definition) = {type: "d.com/Shelf", pattern: "shelves/{shelf}", pattern: "rooms/{room}/shelves/{shelf}"};
option (google.api.resource_definition) = {type: "d.com/Any", pattern: "*"};
service S {
  rpc GetBook(GetBookRequest) returns (Book) { option (google.api.http) = {get: "/v1/{name=shelves/*/books/*}"}; }
  rpc ListBooks(ListBooksRequest) returns (ListBooksResponse) { option (google.api.http) = {get: "/v1/{parent=shelves/*}/books" additional_bindings {get: "/v1/{parent=rooms/*}/books"}}; }
  rpc Check(CheckRequest) returns (CheckResponse);
  rpc Write(WriteRequest) returns (WriteResponse);
  rpc UpdateBook(UpdateBookRequest) returns (Book);
  rpc One(Shared) returns (Book) { option (google.api.http) = {get: "/v1/{id=a/*}"}; }
  rpc Two(Shared) returns (Book) { option (google.api.http) = {get: "/v1/{id=b/*}"}; }
}
message Book {
  option (google.api.resource) = {type: "d.com/Book", pattern: "shelves/{shelf}/books/{book}"};
  string name = 1;
  string shelf = 2 [(google.api.resource_reference).type = "d.com/Shelf"];
  string in = 3 [(google.api.resource_reference).child_type = "d.com/Book"];
  string anything = 4 [(google.api.resource_reference).type = "d.com/Any"];
  repeated string also = 5 [(google.api.resource_reference).type = "d.com/Book"];
  // Told: shelves/1/books/2.
  string told = 6 [(google.api.resource_reference).type = "d.com/Book"];
  string made_at = 8 [(google.api.field_behavior) = OUTPUT_ONLY];
  string old = 9 [deprecated = true];
  string gone_by = 7 [(google.api.resource_reference).type = "d.com/Gone"];
}
message UpdateBookRequest { Book book = 1; google.protobuf.FieldMask update_mask = 2; }
message GetBookRequest { string name = 1; }
message ListBooksRequest { string parent = 1; string page_token = 2; }
message ListBooksResponse { repeated Book books = 1; string next_page_token = 2; }
message ZedToken { string token = 1; }
message Note { string text = 1; }
message Consistency { ZedToken at_least = 1; Note note = 2; }
message CheckRequest { Consistency consistency = 1; Book book = 2; ZedToken cursor = 3; }
message CheckResponse { ZedToken checked_at = 1; Note note = 2; }
message WriteRequest { Book book = 1; }
message WriteResponse { ZedToken written_at = 1; }
message Shared { string id = 1; }
`

func methodsOf(services ...protoreflect.ServiceDescriptor) []protoreflect.MethodDescriptor {
	var methods []protoreflect.MethodDescriptor
	for _, s := range services {
		for i := range s.Methods().Len() {
			methods = append(methods, s.Methods().Get(i))
		}
	}
	return methods
}

// What declarations say of a field is in its description, once.
func TestDerivedHelp(t *testing.T) {
	t.Parallel()
	fd := compileSource(t, derivedProto)
	r := New(Options{Methods: methodsOf(fd.Services().Get(0))})
	for name, want := range map[protoreflect.Name]string{
		"GetBookRequest":    `"name":{"type":"string","description":"Format: shelves/*/books/*."}`,
		"ListBooksRequest":  `"parent":{"type":"string","description":"Format: shelves/* or rooms/*."},"pageToken":{"type":"string","description":"From ` + "`nextPageToken`" + ` of the result before."}`,
		"UpdateBookRequest": `"updateMask":{"type":"string","description":"Paths: name, shelf, in, anything, also, told, goneBy. Comma-separated paths of fields in lowerCamelCase, such as a.b,cD."}`,
		"Shared":            `"id":{"type":"string"}`,
		"WriteRequest": `"book":{"type":"object","properties":{"name":{"type":"string","description":"Format: shelves/{shelf}/books/{book}."},` +
			`"shelf":{"type":"string","description":"Format: shelves/{shelf} or rooms/{room}/shelves/{shelf}."},` +
			`"in":{"type":"string","description":"Format: shelves/{shelf}."},"anything":{"type":"string"},` +
			`"also":{"type":"array","description":"Format: shelves/{shelf}/books/{book}.","items":{"type":"string"}},` +
			`"told":{"type":"string","description":"Told: shelves/1/books/2."},"old":{"type":"string","description":"Deprecated."},"goneBy":{"type":"string"}}}`,
		"Consistency": `"atLeast":{"type":"object","description":"From ` + "`writtenAt` of Write, `checkedAt` of Check" + `.","properties":{"token":{"type":"string"}}},"note":{"type":"object","properties":`,
	} {
		in, err := r.Input(fd.Messages().ByName(name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(in.JSON), want) {
			t.Errorf("%s: %s\nwant %s", name, in.JSON, want)
		}
		out, err := r.Output(fd.Messages().ByName(name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(out.JSON), "Format: ") || strings.Contains(string(out.JSON), "From `") {
			t.Errorf("%s, as a result: %s", name, out.JSON)
		}
	}
	in, err := r.Input(fd.Messages().ByName("CheckRequest"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "`checkedAt` of the result before."; !strings.Contains(string(in.JSON), want) {
		t.Errorf("%s\nwant %s", in.JSON, want)
	}
}

// Of the real APIs, those that say how names look and where tokens come from are
// better described, within the budget.
func TestDerivedHelpOfRealAPIs(t *testing.T) {
	t.Parallel()
	set, err := descriptor.FromFileDescriptorSet(realapis.Linked(t)).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	methods := methodsOf(set.Services()...)
	with, without := New(Options{Methods: methods}), New(Options{})
	formats, origins, bytes, pruned := 0, 0, 0, 0
	for _, m := range methods {
		a, err := without.Input(m.Input())
		if err != nil {
			t.Fatal(err)
		}
		b, err := with.Input(m.Input())
		if err != nil {
			t.Fatal(err)
		}
		formats += strings.Count(string(b.JSON), "Format: ") - strings.Count(string(a.JSON), "Format: ")
		origins += strings.Count(string(b.JSON), "From `") - strings.Count(string(a.JSON), "From `")
		bytes += len(b.JSON) - len(a.JSON)
		if b.Pruned && !a.Pruned {
			pruned++
		}
		if m.Name() == "CheckPermission" && !strings.Contains(string(b.JSON), "From `writtenAt` of ") {
			t.Errorf("%s: %s", m.FullName(), b.JSON)
		}
	}
	t.Logf("%d formats, %d origins, %d bytes more in %d methods, %d pruned for them", formats, origins, bytes, len(methods), pruned)
	if formats < 50 || origins < 20 || bytes > 100*(formats+origins) || pruned > 0 {
		t.Errorf("%d formats, %d origins, %d bytes more, %d pruned for them", formats, origins, bytes, pruned)
	}
}

func FuzzDerivedHelp(f *testing.F) {
	f.Add([]byte("\x0a\x01a\x12\x05b/{c}"), []byte("\x0a\x01a"), []byte("\x12\x09/{f=x/*}}"))
	f.Fuzz(func(t *testing.T, resource, reference, rule []byte) {
		option := func(m proto.Message, number protowire.Number, b []byte) {
			m.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), b))
		}
		message, field, method := &descriptorpb.MessageOptions{}, &descriptorpb.FieldOptions{}, &descriptorpb.MethodOptions{}
		option(message, resourceNumber, resource)
		option(field, referenceNumber, reference)
		option(method, httpNumber, rule)
		file, err := protodesc.FileOptions{AllowUnresolvable: true}.New(&descriptorpb.FileDescriptorProto{
			Name: new("d.proto"), Syntax: new("proto3"), Dependency: []string{"google/api/resource.proto"},
			MessageType: []*descriptorpb.DescriptorProto{{Name: new("M"), Options: message, Field: []*descriptorpb.FieldDescriptorProto{
				{Name: new("f"), Number: new(int32(1)), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()},
				{Name: new("g"), Number: new(int32(2)), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Options: field},
			}}},
			Service: []*descriptorpb.ServiceDescriptorProto{{Name: new("S"), Method: []*descriptorpb.MethodDescriptorProto{{
				Name: new("R"), InputType: new(".M"), OutputType: new(".M"), Options: method,
			}}}},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		in, err := Input(file.Messages().Get(0), Options{Methods: methodsOf(file.Services().Get(0))})
		if err != nil {
			t.Fatal(err)
		}
		validator(t, in.JSON)
		if len(in.JSON) > 2000 {
			t.Errorf("%d bytes", len(in.JSON))
		}
	})
}
