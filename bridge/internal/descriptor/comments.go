package descriptor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile/parser"
	"github.com/bufbuild/protocompile/reporter"
	"github.com/bufbuild/protocompile/sourceinfo"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Commented returns a Source of what another one loads, with comments from files:
// descriptor sets with source info, .proto files, and directories of .proto files.
// They are read each time. A comment belongs to whatever has the same full name; it
// takes the place of one that the source has. The files need neither be complete nor
// define all of the API. If they say nothing about it, the set has a warning.
func Commented(source Source, paths []string) Source {
	return SourceFunc(func(ctx context.Context) (*Set, error) {
		set, err := source.Load(ctx)
		if err != nil {
			return nil, err
		}
		comments, err := readComments(paths)
		if err != nil {
			return nil, err
		}
		return set.withComments(comments, paths)
	})
}

// CheckComments returns what keeps [Commented] from reading files, or nil.
func CheckComments(paths []string) error {
	_, err := readComments(paths)
	return err
}

// comment is what a file says of one declaration.
type comment struct{ leading, trailing string }

// readComments returns the comments in files, by the full names of what they are
// about.
func readComments(paths []string) (map[string]comment, error) {
	if len(paths) == 0 {
		return nil, errors.New("comments: no file is named")
	}
	comments := make(map[string]comment)
	var errs []error
	for _, path := range paths {
		if err := addComments(comments, path); err != nil {
			errs = append(errs, err)
		}
	}
	if err := joined(errs); err != nil {
		return nil, fmt.Errorf("comments: %w", err)
	}
	return comments, nil
}

func addComments(to map[string]comment, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, errors.Unwrap(err))
	}
	sources := []string{path}
	switch {
	case info.IsDir():
		if sources, err = protosBelow(path); err != nil {
			return err
		}
	case filepath.Ext(path) != ".proto":
		files, err := readSet(path)
		if err != nil {
			return fmt.Errorf("descriptor set %s: %w", path, err)
		}
		for _, file := range files {
			collectComments(to, file.proto)
		}
		return nil
	}
	var errs []error
	for _, source := range sources {
		fd, err := parse(source)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		collectComments(to, fd)
	}
	return joined(errs)
}

// parse reads one .proto file with its comments, without what it imports.
func parse(path string) (*descriptorpb.FileDescriptorProto, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, errors.Unwrap(err))
	}
	handler := reporter.NewHandler(nil)
	file, err := parser.Parse(path, bytes.NewReader(data), handler)
	if err != nil {
		return nil, err
	}
	result, err := parser.ResultFromAST(file, false, handler)
	if err != nil {
		return nil, err
	}
	fd := result.FileDescriptorProto()
	fd.SourceCodeInfo = sourceinfo.GenerateSourceInfo(file, nil)
	return fd, nil
}

// collectComments adds the comments of a file. What two files say of one thing is
// what the first says.
func collectComments(to map[string]comment, fd *descriptorpb.FileDescriptorProto) {
	located := make(map[string]comment)
	for _, l := range fd.GetSourceCodeInfo().GetLocation() {
		if c := (comment{l.GetLeadingComments(), l.GetTrailingComments()}); strings.TrimSpace(c.leading+c.trailing) != "" {
			located[key(l.GetPath())] = c
		}
	}
	if len(located) == 0 {
		return
	}
	eachDeclaration(fd, func(name string, path []int32) {
		if c, ok := located[key(path)]; ok {
			if _, told := to[name]; !told {
				to[name] = c
			}
		}
	})
}

// withComments returns the set with comments, which are from paths.
func (s *Set) withComments(comments map[string]comment, paths []string) (*Set, error) {
	var (
		files []rawFile
		used  bool
		fault error
	)
	s.files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		fd := protodesc.ToFileDescriptorProto(file)
		used = annotate(fd, comments) || used
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(fd)
		if err != nil {
			fault = fmt.Errorf("comments of %s: %w", fd.GetName(), err)
			return false
		}
		files = append(files, rawFile{raw, fd})
		return true
	})
	if fault != nil {
		return nil, fault
	}
	if !used {
		return s.WithWarnings([]string{"there are no comments about this API in " + strings.Join(paths, ", ")}), nil
	}
	out, err := s.linkAgain(files)
	if err != nil {
		return nil, fmt.Errorf("with comments: %w", err)
	}
	return out, nil
}

// annotate puts comments at what they are about, and reports whether there are some.
func annotate(fd *descriptorpb.FileDescriptorProto, comments map[string]comment) bool {
	var added []*descriptorpb.SourceCodeInfo_Location
	paths := make(map[string]bool)
	eachDeclaration(fd, func(name string, path []int32) {
		if c, ok := comments[name]; ok {
			added = append(added, &descriptorpb.SourceCodeInfo_Location{
				Path: slices.Clone(path), Span: []int32{0, 0, 0}, LeadingComments: &c.leading, TrailingComments: &c.trailing,
			})
			paths[key(path)] = true
		}
	})
	if added == nil {
		return false
	}
	kept := slices.DeleteFunc(fd.GetSourceCodeInfo().GetLocation(), func(l *descriptorpb.SourceCodeInfo_Location) bool { return paths[key(l.GetPath())] })
	fd.SourceCodeInfo = &descriptorpb.SourceCodeInfo{Location: append(kept, added...)}
	return true
}

// eachDeclaration calls visit for everything with a name that a file declares, with
// its full name and its path in the file's descriptor, which is valid during the
// call.
func eachDeclaration(fd *descriptorpb.FileDescriptorProto, visit func(name string, path []int32)) {
	full := func(scope, name string) string { return strings.TrimPrefix(scope+"."+name, ".") }
	fields := func(scope string, fields []*descriptorpb.FieldDescriptorProto, path []int32) {
		for i, f := range fields {
			visit(full(scope, f.GetName()), append(path, int32(i)))
		}
	}
	enums := func(scope string, enums []*descriptorpb.EnumDescriptorProto, path []int32) {
		for i, e := range enums {
			path := append(slices.Clip(path), int32(i))
			visit(full(scope, e.GetName()), path)
			for j, v := range e.GetValue() { // which are named beside their enum
				visit(full(scope, v.GetName()), append(slices.Clip(path), valuesOfEnum, int32(j)))
			}
		}
	}
	var messages func(scope string, messages []*descriptorpb.DescriptorProto, path []int32)
	messages = func(scope string, list []*descriptorpb.DescriptorProto, path []int32) {
		for i, m := range list {
			name, path := full(scope, m.GetName()), slices.Clip(append(slices.Clip(path), int32(i)))
			visit(name, path)
			fields(name, m.GetField(), append(path, fieldsOfMessage))
			fields(name, m.GetExtension(), append(path, extensionsOfMessage))
			enums(name, m.GetEnumType(), append(path, enumsOfMessage))
			for j, o := range m.GetOneofDecl() {
				visit(full(name, o.GetName()), append(path, oneofsOfMessage, int32(j)))
			}
			messages(name, m.GetNestedType(), append(path, messagesOfMessage))
		}
	}
	pkg := fd.GetPackage()
	messages(pkg, fd.GetMessageType(), []int32{messagesOfFile})
	enums(pkg, fd.GetEnumType(), []int32{enumsOfFile})
	fields(pkg, fd.GetExtension(), []int32{extensionsOfFile})
	for i, service := range fd.GetService() {
		name, path := full(pkg, service.GetName()), []int32{servicesOfFile, int32(i)}
		visit(name, path)
		for j, m := range service.GetMethod() {
			visit(full(name, m.GetName()), append(slices.Clip(path), methodsOfService, int32(j)))
		}
	}
}
