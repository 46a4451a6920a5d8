package descriptor

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/pgv"
)

const (
	// maxFiles bounds the files of one source.
	maxFiles = 20_000
	// maxProblems bounds the errors that are reported at once.
	maxProblems = 20
	// maxNesting bounds the segments of a package's name and of a message's.
	// protoc allows 32 levels of messages.
	maxNesting = 100
	// maxPublicImports bounds the ways along public imports from all files.
	// Linking follows each of them, and there are 2^n in n layers of two files.
	maxPublicImports = 10_000_000
)

// linker links files that came in any order. It adds files that are missing
// from what is linked into the program, and it mends imports of files that go
// by another name: a server may register a file under one path and import it
// under another.
type linker struct {
	protos map[string]*descriptorpb.FileDescriptorProto
	// raw has the files as they came.
	raw map[string][]byte
	// defines says which file defines a top-level symbol.
	defines map[string]string
	// shorter has the files whose paths end in a path, see [linker.addPath].
	shorter map[string][]string
	linked  *protoregistry.Files
	// types gets what has been linked.
	types *Types
	// begun has the files that are linked or being linked, via the latter.
	begun map[string]bool
	via   []string
	// failed says why files cannot be linked: for an error of their own, or
	// of a file that they import. causes has each of these errors once.
	failed map[string]error
	causes []error
	// public counts the ways along public imports from a file, publicSum those
	// that have been followed.
	public    map[string]int
	publicSum int
}

// rawFile is a serialised file descriptor, and what it says.
type rawFile struct {
	raw   []byte
	proto *descriptorpb.FileDescriptorProto
}

// link links all files, and adds those of the program that they import.
func link(files []rawFile) (*linker, error) {
	l := linkEach(files)
	return l, joined(l.causes)
}

// linkEach links those files that can be.
func linkEach(files []rawFile) *linker {
	l := &linker{
		protos:  make(map[string]*descriptorpb.FileDescriptorProto, len(files)),
		raw:     make(map[string][]byte, len(files)),
		defines: make(map[string]string),
		shorter: make(map[string][]string),
		linked:  &protoregistry.Files{},
		types:   newTypes(&protoregistry.Files{}),
		begun:   make(map[string]bool, len(files)),
		failed:  make(map[string]error),
		public:  make(map[string]int),
	}
	if len(files) > maxFiles {
		l.causes = []error{fmt.Errorf("there are %d files, and at most %d are read", len(files), maxFiles)}
		return l
	}
	for _, file := range files {
		if err := l.add(file); err != nil {
			l.failed[file.proto.GetName()] = l.blame(err)
		}
	}
	for _, name := range sortedNames(l.protos) {
		_ = l.link(name) // blamed already
	}
	l.addImported()
	return l
}

// blame notes an error that is not the consequence of another.
func (l *linker) blame(err error) error {
	l.causes = append(l.causes, err)
	return err
}

// joined returns one error of all, of which it tells the first ones.
func joined(errs []error) error {
	if n := len(errs) - maxProblems; n > 0 {
		errs = append(slices.Clone(errs[:maxProblems]), fmt.Errorf("and %d more problems", n))
	}
	return errors.Join(errs...)
}

// addImported registers the files of the program that were imported, so that
// the registry is complete by itself. One that defines what there is already
// is not missed.
func (l *linker) addImported() {
	all := make(map[string]protoreflect.FileDescriptor)
	l.linked.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		reach(all, fd)
		return true
	})
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if _, err := l.linked.FindFileByPath(name); err == nil {
			continue
		}
		if l.linked.RegisterFile(all[name]) == nil {
			_ = l.types.linked.RegisterFile(all[name]) // there is less in the way
		}
	}
}

func sortedNames(m map[string]*descriptorpb.FileDescriptorProto) []string {
	return slices.Sorted(maps.Keys(m))
}

// digest is a hash over all files.
func (l *linker) digest() []byte {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(l.raw)) {
		fmt.Fprintln(h, name, len(l.raw[name]))
		h.Write(l.raw[name]) // never fails
	}
	return h.Sum(nil)
}

func (l *linker) add(file rawFile) error {
	fd := file.proto
	name := fd.GetName()
	if name == "" {
		return errors.New("a file descriptor has no name")
	}
	if old, ok := l.protos[name]; ok {
		if sameFile(old, fd) {
			return nil
		}
		return fmt.Errorf("there are two different files %s", name)
	}
	if err := check(fd); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	l.protos[name], l.raw[name] = fd, file.raw
	l.addPath(name)
	for _, symbol := range symbols(fd) {
		if other, ok := l.defines[symbol]; !ok || name < other {
			l.defines[symbol] = name
		}
	}
	return nil
}

// check refuses what protobuf-go does not withstand.
func check(fd *descriptorpb.FileDescriptorProto) error {
	if fd.GetSyntax() == "editions" {
		// Under some paths, protobuf-go would end the program for an edition
		// that it does not know.
		probe := &descriptorpb.FileDescriptorProto{Name: new("edition.proto"), Syntax: fd.Syntax, Edition: fd.Edition}
		if _, err := protodesc.NewFile(probe, nil); err != nil {
			return fmt.Errorf("edition %s is not supported", strings.TrimPrefix(fd.GetEdition().String(), "EDITION_"))
		}
	}
	depth := strings.Count(fd.GetPackage(), ".") + 1
	if depth > maxNesting || !shallow(fd.GetMessageType(), maxNesting-depth) {
		return fmt.Errorf("its messages are nested more than %d levels deep", maxNesting)
	}
	return nil
}

// shallow reports whether messages are nested no more than so many levels deep.
func shallow(messages []*descriptorpb.DescriptorProto, levels int) bool {
	if levels <= 0 {
		return len(messages) == 0
	}
	return !slices.ContainsFunc(messages, func(m *descriptorpb.DescriptorProto) bool {
		return !shallow(m.GetNestedType(), levels-1)
	})
}

func sameFile(a, b *descriptorpb.FileDescriptorProto) bool {
	opts := proto.MarshalOptions{Deterministic: true}
	ab, aerr := opts.Marshal(a)
	bb, berr := opts.Marshal(b)
	return aerr == nil && berr == nil && bytes.Equal(ab, bb)
}

// symbols returns the full names of the top-level messages and enums of a file.
func symbols(fd *descriptorpb.FileDescriptorProto) []string {
	var names []string
	add := func(name string) {
		if p := fd.GetPackage(); p != "" {
			name = p + "." + name
		}
		names = append(names, name)
	}
	for _, m := range fd.GetMessageType() {
		add(m.GetName())
	}
	for _, e := range fd.GetEnumType() {
		add(e.GetName())
	}
	return names
}

// link links a file after all files it imports.
func (l *linker) link(name string) error {
	if err := l.failed[name]; err != nil {
		return err
	}
	if l.begun[name] {
		if i := slices.Index(l.via, name); i >= 0 {
			return l.blame(fmt.Errorf("files import each other: %s -> %s", strings.Join(l.via[i:], " -> "), name))
		}
		return nil
	}
	l.begun[name] = true
	l.via = append(l.via, name)
	err := l.linkFile(l.protos[name])
	l.via = l.via[:len(l.via)-1]
	if err != nil {
		l.failed[name] = err
	}
	return err
}

func (l *linker) linkFile(fd *descriptorpb.FileDescriptorProto) error {
	name := fd.GetName()
	original := fd
	fd, missing := l.relink(pgv.Convert(fd))
	if err := l.linkImports(fd); err != nil {
		return err
	}
	if !l.affordable(fd) {
		return l.blame(fmt.Errorf("%s: public imports lead from file to file in too many ways", name))
	}
	file, err := protodesc.NewFile(fd, resolver(l.linked))
	if err != nil && len(missing) > 0 {
		if more := l.withUsed(fd); more != nil {
			if err := l.linkImports(more); err != nil {
				return err
			}
			if linked, again := protodesc.NewFile(more, resolver(l.linked)); again == nil {
				fd, file, err = more, linked, nil
			}
		}
	}
	if err != nil {
		if len(missing) > 0 {
			if _, lenient := (protodesc.FileOptions{AllowUnresolvable: true}).New(fd, resolver(l.linked)); lenient == nil {
				return l.blame(&MissingImportError{File: name, Imports: missing})
			}
		}
		return l.blame(fmt.Errorf("%s: %w", name, err))
	}
	if err := l.linked.RegisterFile(file); err != nil {
		if other, symbol, ok := l.conflict(file); ok {
			err = fmt.Errorf("%s defines %s too", other, symbol)
		}
		return l.blame(fmt.Errorf("%s: %w", name, err))
	}
	raw := withoutComments(l.raw[name])
	if fd != original {
		if raw, err = proto.Marshal(fd); err != nil {
			return l.blame(fmt.Errorf("%s: %w", name, err))
		}
		raw = withoutComments(raw)
	}
	l.types.add(file, raw)
	return nil
}

// linkImports links the files that fd imports.
func (l *linker) linkImports(fd *descriptorpb.FileDescriptorProto) error {
	for _, dep := range fd.GetDependency() {
		if _, ok := l.protos[dep]; ok {
			if err := l.link(dep); err != nil {
				return err
			}
		}
	}
	return nil
}

// conflict returns the file that defines something that file defines too.
func (l *linker) conflict(file protoreflect.FileDescriptor) (other string, symbol protoreflect.FullName, ok bool) {
	find := func(d protoreflect.Descriptor) {
		if !ok {
			if found, err := l.linked.FindDescriptorByName(d.FullName()); err == nil {
				other, symbol, ok = found.ParentFile().Path(), d.FullName(), true
			}
		}
	}
	for i := range file.Messages().Len() {
		find(file.Messages().Get(i))
	}
	for i := range file.Services().Len() {
		find(file.Services().Get(i))
	}
	for i := range file.Extensions().Len() {
		find(file.Extensions().Get(i))
	}
	for i := range file.Enums().Len() {
		enum := file.Enums().Get(i)
		find(enum)
		for j := range enum.Values().Len() {
			find(enum.Values().Get(j))
		}
	}
	return other, symbol, ok
}

// affordable reports whether following the public imports of all that fd
// imports is within the limit, and counts it.
func (l *linker) affordable(fd *descriptorpb.FileDescriptorProto) bool {
	for _, dep := range fd.GetDependency() {
		if file, err := resolver(l.linked).FindFileByPath(dep); err == nil {
			l.publicSum = min(l.publicSum+l.ways(file), maxPublicImports+1)
		}
	}
	return l.publicSum <= maxPublicImports
}

// ways counts the ways along public imports from file.
func (l *linker) ways(file protoreflect.FileDescriptor) int {
	if n, ok := l.public[file.Path()]; ok {
		return n
	}
	n := 1
	for i := range file.Imports().Len() {
		if dep := file.Imports().Get(i); dep.IsPublic {
			n = min(n+l.ways(dep.FileDescriptor), maxPublicImports+1)
		}
	}
	l.public[file.Path()] = n
	return n
}

// resolver finds linked files, and after them those of the program.
func resolver(files *protoregistry.Files) finder { return either{files, program()} }
