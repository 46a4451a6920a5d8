package descriptor

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/internal/glob"
)

// A Source is somewhere that descriptors come from. Load may be called again
// to see whether they have changed; it is used concurrently.
type Source interface {
	Load(ctx context.Context) (*Set, error)
}

// SourceFunc adapts a function to [Source].
type SourceFunc func(ctx context.Context) (*Set, error)

// Load calls f.
func (f SourceFunc) Load(ctx context.Context) (*Set, error) { return f(ctx) }

// Set is an immutable snapshot of a source's services and of all files that
// they need.
//
// Its services, with their comments, are linked when it is made and go with
// it. What is needed longer comes from its [Types].
type Set struct {
	files    *protoregistry.Files
	types    *Types
	services []protoreflect.ServiceDescriptor
	version  string
	warnings []string
	// find asks where the set came from for the file that defines a symbol, and
	// those that it imports. It is nil where nobody can be asked. The set that it
	// returns is empty where there is none.
	find func(context.Context, protoreflect.FullName) (*Set, error)
}

// newSet returns the Set of the named services. Health and reflection services
// are left out. The digest is that of the files.
func newSet(files *protoregistry.Files, types *Types, digest []byte, names []string, warnings []string) (*Set, error) {
	s := &Set{files: files, types: types, warnings: warnings}
	h := sha256.New()
	h.Write(digest) // never fails
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if IsInfrastructure(name) {
			continue
		}
		d, err := files.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			return nil, fmt.Errorf("there is no service %s in the descriptors", name)
		}
		service, ok := d.(protoreflect.ServiceDescriptor)
		if !ok {
			return nil, fmt.Errorf("%s is no service", name)
		}
		s.services = append(s.services, service)
		fmt.Fprintln(h, name)
	}
	s.version = hex.EncodeToString(h.Sum(nil)[:16])
	return s, nil
}

func reach(into map[string]protoreflect.FileDescriptor, fd protoreflect.FileDescriptor) {
	if _, ok := into[fd.Path()]; ok || fd.IsPlaceholder() {
		return
	}
	into[fd.Path()] = fd
	for i := range fd.Imports().Len() {
		reach(into, fd.Imports().Get(i).FileDescriptor)
	}
}

// Services returns the services, sorted by name.
func (s *Set) Services() []protoreflect.ServiceDescriptor { return s.services }

// Message returns the message of that name with its comments, or nil.
func (s *Set) Message(name protoreflect.FullName) protoreflect.MessageDescriptor {
	message, _ := s.Type(name).(protoreflect.MessageDescriptor)
	return message
}

// Type returns the message or enum of that name with its comments, or nil.
func (s *Set) Type(name protoreflect.FullName) protoreflect.Descriptor {
	d, err := s.files.FindDescriptorByName(name)
	if err != nil {
		return nil
	}
	switch d.(type) {
	case protoreflect.MessageDescriptor, protoreflect.EnumDescriptor:
		return d
	}
	return nil
}

// Field returns the field of that name, or nil.
func (s *Set) Field(name protoreflect.FullName) protoreflect.FieldDescriptor {
	d, err := s.files.FindDescriptorByName(name)
	if err != nil {
		return nil
	}
	fd, _ := d.(protoreflect.FieldDescriptor)
	return fd
}

// Fields goes through the names of all fields, extensions included, in no order.
func (s *Set) Fields() iter.Seq[protoreflect.FullName] {
	return func(yield func(protoreflect.FullName) bool) {
		extensions := func(all protoreflect.ExtensionDescriptors) bool {
			for i := range all.Len() {
				if !yield(all.Get(i).FullName()) {
					return false
				}
			}
			return true
		}
		var messages func(protoreflect.MessageDescriptors) bool
		messages = func(all protoreflect.MessageDescriptors) bool {
			for i := range all.Len() {
				md := all.Get(i)
				for j := range md.Fields().Len() {
					if !yield(md.Fields().Get(j).FullName()) {
						return false
					}
				}
				if !extensions(md.Extensions()) || !messages(md.Messages()) {
					return false
				}
			}
			return true
		}
		s.files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
			return extensions(file.Extensions()) && messages(file.Messages())
		})
	}
}

// Types finds messages, extensions and methods of the set's files, without
// their comments.
func (s *Set) Types() *Types { return s.types }

// Version changes whenever a service, or a file, does.
func (s *Set) Version() string { return s.version }

// Warnings says which services could not be had, and why.
func (s *Set) Warnings() []string { return s.warnings }

// WithWarnings returns the set with further warnings.
func (s *Set) WithWarnings(warnings []string) *Set {
	out := *s
	out.warnings = slices.Concat(s.warnings, warnings)
	return &out
}

// Files returns a copy of the files, in the order of their paths.
func (s *Set) Files() *descriptorpb.FileDescriptorSet {
	out := &descriptorpb.FileDescriptorSet{}
	s.files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		out.File = append(out.File, protodesc.ToFileDescriptorProto(file))
		return true
	})
	slices.SortFunc(out.GetFile(), func(a, b *descriptorpb.FileDescriptorProto) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return out
}

// Select returns the services that match at least one of the globs, all of
// them where there are none. In a glob, * stands for any characters and ? for
// one; it is compared with the full name and with its last segment. A glob
// that matches nothing is an error.
func (s *Set) Select(globs []string) ([]protoreflect.ServiceDescriptor, error) {
	if len(s.services) == 0 {
		return nil, fmt.Errorf("the descriptors define no service, besides health and reflection%s", s.because())
	}
	if len(globs) == 0 {
		return s.services, nil
	}
	var (
		chosen    []protoreflect.ServiceDescriptor
		unmatched []string
	)
	for _, pattern := range globs {
		found := false
		for _, service := range s.services {
			if glob.Match(pattern, string(service.FullName())) || glob.Match(pattern, string(service.Name())) {
				found = true
				if !slices.Contains(chosen, service) {
					chosen = append(chosen, service)
				}
			}
		}
		if !found {
			unmatched = append(unmatched, fmt.Sprintf("%q", pattern))
		}
	}
	if unmatched != nil {
		names := make([]string, len(s.services))
		for i, service := range s.services {
			names[i] = string(service.FullName())
		}
		return nil, fmt.Errorf("no service matches %s; there are: %s%s", strings.Join(unmatched, ", "), strings.Join(names, ", "), s.because())
	}
	slices.SortFunc(chosen, func(a, b protoreflect.ServiceDescriptor) int { return cmp.Compare(a.FullName(), b.FullName()) })
	return chosen, nil
}

func (s *Set) because() string {
	if len(s.warnings) == 0 {
		return ""
	}
	return " (" + strings.Join(s.warnings, "; ") + ")"
}

// IsInfrastructure reports whether a service is one of those that every
// backend has and that no model should call: health and reflection.
func IsInfrastructure(name string) bool {
	switch name {
	case "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection":
		return true
	}
	return false
}
