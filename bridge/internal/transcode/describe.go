package transcode

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/customoption"
)

// Shape is how the JSON of a message differs from ProtoJSON, by the options of
// mcp.json.v1. It is for who describes that JSON.
type Shape struct {
	// Value is set where the JSON of the message is not an object with its
	// fields, but the value of one of these.
	Value []protoreflect.FieldDescriptor
	// Tag is the member that says which of the arms is set, if there are any.
	// Their members stand in the same object or, where Content is not empty, in
	// the member of this name.
	Tag, Content string
	Arms         []Arm
	// Open is set where there may be members besides those of fields, or other
	// tags, and where there is Content.
	Open bool
	// Fields are in the order of their declaration.
	Fields []FieldShape
}

// Arm is a field of a union.
type Arm struct {
	Field protoreflect.FieldDescriptor
	// Literal is the tag that stands for it, or "". Untagged is set where it is
	// that of objects without a tag.
	Literal  string
	Untagged bool
}

// FieldShape is how the JSON of a field differs.
type FieldShape struct {
	// Name is that of its member, or "" if it has none of its own.
	Name string
	// Number is set for 64-bit integers that are JSON numbers, Raw for bytes that
	// are any JSON, Forms where other fields have the same member, and Null where
	// null is written for a field that is not set.
	Number, Raw, Forms, Null bool
}

// ShapeOf returns the shape of a message, or nil where its JSON is ProtoJSON.
func ShapeOf(md protoreflect.MessageDescriptor) *Shape {
	if !customoption.Imports(md.ParentFile(), jsonOptions) {
		return nil
	}
	p := NewCompiler(nil, Options{}).newPlan(md)
	s := &Shape{Fields: make([]FieldShape, len(p.fields))}
	differs := p.shape != nil
	for i := range p.fields {
		f := &p.fields[i]
		values := f
		if f.value != nil {
			values = f.value
		}
		s.Fields[i] = FieldShape{Name: f.name, Number: values.asNumber && is64Bit(values.kind), Raw: values.rawJSON, Forms: f.forms != nil, Null: f.elseNull}
		if !p.isMember(f) {
			s.Fields[i].Name = ""
		}
		differs = differs || s.Fields[i].Number || s.Fields[i].Raw || s.Fields[i].Null || f.name != f.desc.JSONName()
	}
	if !differs {
		return nil
	}
	if p.shape == nil {
		return s
	}
	if p.shape.value != nil {
		s.Value = valueFields(md)
	}
	s.Open = p.shape.extra != nil || p.shape.extraMap != nil || p.shape.fallback != nil
	if p.shape.arms == nil {
		return s
	}
	s.Tag, s.Content = p.shape.tag, p.shape.content
	s.Open = s.Open || s.Content != ""
	for i := range p.fields {
		if f := &p.fields[i]; f.literal != "" || f.untagged {
			s.Arms = append(s.Arms, Arm{Field: f.desc, Literal: f.literal, Untagged: f.untagged})
		}
	}
	slices.SortStableFunc(s.Arms, func(a, b Arm) int { return strings.Compare(a.Literal, b.Literal) })
	return s
}

// Literals returns the names that values of an enum have in JSON in place of
// their own, by number, or nil.
func Literals(ed protoreflect.EnumDescriptor) map[protoreflect.EnumNumber]string { return literals(ed) }
