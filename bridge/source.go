package bridge

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// Source is where the descriptors of a backend's services come from. Implement
// it to fetch them from elsewhere, or wrap one to change what it has loaded.
type Source interface {
	// Load loads the descriptors. A [Bridge] calls it again to see whether they
	// have changed, and it is used concurrently.
	Load(ctx context.Context) (*Descriptors, error)
}

// SourceFunc adapts a function to [Source].
type SourceFunc func(ctx context.Context) (*Descriptors, error)

// Load calls f.
func (f SourceFunc) Load(ctx context.Context) (*Descriptors, error) { return f(ctx) }

// Descriptors are the services of a backend and all files that they need, linked.
// They are immutable and used concurrently.
type Descriptors struct{ set *descriptor.Set }

// NewDescriptors links files and returns the named services in them, or all
// services of the files where none is named. Files may come in any order; imports
// that are missing are taken from what is linked into the program. The files must
// not be changed afterwards.
func NewDescriptors(files *descriptorpb.FileDescriptorSet, services ...string) (*Descriptors, error) {
	set, err := descriptor.FromFiles(files, services)
	if err != nil {
		return nil, err
	}
	return &Descriptors{set}, nil
}

// WithWarnings returns the descriptors with further warnings.
func (d *Descriptors) WithWarnings(warnings ...string) *Descriptors {
	return &Descriptors{d.set.WithWarnings(warnings)}
}

// Files returns a copy of the files, with comments as far as the source has any.
func (d *Descriptors) Files() *descriptorpb.FileDescriptorSet { return d.set.Files() }

// Services returns the full names of the services, sorted.
func (d *Descriptors) Services() []string {
	services := d.set.Services()
	names := make([]string, len(services))
	for i, s := range services {
		names[i] = string(s.FullName())
	}
	return names
}

// Warnings says which services could not be had, and why.
func (d *Descriptors) Warnings() []string { return slices.Clone(d.set.Warnings()) }

// Reflection returns a Source that asks a backend by server reflection, v1 or
// v1alpha.
func Reflection(c rpc.Caller) Source { return builtIn{descriptor.Reflection(c)} }

// DescriptorSetFile returns a Source that reads a file with a serialised
// google.protobuf.FileDescriptorSet, as `buf build -o api.binpb` makes it.
func DescriptorSetFile(path string) Source { return builtIn{descriptor.DescriptorSet(path)} }

// DescriptorSet returns a Source of a FileDescriptorSet in memory, as
// [NewDescriptors] links it.
func DescriptorSet(set *descriptorpb.FileDescriptorSet) Source {
	return builtIn{descriptor.FromFileDescriptorSet(set)}
}

// ProtoFiles returns a Source that compiles .proto files and directories of
// them, and so has their comments. Imports are looked for in importPaths, and
// where there are none, in the directories.
func ProtoFiles(paths, importPaths []string) Source {
	return builtIn{descriptor.ProtoSources(paths, importPaths)}
}

// Commented returns a Source of what another one loads, with comments from files,
// which reflection and generated code leave out: descriptor sets with source info, as
// `buf build -o api.binpb` makes them, .proto files and directories of .proto files.
// They are read each time. A comment belongs to whatever has the same full name, and
// takes the place of one that the source has. The files need not be complete. If they
// say nothing about the API, there is a warning.
func Commented(source Source, paths ...string) Source {
	return builtIn{descriptor.Commented(sets(source), paths)}
}

// CheckComments returns what keeps [Commented] from reading files, or nil.
func CheckComments(paths ...string) error { return descriptor.CheckComments(paths) }

// Linked returns a Source of services whose generated code is linked into the
// program. Generated code carries no comments.
func Linked(services ...string) Source { return builtIn{descriptor.Linked(services...)} }

// builtIn is a Source of this module.
type builtIn struct{ source descriptor.Source }

// Load loads the descriptors.
func (s builtIn) Load(ctx context.Context) (*Descriptors, error) {
	set, err := s.source.Load(ctx)
	if err != nil {
		return nil, err
	}
	return &Descriptors{set}, nil
}

// sets is any Source as the engine asks it.
func sets(s Source) descriptor.Source {
	return descriptor.SourceFunc(func(ctx context.Context) (*descriptor.Set, error) {
		d, err := s.Load(ctx)
		switch {
		case err != nil:
			return nil, err
		case d == nil || d.set == nil:
			return nil, errors.New("the source of descriptors returned none: NewDescriptors makes them")
		}
		return d.set, nil
	})
}
