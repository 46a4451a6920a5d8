package descriptor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/reporter"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// ProtoSources returns a Source that compiles .proto files, and all .proto
// files below directories, besides hidden ones. Imports are looked for in
// importPaths; a directory that is in none of them is one itself, and so is
// the directory of a file. The well-known types, what is linked into the program,
// google/api, google/longrunning, google/rpc, google/type and the options of
// protovalidate, protoc-gen-validate and protoc-gen-openapiv2 need no path.
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
		name, err := nameOf(file, roots)
		if err != nil {
			errs = append(errs, err)
		}
		names = append(names, name)
	}
	if err := joined(errs); err != nil {
		return nil, nil, err
	}
	slices.Sort(names)
	return slices.Compact(names), roots, nil
}

// nameOf returns a file's path below the first root that it is in. Another
// file of that name, in an earlier root, would be compiled in its place.
func nameOf(file string, roots []string) (string, error) {
	at := slices.IndexFunc(roots, func(root string) bool { _, ok := below(root, file); return ok })
	if at < 0 {
		return "", fmt.Errorf("%s is in no import path", file)
	}
	name, _ := below(roots[at], file)
	info, err := os.Stat(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, errors.Unwrap(err))
	}
	for _, root := range roots[:at] {
		other := filepath.Join(root, filepath.FromSlash(name))
		if found, err := os.Stat(other); err == nil && !os.SameFile(info, found) {
			return "", fmt.Errorf("%s and %s are both imported as %q: name a directory above both by --proto-path", other, file, name)
		}
	}
	return name, nil
}

// below returns the path from dir to what is below it, or is dir itself.
func below(dir, path string) (string, bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", false
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// within reports whether dir is one of the roots or below one.
func within(dir string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { _, ok := below(root, dir); return ok })
}

func protosBelow(dir string) ([]string, error) {
	var files []string
	// Unlike filepath.WalkDir, this follows dir where it is a symbolic link.
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(p, ".proto"):
			return nil
		case len(files) == maxFiles:
			return fmt.Errorf("%s holds more than %d .proto files", dir, maxFiles)
		}
		files = append(files, filepath.Join(dir, filepath.FromSlash(p)))
		return nil
	})
	if err == nil && files == nil {
		err = fmt.Errorf("%s holds no .proto file", dir)
	}
	return files, err
}

func compile(ctx context.Context, names, roots []string) (*Set, error) {
	var (
		mu       sync.Mutex // compiling goes on for a moment after ctx is done
		problems []reporter.ErrorWithPos
	)
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(importResolver(roots)),
		SourceInfoMode: protocompile.SourceInfoStandard,
		Reporter: reporter.NewReporter(func(e reporter.ErrorWithPos) error {
			mu.Lock()
			defer mu.Unlock()
			problems = append(problems, e)
			if len(problems) >= maxProblems {
				return e
			}
			return nil
		}, nil),
	}
	compiled, err := compiler.Compile(ctx, names...)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		mu.Lock()
		defer mu.Unlock()
		if len(problems) == 0 {
			return nil, err
		}
		return nil, explain(problems)
	}
	var (
		protos   []rawFile
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
				file, err := plain(fd)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				protos = append(protos, file)
			}
		}
	}
	if services == nil {
		return nil, fmt.Errorf("%s define no service", strings.Join(names, ", "))
	}
	l, err := link(protos)
	if err != nil {
		return nil, err
	}
	return newSet(l.linked, l.types, l.digest(), services, nil)
}

// plain returns a file as if it had been read from a descriptor set: options
// that are linked into the program are of its types, and not of the compiler's.
func plain(fd protoreflect.FileDescriptor) (rawFile, error) {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(protodesc.ToFileDescriptorProto(fd))
	if err != nil {
		return rawFile{}, err
	}
	file := &descriptorpb.FileDescriptorProto{}
	return rawFile{raw, file}, proto.Unmarshal(raw, file)
}

// importResolver finds files below the roots, and after them those of the program,
// such as buf/validate/validate.proto and google/type/money.proto.
func importResolver(roots []string) protocompile.Resolver {
	sources := &protocompile.SourceResolver{ImportPaths: roots}
	return protocompile.ResolverFunc(func(name string) (protocompile.SearchResult, error) {
		found, err := sources.FindFileByPath(name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return found, err
		}
		if fd, err := program().FindFileByPath(name); err == nil {
			return protocompile.SearchResult{Desc: fd}, nil
		}
		return protocompile.SearchResult{}, fmt.Errorf("there is no %q in %s: name the directory that holds it by --proto-path", name, strings.Join(roots, ", "))
	})
}

// unsupportedEdition is how the compiler words it.
var unsupportedEdition = regexp.MustCompile(`edition "\d+" not yet fully supported`)

// explain makes one error of all problems, in the order of their positions.
func explain(problems []reporter.ErrorWithPos) error {
	slices.SortStableFunc(problems, func(a, b reporter.ErrorWithPos) int {
		p, q := a.GetPosition(), b.GetPosition()
		return cmp.Or(cmp.Compare(p.Filename, q.Filename), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Col, q.Col))
	})
	var (
		errs    []error
		edition bool
	)
	for _, p := range problems {
		errs = append(errs, p)
		edition = edition || unsupportedEdition.MatchString(p.Error())
	}
	if edition {
		errs = append(errs, errors.New("sources of that edition can be used all the same: compile them by `buf build -o api.binpb` and pass --descriptors api.binpb"))
	}
	return errors.Join(errs...)
}
