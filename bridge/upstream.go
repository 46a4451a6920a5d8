package bridge

import (
	"net/http"

	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc"
)

// Caller carries RPCs to a backend: wire bytes in, wire bytes out. Package
// grpcgo has the one for gRPC; [Connect] and [InProcess] return those for
// Connect, gRPC-Web and a handler in this process.
type Caller = rpc.Caller

// Source is where the descriptors of a backend's services come from.
type Source = descriptor.Source

// Upstream is a backend whose methods become tools.
type Upstream struct {
	// Caller carries the calls. It must not be nil. The Bridge does not close
	// it, except one that [InProcess] made.
	Caller Caller
	// Descriptors says where the backend's descriptors come from. Nil means
	// server reflection by the Caller.
	Descriptors Source
	// Services chooses among the services that Descriptors has, by globs
	// over full names, such as "library.v1.*". Empty means all. Health and
	// reflection services are never served.
	Services []string

	close func() error // of a Caller that nobody else knows
	err   error        // why there is no Caller
}

// Reflection returns a Source that asks a backend by server reflection, v1 or
// v1alpha.
func Reflection(c Caller) Source { return descriptor.Reflection(c) }

// DescriptorSetFile returns a Source that reads a file with a serialised
// google.protobuf.FileDescriptorSet, as `buf build -o api.binpb` makes it.
func DescriptorSetFile(path string) Source { return descriptor.DescriptorSet(path) }

// DescriptorSet returns a Source of a FileDescriptorSet in memory. Files may
// come in any order; imports that are missing are taken from what is linked
// into the program.
func DescriptorSet(set *descriptorpb.FileDescriptorSet) Source {
	return descriptor.FromFileDescriptorSet(set)
}

// ProtoFiles returns a Source that compiles .proto files and directories of
// them, and so has their comments. Imports are looked for in importPaths, and
// where there are none, in the directories.
func ProtoFiles(paths, importPaths []string) Source {
	return descriptor.ProtoSources(paths, importPaths)
}

// Linked returns a Source of services whose generated code is linked into the
// program. Generated code carries no comments.
func Linked(services ...string) Source { return descriptor.Linked(services...) }

// InProcess returns an Upstream for services that h serves in this very
// process, such as the handlers that connect-go generates, mounted on a mux.
// Calls go to h directly: no socket, no second listener. The services'
// generated code must be linked in. [New] reports what is wrong.
func InProcess(h http.Handler, services ...string) Upstream {
	caller, err := InProcessCaller(h)
	if err != nil {
		return Upstream{err: err}
	}
	return Upstream{Caller: caller, Descriptors: Linked(services...), close: caller.Close}
}
