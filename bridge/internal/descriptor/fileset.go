package descriptor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/pgv"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/wire"
	"github.com/mcp-bridge/mcp-bridge/internal/parallel"
)

// maxSetBytes bounds a descriptor set file, and what reflection may send.
const maxSetBytes = 256 << 20

// DescriptorSet returns a Source that reads a file with a serialised
// google.protobuf.FileDescriptorSet.
func DescriptorSet(path string) Source {
	return SourceFunc(func(context.Context) (*Set, error) {
		set, err := readSet(path)
		if err != nil {
			return nil, fmt.Errorf("descriptor set %s: %w", path, err)
		}
		s, err := load(set)
		if err != nil {
			return nil, fmt.Errorf("descriptor set %s: %w", path, err)
		}
		return s, nil
	})
}

func readSet(path string) ([]rawFile, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer func() { _ = file.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(file, maxSetBytes+1))
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	if len(data) > maxSetBytes {
		return nil, fmt.Errorf("it has more than %d bytes", maxSetBytes)
	}
	const howTo = "make one with `buf build -o api.binpb` or `protoc --include_imports --descriptor_set_out=api.binpb`"
	files, err := splitSet(data)
	if err != nil {
		trimmed := bytes.TrimSpace(data)
		switch {
		case bytes.HasPrefix(trimmed, []byte("{")):
			return nil, errors.New("this is JSON, and a binary FileDescriptorSet is wanted; " + howTo)
		case bytes.HasPrefix(trimmed, []byte("syntax")), bytes.HasPrefix(trimmed, []byte("//")), bytes.HasPrefix(trimmed, []byte("/*")), bytes.HasPrefix(trimmed, []byte("edition")):
			return nil, errors.New("this is .proto source; pass it as --proto")
		case bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
			return nil, errors.New("this is compressed by gzip; decompress it first")
		}
		return nil, errors.New("this is no binary FileDescriptorSet; " + howTo)
	}
	if len(files) == 0 {
		return nil, errors.New("it holds no files; " + howTo)
	}
	return files, nil
}

// splitSet returns the files of a serialised FileDescriptorSet.
func splitSet(set []byte) ([]rawFile, error) {
	const filesOfSet = 1 // the number of the field
	var files []rawFile
	err := wire.EachBytes(set, func(num protowire.Number, value []byte) error {
		if num == filesOfSet {
			files = append(files, rawFile{value, &descriptorpb.FileDescriptorProto{}})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(files))
	parallel.Each(len(files), func(i int) { errs[i] = proto.Unmarshal(files[i].raw, files[i].proto) })
	return files, errors.Join(errs...)
}

// FromFileDescriptorSet returns a Source of a FileDescriptorSet in memory,
// which must not be changed any more.
func FromFileDescriptorSet(set *descriptorpb.FileDescriptorSet) Source {
	return SourceFunc(func(context.Context) (*Set, error) { return FromFiles(set, nil) })
}

// FromFiles returns the named services of a FileDescriptorSet, or all where none
// is named. The FileDescriptorSet must not be changed any more.
func FromFiles(set *descriptorpb.FileDescriptorSet, services []string) (*Set, error) {
	files := make([]rawFile, len(set.GetFile()))
	for i, fd := range set.GetFile() {
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(fd)
		if err != nil {
			return nil, fmt.Errorf("descriptor set: %s: %w", fd.GetName(), err)
		}
		files[i] = rawFile{raw, fd}
	}
	s, err := load(files, services...)
	if err != nil {
		return nil, fmt.Errorf("descriptor set: %w", err)
	}
	return s, nil
}

// load links files and returns the named services, or all where none is named.
func load(files []rawFile, services ...string) (*Set, error) {
	l, err := link(files)
	if err != nil {
		if _, ok := errors.AsType[*MissingImportError](err); ok {
			err = fmt.Errorf("%w; include all imports: `buf build` does, and protoc with --include_imports", err)
		}
		return nil, err
	}
	names := slices.Clone(services)
	if len(names) == 0 {
		for _, file := range files {
			for _, service := range file.proto.GetService() {
				names = append(names, strings.TrimPrefix(file.proto.GetPackage()+"."+service.GetName(), "."))
			}
		}
	}
	if names == nil {
		return nil, errors.New("it defines no service")
	}
	return newSet(l.linked, l.types, l.digest(), names, nil)
}

// Linked returns a Source of services whose generated code is linked into the
// program.
func Linked(services ...string) Source {
	return SourceFunc(func(context.Context) (*Set, error) {
		if len(services) == 0 {
			return nil, errors.New("no service is named")
		}
		var (
			errs []error
			all  = make(map[string]protoreflect.FileDescriptor)
		)
		for _, name := range services {
			d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
			if err != nil {
				errs = append(errs, fmt.Errorf("no service %q is linked into this program%s; import its generated package", name, nearest(name)))
				continue
			}
			if _, ok := d.(protoreflect.ServiceDescriptor); !ok {
				errs = append(errs, fmt.Errorf("%s is no service", name))
				continue
			}
			reach(all, d.ParentFile())
		}
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		files := &protoregistry.Files{}
		for _, fd := range all {
			if pgv.Used(fd) {
				return relinked(all, services)
			}
			if err := files.RegisterFile(fd); err != nil {
				return nil, err
			}
		}
		// What is linked into a program does not change while it runs.
		return newSet(files, newTypes(files), nil, slices.Clone(services), nil)
	})
}

// relinked returns services of linked-in files with the rules that linking adds.
func relinked(files map[string]protoreflect.FileDescriptor, services []string) (*Set, error) {
	set := &descriptorpb.FileDescriptorSet{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		set.File = append(set.File, protodesc.ToFileDescriptorProto(files[name]))
	}
	return FromFiles(set, services)
}

// nearest names the linked-in services with the same last segment.
func nearest(name string) string {
	var found []string
	last := name[strings.LastIndexByte(name, '.')+1:]
	protoregistry.GlobalFiles.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		for i := range fd.Services().Len() {
			if s := fd.Services().Get(i); strings.EqualFold(string(s.Name()), last) {
				found = append(found, string(s.FullName()))
			}
		}
		return true
	})
	if found == nil {
		return ""
	}
	slices.Sort(found)
	return " (there is " + strings.Join(found, ", ") + ")"
}
