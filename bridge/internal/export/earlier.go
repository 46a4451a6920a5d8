package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typed"
)

// Written is an export as it is below a directory.
type Written struct {
	// Path is that of the .proto file below the directory.
	Path string
	// File is the .proto file, with the imports that are linked into this
	// program.
	File protoreflect.FileDescriptor
	// Lock is the one beside it, or what can be made anew of the file.
	Lock *typed.Lock
}

// Read reads the export of a server: the one that is called after it, or else
// the only one that there is below the directory.
func Read(ctx context.Context, name string, opts Options) (*Written, error) {
	found, err := find(ctx, name, opts)
	if err != nil {
		return nil, err
	}
	if found.lock == nil && opts.Package == "" {
		locks, err := findLocks(opts.Dir, "")
		switch {
		case err != nil:
			return nil, err
		case len(locks) > 1:
			return nil, fmt.Errorf("none of the exports below %s is called %s, as the server is: %s; say with the package which one is meant", opts.Dir, name, strings.Join(locks, ", "))
		case len(locks) == 1:
			if found, err = open(ctx, locks[0], opts.Dir); err != nil {
				return nil, err
			}
		}
	}
	if found.lock == nil {
		return nil, fmt.Errorf("there is no export of the server below %s; write one first", opts.Dir)
	}
	if found.file == nil {
		return nil, fmt.Errorf("the .proto file of package %s is missing below %s; export again", found.lock.Package, opts.Dir)
	}
	return found.link()
}

// link links the file with the imports of this program: what other services
// that are served beside it have the same of.
func (e *earlier) link() (*Written, error) {
	wire, err := proto.Marshal(protodesc.ToFileDescriptorProto(e.file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.file.Path(), err)
	}
	file := &descriptorpb.FileDescriptorProto{}
	if err := proto.Unmarshal(wire, file); err != nil {
		return nil, fmt.Errorf("%s: %w", e.file.Path(), err)
	}
	fd, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.file.Path(), err)
	}
	return &Written{Path: fd.Path(), File: fd, Lock: e.lock}, nil
}

// earlier is what an earlier export has left.
type earlier struct {
	lock      *typed.Lock
	file      protoreflect.FileDescriptor
	recovered bool
}

// find looks for an earlier export of a server.
func find(ctx context.Context, name string, opts Options) (earlier, error) {
	locks, protos, err := candidates(name, opts)
	if err != nil {
		return earlier{}, err
	}
	if len(locks) == 1 {
		return open(ctx, locks[0], opts.Dir)
	}
	var before earlier
	if len(protos) != 1 {
		return before, nil
	}
	if _, err := os.Stat(protos[0]); errors.Is(err, fs.ErrNotExist) {
		return before, nil
	}
	if before.file, err = compile(ctx, protos[0], opts.Dir); err != nil {
		return earlier{}, err
	}
	before.recovered = true
	before.lock, err = typed.RecoverLock(before.file)
	return before, err
}

// open reads a lock and the .proto file beside it, if there is one.
func open(ctx context.Context, lock, dir string) (earlier, error) {
	text, err := os.ReadFile(lock)
	if err != nil {
		return earlier{}, fmt.Errorf("read the lock: %w", err)
	}
	var before earlier
	if before.lock, err = typed.ParseLock(text); err != nil {
		return earlier{}, fmt.Errorf("%s: %w", lock, err)
	}
	path := strings.TrimSuffix(lock, lockSuffix) + ".proto"
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return before, nil
	}
	before.file, err = compile(ctx, path, dir)
	return before, err
}

// candidates returns the paths of the locks and .proto files of a server, those
// of the package where that is given.
func candidates(name string, opts Options) (locks, protos []string, err error) {
	if opts.Package != "" {
		base := filepath.Join(opts.Dir, filepath.FromSlash(strings.ReplaceAll(opts.Package, ".", "/")), name)
		if _, err := os.Stat(base + lockSuffix); err == nil {
			locks = []string{base + lockSuffix}
		}
		return locks, []string{base + ".proto"}, nil
	}
	if locks, err = findLocks(opts.Dir, name); err != nil {
		return nil, nil, err
	}
	if len(locks) > 1 {
		return nil, nil, fmt.Errorf("there are several exports of this server: %s; say with the package which one is meant", strings.Join(locks, ", "))
	}
	path := filepath.Join(opts.Dir, "mcp", "gen", name, "v1", name+".proto")
	return locks, []string{path}, nil
}

// findLocks returns the paths of the locks of a server, or of all servers where
// the name is empty.
func findLocks(dir, name string) (locks []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != dir, d.IsDir() && d.Name() == "node_modules":
			return fs.SkipDir
		case d.Name() == name+lockSuffix, name == "" && strings.HasSuffix(d.Name(), lockSuffix):
			locks = append(locks, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for earlier exports: %w", err)
	}
	return locks, nil
}

// compile compiles a .proto file of an earlier export.
func compile(ctx context.Context, path, dir string) (protoreflect.FileDescriptor, error) {
	set, err := descriptor.ProtoSources([]string{path}, []string{dir}).Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("the earlier export: %w", err)
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return nil, fmt.Errorf("the earlier export: %w", err)
	}
	var found protoreflect.FileDescriptor
	set.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		if fd.Path() == filepath.ToSlash(rel) {
			found = fd
		}
		return found == nil
	})
	if found == nil {
		return nil, fmt.Errorf("the earlier export %s does not compile", path)
	}
	return found, nil
}
