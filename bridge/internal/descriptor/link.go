package descriptor

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// maxFiles bounds the files of one source.
const maxFiles = 20_000

// linker links files that came in any order. It adds files that are missing
// from what is linked into the program, and it mends imports of files that go
// by another name: a server may register a file under one path and import it
// under another.
type linker struct {
	protos map[string]*descriptorpb.FileDescriptorProto
	// defines says which file defines a top-level symbol.
	defines map[string]string
	linked  *protoregistry.Files
	state   map[string]int // 1 while a file is being linked, 2 after
}

// link returns a registry of all files.
func link(files []*descriptorpb.FileDescriptorProto) (*protoregistry.Files, error) {
	if len(files) > maxFiles {
		return nil, fmt.Errorf("there are %d files, and at most %d are read", len(files), maxFiles)
	}
	l := &linker{
		protos:  make(map[string]*descriptorpb.FileDescriptorProto, len(files)),
		defines: make(map[string]string),
		linked:  &protoregistry.Files{},
		state:   make(map[string]int),
	}
	var errs []error
	for _, fd := range files {
		if err := l.add(fd); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, name := range sortedNames(l.protos) {
		if err := l.link(name, nil); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return l.linked, l.addImported()
}

// addImported registers the files of the program that were imported, so that
// the registry is complete by itself.
func (l *linker) addImported() error {
	all := make(map[string]protoreflect.FileDescriptor)
	l.linked.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		reach(all, fd)
		return true
	})
	for name, fd := range all {
		if _, err := l.linked.FindFileByPath(name); err == nil {
			continue
		}
		if err := l.linked.RegisterFile(fd); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func sortedNames(m map[string]*descriptorpb.FileDescriptorProto) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (l *linker) add(fd *descriptorpb.FileDescriptorProto) error {
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
	l.protos[name] = fd
	for _, symbol := range symbols(fd) {
		l.defines[symbol] = name
	}
	return nil
}

func sameFile(a, b *descriptorpb.FileDescriptorProto) bool {
	opts := proto.MarshalOptions{Deterministic: true}
	ab, aerr := opts.Marshal(a)
	bb, berr := opts.Marshal(b)
	return aerr == nil && berr == nil && bytes.Equal(ab, bb)
}

// symbols returns the full names of the top-level messages, enums and
// extensions of a file.
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

// link links a file after all files it imports. via is how it was reached.
func (l *linker) link(name string, via []string) error {
	switch l.state[name] {
	case 2:
		return nil
	case 1:
		return fmt.Errorf("files import each other: %s", strings.Join(append(via, name), " -> "))
	}
	l.state[name] = 1
	defer func() { l.state[name] = 2 }()
	via = append(slices.Clip(via), name)

	fd, err := l.relink(l.protos[name])
	if err != nil {
		return err
	}
	for _, dep := range fd.GetDependency() {
		if _, ok := l.protos[dep]; ok {
			if err := l.link(dep, via); err != nil {
				return err
			}
		}
	}
	file, err := protodesc.NewFile(fd, resolver{l.linked})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := l.linked.RegisterFile(file); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// relink returns fd with every import replaced by the path of a file that
// there is. An import that cannot be found is left out where nothing in the
// file needs it, which the linking of the file then shows.
func (l *linker) relink(fd *descriptorpb.FileDescriptorProto) (*descriptorpb.FileDescriptorProto, error) {
	var changed *descriptorpb.FileDescriptorProto
	var missing []string
	for i, dep := range fd.GetDependency() {
		actual, ok := l.find(dep, fd)
		if actual == dep {
			continue
		}
		if changed == nil {
			changed = proto.CloneOf(fd)
		}
		if !ok {
			missing = append(missing, dep)
			actual = ""
		}
		changed.Dependency[i] = actual
	}
	if changed == nil {
		return fd, nil
	}
	dropMissing(changed)
	if len(missing) > 0 && l.needs(changed) {
		return nil, &MissingImportError{File: fd.GetName(), Imports: missing}
	}
	return changed, nil
}

// find returns the path of the file that fd means by the import dep.
func (l *linker) find(dep string, fd *descriptorpb.FileDescriptorProto) (string, bool) {
	if _, ok := l.protos[dep]; ok {
		return dep, true
	}
	// A file of the program stands in for one that is missing.
	if _, err := protoregistry.GlobalFiles.FindFileByPath(dep); err == nil {
		return dep, true
	}
	// The same file under a longer or a shorter path.
	var found []string
	for name := range l.protos {
		if name != fd.GetName() && (strings.HasSuffix(name, "/"+dep) || strings.HasSuffix(dep, "/"+name)) {
			found = append(found, name)
		}
	}
	if len(found) == 1 {
		return found[0], true
	}
	// The file that has the name and defines something that fd uses.
	for _, ref := range references(fd) {
		for symbol := ref; symbol != ""; symbol = parent(symbol) {
			if name, ok := l.defines[symbol]; ok && name != fd.GetName() && path.Base(name) == path.Base(dep) {
				return name, true
			}
		}
	}
	return "", false
}

// needs reports whether fd refers to a type that none of its imports, nor
// what they import publicly, nor it itself defines.
func (l *linker) needs(fd *descriptorpb.FileDescriptorProto) bool {
	known := make(map[string]bool)
	for _, s := range symbols(fd) {
		known[s] = true
	}
	seen := make(map[string]bool)
	var include func(dep string)
	include = func(dep string) {
		if seen[dep] {
			return
		}
		seen[dep] = true
		file, ok := l.protos[dep]
		if !ok {
			global, err := protoregistry.GlobalFiles.FindFileByPath(dep)
			if err != nil {
				return
			}
			file = protodesc.ToFileDescriptorProto(global)
		}
		for _, s := range symbols(file) {
			known[s] = true
		}
		for _, i := range file.GetPublicDependency() {
			if int(i) < len(file.GetDependency()) {
				include(file.GetDependency()[i])
			}
		}
	}
	for _, dep := range fd.GetDependency() {
		include(dep)
	}
	for _, ref := range references(fd) {
		found := false
		for symbol := ref; symbol != "" && !found; symbol = parent(symbol) {
			found = known[symbol]
		}
		if !found {
			return true
		}
	}
	return false
}

// dropMissing removes empty imports, and what refers to imports by number.
func dropMissing(fd *descriptorpb.FileDescriptorProto) {
	moved := make(map[int32]int32)
	var deps []string
	for i, dep := range fd.GetDependency() {
		if dep != "" && !slices.Contains(deps, dep) {
			moved[int32(i)] = int32(len(deps)) //nolint:gosec // there are at most maxFiles imports
			deps = append(deps, dep)
		}
	}
	renumber := func(list []int32) []int32 {
		var out []int32
		for _, i := range list {
			if n, ok := moved[i]; ok {
				out = append(out, n)
			}
		}
		return out
	}
	fd.Dependency = deps
	fd.PublicDependency = renumber(fd.GetPublicDependency())
	fd.WeakDependency = renumber(fd.GetWeakDependency())
}

// references returns the full names of all types that a file refers to.
func references(fd *descriptorpb.FileDescriptorProto) []string {
	var refs []string
	seen := make(map[string]bool)
	add := func(name string) {
		if name = strings.TrimPrefix(name, "."); name != "" && !seen[name] {
			seen[name] = true
			refs = append(refs, name)
		}
	}
	var message func(m *descriptorpb.DescriptorProto)
	message = func(m *descriptorpb.DescriptorProto) {
		for _, f := range slices.Concat(m.GetField(), m.GetExtension()) {
			add(f.GetTypeName())
			add(f.GetExtendee())
		}
		for _, n := range m.GetNestedType() {
			message(n)
		}
	}
	for _, m := range fd.GetMessageType() {
		message(m)
	}
	for _, e := range fd.GetExtension() {
		add(e.GetTypeName())
		add(e.GetExtendee())
	}
	for _, s := range fd.GetService() {
		for _, m := range s.GetMethod() {
			add(m.GetInputType())
			add(m.GetOutputType())
		}
	}
	return refs
}

func parent(symbol string) string {
	i := strings.LastIndexByte(symbol, '.')
	if i < 0 {
		return ""
	}
	return symbol[:i]
}

// MissingImportError says that a file imports files that are not to be had
// and that it needs.
type MissingImportError struct {
	File    string
	Imports []string
}

// Error names the files.
func (e *MissingImportError) Error() string {
	return fmt.Sprintf("%s imports %s, which is missing", e.File, strings.Join(e.Imports, ", "))
}

// resolver finds linked files, and after them those of the program.
type resolver struct{ files *protoregistry.Files }

func (r resolver) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if fd, err := r.files.FindFileByPath(path); err == nil {
		return fd, nil
	}
	return protoregistry.GlobalFiles.FindFileByPath(path)
}

func (r resolver) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	if d, err := r.files.FindDescriptorByName(name); err == nil {
		return d, nil
	}
	return protoregistry.GlobalFiles.FindDescriptorByName(name)
}
