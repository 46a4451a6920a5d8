package descriptor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
)

// write writes files below a new directory and returns it.
func write(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// source is the text of a file with a service.
func source(pkg string, imports ...string) string {
	text := fmt.Sprintf("syntax = \"proto3\";\npackage %s;\n", pkg)
	for _, name := range imports {
		text += fmt.Sprintf("import %q;\n", name)
	}
	return text + "message M {}\nservice S { rpc R(M) returns (M); }\n"
}

// Errors are lines of file:line:column, and say what to do.
func TestSourceErrors(t *testing.T) {
	t.Parallel()
	many := "syntax = \"proto3\";\n"
	for i := range 30 {
		many += fmt.Sprintf("message M%d { Nowhere m = 1; }\n", i)
	}
	for _, tt := range []struct {
		name  string
		texts map[string]string
		want  string // with DIR for the directory
	}{
		{
			"missing imports", map[string]string{"a.proto": source("a", "dep/x.proto"), "b.proto": source("b", "a.proto"), "c.proto": source("c", "a.proto", "y.proto")},
			`a.proto:3:8: there is no "dep/x.proto" in DIR: name the directory that holds it by --proto-path`,
		},
		{
			"several errors", map[string]string{"a.proto": "syntax = \"proto3\";\nmessage M { X x = 1; Y y = 2; }\nservice S { rpc R(Z) returns (M); }\n"},
			"a.proto:2:13: field M.x: unknown type X\na.proto:2:22: field M.y: unknown type Y\na.proto:3:19: method S.R: unknown request type Z",
		},
		{"no service", map[string]string{"a.proto": "syntax = \"proto3\";\n"}, "a.proto define no service"},
		{"a cycle", map[string]string{"a.proto": source("a", "b.proto"), "b.proto": source("b", "a.proto")}, "cycle found in imports"},
		{"one name twice", map[string]string{"a.proto": source("a"), "b.proto": source("a")}, `symbol "a.M" already defined at `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := write(t, tt.texts)
			_, err := descriptor.ProtoSources([]string{dir}, nil).Load(t.Context())
			if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), dir, "DIR"), tt.want) {
				t.Errorf("error\n%v\nwant\n%s", err, tt.want)
			}
		})
	}
	_, err := descriptor.ProtoSources([]string{write(t, map[string]string{"a.proto": many})}, nil).Load(t.Context())
	if got := strings.Count(fmt.Sprint(err), "\n") + 1; got != 20 {
		t.Errorf("%d problems are told, want 20:\n%v", got, err)
	}
}

func TestSourcePaths(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"v1/a.proto":       source("v1"),
		"v2/a.proto":       source("v2"),
		".hidden/a.proto":  source("v1"),
		"v1/.git/b.proto":  "no protobuf",
		"dir.proto/b.txt":  "no protobuf",
		"std/a.proto":      source("std", "google/protobuf/cpp_features.proto", "google/protobuf/type.proto", "google/rpc/status.proto"),
		"own/a.proto":      source("own", "buf/validate/validate.proto"),
		"own/x/readme.txt": "nothing",
	})
	if err := os.Symlink(filepath.Join(dir, "v1"), filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	in := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(dir, name))
		}
		return paths
	}
	for _, tt := range []struct {
		name         string
		paths, roots []string
		want         string // services, or "error: " with a part of it
	}{
		{"everything visible", in("."), nil, "own.S std.S v1.S v2.S"},
		{"a link to a directory", in("link"), nil, "v1.S"},
		{"a hidden directory by name", in(".hidden"), nil, "v1.S"},
		{"a file twice", in("v1", "v1/a.proto"), nil, "v1.S"},
		{"a directory below another", in(".", "v1"), nil, "own.S std.S v1.S v2.S"},
		{"two files of one name", in("v1/a.proto", "v2/a.proto"), nil, `error: v1/a.proto and DIR/v2/a.proto are both imported as "a.proto": name a directory above both by --proto-path`},
		{"with a directory above", in("v1/a.proto", "v2/a.proto"), in("."), "v1.S v2.S"},
		{"hidden by an import path", in("v2"), in("v1", "v2"), `error: are both imported as "a.proto"`},
		{"standard imports", in("std"), nil, "std.S"},
		{"several problems", in("absent", "own/x", "v1"), in("nowhere"), "error: nowhere is no directory\nDIR/absent: no such file or directory\nDIR/own/x holds no .proto file"},
		{"relative and absolute", []string{"../../../proto/library"}, []string{abs(t, "../../../proto")}, "library.v1.Library"},
		{"nothing", nil, nil, "error: no .proto file or directory is named"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set, err := descriptor.ProtoSources(tt.paths, tt.roots).Load(t.Context())
			if want, ok := strings.CutPrefix(tt.want, "error: "); ok {
				if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), dir, "DIR"), want) {
					t.Errorf("error\n%v\nwant\n%s", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, s := range set.Services() {
				names = append(names, string(s.FullName()))
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("services %s, want %s", got, tt.want)
			}
		})
	}
}

func abs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Options are of the program's types, so that whoever reads them need not know
// that a compiler made them. A file of an import path comes before the
// program's.
func TestSourceOptions(t *testing.T) {
	t.Parallel()
	text := "syntax = \"proto3\";\npackage a;\nimport \"buf/validate/validate.proto\";\n" +
		"message M { string s = 1 [(buf.validate.field).string.min_len = 3]; }\nservice S { rpc R(M) returns (M); }\n"
	set, err := descriptor.ProtoSources([]string{write(t, map[string]string{"a.proto": text})}, nil).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	field := set.Services()[0].Methods().Get(0).Input().Fields().Get(0)
	rules, ok := proto.GetExtension(field.Options(), validate.E_Field).(*validate.FieldRules)
	if !ok || rules.GetString().GetMinLen() != 3 {
		t.Errorf("rules %v", rules)
	}
}

func TestSourceVersion(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"a.proto": source("a", "b.proto"), "b.proto": "syntax = \"proto3\";\n"})
	from := descriptor.ProtoSources([]string{dir}, nil)
	version := func() string {
		set, err := from.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return set.Version()
	}
	first := version()
	if again := version(); again != first {
		t.Errorf("versions %s and %s of the same files", first, again)
	}
	if err := os.WriteFile(filepath.Join(dir, "b.proto"), []byte("syntax = \"proto3\";\n// Says something.\nmessage B {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if version() == first {
		t.Error("a changed import has not changed the version")
	}
}

func TestSourceCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := write(t, map[string]string{"a.proto": source("a")})
	if _, err := descriptor.ProtoSources([]string{dir}, nil).Load(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestDescriptorSetOfWrongKind(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"comment": "/* hello */", "slashes": "// hello", "edition": "edition = \"2023\";", "json": "\n [ ]", "spaced": "\n\t{\"file\":[]}", "dir/x": "",
	})
	for name, want := range map[string]string{
		"comment": "this is .proto source; pass it as --proto", "slashes": "this is .proto source; pass it as --proto", "edition": "this is .proto source; pass it as --proto",
		"json": "this is no binary FileDescriptorSet; make one with `buf build", "spaced": "this is JSON, and a binary FileDescriptorSet is wanted; make one with `buf build", "dir": "is a directory",
	} {
		path := filepath.Join(dir, name)
		_, err := descriptor.DescriptorSet(path).Load(t.Context())
		if prefix := "descriptor set " + path + ": " + want; err == nil || !strings.HasPrefix(err.Error(), prefix) {
			t.Errorf("error %v, want %s", err, prefix)
		}
	}
}

func TestSelectOfNothing(t *testing.T) {
	t.Parallel()
	set, err := descriptor.Reflection(described([]string{"a.S"}, nil)).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, globs := range [][]string{nil, {"a.*"}} {
		_, err := set.Select(globs)
		want := "the descriptors define no service, besides health and reflection (a.S is left out: the backend does not describe it: not found)"
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if _, err := descriptor.Linked("").Load(t.Context()); err == nil || err.Error() != `no service "" is linked into this program; import its generated package` {
		t.Errorf("error %v", err)
	}
}
