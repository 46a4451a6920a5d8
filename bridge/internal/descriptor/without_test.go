package descriptor_test

import (
	"hash/fnv"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/internal/realapis"
)

const withoutProto = `
syntax = "proto2";
package w.v1;
service S { rpc M(In) returns (In); }
message In {
  // The first.
  optional string a = 1;
  // The second.
  optional In b = 2;
  // The choice.
  oneof gone { string c = 3; int32 d = 4; }
  // Another choice.
  oneof stays { string e = 5; int32 f = 6; }
  // The map.
  map<string, In> g = 7;
  // The last.
  optional Nested h = 8;
  message Nested {
    optional string i = 1;
    // Inside.
    optional string j = 2;
    // An extension inside.
    extend In { optional string k = 100; }
  }
  extensions 100 to 200;
}
extend In { optional string l = 101; }
extend In {
  // Another extension.
  optional string m = 102;
}
`

// Fields that are taken out leave comments and oneofs where they belong.
func TestWithout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "w.proto")
	if err := os.WriteFile(path, []byte(withoutProto), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := descriptor.ProtoSources([]string{path}, nil).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same, err := set.Without(nil)
	if err != nil || same != set {
		t.Errorf("without nothing: %v", err)
	}
	hidden := make(map[protoreflect.FullName]bool)
	for _, name := range []protoreflect.FullName{"In.a", "In.c", "In.d", "In.e", "In.g", "In.Nested.i", "In.Nested.k", "l", "no.such"} {
		hidden["w.v1."+name] = true
	}
	without, err := set.Without(hidden)
	if err != nil {
		t.Fatal(err)
	}
	if without.Version() != set.Version() || len(without.Services()) != 1 {
		t.Errorf("version %s, %d services", without.Version(), len(without.Services()))
	}
	in := without.Services()[0].Methods().Get(0).Input()
	comments := func(d protoreflect.Descriptor) string {
		return d.ParentFile().SourceLocations().ByDescriptor(d).LeadingComments
	}
	for name, want := range map[protoreflect.Name]string{"a": "", "b": " The second.\n", "c": "", "f": "", "g": "", "h": " The last.\n"} {
		fd := in.Fields().ByName(name)
		if (fd != nil) != !hidden["w.v1.In."+protoreflect.FullName(name)] || fd != nil && comments(fd) != want {
			t.Errorf("%s: %v", name, fd)
		}
	}
	if n := in.Oneofs().Len(); n != 1 || in.Oneofs().Get(0).Name() != "stays" || in.Oneofs().Get(0).Fields().Len() != 1 || comments(in.Oneofs().Get(0)) != " Another choice.\n" {
		t.Errorf("%d oneofs", n)
	}
	if j := in.Messages().ByName("Nested").Fields().ByName("j"); comments(j) != " Inside.\n" {
		t.Errorf("comment %q", comments(j))
	}
	if m := in.ParentFile().Extensions().ByName("m"); m == nil || comments(m) != " Another extension.\n" {
		t.Errorf("extension %v", m)
	}
	if _, err := without.Types().FindExtensionByName("w.v1.l"); err == nil {
		t.Error("a hidden extension is found")
	}
	if _, err := without.Types().FindExtensionByNumber("w.v1.In", 100); err == nil {
		t.Error("a hidden extension is found by its number")
	}
	if typ, err := without.Types().FindMessageByName("w.v1.In"); err != nil || typ.Descriptor().Fields().Len() != 3 {
		t.Errorf("type %v, %v", typ, err)
	}
}

// TestWithoutAnyFields takes fields out of all messages of well-known APIs.
func TestWithoutAnyFields(t *testing.T) {
	t.Parallel()
	set, err := descriptor.FromFileDescriptorSet(realapis.Linked(t)).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for seed := range byte(3) {
		hidden := make(map[protoreflect.FullName]bool)
		var walk func(protoreflect.MessageDescriptors)
		walk = func(list protoreflect.MessageDescriptors) {
			for i := range list.Len() {
				md := list.Get(i)
				for j := range md.Fields().Len() {
					h := fnv.New32a()
					_, _ = h.Write(append([]byte(md.Fields().Get(j).FullName()), seed))
					if h.Sum32()%3 == 0 && !md.IsMapEntry() && md.ParentFile().Package() != "google.protobuf" {
						hidden[md.Fields().Get(j).FullName()] = true
					}
				}
				walk(md.Messages())
			}
		}
		set.RangeFiles(func(file protoreflect.FileDescriptor) bool {
			walk(file.Messages())
			return true
		})
		without, err := set.Without(hidden)
		if err != nil {
			t.Fatal(err)
		}
		for name := range hidden {
			md, err := without.Types().FindMessageByName(name.Parent())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if md.Descriptor().Fields().ByName(name.Name()) != nil {
				t.Fatalf("%s is still there", name)
			}
		}
	}
}
