package descriptor

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// RangeFiles calls f for each file of the set until it returns false.
func (s *Set) RangeFiles(f func(protoreflect.FileDescriptor) bool) { s.files.RangeFiles(f) }

// Without returns the set as if the fields of these names, extensions included,
// had never been declared: in a message they are unknown fields. The version is
// that of s.
func (s *Set) Without(fields map[protoreflect.FullName]bool) (*Set, error) {
	if len(fields) == 0 {
		return s, nil
	}
	var (
		files []rawFile
		fault error
	)
	s.files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		fd := protodesc.ToFileDescriptorProto(file)
		(&stripper{fields: fields, moved: make(map[string][]int32)}).file(fd)
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(fd)
		if err != nil {
			fault = fmt.Errorf("%s without its hidden fields: %w", fd.GetName(), err)
			return false
		}
		files = append(files, rawFile{raw, fd})
		return true
	})
	if fault != nil {
		return nil, fault
	}
	out, err := s.linkAgain(files)
	if err != nil {
		return nil, fmt.Errorf("without the hidden fields: %w", err)
	}
	out.version, out.find = s.version, s.find
	return out, nil
}

// linkAgain returns the set with its files changed.
func (s *Set) linkAgain(files []rawFile) (*Set, error) {
	l, err := link(files)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(s.services))
	for i, service := range s.services {
		names[i] = string(service.FullName())
	}
	return newSet(l.linked, l.types, l.digest(), names, s.warnings)
}

// stripper takes fields out of one file.
type stripper struct {
	fields map[protoreflect.FullName]bool
	// moved has the new indexes of what has moved in a list, by the path of the
	// list, and -1 for what is gone. Comments go by such paths.
	moved map[string][]int32
}

// Numbers of the lists in descriptors, as they stand in paths.
const (
	messagesOfFile      = 4
	enumsOfFile         = 5
	servicesOfFile      = 6
	extensionsOfFile    = 7
	fieldsOfMessage     = 2
	messagesOfMessage   = 3
	enumsOfMessage      = 4
	extensionsOfMessage = 6
	methodsOfService    = 2
	valuesOfEnum        = 2
	oneofsOfMessage     = 8
)

func (s *stripper) file(fd *descriptorpb.FileDescriptorProto) {
	pkg := protoreflect.FullName(fd.GetPackage())
	for i, m := range fd.GetMessageType() {
		s.message(pkg, m, []int32{messagesOfFile, int32(i)})
	}
	fd.Extension = s.list(pkg, fd.GetExtension(), []int32{extensionsOfFile})
	info := fd.GetSourceCodeInfo()
	if len(s.moved) == 0 || info == nil {
		return
	}
	info.Location = slices.DeleteFunc(info.GetLocation(), func(l *descriptorpb.SourceCodeInfo_Location) bool {
		// Path elements are looked up by the path as it was.
		was := slices.Clone(l.GetPath())
		for i := 1; i < len(was); i++ {
			if moved, ok := s.moved[key(was[:i])]; ok && int(was[i]) < len(moved) {
				if moved[was[i]] < 0 {
					return true
				}
				l.Path[i] = moved[was[i]]
			}
		}
		return false
	})
}

func (s *stripper) message(parent protoreflect.FullName, m *descriptorpb.DescriptorProto, path []int32) {
	name := parent.Append(protoreflect.Name(m.GetName()))
	for i, nested := range m.GetNestedType() {
		s.message(name, nested, append(slices.Clip(path), messagesOfMessage, int32(i)))
	}
	m.Extension = s.list(name, m.GetExtension(), append(slices.Clip(path), extensionsOfMessage))
	before := len(m.GetField())
	m.Field = s.list(name, m.GetField(), append(slices.Clip(path), fieldsOfMessage))
	if len(m.GetField()) == before || len(m.GetOneofDecl()) == 0 {
		return
	}
	// A oneof has fields, or is none.
	moved := make([]int32, len(m.GetOneofDecl()))
	for i := range moved {
		moved[i] = -1
	}
	var left []*descriptorpb.OneofDescriptorProto
	for i, od := range m.GetOneofDecl() {
		for _, f := range m.GetField() {
			if f.OneofIndex != nil && int(f.GetOneofIndex()) == i {
				moved[i] = int32(len(left)) //nolint:gosec // files have no more oneofs than that
				left = append(left, od)
				break
			}
		}
	}
	for _, f := range m.GetField() {
		if f.OneofIndex != nil {
			f.OneofIndex = new(moved[f.GetOneofIndex()])
		}
	}
	m.OneofDecl = left
	s.moved[key(append(slices.Clip(path), oneofsOfMessage))] = moved
}

// list returns the fields that stay.
func (s *stripper) list(parent protoreflect.FullName, fields []*descriptorpb.FieldDescriptorProto, path []int32) []*descriptorpb.FieldDescriptorProto {
	var (
		left  []*descriptorpb.FieldDescriptorProto
		moved = make([]int32, len(fields))
	)
	for i, f := range fields {
		if s.fields[parent.Append(protoreflect.Name(f.GetName()))] {
			moved[i] = -1
			continue
		}
		moved[i] = int32(len(left)) //nolint:gosec // as above
		left = append(left, f)
	}
	if len(left) == len(fields) {
		return fields
	}
	s.moved[key(path)] = moved
	return left
}

func key(path []int32) string { return fmt.Sprint(path) }
