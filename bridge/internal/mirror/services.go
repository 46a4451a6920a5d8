package mirror

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"connectrpc.com/grpcreflect"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Service is a service that is served beside McpService.
type Service struct {
	// Name is the full name of the service.
	Name protoreflect.FullName
	// Handler serves the paths below "/" + Name + "/".
	Handler http.Handler
	// Files returns a resolver of its files as they are now. It is nil where
	// these are linked into the program.
	Files func() protodesc.Resolver

	quiet bool // whether health checks do not ask for it
}

// table is what is served at one time. It is immutable.
type table struct {
	services []Service
	routes   map[string]http.Handler // by "/" + name + "/"
}

// Add serves another service beside McpService, under the same rules for web
// pages, and lists it in reflection. It is for before the first request. It is an
// error if there is a service of that name.
func (f *Front) Add(s Service) error {
	f.fixed = append(f.fixed, s)
	return f.Set()
}

// Set replaces the services that are served beside those of Add. Calls under way and
// all streams go on. It is an error if two services have one name; then nothing
// changes.
func (f *Front) Set(services ...Service) error {
	f.setting.Lock()
	defer f.setting.Unlock()
	t := &table{services: slices.Concat(f.fixed, services), routes: maps.Clone(f.other)}
	var checked []string
	for _, s := range t.services {
		path := "/" + string(s.Name) + "/"
		if t.routes[path] != nil {
			return fmt.Errorf("there are two services %s", s.Name)
		}
		t.routes[path] = f.guard(s.Handler)
		if !s.quiet {
			checked = append(checked, string(s.Name))
		}
	}
	f.table.Store(t)
	f.health.Set(checked...)
	return nil
}

// newReflector returns the reflector of all services.
func (f *Front) newReflector() *grpcreflect.Reflector {
	return grpcreflect.NewReflector(
		grpcreflect.NamerFunc(func() []string {
			services := f.table.Load().services
			names := make([]string, len(services))
			for i, s := range services {
				names[i] = string(s.Name)
			}
			return names
		}),
		grpcreflect.WithDescriptorResolver(resolver{f}),
	)
}

// resolver finds files of services, and then those that are linked in.
type resolver struct{ front *Front }

var _ protodesc.Resolver = resolver{}

// FindFileByPath finds a file.
func (r resolver) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	return find(r, func(files protodesc.Resolver) (protoreflect.FileDescriptor, error) { return files.FindFileByPath(path) })
}

// FindDescriptorByName finds what has a name.
func (r resolver) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	return find(r, func(files protodesc.Resolver) (protoreflect.Descriptor, error) {
		return files.FindDescriptorByName(name)
	})
}

func find[T any](r resolver, in func(protodesc.Resolver) (T, error)) (T, error) {
	for _, s := range r.front.table.Load().services {
		if s.Files == nil {
			continue
		}
		if found, err := in(s.Files()); !errors.Is(err, protoregistry.NotFound) {
			return found, err
		}
	}
	return in(protoregistry.GlobalFiles)
}
