package descriptor_test

import (
	"errors"
	"sync"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// extending adds an extension of a message to a file, at the top or within a
// message.
func extending(fd *descriptorpb.FileDescriptorProto, name, message string, number int32, within bool) *descriptorpb.FileDescriptorProto {
	x := &descriptorpb.FieldDescriptorProto{
		Name: new(name), Number: new(number), Extendee: new(message),
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
	}
	if within {
		fd.MessageType[0].Extension = append(fd.MessageType[0].Extension, x)
	} else {
		fd.Extension = append(fd.Extension, x)
	}
	return fd
}

// What files define is found by name and by number, in whatever order it is
// asked for, and is the same thing each time.
func TestTypes(t *testing.T) {
	t.Parallel()
	extensible := file("b.proto", "b", "B")
	c, d := file("c.proto", "c", "C", "b.proto"), file("d.proto", "d", "D", "b.proto")
	for _, fd := range []*descriptorpb.FileDescriptorProto{extensible, c, d} {
		fd.Syntax = new("proto2")
	}
	extensible.MessageType[0].ExtensionRange = []*descriptorpb.DescriptorProto_ExtensionRange{{Start: new(int32(100)), End: new(int32(200))}}
	extensible.MessageType[0].NestedType = []*descriptorpb.DescriptorProto{{Name: new("N")}}
	set, err := loadFiles(t,
		using(file("a.proto", "a", "A", "x/b.proto", "google/rpc/status.proto"), ".b.B"), // relinked
		extensible,
		extending(c, "top", ".b.B", 100, false),
		extending(d, "inner", ".b.B", 101, true),
	)
	if err != nil {
		t.Fatal(err)
	}
	types := set.Types()
	method := set.Services()[0].Methods().Get(0).FullName()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 7 {
				switch (i + j) % 7 {
				case 0:
					x, err := types.FindExtensionByNumber("b.B", 100)
					if err != nil || x.TypeDescriptor().FullName() != "c.top" {
						t.Errorf("b.B 100: %v %v", x, err)
					}
				case 1:
					x, err := types.FindExtensionByNumber("b.B", 101)
					if err != nil || x.TypeDescriptor().FullName() != "d.D.inner" {
						t.Errorf("b.B 101: %v %v", x, err)
					}
				case 2:
					if x, err := types.FindExtensionByName("d.D.inner"); err != nil || x.TypeDescriptor().Number() != 101 {
						t.Errorf("d.D.inner: %v %v", x, err)
					}
				case 3:
					if m, err := types.FindMessageByURL("type.googleapis.com/b.B.N"); err != nil || m.Descriptor().FullName() != "b.B.N" {
						t.Errorf("b.B.N: %v %v", m, err)
					}
				case 4:
					if m, err := types.FindMessageByName("google.rpc.Status"); err != nil || m.Descriptor().FullName() != "google.rpc.Status" {
						t.Errorf("google.rpc.Status: %v %v", m, err)
					}
				case 5:
					m, err := types.FindMethod(method)
					if err != nil {
						t.Error(err)
						continue
					}
					b, err := types.FindMessageByName("b.B")
					if err != nil || b.Descriptor() != m.Input() {
						t.Errorf("b.B: %v %v", b, err)
					}
					if again, err := types.FindMethod(method); err != nil || again != m {
						t.Errorf("%s: %v %v", method, again, err)
					}
				case 6:
					for name, find := range map[string]func() error{
						"message":   func() error { _, err := types.FindMessageByName("b.X"); return err },
						"url":       func() error { _, err := types.FindMessageByURL(""); return err },
						"extension": func() error { _, err := types.FindExtensionByName("c.bottom"); return err },
						"number":    func() error { _, err := types.FindExtensionByNumber("b.B", 102); return err },
						"linked in": func() error {
							_, err := types.FindMessageByName("google.protobuf.FileDescriptorProto")
							return err
						},
					} {
						if err := find(); !errors.Is(err, protoregistry.NotFound) {
							t.Errorf("%s that there is not: %v", name, err)
						}
					}
					for name, want := range map[protoreflect.FullName]string{
						"a.S.X": "there is no method a.S.X in the descriptors",
						"b.B":   "b.B is no method",
					} {
						if _, err := types.FindMethod(name); err == nil || err.Error() != want {
							t.Errorf("%s: %v, want %s", name, err, want)
						}
					}
				}
			}
		})
	}
	wg.Wait()
}
