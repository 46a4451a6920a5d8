package descriptor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/reporter"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// maxProblems bounds the compile errors that are reported at once.
const maxProblems = 20

// ProtoSources returns a Source that compiles .proto files, and all .proto
// files below directories. Imports are looked for in importPaths; a directory
// that is in none of them is one itself, and so is the directory of a file.
// The well-known types, and what is linked into the program, need no path.
func ProtoSources(paths, importPaths []string) Source {
	return SourceFunc(func(ctx context.Context) (*Set, error) {
		names, roots, err := collect(paths, importPaths)
		if err != nil {
			return nil, err
		}
		return compile(ctx, names, roots)
	})
}

// collect returns the files to compile, by their names relative to one of the
// import roots that it returns too.
func collect(paths, importPaths []string) (names, roots []string, err error) {
	if len(paths) == 0 {
		return nil, nil, errors.New("no .proto file or directory is named")
	}
	var (
		files []string
		errs  []error
	)
	roots = slices.Clone(importPaths)
	for _, root := range importPaths {
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			errs = append(errs, fmt.Errorf("import path %s is no directory", root))
		}
	}
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", p, errors.Unwrap(err)))
			continue
		}
		dir := p
		if info.IsDir() {
			below, err := protosBelow(p)
			if err != nil {
				errs = append(errs, err)
			}
			files = append(files, below...)
		} else {
			files = append(files, p)
			dir = filepath.Dir(p)
		}
		if !within(dir, roots) {
			roots = append(roots, dir)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		for _, root := range roots {
			rel, err := filepath.Rel(root, file)
			if err == nil && filepath.IsLocal(rel) {
				names = append(names, filepath.ToSlash(rel))
				break
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), roots, nil
}

// within reports whether dir is one of the roots or below one.
func within(dir string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		rel, err := filepath.Rel(root, dir)
		return err == nil && filepath.IsLocal(rel)
	})
}

func protosBelow(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() && strings.HasSuffix(p, ".proto") {
			files = append(files, p)
		}
		if len(files) > maxFiles {
			return fmt.Errorf("%s holds more than %d .proto files", dir, maxFiles)
		}
		return nil
	})
	if err == nil && files == nil {
		err = fmt.Errorf("%s holds no .proto file", dir)
	}
	return files, err
}

func compile(ctx context.Context, names, roots []string) (*Set, error) {
	var problems []error
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(importResolver(roots)),
		SourceInfoMode: protocompile.SourceInfoStandard,
		Reporter: reporter.NewReporter(func(e reporter.ErrorWithPos) error {
			problems = append(problems, e)
			if len(problems) >= maxProblems {
				return e
			}
			return nil
		}, nil),
	}
	compiled, err := compiler.Compile(ctx, names...)
	if err != nil {
		if len(problems) == 0 {
			problems = []error{err}
		}
		return nil, explain(problems)
	}
	var (
		protos   []*descriptorpb.FileDescriptorProto
		services []string
	)
	seen := make(map[string]bool)
	for _, file := range compiled {
		for i := range file.Services().Len() {
			services = append(services, string(file.Services().Get(i).FullName()))
		}
		all := make(map[string]protoreflect.FileDescriptor)
		reach(all, file)
		for name, fd := range all {
			if !seen[name] {
				seen[name] = true
				protos = append(protos, protodesc.ToFileDescriptorProto(fd))
			}
		}
	}
	if services == nil {
		return nil, fmt.Errorf("%s define no service", strings.Join(names, ", "))
	}
	files, err := link(protos)
	if err != nil {
		return nil, err
	}
	return newSet(files, services, nil)
}

// importResolver finds files below the roots, and after them what is linked
// into the program, such as buf/validate/validate.proto.
func importResolver(roots []string) protocompile.Resolver {
	sources := &protocompile.SourceResolver{ImportPaths: roots}
	return protocompile.ResolverFunc(func(name string) (protocompile.SearchResult, error) {
		found, err := sources.FindFileByPath(name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return found, err
		}
		if fd, err := protoregistry.GlobalFiles.FindFileByPath(name); err == nil {
			return protocompile.SearchResult{Desc: fd}, nil
		}
		return protocompile.SearchResult{}, fmt.Errorf("there is no %q in %s: name the directory that holds it by --proto-path", name, strings.Join(roots, ", "))
	})
}

// unsupportedEdition is how the compiler words it.
var unsupportedEdition = regexp.MustCompile(`edition "\d+" not yet fully supported`)

// explain makes one error of all problems.
func explain(problems []error) error {
	for _, p := range problems {
		if unsupportedEdition.MatchString(p.Error()) {
			problems = append(problems, errors.New("sources of that edition can be used all the same: compile them by `buf build -o api.binpb` and pass --descriptors api.binpb"))
			break
		}
	}
	return errors.Join(problems...)
}
