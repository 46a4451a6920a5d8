package validate_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/validate"
)

// header begins the sources of tests.
const header = `
edition = "2023";
package t.v1;
option features.field_presence = IMPLICIT;
import "buf/validate/validate.proto";
import "google/protobuf/any.proto";
import "google/protobuf/descriptor.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
`

// compile compiles a source that may import what is linked in.
func compile(tb testing.TB, source string) protoreflect.FileDescriptor {
	tb.Helper()
	compiler := protocompile.Compiler{Resolver: protocompile.CompositeResolver{
		&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(map[string]string{"t.proto": header + source})},
		protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
			fd, err := protoregistry.GlobalFiles.FindFileByPath(path)
			return protocompile.SearchResult{Desc: fd}, err
		}),
	}}
	files, err := compiler.Compile(tb.Context(), "t.proto")
	if err != nil {
		tb.Fatal(err)
	}
	return files[0]
}

// An api is a compiled source and the types that it defines.
type api struct {
	file  protoreflect.FileDescriptor
	types transcode.Resolver
}

func (a api) message(tb testing.TB, name protoreflect.Name) protoreflect.MessageDescriptor {
	tb.Helper()
	md := a.file.Messages().ByName(name)
	if md == nil {
		tb.Fatalf("no message %s", name)
	}
	return md
}

// forms returns a file in the forms that descriptors come in, which differ in
// how they hold options.
func forms(tb testing.TB, file protoreflect.FileDescriptor) map[string]api {
	tb.Helper()
	wire, err := proto.Marshal(protodesc.ToFileDescriptorProto(file))
	if err != nil {
		tb.Fatal(err)
	}
	// All files anew, as reflection brings them.
	anew := &protoregistry.Files{}
	var add func(fd protoreflect.FileDescriptor)
	add = func(fd protoreflect.FileDescriptor) {
		if _, err := anew.FindFileByPath(fd.Path()); err == nil {
			return
		}
		for i := range fd.Imports().Len() {
			add(fd.Imports().Get(i).FileDescriptor)
		}
		next, err := protodesc.NewFile(reparse(tb, protodesc.ToFileDescriptorProto(fd), new(protoregistry.Types)), anew)
		if err != nil {
			tb.Fatal(err)
		}
		if err := anew.RegisterFile(next); err != nil {
			tb.Fatal(err)
		}
	}
	add(file)
	link := func(resolver protoregistry.ExtensionTypeResolver, from protodesc.Resolver) api {
		fdp := &descriptorpb.FileDescriptorProto{}
		if err := (proto.UnmarshalOptions{Resolver: unmarshalResolver{resolver}}).Unmarshal(wire, fdp); err != nil {
			tb.Fatal(err)
		}
		fd, err := protodesc.NewFile(fdp, from)
		if err != nil {
			tb.Fatal(err)
		}
		files := &protoregistry.Files{}
		if err := files.RegisterFile(fd); err != nil {
			tb.Fatal(err)
		}
		return api{fd, dynamicpb.NewTypes(files)}
	}
	dynamic := dynamicpb.NewTypes(anew)
	reflected, err := anew.FindFileByPath(file.Path())
	if err != nil {
		tb.Fatal(err)
	}
	return map[string]api{
		"linked":   link(protoregistry.GlobalTypes, protoregistry.GlobalFiles),
		"unknown":  link(new(protoregistry.Types), protoregistry.GlobalFiles),
		"dynamic":  link(dynamic, protoregistry.GlobalFiles),
		"all anew": {reflected, dynamic},
	}
}

type unmarshalResolver struct {
	protoregistry.ExtensionTypeResolver
}

func (unmarshalResolver) FindMessageByName(protoreflect.FullName) (protoreflect.MessageType, error) {
	return nil, protoregistry.NotFound
}

func (unmarshalResolver) FindMessageByURL(string) (protoreflect.MessageType, error) {
	return nil, protoregistry.NotFound
}

func reparse(tb testing.TB, fdp *descriptorpb.FileDescriptorProto, resolver *protoregistry.Types) *descriptorpb.FileDescriptorProto {
	tb.Helper()
	wire, err := proto.Marshal(fdp)
	if err != nil {
		tb.Fatal(err)
	}
	out := &descriptorpb.FileDescriptorProto{}
	if err := (proto.UnmarshalOptions{Resolver: resolver}).Unmarshal(wire, out); err != nil {
		tb.Fatal(err)
	}
	return out
}

// warnings collects warnings.
type warnings struct {
	mu  sync.Mutex
	all map[string]int
}

func (w *warnings) warn(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = make(map[string]int)
	}
	w.all[text]++
}

func (w *warnings) texts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.all))
}

// check checks arguments as a call does.
func check(tb testing.TB, v *validate.Validator, a api, name protoreflect.Name, arguments string) string {
	tb.Helper()
	md := a.message(tb, name)
	codec, err := transcode.New(md, a.types, transcode.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	wire, err := codec.AppendWire(nil, []byte(arguments))
	if err != nil {
		tb.Fatal(err)
	}
	m := dynamicpb.NewMessage(md)
	if err := (proto.UnmarshalOptions{Resolver: a.types}).Unmarshal(wire, m); err != nil {
		tb.Fatal(err)
	}
	first, second := v.For(md).Check(wire), v.For(md).CheckMessage(m)
	if fmt.Sprint(first) != fmt.Sprint(second) {
		tb.Errorf("Check and CheckMessage differ:\n%v\n%v", first, second)
	}
	if first != nil {
		return first.Error()
	}
	return ""
}
