package typed

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	jsonv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/json/v1"
)

// Files that plans import.
const (
	jsonProto     = "mcp/json/v1/json.proto"
	optionsProto  = "mcp/options/v1/options.proto"
	structProto   = "google/protobuf/struct.proto"
	validateProto = "buf/validate/validate.proto"
)

// typ returns the type of a field. Messages and enums are made if they are new;
// name is what they are called after.
func (b *builder) typ(s *scope, of *shape, name string, element bool) fieldType {
	switch of.kind {
	case kindRepeated:
		t := b.typ(s, of.elem, name, true)
		t.list = true
		return t
	case kindMap:
		t := b.typ(s, of.elem, name, true)
		t.isMap = true
		return t
	case kindMessage:
		return fieldType{kind: of.kind, typ: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, name: b.ref(b.messageOf(s, of.object, name, element))}
	case kindEnum:
		return fieldType{kind: of.kind, typ: descriptorpb.FieldDescriptorProto_TYPE_ENUM, name: b.ref(b.enumOf(s, of, name, element))}
	case kindValue:
		return b.wellKnown(of.kind, "Value")
	case kindStruct:
		return b.wellKnown(of.kind, "Struct")
	case kindList:
		return b.wellKnown(of.kind, "ListValue")
	case kindNull:
		t := b.wellKnown(of.kind, "NullValue")
		t.typ = descriptorpb.FieldDescriptorProto_TYPE_ENUM
		return t
	default:
		return fieldType{kind: of.kind, typ: scalarTypes[of.kind]}
	}
}

var scalarTypes = map[kind]descriptorpb.FieldDescriptorProto_Type{
	kindString: descriptorpb.FieldDescriptorProto_TYPE_STRING,
	kindInt64:  descriptorpb.FieldDescriptorProto_TYPE_INT64,
	kindUint64: descriptorpb.FieldDescriptorProto_TYPE_UINT64,
	kindDouble: descriptorpb.FieldDescriptorProto_TYPE_DOUBLE,
	kindBool:   descriptorpb.FieldDescriptorProto_TYPE_BOOL,
}

func (b *builder) wellKnown(k kind, name string) fieldType {
	b.imports[structProto] = true
	return fieldType{kind: k, typ: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, name: ".google.protobuf." + name}
}

// typeName returns the name of a type within a message, by what it is made of.
func (b *builder) typeName(s *scope, origin, name string) string {
	if locked, ok := s.locked.Types[origin]; ok {
		return locked
	}
	want := pascal(name)
	given, ok := s.locked.takeUnknown(want)
	if !ok {
		given = s.types.claim(want, origin, "")
	}
	s.locked.Types[origin] = given
	return given
}

// originOf says what a type within a message is made of, a property or an
// element of one, and what it is called after.
func originOf(property string, element bool) (origin, name string) {
	if element {
		return "items of " + property, singular(property)
	}
	return "property " + property, property
}

// messageOf returns the path of the message of an object.
func (b *builder) messageOf(s *scope, o *object, name string, element bool) string {
	if path, ok := b.paths[o]; ok {
		return path
	}
	origin, name := originOf(name, element)
	if o.shared && o.origin != "" {
		s = s.root
		origin = "#" + o.origin
		name = nameOfPointer(o.origin)
	}
	path := s.path + "." + b.typeName(s, origin, name)
	b.paths[o] = path
	inner := b.scope(path, s)
	s.proto.NestedType = append(s.proto.NestedType, inner.proto)
	b.comments[inner.proto] = cleanComment(o.doc)
	b.message(inner, o)
	return path
}

// enumOf returns the path of the enum of a shape.
func (b *builder) enumOf(s *scope, of *shape, name string, element bool) string {
	origin, name := originOf(name, element)
	typeName := b.typeName(s, origin, name)
	path := s.path + "." + typeName
	prefix := enumPrefix(typeName)
	locked := b.lock.enum(path)
	e := &descriptorpb.EnumDescriptorProto{Name: new(typeName)}
	zero := prefix + "UNSPECIFIED"
	s.values[zero] = true
	e.Value = append(e.Value, &descriptorpb.EnumValueDescriptorProto{Name: new(zero), Number: proto.Int32(0)})
	for _, v := range b.enumValues(s, locked, of.literals, prefix) {
		value := &descriptorpb.EnumValueDescriptorProto{Name: new(v.name), Number: new(v.number), Options: &descriptorpb.EnumValueOptions{}}
		proto.SetExtension(value.Options, jsonv1.E_Value, &jsonv1.EnumValueOptions{Literal: v.literal.text})
		b.imports[jsonProto] = true
		b.comments[value] = cleanComment(v.literal.doc)
		e.Value = append(e.Value, value)
	}
	for _, r := range ranges(locked.Retired.Numbers) {
		e.ReservedRange = append(e.ReservedRange, &descriptorpb.EnumDescriptorProto_EnumReservedRange{Start: new(r[0]), End: new(r[1])})
	}
	e.ReservedName = locked.Retired.Names
	s.proto.EnumType = append(s.proto.EnumType, e)
	return path
}

// addFields appends fields to a message.
func (b *builder) addFields(s *scope, fields []*field, oneof string) {
	m := s.proto
	if oneof != "" {
		m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: new(oneof)})
	}
	for _, f := range fields {
		fd := &descriptorpb.FieldDescriptorProto{
			Name:   new(f.locked.Name),
			Number: new(f.locked.Number),
			Label:  descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
		fd.JsonName = new(jsonName(f.locked.Name))
		if !f.extra && !f.oneof && f.options.GetName() == "" {
			fd.JsonName = new(f.key)
		}
		b.setType(s.path, m, fd, f.typ)
		switch {
		case f.oneof:
			fd.OneofIndex = proto.Int32(0)
		case f.typ.kind.isScalar() && !f.typ.list && !f.typ.isMap:
			fd.Proto3Optional = new(true)
			fd.OneofIndex = new(int32(len(m.OneofDecl))) //nolint:gosec // one for each field at most
			m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: new("_" + f.locked.Name)})
		}
		b.fieldOptions(fd, f)
		b.comments[fd] = f.comment
		m.Field = append(m.Field, fd)
	}
}

// setType sets the type of a field, and makes that of a map's entries.
func (b *builder) setType(path string, m *descriptorpb.DescriptorProto, fd *descriptorpb.FieldDescriptorProto, t fieldType) {
	if t.isMap {
		entry := entryName(fd.GetName())
		value := &descriptorpb.FieldDescriptorProto{
			Name: new("value"), JsonName: new("value"), Number: proto.Int32(2),
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
		t.isMap = false
		b.setType(path, m, value, t)
		m.NestedType = append(m.NestedType, &descriptorpb.DescriptorProto{
			Name: new(entry),
			Field: []*descriptorpb.FieldDescriptorProto{{
				Name: new("key"), JsonName: new("key"), Number: proto.Int32(1),
				Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
			}, value},
			Options: &descriptorpb.MessageOptions{MapEntry: new(true)},
		})
		t = fieldType{typ: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, list: true, name: b.ref(path + "." + entry)}
	}
	fd.Type = t.typ.Enum()
	if t.name != "" {
		fd.TypeName = new(t.name)
	}
	if t.list {
		fd.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	}
}

// fieldOptions sets the options of a field.
func (b *builder) fieldOptions(fd *descriptorpb.FieldDescriptorProto, f *field) {
	options := &descriptorpb.FieldOptions{}
	if f.shape.schema.Deprecated {
		options.Deprecated = new(true)
	}
	if proto.Size(f.options) > 0 {
		b.imports[jsonProto] = true
		proto.SetExtension(options, jsonv1.E_Field, f.options)
	}
	if b.rules {
		b.setRules(options, f)
	}
	if proto.Size(options) > 0 {
		fd.Options = options
	}
}

// messageOptions says how the JSON of a message is not an object of its fields.
func (b *builder) messageOptions(s *scope, o *object) {
	options := &jsonv1.MessageOptions{Value: o.bare, Tag: o.tag}
	if proto.Size(options) == 0 {
		return
	}
	b.imports[jsonProto] = true
	s.proto.Options = &descriptorpb.MessageOptions{}
	proto.SetExtension(s.proto.Options, jsonv1.E_Message, options)
}

// reserve marks what is retired.
func (b *builder) reserve(s *scope) {
	for _, r := range ranges(s.locked.Retired.Numbers) {
		s.proto.ReservedRange = append(s.proto.ReservedRange, &descriptorpb.DescriptorProto_ReservedRange{Start: new(r[0]), End: new(r[1] + 1)})
	}
	s.proto.ReservedName = s.locked.Retired.Names
}

// ranges returns sorted numbers as pairs of the first and the last of those
// that follow each other.
func ranges(numbers []int32) [][2]int32 {
	var all [][2]int32
	for _, n := range numbers {
		if last := len(all) - 1; last >= 0 && all[last][1] == n-1 {
			all[last][1] = n
		} else {
			all = append(all, [2]int32{n, n})
		}
	}
	return all
}

// nameOfPointer returns what the schema at a JSON pointer is called.
func nameOfPointer(pointer string) string {
	name := strings.NewReplacer("~1", "/", "~0", "~").Replace(pointer[strings.LastIndexByte(pointer, '/')+1:])
	return strings.TrimPrefix(name, "#")
}
