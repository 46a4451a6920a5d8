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
// the only one that there is below the directory. That may be the root of the
// .proto files, or one of those below it. The file itself will do too.
func Read(ctx context.Context, name string, opts Options) (*Written, error) {
	if info, err := os.Stat(opts.Dir); err == nil && !info.IsDir() {
		opts.Dir = filepath.Dir(opts.Dir)
	}
	found, err := find(ctx, name, opts)
	if several, ok := errors.AsType[*severalError](err); ok {
		return nil, fmt.Errorf("%w; give the directory of the one that is meant, such as %s", err, filepath.Dir(several.paths[0]))
	}
	if err != nil {
		return nil, err
	}
	if found.lock == nil {
		locks, err := findLocks(filepath.Join(opts.Dir, packagePath(opts.Package)), "")
		switch {
		case err != nil:
			return nil, err
		case len(locks) > 1:
			return nil, fmt.Errorf("none of the exports below %s is called %s, as the server is: %s; give the directory of the one that is meant, such as %s",
				opts.Dir, name, strings.Join(locks, ", "), filepath.Dir(locks[0]))
		case len(locks) == 1:
			if found, err = open(ctx, locks[0], opts.Dir); err != nil {
				return nil, err
			}
		default:
			if found, err = findOnly(ctx, opts); err != nil {
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

// packagePath returns the directory of a package below the root.
func packagePath(pkg string) string {
	return filepath.FromSlash(strings.ReplaceAll(pkg, ".", "/"))
}

// severalError says that a server has several exports.
type severalError struct{ paths []string }

func (e *severalError) Error() string {
	return "there are several exports of this server: " + strings.Join(e.paths, ", ")
}

// findOnly reads the only .proto file of an export below a directory, where all
// locks are lost.
func findOnly(ctx context.Context, opts Options) (earlier, error) {
	protos, err := findProtos(opts.Dir, "")
	if err != nil || len(protos) != 1 {
		return earlier{}, err
	}
	return reopen(ctx, protos[0], opts.Dir)
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
	// path is that of the lock, if there is one, and root the directory that
	// its package is below.
	path, root string
	lock       *typed.Lock
	file       protoreflect.FileDescriptor
	recovered  bool
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
	if len(protos) != 1 {
		return earlier{}, nil
	}
	return reopen(ctx, protos[0], opts.Dir)
}

// reopen reads a .proto file without a lock, if there is one.
func reopen(ctx context.Context, path, dir string) (before earlier, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return before, nil
	}
	if before.file, err = compile(ctx, path, dir); err != nil {
		return earlier{}, err
	}
	before.recovered = true
	before.lock, err = typed.RecoverLock(before.file)
	return before, err
}

// open reads a lock and the .proto file beside it, if there is one. The directory
// is where it was looked for.
func open(ctx context.Context, lock, dir string) (earlier, error) {
	text, err := os.ReadFile(lock)
	if err != nil {
		return earlier{}, fmt.Errorf("read the lock: %w", err)
	}
	before := earlier{path: lock}
	if before.lock, err = typed.ParseLock(text); err != nil {
		return earlier{}, fmt.Errorf("%s: %w", lock, err)
	}
	if before.root, err = rootOf(lock, before.lock.Package, dir); err != nil {
		return earlier{}, err
	}
	path := strings.TrimSuffix(lock, lockSuffix) + ".proto"
	if before.root != dir {
		path = filepath.Join(before.root, packagePath(before.lock.Package), filepath.Base(path))
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) { //nolint:gosec // a lock's package is a name
		return before, nil
	}
	before.file, err = compile(ctx, path, before.root)
	return before, err
}

// rootOf returns the root of the .proto files of which one is beside a lock: the
// directory that was asked for, or another where the lock is in one that is
// called as its package is.
func rootOf(lock, pkg, dir string) (string, error) {
	path, err := filepath.Abs(filepath.Dir(lock))
	if err != nil {
		return "", fmt.Errorf("%s: %w", lock, err)
	}
	asked, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("%s: %w", dir, err)
	}
	root, ok := strings.CutSuffix(path, string(filepath.Separator)+packagePath(pkg))
	if !ok || root == asked {
		return dir, nil
	}
	return root + string(filepath.Separator), nil
}

// candidates returns the paths of the locks and .proto files of a server, those
// of the package where that is given.
func candidates(name string, opts Options) (locks, protos []string, err error) {
	if opts.Package != "" {
		base := filepath.Join(opts.Dir, packagePath(opts.Package), name)
		if _, err := os.Stat(base + lockSuffix); err == nil {
			locks = []string{base + lockSuffix}
		}
		return locks, []string{base + ".proto"}, nil
	}
	if locks, err = findLocks(opts.Dir, name); err != nil {
		return nil, nil, err
	}
	if len(locks) > 1 {
		return nil, nil, &severalError{locks}
	}
	if len(locks) == 0 {
		protos, err = findProtos(opts.Dir, name)
	}
	if len(protos) > 1 {
		return nil, nil, &severalError{protos}
	}
	return locks, protos, err
}

// findLocks returns the paths of the locks of a server, or of all servers where
// the name is empty.
func findLocks(dir, name string) (locks []string, err error) {
	err = walk(dir, func(path, base string) error {
		if base == name+lockSuffix || name == "" && strings.HasSuffix(base, lockSuffix) {
			locks = append(locks, path)
		}
		return nil
	})
	return locks, err
}

// findProtos returns the paths of the .proto files of exports of a server, or of
// all servers where the name is empty.
func findProtos(dir, name string) (protos []string, err error) {
	err = walk(dir, func(path, base string) error {
		if base != name+".proto" && (name != "" || !strings.HasSuffix(base, ".proto")) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && typed.IsWritten(text) {
			protos = append(protos, path)
		}
		return err
	})
	return protos, err
}

// walk visits the files below a directory, if there is one.
func walk(dir string, visit func(path, base string) error) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != dir, d.IsDir() && d.Name() == "node_modules":
			return fs.SkipDir
		case d.IsDir():
			return nil
		default:
			return visit(path, d.Name())
		}
	})
	if err != nil {
		return fmt.Errorf("look for earlier exports: %w", err)
	}
	return nil
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
