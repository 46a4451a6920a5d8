package descriptor

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// MissingImportError says that a file imports files that are not to be had
// and that it needs.
type MissingImportError struct {
	File    string
	Imports []string
}

// Error names the files.
func (e *MissingImportError) Error() string {
	verb := "is"
	if len(e.Imports) > 1 {
		verb = "are"
	}
	return fmt.Sprintf("%s imports %s, which %s missing", e.File, strings.Join(e.Imports, ", "), verb)
}

// addPath notes a file under the shorter paths that it may be meant by.
func (l *linker) addPath(name string) {
	for suffix := range suffixes(name) {
		// Of three, one may be the importing file, and two are ambiguous.
		if len(l.shorter[suffix]) < 3 {
			l.shorter[suffix] = append(l.shorter[suffix], name)
		}
	}
}

// suffixes returns a path's last segment, its last two, and so on, without the
// path itself.
func suffixes(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		end := len(name)
		for range maxNesting {
			end = strings.LastIndexByte(name[:end], '/')
			if end < 0 || !yield(name[end+1:]) {
				return
			}
		}
	}
}

// relink returns fd with every import replaced by the path of a file that
// there is. Imports that cannot be found are left out, and returned: linking
// the file shows whether it needs them.
func (l *linker) relink(fd *descriptorpb.FileDescriptorProto) (relinked *descriptorpb.FileDescriptorProto, missing []string) {
	relinked = fd
	used := sync.OnceValue(func() map[string]string { return l.used(fd) })
	for i, dep := range fd.GetDependency() {
		actual := l.find(dep, fd.GetName(), used)
		if actual == dep {
			continue
		}
		if relinked == fd {
			relinked = proto.CloneOf(fd)
		}
		if actual == "" {
			missing = append(missing, dep)
		}
		relinked.Dependency[i] = actual
	}
	if relinked != fd {
		tidyImports(relinked)
	}
	return relinked, missing
}

// find returns the path of the file that the named file means by the import
// dep, or "". used has the files that it uses, by the last segment of their
// paths.
func (l *linker) find(dep, name string, used func() map[string]string) string {
	if _, ok := l.protos[dep]; ok {
		return dep
	}
	// A file of the program stands in for one that is missing, but not for one
	// that is there under another path.
	if global, err := program().FindFileByPath(dep); err == nil {
		if own, ok := l.defines[firstSymbol(global)]; ok && own != name {
			return own
		}
		return dep
	}
	// The same file under a longer or a shorter path.
	found := slices.Clone(l.shorter[dep])
	for suffix := range suffixes(dep) {
		if _, ok := l.protos[suffix]; ok {
			found = append(found, suffix)
		}
	}
	found = slices.DeleteFunc(found, func(other string) bool { return other == name })
	if len(found) == 1 {
		return found[0]
	}
	// The file that has the name and defines something that is used.
	return used()[path.Base(dep)]
}

// used returns the files that define something that fd refers to, by the last
// segments of their paths.
func (l *linker) used(fd *descriptorpb.FileDescriptorProto) map[string]string {
	files := make(map[string]string)
	for name := range l.definitions(fd) {
		if _, ok := files[path.Base(name)]; !ok {
			files[path.Base(name)] = name
		}
	}
	return files
}

// definitions returns the other files that define what fd refers to.
func (l *linker) definitions(fd *descriptorpb.FileDescriptorProto) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, symbol := range references(fd) {
			for range maxNesting {
				if symbol == "" {
					break
				}
				if name, ok := l.defines[symbol]; ok && name != fd.GetName() && !yield(name) {
					return
				}
				symbol = parent(symbol)
			}
		}
	}
}

// withUsed returns fd with imports of all files that define what it refers to,
// whatever their paths, or nil if it has them. It is for a file that lacks an
// import: what has another name is found by its symbols.
func (l *linker) withUsed(fd *descriptorpb.FileDescriptorProto) *descriptorpb.FileDescriptorProto {
	var more []string
	for name := range l.definitions(fd) {
		if !slices.Contains(fd.GetDependency(), name) && !slices.Contains(more, name) {
			more = append(more, name)
		}
	}
	if more == nil {
		return nil
	}
	out := proto.CloneOf(fd)
	out.Dependency = append(out.GetDependency(), more...)
	return out
}

// firstSymbol returns the full name of a file's first message or enum.
func firstSymbol(fd protoreflect.FileDescriptor) string {
	if fd.Messages().Len() > 0 {
		return string(fd.Messages().Get(0).FullName())
	}
	if fd.Enums().Len() > 0 {
		return string(fd.Enums().Get(0).FullName())
	}
	return ""
}

// tidyImports removes empty and double imports, and renumbers what refers to
// imports by number.
func tidyImports(fd *descriptorpb.FileDescriptorProto) {
	var (
		deps []string
		// i is the number of an import, n its new one.
		i, n  int32
		moved = make(map[int32]int32)
		at    = make(map[string]int32)
	)
	for _, dep := range fd.GetDependency() {
		if _, ok := at[dep]; !ok && dep != "" {
			deps = append(deps, dep)
			at[dep] = n
			n++
		}
		if dep != "" {
			moved[i] = at[dep]
		}
		i++
	}
	renumber := func(list []int32) []int32 {
		var out []int32
		seen := make(map[int32]bool)
		for _, i := range list {
			if n, ok := moved[i]; ok && !seen[n] {
				seen[n] = true
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
