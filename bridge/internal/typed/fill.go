package typed

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/customoption"
	jsonv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/json/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// Filler adds the members that requests always have to the JSON of a message.
// It is immutable and used concurrently.
type Filler struct {
	root *filling
}

// filling is what a message needs. Of its fields there are only those that hold
// messages.
type filling struct {
	fills  []Fill
	fields map[string]*part
	extra  *part
	// tag and arms are set for a union, bare for a message that stands for the
	// value of its only field.
	tag  string
	arms map[string]*filling
	bare *part
}

// part is a field that holds messages.
type part struct {
	list, isMap bool
	message     *filling
}

// NewFiller returns the filler of requests of a type, or nil if there is nothing
// to fill in. The fills are those of the method.
func NewFiller(md protoreflect.MessageDescriptor, fills map[protoreflect.FullName][]Fill) *Filler {
	if len(fills) == 0 {
		return nil
	}
	b := &fillerBuilder{fills: fills, made: make(map[protoreflect.FullName]*filling)}
	return &Filler{root: b.filling(md)}
}

type fillerBuilder struct {
	fills map[protoreflect.FullName][]Fill
	made  map[protoreflect.FullName]*filling
}

func (b *fillerBuilder) filling(md protoreflect.MessageDescriptor) *filling {
	if f, ok := b.made[md.FullName()]; ok {
		return f
	}
	f := &filling{fills: b.fills[md.FullName()], fields: make(map[string]*part)}
	b.made[md.FullName()] = f
	o := &jsonv1.MessageOptions{}
	_ = customoption.Read(md, jsonProto, jsonv1.E_Message.TypeDescriptor().Number(), o) // plans have no others
	f.tag = o.GetTag()
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		p := b.part(fd)
		fo := &jsonv1.FieldOptions{}
		_ = customoption.Read(fd, jsonProto, jsonv1.E_Field.TypeDescriptor().Number(), fo) // plans have no others
		switch {
		case p == nil:
		case o.GetValue():
			f.bare = p
		case fo.GetLiteral() != "":
			if f.arms == nil {
				f.arms = make(map[string]*filling)
			}
			f.arms[fo.GetLiteral()] = p.message
		case fo.GetExtra():
			f.extra = &part{message: p.message}
		default:
			f.fields[pick(fo.GetName(), fd.JSONName())] = p
		}
	}
	return f
}

func (b *fillerBuilder) part(fd protoreflect.FieldDescriptor) *part {
	value := fd
	if fd.IsMap() {
		value = fd.MapValue()
	}
	md := value.Message()
	if md == nil || strings.HasPrefix(string(md.FullName()), "google.protobuf.") {
		return nil
	}
	return &part{list: fd.IsList(), isMap: fd.IsMap(), message: b.filling(md)}
}

// Append appends the JSON of a request, with the members that it lacks. What is
// no object of the type stays as it is. A nil Filler adds nothing.
func (f *Filler) Append(dst, request []byte) []byte {
	if f == nil {
		return append(dst, request...)
	}
	return f.root.append(dst, request)
}

func (f *filling) append(dst, value []byte) []byte {
	if f.bare != nil {
		return f.bare.append(dst, value)
	}
	if jsontok.KindOf(value) != jsontok.KindObject {
		return append(dst, value...)
	}
	if f.tag != "" {
		raw, _ := jsontok.Lookup(value, f.tag)
		literal, _ := jsontok.String(raw)
		if arm := f.arms[literal]; arm != nil {
			return arm.append(dst, value)
		}
		return append(dst, value...)
	}
	seen := make(map[string]bool)
	start := len(dst)
	dst = append(dst, '{')
	err := jsontok.Object(value, func(key, v []byte) error {
		name := string(key)
		seen[name] = true
		dst = appendMember(dst, name)
		p := f.fields[name]
		if p == nil {
			p = f.extra
		}
		dst = p.append(dst, v)
		return nil
	})
	if err != nil {
		return append(dst[:start], value...)
	}
	for _, fill := range f.fills {
		if !seen[fill.Name] {
			dst = append(appendMember(dst, fill.Name), fill.Value...)
		}
	}
	return append(dst, '}')
}

// append appends the value of a field. A nil part holds no messages.
func (p *part) append(dst, value []byte) []byte {
	kind := jsontok.KindOf(value)
	start := len(dst)
	var err error
	switch {
	case p == nil:
		return append(dst, value...)
	case p.list && kind == jsontok.KindArray:
		dst = append(dst, '[')
		err = jsontok.Array(value, func(i int, v []byte) error {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = p.message.append(dst, v)
			return nil
		})
		dst = append(dst, ']')
	case p.isMap && kind == jsontok.KindObject:
		dst = append(dst, '{')
		err = jsontok.Object(value, func(key, v []byte) error {
			dst = p.message.append(appendMember(dst, string(key)), v)
			return nil
		})
		dst = append(dst, '}')
	case p.list || p.isMap:
		return append(dst, value...)
	default:
		return p.message.append(dst, value)
	}
	if err != nil {
		return append(dst[:start], value...)
	}
	return dst
}

// appendMember appends the name of a member, behind a comma if it is not the
// first.
func appendMember(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(jsontok.AppendString(dst, name), ':')
}
