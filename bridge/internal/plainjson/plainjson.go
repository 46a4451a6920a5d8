// Package plainjson has the codecs of canonical ProtoJSON for messages whose
// JSON in MCP is another one, as options of mcp.json.v1 say. It is the JSON that
// clients of the Connect protocol and of generated code know.
package plainjson

import (
	"fmt"
	"slices"
	"sync"

	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

// jsonOptions is the file that declares how the JSON of MCP differs from
// ProtoJSON. In a file that does not import it there are no such options.
const jsonOptions = "mcp/json/v1/json.proto"

// Codecs are the codecs of the messages of a file, and of those it imports. They
// are made when the first of them is asked for. It is used concurrently.
type Codecs struct {
	compiler *transcode.Compiler
	files    func() (*protoregistry.Files, error)
}

// New returns the codecs of a file.
func New(fd protoreflect.FileDescriptor) *Codecs {
	return &Codecs{
		compiler: transcode.NewCompiler(nil, transcode.Options{}),
		files: sync.OnceValues(func() (*protoregistry.Files, error) {
			set := &descriptorpb.FileDescriptorSet{}
			addPlain(set, fd, make(map[string]bool))
			files, err := protodesc.NewFiles(set)
			if err != nil {
				return nil, fmt.Errorf("ProtoJSON: %w", err)
			}
			return files, nil
		}),
	}
}

// addPlain adds a file and what it imports, without the import of the options.
func addPlain(set *descriptorpb.FileDescriptorSet, fd protoreflect.FileDescriptor, seen map[string]bool) {
	if seen[fd.Path()] || fd.Path() == jsonOptions {
		return
	}
	seen[fd.Path()] = true
	for i := range fd.Imports().Len() {
		addPlain(set, fd.Imports().Get(i).FileDescriptor, seen)
	}
	file := protodesc.ToFileDescriptorProto(fd)
	file.Dependency = slices.DeleteFunc(file.Dependency, func(path string) bool { return path == jsonOptions })
	// These are indices of the imports. None of our files has any.
	file.PublicDependency, file.WeakDependency = nil, nil
	set.File = append(set.File, file)
}

// Types returns a function for the codecs of an RPC's messages.
func (p *Codecs) Types(md protoreflect.MethodDescriptor) func() (request, response *transcode.Codec, err error) {
	return func() (request, response *transcode.Codec, err error) {
		if request, err = p.codec(md.Input().FullName()); err != nil {
			return nil, nil, err
		}
		response, err = p.codec(md.Output().FullName())
		return request, response, err
	}
}

func (p *Codecs) codec(name protoreflect.FullName) (*transcode.Codec, error) {
	files, err := p.files()
	if err != nil {
		return nil, err
	}
	d, err := files.FindDescriptorByName(name)
	if err != nil {
		return nil, fmt.Errorf("ProtoJSON: %w", err)
	}
	md, ok := d.(protoreflect.MessageDescriptor)
	if !ok {
		return nil, fmt.Errorf("ProtoJSON: %s is no message", name)
	}
	return p.compiler.Codec(md)
}
