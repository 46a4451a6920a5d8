package demo

import (
	_ "embed"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	_ "github.com/mcp-bridge/mcp-bridge/gen/library/v1" // registers what library.proto imports
)

// descriptorSet is library.proto with its comments, which generated code leaves
// out. `make generate` writes it.
//
//go:embed library.binpb
var descriptorSet []byte

// Descriptors returns what server reflection answers from: the files that are
// linked in, with the comments of library.proto, so that clients can show what
// methods and fields are for.
func Descriptors() protodesc.Resolver { return commented() }

// commented reads the descriptor set. Should that fail, reflection still works,
// without comments.
var commented = sync.OnceValue(func() resolver {
	var files protoregistry.Files
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(descriptorSet, &set); err != nil {
		return resolver{&files}
	}
	for _, file := range set.GetFile() {
		if fd, err := protodesc.NewFile(file, protoregistry.GlobalFiles); err == nil {
			_ = files.RegisterFile(fd)
		}
	}
	return resolver{&files}
})

// resolver looks in a few files before it looks in those that are linked in.
type resolver struct{ first *protoregistry.Files }

func (r resolver) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if fd, err := r.first.FindFileByPath(path); err == nil {
		return fd, nil
	}
	return protoregistry.GlobalFiles.FindFileByPath(path)
}

func (r resolver) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	if d, err := r.first.FindDescriptorByName(name); err == nil {
		return d, nil
	}
	return protoregistry.GlobalFiles.FindDescriptorByName(name)
}
