package descriptor

import (
	_ "embed" // for the files that APIs commonly import
	"sync"

	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// commonImports is a FileDescriptorSet that `make generate` writes: google/api,
// google/longrunning, google/rpc, google/type, and the options of
// protoc-gen-validate and protoc-gen-openapiv2. Linking their packages would make
// every program larger by more than these 57 KB.
//
//go:embed imports.binpb
var commonImports []byte

// program finds what every program has: what is linked into it, and after that the
// files that APIs commonly import.
var program = sync.OnceValue(func() finder { return either{protoregistry.GlobalFiles, common()} })

// common returns the common imports that are not linked into the program.
func common() *protoregistry.Files {
	linked := &protoregistry.Files{}
	files, err := splitSet(commonImports)
	if err != nil {
		return linked // a test has it that there is no error
	}
	byName := make(map[string]*descriptorpb.FileDescriptorProto)
	for _, file := range files {
		byName[file.proto.GetName()] = file.proto
	}
	var link func(name string)
	link = func(name string) {
		fd := byName[name]
		if fd == nil {
			return
		}
		delete(byName, name)
		if _, err := protoregistry.GlobalFiles.FindFileByPath(name); err == nil {
			return
		}
		for _, dep := range fd.GetDependency() {
			link(dep)
		}
		if file, err := protodesc.NewFile(fd, either{linked, protoregistry.GlobalFiles}); err == nil {
			_ = linked.RegisterFile(file) // the same test
		}
	}
	for _, file := range files {
		link(file.proto.GetName())
	}
	return linked
}

// finder finds files and what they declare.
type finder interface {
	FindFileByPath(path string) (protoreflect.FileDescriptor, error)
	FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error)
}

// either finds what the first of several has.
type either []finder

func (e either) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	for _, f := range e {
		if fd, err := f.FindFileByPath(path); err == nil {
			return fd, nil
		}
	}
	return nil, protoregistry.NotFound
}

func (e either) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	for _, f := range e {
		if d, err := f.FindDescriptorByName(name); err == nil {
			return d, nil
		}
	}
	return nil, protoregistry.NotFound
}
