package descriptor_test

import (
	"fmt"
	"strings"
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	_ "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
)

type files = []*descriptorpb.FileDescriptorProto

func loadFiles(t *testing.T, list ...*descriptorpb.FileDescriptorProto) (*descriptor.Set, error) {
	t.Helper()
	return descriptor.FromFileDescriptorSet(&descriptorpb.FileDescriptorSet{File: list}).Load(t.Context())
}

// publicly makes imports of a file public.
func publicly(fd *descriptorpb.FileDescriptorProto, imports ...int32) *descriptorpb.FileDescriptorProto {
	fd.PublicDependency = imports
	return fd
}

// Imports that differ from the paths of the files find the file that is meant.
func TestRelinking(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		files files
		want  string // the file of the method's request
	}{
		{"by a longer path", files{using(file("a.proto", "a", "A", "x/y/b.proto"), ".b.B"), file("y/b.proto", "b", "B"), file("z/b.proto", "c", "C")}, "y/b.proto"},
		{"by a shorter path", files{using(file("a.proto", "a", "A", "y/b.proto"), ".b.B"), file("x/y/b.proto", "b", "B"), file("y/z/b.proto", "c", "C")}, "x/y/b.proto"},
		{"ambiguous paths, by symbol", files{using(file("a.proto", "a", "A", "b.proto"), ".b.B"), file("y/b.proto", "b", "B"), file("x/b.proto", "c", "C"), file("w/b.proto", "d", "C")}, "y/b.proto"},
		{"by symbol", files{using(file("a.proto", "a", "A", "v/b.proto"), ".b.B"), file("w/b.proto", "b", "B")}, "w/b.proto"},
		{"not the file itself", files{using(file("x/b.proto", "a", "A", "b.proto"), ".b.B"), file("w/b.proto", "b", "B")}, "w/b.proto"},
		{"twice the same file", files{using(file("a.proto", "a", "A", "v/b.proto", "w/b.proto"), ".b.B"), file("b.proto", "b", "B")}, "b.proto"},
		{"a public import", files{
			using(file("a.proto", "a", "A", "x/b.proto"), ".c.C"),
			publicly(file("b.proto", "b", "B", "gone.proto", "y/c.proto", "c.proto"), 0, 1, 2), file("c.proto", "c", "C"),
		}, "c.proto"},
		{"a file of the program", files{using(file("a.proto", "a", "A", "google/rpc/status.proto"), ".google.rpc.Status")}, "google/rpc/status.proto"},
		{"not the program's copy", files{
			using(file("a.proto", "a", "A", "google/rpc/status.proto"), ".google.rpc.Status"), file("third_party/status.proto", "google.rpc", "Status"),
		}, "third_party/status.proto"},
		{"an own copy of what the program's imports", files{
			using(file("a.proto", "a", "A", "google/rpc/status.proto"), ".google.rpc.Status"), file("own/any.proto", "google.protobuf", "Any"),
		}, "google/rpc/status.proto"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set, err := loadFiles(t, tt.files...)
			if err != nil {
				t.Fatal(err)
			}
			if got := set.Services()[0].Methods().Get(0).Input().ParentFile().Path(); got != tt.want {
				t.Errorf("the request is defined in %s, want %s", got, tt.want)
			}
		})
	}
}

// Errors name the cause, once, and not its consequences.
func TestLinkErrors(t *testing.T) {
	t.Parallel()
	edition := func(name string, edition int32) *descriptorpb.FileDescriptorProto {
		fd := using(file(name, "a", "A"), ".a.A")
		fd.Syntax, fd.Edition = new("editions"), descriptorpb.Edition(edition).Enum()
		return fd
	}
	deep := using(file("a.proto", "a", "A"), ".a.A")
	for m, i := deep.MessageType[0], 0; i < 200; i++ {
		m.NestedType = []*descriptorpb.DescriptorProto{{Name: new("A")}}
		m = m.NestedType[0]
	}
	var many, diamonds files
	for i := range 25 {
		many = append(many, using(file(fmt.Sprintf("f%02d.proto", i), "a", "A", "b.proto"), ".b.B"))
	}
	for i := range 60 {
		for _, side := range []string{"l", "r"} {
			next := []string{fmt.Sprintf("l%02d.proto", i+1), fmt.Sprintf("r%02d.proto", i+1)}
			if i == 59 {
				next = nil
			}
			fd := file(fmt.Sprintf("%s%02d.proto", side, i), fmt.Sprintf("%s%d", side, i), "M", next...)
			if next != nil {
				fd.PublicDependency = []int32{0, 1}
			}
			diamonds = append(diamonds, fd)
		}
	}
	conflict := func(b *descriptorpb.FileDescriptorProto) files {
		return files{using(file("a.proto", "a", "A"), ".a.A"), b}
	}
	for _, tt := range []struct {
		name  string
		files files
		want  string // the whole error, or its beginning where it ends in "..."
	}{
		{"nothing", nil, "descriptor set: it defines no service"},
		{"nil", files{nil}, "descriptor set: a file descriptor has no name"},
		{"nil message", files{{Name: new("a.proto"), MessageType: []*descriptorpb.DescriptorProto{nil}}}, "descriptor set: a.proto: ..."},
		{"missing and needed", files{
			using(file("a.proto", "a", "A", "b.proto", "gone.proto"), ".b.B"), using(file("c.proto", "c", "C", "a.proto"), ".c.C"),
		}, "descriptor set: a.proto imports b.proto, gone.proto, which are missing; include all imports: `buf build` does, and protoc with --include_imports"},
		{"missing, and wrong for another reason", files{using(file("a.proto", "a", "A", "gone.proto"), "..")}, "descriptor set: a.proto: ..."},
		{"cycle", files{
			using(file("a.proto", "a", "A", "b.proto"), ".b.B"), file("b.proto", "b", "B", "c.proto"), file("c.proto", "c", "C", "b.proto"), file("d.proto", "d", "D", "a.proto"),
		}, "descriptor set: files import each other: b.proto -> c.proto -> b.proto"},
		{"itself", files{using(file("a.proto", "a", "A", "a.proto"), ".a.A")}, "descriptor set: files import each other: a.proto -> a.proto"},
		{"one message in two files", conflict(file("b.proto", "a", "A")), "descriptor set: b.proto: a.proto defines a.A too"},
		{"one service in two files", conflict(using(file("b.proto", "a", "B"), ".a.B")), "descriptor set: b.proto: a.proto defines a.S too"},
		{"a message and an enum value", conflict(&descriptorpb.FileDescriptorProto{
			Name: new("b.proto"), Package: new("a"),
			EnumType: []*descriptorpb.EnumDescriptorProto{{Name: new("E"), Value: []*descriptorpb.EnumValueDescriptorProto{{Name: new("A"), Number: new(int32(0))}}}},
		}), "descriptor set: b.proto: a.proto defines a.A too"},
		{"a message and a package", conflict(file("b.proto", "a.A", "B")), "descriptor set: b.proto: ..."},
		{"unknown edition", files{edition("a.proto", 5000)}, "descriptor set: a.proto: edition 5000 is not supported"},
		// protobuf-go ends the program for these two.
		{"no edition", files{edition("cmd/protoc-gen-go/testdata/a.proto", 0)}, "descriptor set: cmd/protoc-gen-go/testdata/a.proto: edition UNKNOWN is not supported"},
		{"legacy edition", files{edition("cmd/protoc-gen-go/testdata/a.proto", 900)}, "descriptor set: cmd/protoc-gen-go/testdata/a.proto: edition LEGACY is not supported"},
		{"deep messages", files{deep}, "descriptor set: a.proto: its messages are nested more than 100 levels deep"},
		{"a deep package", files{file("a.proto", strings.Repeat("a.", 200)+"a", "A")}, "descriptor set: a.proto: its messages are nested more than 100 levels deep"},
		{"many problems", many, "descriptor set: f00.proto imports b.proto, which is missing\n..."},
		{"too many files", make(files, 20_001), "descriptor set: there are 20001 files, and at most 20000 are read"},
		{"public imports without end", diamonds, "descriptor set: ..."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := loadFiles(t, tt.files...)
			if err == nil {
				t.Fatal("no error")
			}
			if want, ok := strings.CutSuffix(tt.want, "..."); ok && strings.HasPrefix(err.Error(), want) {
				return
			}
			if err.Error() != tt.want {
				t.Errorf("error\n%v\nwant\n%s", err, tt.want)
			}
		})
	}
	if _, err := loadFiles(t, many...); strings.Count(err.Error(), "\n") != 20 || !strings.Contains(err.Error(), "and 5 more problems") {
		t.Errorf("error %v", err)
	}
	if _, err := loadFiles(t, diamonds...); !strings.Contains(err.Error(), "public imports lead from file to file in too many ways") {
		t.Errorf("error %v", err)
	}
}

// Work that grows by the square would make this test stand out.
func TestLinkLarge(t *testing.T) {
	t.Parallel()
	t.Run("a long chain of imports", func(t *testing.T) {
		t.Parallel()
		list := files{using(file("f0.proto", "p0", "M"), ".p0.M")}
		for i := range 10_000 {
			list = append(list, file(fmt.Sprintf("f%d.proto", i+1), fmt.Sprintf("p%d", i+1), "M", fmt.Sprintf("f%d.proto", i)))
		}
		if _, err := loadFiles(t, list...); err != nil {
			t.Error(err)
		}
	})
	t.Run("many imports under another path", func(t *testing.T) {
		t.Parallel()
		var list files
		importing := using(file("a.proto", "a", "A"), ".a.A")
		for i := range 10_000 {
			list = append(list, file(fmt.Sprintf("d%d/f.proto", i), fmt.Sprintf("p%d", i), "M"))
			importing.Dependency = append(importing.Dependency, fmt.Sprintf("x/d%d/f.proto", i), fmt.Sprintf("gone/%d/f.proto", i))
		}
		if _, err := loadFiles(t, append(list, importing)...); err != nil {
			t.Error(err)
		}
	})
	t.Run("a large file with a missing import", func(t *testing.T) {
		t.Parallel()
		fd := using(file("a.proto", "a", "A", "gone.proto"), ".a.A")
		for i := range 20_000 {
			fd.MessageType = append(fd.MessageType, &descriptorpb.DescriptorProto{
				Name: new(fmt.Sprintf("M%d", i)),
				Field: []*descriptorpb.FieldDescriptorProto{{
					Name: new("m"), Number: new(int32(1)), TypeName: new(fmt.Sprintf(".a.M%d", i)),
					Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
				}},
			})
		}
		if _, err := loadFiles(t, fd); err != nil {
			t.Error(err)
		}
	})
}

// Options survive: those that the program knows in their types, the others as
// they came.
func TestOptions(t *testing.T) {
	t.Parallel()
	known := &descriptorpb.FieldOptions{}
	proto.SetExtension(known, validate.E_Field, &validate.FieldRules{Required: new(true)})
	encoded, err := proto.Marshal(known)
	if err != nil {
		t.Fatal(err)
	}
	encoded = protowire.AppendString(protowire.AppendTag(encoded, 50_001, protowire.BytesType), "unknown")
	options := &descriptorpb.FieldOptions{}
	if err := proto.Unmarshal(encoded, options); err != nil {
		t.Fatal(err)
	}
	fd := using(file("a.proto", "a", "A"), ".a.A")
	fd.MessageType[0].Field = []*descriptorpb.FieldDescriptorProto{{
		Name: new("s"), Number: new(int32(1)), Options: options,
		Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
	}}
	set, err := loadFiles(t, fd)
	if err != nil {
		t.Fatal(err)
	}
	message := set.Services()[0].Methods().Get(0).Input()
	if got := message.Fields().Get(0).Options(); !proto.Equal(got, options) {
		t.Errorf("options %v, want %v", got, options)
	}
	got := protodesc.ToFileDescriptorProto(message.ParentFile()).GetMessageType()[0].GetField()[0].GetOptions()
	if !proto.Equal(got, options) || !strings.Contains(string(got.ProtoReflect().GetUnknown()), "unknown") {
		t.Errorf("after a round trip, options %v, want %v", got, options)
	}
	rules, ok := proto.GetExtension(got, validate.E_Field).(*validate.FieldRules)
	if !ok || !rules.GetRequired() {
		t.Errorf("rules %v", rules)
	}
}
