package typed_test

import (
	"testing"

	_ "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typed"
	_ "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

func newImports(tb testing.TB) protodesc.Resolver {
	tb.Helper()
	return protoregistry.GlobalFiles
}

func compile(tb testing.TB, sources map[string]string, names ...string) []protoreflect.FileDescriptor {
	tb.Helper()
	compiler := protocompile.Compiler{
		SourceInfoMode: protocompile.SourceInfoStandard,
		Resolver: protocompile.CompositeResolver{
			&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(sources)},
			protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
				fd, err := protoregistry.GlobalFiles.FindFileByPath(path)
				return protocompile.SearchResult{Desc: fd}, err
			}),
		},
	}
	linked, err := compiler.Compile(tb.Context(), names...)
	if err != nil {
		tb.Fatal(err)
	}
	var all []protoreflect.FileDescriptor
	for _, fd := range linked {
		all = append(all, fd)
	}
	return all
}

// newPlan makes a plan, and links it.
func newPlan(tb testing.TB, server typed.Server, opts typed.Options) (*typed.Plan, protoreflect.FileDescriptor) {
	tb.Helper()
	plan, err := typed.New(server, opts)
	if err != nil {
		tb.Fatal(err)
	}
	fd, err := plan.Link(newImports(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return plan, fd
}

// unmarshal returns the message in wire.
func unmarshal(tb testing.TB, md protoreflect.MessageDescriptor, wire []byte) protoreflect.Message {
	tb.Helper()
	m := dynamicpb.NewMessage(md)
	if err := proto.Unmarshal(wire, m); err != nil {
		tb.Fatal(err)
	}
	return m
}
