package transcode_test

import (
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/internal/realapis"
)

func realSeeds() uint64 {
	if raceEnabled {
		return 2
	}
	return 6
}

// TestAppendJSONOfRealAPIs takes all message types of well-known APIs, as they
// come from a backend.
func TestAppendJSONOfRealAPIs(t *testing.T) {
	t.Parallel()
	files := realapis.Linked(t)
	set, err := descriptor.FromFileDescriptorSet(files).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	types := set.Types()
	a := &apis{resolver: types}
	for _, file := range files.GetFile() {
		pkg := protoreflect.FullName(file.GetPackage())
		for _, m := range file.GetMessageType() {
			typ, err := types.FindMessageByName(pkg.Append(protoreflect.Name(m.GetName())))
			if err != nil {
				t.Fatalf("%s in %s: %v", m.GetName(), pkg, err)
			}
			a.addMessage(typ.Descriptor())
		}
		for _, x := range file.GetExtension() {
			typ, err := types.FindExtensionByName(pkg.Append(protoreflect.Name(x.GetName())))
			if err != nil {
				t.Fatalf("%s in %s: %v", x.GetName(), pkg, err)
			}
			a.addExtension(typ.TypeDescriptor())
		}
	}
	if len(a.messages) < 3200 {
		t.Errorf("%d message types", len(a.messages))
	}
	a.agree(t, realSeeds())
}

// TestAppendJSONOfConformanceCases takes those of protovalidate.
func TestAppendJSONOfConformanceCases(t *testing.T) {
	t.Parallel()
	files := realapis.Conformance(t)
	a := &apis{resolver: dynamicpb.NewTypes(files)}
	files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		a.add(file)
		return true
	})
	if len(a.messages) < 700 {
		t.Errorf("%d message types", len(a.messages))
	}
	a.agree(t, realSeeds())
}
