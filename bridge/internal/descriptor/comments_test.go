package descriptor_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
)

const commentedSource = `syntax = "proto3";
package a;
import "gone.proto"; // which is not needed
// Of the service.
service S {
  // Of the method.
  rpc R(M) returns (M) { option (gone.http) = {get: "/v1"}; }
}
// Of the message.
message M {
  // Of the field.
  string f = 1;
  message N {
    int32 g = 1; // Of the nested field.
    enum E {
      ZERO = 0;
      // Of a value.
      ONE = 1;
    }
  }
  // Of the oneof.
  oneof o { string h = 2; }
  gone.Type i = 3;
}
// Of the enum.
enum F { F_ZERO = 0; }
`

// plainSource is the API without comments, and not quite the same.
const plainSource = `syntax = "proto3";
package a;
message Other {}
message M {
  int64 new = 9;
  oneof o { string h = 2; }
  message N { enum E { ZERO = 0; TWO = 2; ONE = 1; } int32 g = 1; }
  string f = 1;
}
enum F { F_ZERO = 0; }
service S { rpc New(M) returns (M); rpc R(M) returns (M); }
`

// uncommented returns a Source of an API without comments.
func uncommented(t *testing.T, text string) descriptor.Source {
	t.Helper()
	set, err := descriptor.ProtoSources([]string{write(t, map[string]string{"plain.proto": text})}, nil).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files := set.Files()
	for _, fd := range files.GetFile() {
		fd.SourceCodeInfo = nil
	}
	return descriptor.FromFileDescriptorSet(files)
}

func TestCommented(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"x/a.proto": commentedSource})
	sources, err := descriptor.ProtoSources([]string{write(t, map[string]string{"a.proto": strings.NewReplacer(
		`import "gone.proto"; // which is not needed`, "", `{ option (gone.http) = {get: "/v1"}; }`, ";", "  gone.Type i = 3;\n", "",
	).Replace(commentedSource)})}, nil).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, err := proto.Marshal(sources.Files())
	if err != nil {
		t.Fatal(err)
	}
	set := filepath.Join(t.TempDir(), "api.binpb")
	if err := os.WriteFile(set, data, 0o600); err != nil {
		t.Fatal(err)
	}
	plain := uncommented(t, plainSource)
	before, err := plain.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"a directory": dir, "a file": filepath.Join(dir, "x", "a.proto"), "a descriptor set": set} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := descriptor.Commented(plain, []string{path}).Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Warnings()) > 0 || got.Version() == before.Version() {
				t.Errorf("warnings %q, version %s", got.Warnings(), got.Version())
			}
			service, message := got.Services()[0], got.Message("a.M")
			said := func(d protoreflect.Descriptor) string {
				l := d.ParentFile().SourceLocations().ByDescriptor(d)
				return strings.TrimSpace(l.LeadingComments + l.TrailingComments)
			}
			nested := message.Messages().Get(0)
			for _, tt := range []struct {
				d    protoreflect.Descriptor
				want string
			}{
				{service, "Of the service."}, {service.Methods().ByName("R"), "Of the method."}, {service.Methods().ByName("New"), ""},
				{message, "Of the message."}, {message.Fields().ByName("f"), "Of the field."}, {message.Fields().ByName("new"), ""},
				{message.Oneofs().Get(0), "Of the oneof."}, {nested.Fields().Get(0), "Of the nested field."},
				{nested.Enums().Get(0).Values().ByName("ONE"), "Of a value."}, {nested.Enums().Get(0).Values().ByName("TWO"), ""},
				{got.Type("a.F"), "Of the enum."},
			} {
				if text := said(tt.d); text != tt.want {
					t.Errorf("%s: %q, want %q", tt.d.FullName(), text, tt.want)
				}
			}
		})
	}
}

// Comments that a source has stay where the files have none.
func TestCommentedKeeps(t *testing.T) {
	t.Parallel()
	source := descriptor.ProtoSources([]string{write(t, map[string]string{"a.proto": "syntax = \"proto3\";\npackage a;\n// Old.\nmessage M {\n  // Kept.\n  string f = 1;\n}\nservice S { rpc R(M) returns (M); }\n"})}, nil)
	set, err := descriptor.Commented(source, []string{write(t, map[string]string{"b.proto": "package a;\n// New.\nmessage M {}\n"})}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fd := protodesc.ToFileDescriptorProto(set.Message("a.M").ParentFile())
	var texts []string
	for _, l := range fd.GetSourceCodeInfo().GetLocation() {
		if l.GetLeadingComments() != "" {
			texts = append(texts, strings.TrimSpace(l.GetLeadingComments()))
		}
	}
	slices.Sort(texts)
	if got := strings.Join(texts, " "); got != "Kept. New." {
		t.Errorf("comments %s", got)
	}
}

func TestCommentedErrors(t *testing.T) {
	t.Parallel()
	plain := uncommented(t, plainSource)
	dir := write(t, map[string]string{"broken.proto": "message M {", "other.proto": "package b;\n// Of b.M.\nmessage M {}\n", "empty.binpb": "", "x/y.txt": ""})
	for path, want := range map[string]string{
		"broken.proto": "comments: " + filepath.Join(dir, "broken.proto") + ":1:12: syntax error",
		"gone.proto":   "comments: " + filepath.Join(dir, "gone.proto") + ": no such file",
		"empty.binpb":  "comments: descriptor set " + filepath.Join(dir, "empty.binpb") + ": it holds no files",
		"x":            "comments: " + filepath.Join(dir, "x") + " holds no .proto file",
	} {
		if _, err := descriptor.Commented(plain, []string{filepath.Join(dir, path)}).Load(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", path, err, want)
		}
	}
	set, err := descriptor.Commented(plain, []string{filepath.Join(dir, "other.proto")}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"there are no comments about this API in " + filepath.Join(dir, "other.proto")}; !slices.Equal(set.Warnings(), want) {
		t.Errorf("warnings %q, want %q", set.Warnings(), want)
	}
}
