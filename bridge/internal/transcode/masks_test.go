package transcode_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/realapis"
)

const masksProto = `
syntax = "proto3";
package masks.v1;
import "google/protobuf/field_mask.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
service Library {
  rpc UpdateBook(UpdateBookRequest) returns (Book);
  rpc PartialUpdateBook(PartialUpdateBookRequest) returns (Book);
  rpc UpdateShelf(UpdateShelfRequest) returns (Book);
  rpc GetBook(GetBookRequest) returns (Book);
  rpc ListBooks(GetBookRequest) returns (ListBooksResponse);
  rpc Check(GetBookRequest) returns (google.protobuf.Struct);
}
message UpdateBookRequest { Options options = 1; Book book = 2; google.protobuf.FieldMask update_mask = 3; Nested nested = 4; }
message PartialUpdateBookRequest { Book book = 1; google.protobuf.FieldMask field_mask = 2; }
message UpdateShelfRequest { string title = 1; Options options = 2; google.protobuf.FieldMask update_mask = 3; }
message GetBookRequest { string name = 1; google.protobuf.FieldMask read_mask = 2; }
message ListBooksResponse { repeated Book books = 1; string next_page_token = 2; }
message Options { bool trace = 1; }
message Nested { google.protobuf.FieldMask update_mask = 1; }
message Book {
  string display_name = 1;
  repeated Author authors = 2;
  map<string, Author> by_role = 3;
  google.protobuf.Struct extra = 4;
  Author editor = 5;
  oneof kind { string novel = 6; string poem = 7; }
  google.protobuf.Timestamp create_time = 8;
  string oldStyle = 9;
}
message Author { string given_name = 1; }
`

// TestMasksBesideLargerMessages: a message inside a request with a mask may have more
// fields than the request.
func TestMasksBesideLargerMessages(t *testing.T) {
	t.Parallel()
	method := compile(t, masksProto).Services().Get(0).Methods().ByName("UpdateBook")
	codec := newCodec(t, method.Input(), transcode.Options{}).Masking(transcode.Masks(method))
	in := `{"book":{"editor":{"givenName":"Ada"},"createTime":"2026-01-31T12:00:00Z"},"updateMask":"editor.givenName"}`
	wire, err := codec.AppendWire(nil, []byte(in))
	if err != nil {
		t.Fatal(err)
	}
	if out, _, err := codec.AppendJSON(nil, wire); err != nil || string(out) != in {
		t.Errorf("%s, error %v; want %s", out, err, in)
	}
}

func TestMasks(t *testing.T) {
	t.Parallel()
	methods := compile(t, masksProto).Services().Get(0).Methods()
	for _, tt := range []struct{ method, mask, path, want string }{
		{"UpdateBook", "updateMask", "displayName", "displayName"},
		{"UpdateBook", "updateMask", "display_name,editor.given_name", "displayName,editor.givenName"},
		{"UpdateBook", "updateMask", "*", ""},
		{"UpdateBook", "updateMask", "by_role.author.given_name", "byRole.author.givenName"},
		{"UpdateBook", "updateMask", "by_role.author", "byRole.author"},
		{"UpdateBook", "updateMask", "extra.any.thing,createTime.seconds,kind", "extra.any.thing,createTime.seconds,kind"},
		{"UpdateBook", "updateMask", "authors.givenName", "authors.givenName"},
		{"UpdateBook", "updateMask", "old_style", `updateMask: there is no field old_style in masks.v1.Book, so the path would change or show nothing; did you mean "oldStyle"?`},
		{"UpdateBook", "updateMask", "displayNam", `updateMask: there is no field displayNam in masks.v1.Book, so the path would change or show nothing; did you mean "displayName"?`},
		{"UpdateBook", "updateMask", "editor.name", `did you mean "editor.givenName"?`},
		{"UpdateBook", "updateMask", "zzz", `want one of displayName, authors, byRole, extra, editor, novel, poem, createTime, oldStyle`},
		{"UpdateBook", "updateMask", "displayName.first", `there is no field displayName.first in masks.v1.Book`},
		{"UpdateBook", "updateMask", "book.displayName", `there is no field book.displayName in masks.v1.Book`},
		{"UpdateBook", "nested", "", ""},
		{"PartialUpdateBook", "fieldMask", "titel", "fieldMask: there is no field titel in masks.v1.Book"},
		{"UpdateShelf", "updateMask", "title", "title"},
		{"UpdateShelf", "updateMask", "whatever", "whatever"},
		{"GetBook", "readMask", "editor", "editor"},
		{"GetBook", "readMask", "title", "readMask: there is no field title in masks.v1.Book"},
		{"ListBooks", "readMask", "books.display_name,display_name,nextPageToken", "books.displayName,displayName,nextPageToken"},
		{"ListBooks", "readMask", "book.title", "there is no field book.title in masks.v1.ListBooksResponse"},
		{"Check", "readMask", "whatever", "whatever"},
	} {
		method := methods.ByName(protoreflect.Name(tt.method))
		codec := newCodec(t, method.Input(), transcode.Options{}).Masking(transcode.Masks(method))
		in := `{"` + tt.mask + `":"` + tt.path + `"}`
		if tt.mask == "nested" {
			in = `{"nested":{"updateMask":"whatever"}}`
		}
		wire, err := codec.AppendWire(nil, []byte(in))
		if err != nil {
			if tt.want == "" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s %s: got %v, want %s", tt.method, tt.path, err, tt.want)
			}
			continue
		}
		out, _, err := codec.AppendJSON(nil, wire)
		if err != nil || tt.want != "" && !strings.Contains(string(out), `"`+tt.mask+`":"`+tt.want+`"`) {
			t.Errorf("%s %s: got %s, %v, want %s", tt.method, tt.path, out, err, tt.want)
		}
	}
}

// TestMasksLeaveOthersAlone tests that messages inside of a request, which have more
// fields than it and masks of their own, are read as ever.
func TestMasksLeaveOthersAlone(t *testing.T) {
	t.Parallel()
	methods := compile(t, masksProto).Services().Get(0).Methods()
	for method, in := range map[protoreflect.Name]string{
		"PartialUpdateBook": `{"book":{"displayName":"x","authors":[{"givenName":"y"}],"editor":{"givenName":"z"},"createTime":"2026-01-01T00:00:00Z"},"fieldMask":"editor"}`,
		"UpdateBook":        `{"book":{"editor":{}},"updateMask":"editor","nested":{"updateMask":"whatever"}}`,
	} {
		md := methods.ByName(method)
		codec := newCodec(t, md.Input(), transcode.Options{})
		want, err := codec.AppendWire(nil, []byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := codec.Masking(transcode.Masks(md)).AppendWire(nil, []byte(in)); err != nil || string(got) != string(want) {
			t.Errorf("%s: got %x, %v, want %x", in, got, err, want)
		}
	}
}

// TestMasksOfRealAPIs tests that masks of well-known APIs take the path of every
// field that they are about.
func TestMasksOfRealAPIs(t *testing.T) {
	t.Parallel()
	set, err := descriptor.FromFileDescriptorSet(realapis.Linked(t)).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	compiler := transcode.NewCompiler(set.Types(), transcode.Options{})
	found := 0
	for _, service := range set.Services() {
		for i := range service.Methods().Len() {
			method := service.Methods().Get(i)
			masks := transcode.Masks(method)
			codec, err := compiler.Codec(method.Input())
			if err != nil || len(masks) == 0 {
				continue
			}
			codec = codec.Masking(masks)
			for _, m := range masks {
				found++
				for _, md := range m.Of {
					for j := range md.Fields().Len() {
						fd := md.Fields().Get(j)
						for _, path := range []string{string(fd.Name()), fd.JSONName()} {
							if _, err := codec.AppendWire(nil, []byte(`{"`+m.Field.JSONName()+`":"`+path+`"}`)); err != nil {
								t.Errorf("%s: %v", method.FullName(), err)
							}
						}
					}
				}
				if _, err := codec.AppendWire(nil, []byte(`{"`+m.Field.JSONName()+`":"no_such_field"}`)); err == nil {
					t.Errorf("%s: %s takes any path", method.FullName(), m.Field.Name())
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("%d masks", found)
	}
	t.Logf("%d masks", found)
}

// FuzzMasks tests that a path which a mask takes is a field, by the names that it is
// sent by.
func FuzzMasks(f *testing.F) {
	method := compile(f, masksProto).Services().Get(0).Methods().ByName("PartialUpdateBook")
	codec := newCodec(f, method.Input(), transcode.Options{})
	masking := codec.Masking(transcode.Masks(method))
	for _, path := range []string{"displayName", "authors.*.given_name", "by_role.x.given_name", "extra.a.b", "kind", "a..b", ".", ",", "*", "[\"a\"]", "authors.*"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		in := []byte(`{"book":{"editor":{},"createTime":"1970-01-01T00:00:00Z"},"fieldMask":` + string(jsontok.AppendString(nil, path)) + `}`)
		lax, err := codec.AppendWire(nil, in)
		wire, fault := masking.AppendWire(nil, in)
		if err != nil || fault != nil {
			if err != nil && fault == nil {
				t.Fatalf("%q is taken only with the check: %v", path, err)
			}
			return
		}
		if len(lax) != len(wire) && !strings.Contains(strings.ToLower(path), "style") {
			t.Fatalf("%q became %x, and %x without the check", path, wire, lax)
		}
		out, warnings, err := masking.AppendJSON(nil, wire)
		if err != nil || len(warnings) > 0 {
			return
		}
		if again, err := masking.AppendWire(nil, out); err != nil || string(again) != string(wire) {
			t.Fatalf("%q: %s was read back as %x, %v, not as %x", path, out, again, err, wire)
		}
	})
}
