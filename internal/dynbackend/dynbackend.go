// Package dynbackend serves gRPC APIs that tests write as .proto text, over a
// real socket and with server reflection, and that can change while they run.
package dynbackend

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Method answers one method of an API. The response is empty, to be filled.
type Method func(ctx context.Context, request, response *dynamicpb.Message) error

// Stream answers one method of an API, of any kind, by itself.
type Stream func(stream grpc.ServerStream, method protoreflect.MethodDescriptor) error

// Backend is a gRPC server whose API is a set of .proto files.
type Backend struct {
	// Addr is where it listens, on a loopback address.
	Addr string

	server *grpc.Server
	mu     sync.RWMutex
	api    api
}

type api struct {
	files    *protoregistry.Files
	services []string
	methods  map[string]Method
	streams  map[string]Stream
}

// Start serves files, by name, which may import what is linked in, with the
// given methods, by their short names. A method without a function answers
// UNIMPLEMENTED. The test's end stops it.
func Start(tb testing.TB, files map[string]string, methods map[string]Method, opts ...grpc.ServerOption) *Backend {
	tb.Helper()
	return StartAt(tb, "127.0.0.1:0", files, methods, opts...)
}

// StartAt is Start at a given address, such as that of a Backend that has been
// killed.
func StartAt(tb testing.TB, addr string, files map[string]string, methods map[string]Method, opts ...grpc.ServerOption) *Backend {
	tb.Helper()
	b := &Backend{}
	b.Change(tb, files, methods)
	b.server = grpc.NewServer(append(opts, grpc.UnknownServiceHandler(b.handle), grpc.MaxRecvMsgSize(64<<20))...)
	reflectionpb.RegisterServerReflectionServer(b.server, reflection.NewServerV1(reflection.ServerOptions{
		Services: b, DescriptorResolver: b, ExtensionResolver: b,
	}))
	lis, err := net.Listen("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	b.Addr = lis.Addr().String()
	done := make(chan error, 1)
	go func() { done <- b.server.Serve(lis) }()
	tb.Cleanup(func() {
		b.server.Stop()
		if err := <-done; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			tb.Error(err)
		}
	})
	return b
}

// Change replaces the API, as a new release of a backend does.
func (b *Backend) Change(tb testing.TB, files map[string]string, methods map[string]Method) {
	tb.Helper()
	next, err := compile(files)
	if err != nil {
		tb.Fatal(err)
	}
	next.methods = methods
	b.mu.Lock()
	defer b.mu.Unlock()
	b.api = next
}

// HandleStream makes fn answer a method, by its short name, until the API
// changes.
func (b *Backend) HandleStream(name string, fn Stream) {
	b.mu.Lock()
	defer b.mu.Unlock()
	streams := maps.Clone(b.api.streams)
	if streams == nil {
		streams = make(map[string]Stream)
	}
	streams[name] = fn
	b.api.streams = streams
}

// Kill drops all connections and stops serving.
func (b *Backend) Kill() { b.server.Stop() }

func compile(sources map[string]string) (api, error) {
	names := make([]string, 0, len(sources))
	for name := range sources {
		names = append(names, name)
	}
	slices.Sort(names)
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(protocompile.CompositeResolver{
			&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(sources)},
			protocompile.ResolverFunc(linked),
		}),
	}
	compiled, err := compiler.Compile(context.Background(), names...)
	if err != nil {
		return api{}, err
	}
	a := api{files: &protoregistry.Files{}}
	for _, file := range compiled {
		if err := a.add(file); err != nil {
			return api{}, err
		}
	}
	return a, nil
}

// linked finds what sources import and is linked in.
func linked(path string) (protocompile.SearchResult, error) {
	fd, err := protoregistry.GlobalFiles.FindFileByPath(path)
	return protocompile.SearchResult{Desc: fd}, err
}

// add registers a file after those of its imports that are not linked in.
func (a *api) add(file protoreflect.FileDescriptor) error {
	if _, err := a.FindFileByPath(file.Path()); err == nil {
		return nil
	}
	for i := range file.Imports().Len() {
		if err := a.add(file.Imports().Get(i).FileDescriptor); err != nil {
			return err
		}
	}
	fd, err := protodesc.NewFile(protodesc.ToFileDescriptorProto(file), a)
	if err != nil {
		return err
	}
	for i := range fd.Services().Len() {
		a.services = append(a.services, string(fd.Services().Get(i).FullName()))
	}
	return a.files.RegisterFile(fd)
}

// FindFileByPath finds a file of the API, or one that is linked in.
func (a *api) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if fd, err := a.files.FindFileByPath(path); err == nil {
		return fd, nil
	}
	return protoregistry.GlobalFiles.FindFileByPath(path)
}

// FindDescriptorByName finds a descriptor of the API, or one that is linked in.
func (a *api) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	if d, err := a.files.FindDescriptorByName(name); err == nil {
		return d, nil
	}
	return protoregistry.GlobalFiles.FindDescriptorByName(name)
}

func (b *Backend) now() api {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.api
}

// GetServiceInfo names the services that there are now, for reflection.
func (b *Backend) GetServiceInfo() map[string]grpc.ServiceInfo {
	services := make(map[string]grpc.ServiceInfo)
	for _, name := range b.now().services {
		services[name] = grpc.ServiceInfo{}
	}
	return services
}

// FindFileByPath finds a file of the API, or one that is linked in.
func (b *Backend) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	a := b.now()
	return a.FindFileByPath(path)
}

// FindDescriptorByName finds a descriptor of the API, or one that is linked in.
func (b *Backend) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	a := b.now()
	return a.FindDescriptorByName(name)
}

// FindExtensionByName finds nothing: the APIs of tests have no extensions.
func (b *Backend) FindExtensionByName(protoreflect.FullName) (protoreflect.ExtensionType, error) {
	return nil, protoregistry.NotFound
}

// FindExtensionByNumber finds nothing.
func (b *Backend) FindExtensionByNumber(protoreflect.FullName, protoreflect.FieldNumber) (protoreflect.ExtensionType, error) {
	return nil, protoregistry.NotFound
}

// RangeExtensionsByMessage visits nothing.
func (b *Backend) RangeExtensionsByMessage(protoreflect.FullName, func(protoreflect.ExtensionType) bool) {
}

func (b *Backend) handle(_ any, stream grpc.ServerStream) error {
	full, _ := grpc.MethodFromServerStream(stream)
	a := b.now()
	method, err := a.find(full)
	if err != nil {
		return status.Error(codes.Unimplemented, err.Error())
	}
	if fn, ok := a.streams[string(method.Name())]; ok {
		return fn(stream, method)
	}
	fn, ok := a.methods[string(method.Name())]
	if !ok {
		return status.Errorf(codes.Unimplemented, "%s is not implemented", full)
	}
	request := dynamicpb.NewMessage(method.Input())
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	response := dynamicpb.NewMessage(method.Output())
	if err := fn(stream.Context(), request, response); err != nil {
		if ctxErr := stream.Context().Err(); ctxErr != nil {
			return status.FromContextError(ctxErr).Err()
		}
		return err
	}
	return stream.SendMsg(response)
}

// find returns the method with the path "/package.Service/Method".
func (a *api) find(path string) (protoreflect.MethodDescriptor, error) {
	var found protoreflect.MethodDescriptor
	for _, name := range a.services {
		d, err := a.files.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			return nil, err
		}
		methods := d.(protoreflect.ServiceDescriptor).Methods()
		for i := range methods.Len() {
			if m := methods.Get(i); path == "/"+name+"/"+string(m.Name()) {
				found = m
			}
		}
	}
	if found == nil {
		return nil, fmt.Errorf("there is no method %s", path)
	}
	return found, nil
}
