// Package options reads what the authors of an API, and operators in their
// place, say about services, methods and fields: the options of mcp.options.v1,
// in descriptors and in a file.
package options

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/customoption"
	optionsv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/options/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/glob"
)

// Set is the options of a file over those in descriptors. A nil Set has those
// in descriptors. It is used concurrently.
type Set struct {
	file *optionsv1.File
	// What of the file is said by globs, the widest first.
	services, methods, fields []string
}

func newSet(file *optionsv1.File) *Set {
	return &Set{file, globs(file.GetServices()), globs(file.GetMethods()), globs(file.GetFields())}
}

// globs returns the names that are globs, those with fewer characters of their
// own first.
func globs[O any](said map[string]O) []string {
	var all []string
	for name := range said {
		if glob.Is(name) {
			all = append(all, name)
		}
	}
	own := func(name string) int { return len(name) - strings.Count(name, "*") - strings.Count(name, "?") }
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(own(a), own(b)), cmp.Compare(a, b)) })
	return all
}

// over merges what a file says of a name into o: by globs, and then by the name.
func over[O proto.Message](o O, name protoreflect.FullName, said map[string]O, patterns []string) {
	for _, pattern := range patterns {
		if glob.Match(pattern, string(name)) {
			proto.Merge(o, said[pattern])
		}
	}
	if own, ok := said[string(name)]; ok {
		proto.Merge(o, own)
	}
}

// Service returns the options of a service. The error says what cannot be
// read; the options are usable all the same.
func (s *Set) Service(d protoreflect.ServiceDescriptor) (*optionsv1.ServiceOptions, error) {
	o := &optionsv1.ServiceOptions{}
	err := read(d, optionsv1.E_Service.TypeDescriptor().Number(), o)
	if s != nil {
		over(o, d.FullName(), s.file.GetServices(), s.services)
	}
	return o, err
}

// Method is [Set.Service] for a method.
func (s *Set) Method(d protoreflect.MethodDescriptor) (*optionsv1.MethodOptions, error) {
	o := &optionsv1.MethodOptions{}
	err := read(d, optionsv1.E_Method.TypeDescriptor().Number(), o)
	if s != nil {
		over(o, d.FullName(), s.file.GetMethods(), s.methods)
	}
	return o, err
}

// Field is [Set.Service] for a field.
func (s *Set) Field(d protoreflect.FieldDescriptor) (*optionsv1.FieldOptions, error) {
	o := &optionsv1.FieldOptions{}
	err := read(d, optionsv1.E_Field.TypeDescriptor().Number(), o)
	if s != nil {
		over(o, d.FullName(), s.file.GetFields(), s.fields)
	}
	return o, err
}

// Hidden adds the fields of a file that are hidden. The error says which options
// cannot be read.
func (s *Set) Hidden(file protoreflect.FileDescriptor, into map[protoreflect.FullName]bool) error {
	says := customoption.Imports(file, declaredIn)
	if !says && !s.hides() {
		return nil
	}
	var errs []error
	field := func(fd protoreflect.FieldDescriptor) {
		o, err := s.Field(fd)
		if err != nil {
			errs = append(errs, err)
		}
		if o.GetHide() {
			into[fd.FullName()] = true
		}
		own := &optionsv1.FieldOptions{}
		if err := read(fd, optionsv1.E_Field.TypeDescriptor().Number(), own); err == nil && own.GetEncoding() != 0 && !holdsBytes(fd) {
			errs = append(errs, fmt.Errorf("options of %s: %s", fd.FullName(), notBytes))
		}
	}
	var messages func(protoreflect.MessageDescriptors)
	extensions := func(list protoreflect.ExtensionDescriptors) {
		for i := range list.Len() {
			field(list.Get(i))
		}
	}
	messages = func(list protoreflect.MessageDescriptors) {
		for i := range list.Len() {
			md := list.Get(i)
			if md.IsMapEntry() {
				continue
			}
			for j := range md.Fields().Len() {
				field(md.Fields().Get(j))
			}
			extensions(md.Extensions())
			messages(md.Messages())
		}
	}
	messages(file.Messages())
	extensions(file.Extensions())
	return errors.Join(errs...)
}

const notBytes = "an encoding is for fields of bytes, lists of them and maps to them"

func holdsBytes(fd protoreflect.FieldDescriptor) bool {
	return fd.Kind() == protoreflect.BytesKind || fd.IsMap() && fd.MapValue().Kind() == protoreflect.BytesKind
}

// hides reports whether the file of options hides fields.
func (s *Set) hides() bool {
	if s == nil {
		return false
	}
	for _, o := range s.file.GetFields() {
		if o.GetHide() {
			return true
		}
	}
	return false
}

// Has reports whether the file says something about a method, so that what is
// wrong with its options is the operator's to mend.
func (s *Set) Has(method protoreflect.FullName) bool {
	return s != nil && (s.file.GetMethods()[string(method)] != nil ||
		slices.ContainsFunc(s.methods, func(pattern string) bool { return glob.Match(pattern, string(method)) }))
}

// declaredIn is how the path of the file that declares the options ends.
const declaredIn = "mcp/options/v1/options.proto"

func read(d protoreflect.Descriptor, number protowire.Number, into proto.Message) error {
	return customoption.Read(d, declaredIn, number, into)
}

// Check reports all names in the file that do not exist, with those that may be
// meant, all globs that match nothing, and encodings of fields that have none.
// Services, methods and fields are the full names that exist; field returns the
// field of a name, or nil.
func (s *Set) Check(services, methods []string, fields iter.Seq[string], field func(name string) protoreflect.FieldDescriptor) error {
	if s == nil {
		return nil
	}
	var errs []error
	unknown := func(kind, name string, known []string) {
		text := fmt.Sprintf("there is no %s %s", kind, name)
		if near := nearest(name, known); near != "" {
			text += "; did you mean " + near + "?"
		}
		errs = append(errs, errors.New(text))
	}
	unmatched := func(kind string, patterns []string, names iter.Seq[string]) {
		left := slices.Clone(patterns)
		for name := range names {
			if len(left) == 0 {
				return
			}
			left = slices.DeleteFunc(left, func(pattern string) bool { return glob.Match(pattern, name) })
		}
		for _, pattern := range left {
			errs = append(errs, fmt.Errorf("no %s matches %s", kind, pattern))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.file.GetServices())) {
		if !glob.Is(name) && !slices.Contains(services, name) {
			unknown("service", name, services)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.file.GetMethods())) {
		if !glob.Is(name) && !slices.Contains(methods, name) {
			unknown("method", name, methods)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.file.GetFields())) {
		if glob.Is(name) {
			continue
		}
		fd := field(name)
		if fd == nil {
			unknown("field", name, nil)
		} else if s.file.GetFields()[name].GetEncoding() != 0 && !holdsBytes(fd) {
			errs = append(errs, fmt.Errorf("the field %s: %s", name, notBytes))
		}
	}
	unmatched("service", s.services, slices.Values(services))
	unmatched("method", s.methods, slices.Values(methods))
	unmatched("field", s.fields, fields)
	return errors.Join(errs...)
}

// nearest returns the known name with the same last segment, or else one with
// the same beginning.
func nearest(name string, known []string) string {
	last := name[strings.LastIndexByte(name, '.')+1:]
	best, length := "", 0
	for _, k := range known {
		if strings.EqualFold(k[strings.LastIndexByte(k, '.')+1:], last) {
			return k
		}
		n := 0
		for n < len(k) && n < len(name) && k[n] == name[n] {
			n++
		}
		if n > length && 2*n > len(name) {
			best, length = k, n
		}
	}
	return best
}
