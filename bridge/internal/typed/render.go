package typed

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Render returns the text of a plan's file, as `buf format` would have it.
//
// It writes what plans hold, and not all that .proto files may: no extensions,
// no groups, no defaults.
func Render(fd protoreflect.FileDescriptor) []byte {
	p := &printer{file: fd}
	locations := fd.SourceLocations()
	for i := range locations.Len() {
		loc := locations.Get(i)
		if len(loc.Path) == 1 && loc.Path[0] == syntaxTag {
			for _, c := range loc.LeadingDetachedComments {
				p.commentLines(c)
				p.b.WriteByte('\n')
			}
		}
	}
	p.line("syntax = \"proto3\";")
	p.line("")
	p.line("package %s;", fd.Package())
	p.line("")
	var imports []string
	for i := range fd.Imports().Len() {
		imports = append(imports, fd.Imports().Get(i).Path())
	}
	slices.Sort(imports)
	for _, path := range imports {
		p.line("import %s;", quoted(path))
	}
	for i := range fd.Services().Len() {
		p.line("")
		p.service(fd.Services().Get(i))
	}
	for i := range fd.Messages().Len() {
		p.line("")
		p.message(fd.Messages().Get(i))
	}
	return []byte(p.b.String())
}

type printer struct {
	file   protoreflect.FileDescriptor
	b      strings.Builder
	indent string
}

func (p *printer) line(format string, args ...any) {
	if format != "" {
		p.b.WriteString(p.indent)
		fmt.Fprintf(&p.b, format, args...)
	}
	p.b.WriteByte('\n')
}

func (p *printer) block(f func()) {
	p.indent += "  "
	f()
	p.indent = p.indent[2:]
}

func (p *printer) comment(d protoreflect.Descriptor) {
	p.commentLines(p.file.SourceLocations().ByDescriptor(d).LeadingComments)
}

func (p *printer) commentLines(text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		p.b.WriteString(strings.TrimRight(p.indent+"//"+line, " ") + "\n")
	}
}

func (p *printer) service(sd protoreflect.ServiceDescriptor) {
	p.comment(sd)
	if sd.Methods().Len() == 0 {
		p.line("service %s {}", sd.Name())
		return
	}
	p.line("service %s {", sd.Name())
	p.block(func() {
		for i := range sd.Methods().Len() {
			if i > 0 {
				p.line("")
			}
			p.method(sd.Methods().Get(i))
		}
	})
	p.line("}")
}

func (p *printer) method(md protoreflect.MethodDescriptor) {
	p.comment(md)
	stream := ""
	if md.IsStreamingServer() {
		stream = "stream "
	}
	head := fmt.Sprintf("rpc %s(%s) returns (%s%s)", md.Name(), p.typeName(md.Input(), md), stream, p.typeName(md.Output(), md))
	options := p.options(md.Options())
	if len(options) == 0 {
		p.line("%s;", head)
		return
	}
	p.line("%s {", head)
	p.block(func() {
		for _, o := range options {
			p.line("option %s;", o)
		}
	})
	p.line("}")
}

// section separates the parts of a message: the first needs no empty line.
type section struct {
	p     *printer
	first bool
}

func (s *section) begin() {
	if !s.first {
		s.p.line("")
	}
	s.first = false
}

func (p *printer) message(md protoreflect.MessageDescriptor) {
	p.comment(md)
	options := p.options(md.Options())
	if len(options)+md.Fields().Len()+md.Messages().Len()+md.Enums().Len()+md.ReservedRanges().Len()+md.ReservedNames().Len() == 0 {
		p.line("message %s {}", md.Name())
		return
	}
	p.line("message %s {", md.Name())
	p.block(func() {
		s := &section{p, true}
		if len(options) > 0 {
			s.begin()
			for _, o := range options {
				p.line("option %s;", o)
			}
		}
		p.fields(md, s)
		p.reserved(md, s)
		for i := range md.Enums().Len() {
			s.begin()
			p.enum(md.Enums().Get(i))
		}
		for i := range md.Messages().Len() {
			if inner := md.Messages().Get(i); !inner.IsMapEntry() {
				s.begin()
				p.message(inner)
			}
		}
	})
	p.line("}")
}

func (p *printer) fields(md protoreflect.MessageDescriptor, s *section) {
	if md.Fields().Len() > 0 {
		s.begin()
	}
	done := make(map[protoreflect.OneofDescriptor]bool)
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		od := fd.ContainingOneof()
		if od == nil || od.IsSynthetic() {
			p.field(fd)
			continue
		}
		if done[od] {
			continue
		}
		done[od] = true
		p.line("oneof %s {", od.Name())
		p.block(func() {
			for j := range od.Fields().Len() {
				p.field(od.Fields().Get(j))
			}
		})
		p.line("}")
	}
}

func (p *printer) field(fd protoreflect.FieldDescriptor) {
	p.comment(fd)
	var typ string
	switch {
	case fd.IsMap():
		typ = fmt.Sprintf("map<%s, %s>", fd.MapKey().Kind(), p.fieldType(fd.MapValue(), fd.Parent()))
	case fd.IsList():
		typ = "repeated " + p.fieldType(fd, fd.Parent())
	case fd.HasOptionalKeyword():
		typ = "optional " + p.fieldType(fd, fd.Parent())
	default:
		typ = p.fieldType(fd, fd.Parent())
	}
	options := p.options(fd.Options())
	if fd.JSONName() != jsonName(string(fd.Name())) {
		options = append([]string{"json_name = " + quoted(fd.JSONName())}, options...)
	}
	p.withOptions(fmt.Sprintf("%s %s = %d", typ, fd.Name(), fd.Number()), options)
}

// withOptions writes what is declared, and its options: one beside it, or more
// below.
func (p *printer) withOptions(head string, options []string) {
	switch len(options) {
	case 0:
		p.line("%s;", head)
	case 1:
		p.line("%s [%s];", head, options[0])
	default:
		p.line("%s [", head)
		p.block(func() {
			for i, o := range options {
				comma := ","
				if i == len(options)-1 {
					comma = ""
				}
				p.line("%s%s", o, comma)
			}
		})
		p.line("];")
	}
}

func (p *printer) fieldType(fd protoreflect.FieldDescriptor, from protoreflect.Descriptor) string {
	switch {
	case fd.Message() != nil:
		return p.typeName(fd.Message(), from)
	case fd.Enum() != nil:
		return p.typeName(fd.Enum(), from)
	default:
		return fd.Kind().String()
	}
}

// typeName returns how a type is referred to from within a descriptor.
func (p *printer) typeName(d, from protoreflect.Descriptor) string {
	if d.Parent() == from {
		return string(d.Name())
	}
	if d.ParentFile() != p.file {
		return p.rooted(string(d.FullName()))
	}
	return strings.TrimPrefix(string(d.FullName()), string(p.file.Package())+".")
}

// rooted returns the name of something in another package. Where a part of our
// own package could be taken for its beginning, it gets a dot in front.
func (p *printer) rooted(name string) string {
	first, _, _ := strings.Cut(name, ".")
	own := strings.Split(string(p.file.Package()), ".")
	if slices.Contains(own[1:], first) {
		return "." + name
	}
	return name
}

func (p *printer) enum(ed protoreflect.EnumDescriptor) {
	p.comment(ed)
	p.line("enum %s {", ed.Name())
	p.block(func() {
		for i := range ed.Values().Len() {
			v := ed.Values().Get(i)
			p.comment(v)
			p.withOptions(fmt.Sprintf("%s = %d", v.Name(), v.Number()), p.options(v.Options()))
		}
		s := &section{p, false}
		var all []string
		for i := range ed.ReservedRanges().Len() {
			r := ed.ReservedRanges().Get(i)
			all = append(all, numbers(int64(r[0]), int64(r[1])))
		}
		p.reservedLines(all, ed.ReservedNames(), s)
	})
	p.line("}")
}

func (p *printer) reserved(md protoreflect.MessageDescriptor, s *section) {
	var all []string
	for i := range md.ReservedRanges().Len() {
		r := md.ReservedRanges().Get(i)
		all = append(all, numbers(int64(r[0]), int64(r[1])-1))
	}
	p.reservedLines(all, md.ReservedNames(), s)
}

func numbers(first, last int64) string {
	if first == last {
		return strconv.FormatInt(first, 10)
	}
	return fmt.Sprintf("%d to %d", first, last)
}

func (p *printer) reservedLines(ranges []string, reserved protoreflect.Names, s *section) {
	if len(ranges)+reserved.Len() > 0 {
		s.begin()
	}
	if len(ranges) > 0 {
		p.line("reserved %s;", strings.Join(ranges, ", "))
	}
	if reserved.Len() > 0 {
		var all []string
		for i := range reserved.Len() {
			all = append(all, quoted(string(reserved.Get(i))))
		}
		p.line("reserved %s;", strings.Join(all, ", "))
	}
}

// options returns options as "name = value", those within messages each by its
// path.
func (p *printer) options(m protoreflect.ProtoMessage) []string {
	switch m := m.(type) {
	case nil:
		return nil
	case *descriptorpb.MessageOptions:
		if m == nil || m.GetMapEntry() {
			return nil
		}
	}
	r := m.ProtoReflect()
	if !r.IsValid() {
		return nil
	}
	return p.assignments("", r)
}

func (p *printer) assignments(prefix string, m protoreflect.Message) []string {
	var set []protoreflect.FieldDescriptor
	m.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		set = append(set, fd)
		return true
	})
	slices.SortFunc(set, func(x, y protoreflect.FieldDescriptor) int {
		if x.IsExtension() != y.IsExtension() {
			if x.IsExtension() {
				return 1
			}
			return -1
		}
		if x.IsExtension() {
			return strings.Compare(string(x.FullName()), string(y.FullName()))
		}
		return int(x.Number() - y.Number())
	})
	var all []string
	for _, fd := range set {
		path := prefix + string(fd.Name())
		if fd.IsExtension() {
			path = "(" + p.rooted(string(fd.FullName())) + ")"
		}
		v := m.Get(fd)
		switch {
		case fd.IsList():
			for i := range v.List().Len() {
				all = append(all, path+" = "+scalar(fd, v.List().Get(i)))
			}
		case fd.Message() != nil:
			inner := p.assignments(path+".", v.Message())
			if len(inner) == 0 {
				inner = []string{path + " = {}"}
			}
			all = append(all, inner...)
		default:
			all = append(all, path+" = "+scalar(fd, v))
		}
	}
	return all
}

// scalar returns a value as text.
func scalar(fd protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return quoted(v.String())
	case protoreflect.BytesKind:
		return quoted(string(v.Bytes()))
	case protoreflect.EnumKind:
		if value := fd.Enum().Values().ByNumber(v.Enum()); value != nil {
			return string(value.Name())
		}
		return strconv.Itoa(int(v.Enum()))
	case protoreflect.DoubleKind, protoreflect.FloatKind:
		f := v.Float()
		switch {
		case math.IsInf(f, 0), math.IsNaN(f):
			return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+"))
		case f == math.Trunc(f) && math.Abs(f) < 1<<53:
			return strconv.FormatFloat(f, 'f', -1, 64)
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	default:
		return v.String()
	}
}

// quoted returns a text as a string of the language of .proto files.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
