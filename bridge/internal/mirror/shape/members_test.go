package shape_test

import (
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	jsonv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/json/v1"
	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

// message is a message of mcp.v1, or nil.
func message(name string) protoreflect.MessageDescriptor {
	first := (*mcpv1.Tool)(nil).ProtoReflect().Descriptor().FullName().Parent()
	md, _ := descriptorOf(first.Append(protoreflect.Name(name)))
	return md
}

func fieldOptions(fd protoreflect.FieldDescriptor) *jsonv1.FieldOptions {
	o, _ := proto.GetExtension(fd.Options(), jsonv1.E_Field).(*jsonv1.FieldOptions)
	return o
}

func messageOptions(md protoreflect.MessageDescriptor) *jsonv1.MessageOptions {
	o, _ := proto.GetExtension(md.Options(), jsonv1.E_Message).(*jsonv1.MessageOptions)
	return o
}

func fieldsOf(md protoreflect.MessageDescriptor) []protoreflect.FieldDescriptor {
	out := make([]protoreflect.FieldDescriptor, md.Fields().Len())
	for i := range out {
		out[i] = md.Fields().Get(i)
	}
	return out
}

// isMirror reports whether a field is a message of mcp.v1.
func isMirror(fd protoreflect.FieldDescriptor) bool {
	return fd.Message() != nil && !fd.IsMap() && fd.Message().ParentFile().Package() == "mcp.v1"
}

// expand replaces a message that is one value by what that can be.
func expand(fields ...protoreflect.FieldDescriptor) []protoreflect.FieldDescriptor {
	var out []protoreflect.FieldDescriptor
	for _, fd := range fields {
		if isMirror(fd) && !fd.IsList() && messageOptions(fd.Message()).GetValue() {
			out = append(out, expand(fieldsOf(fd.Message())...)...)
			continue
		}
		out = append(out, fd)
	}
	return out
}

// arm is the field of a union that is for a tag; that without a tag is for "".
func arm(md protoreflect.MessageDescriptor, tag string) protoreflect.FieldDescriptor {
	for _, fd := range fieldsOf(md) {
		if o := fieldOptions(fd); tag != "" && o.GetLiteral() == tag || tag == "" && o.GetUntagged() {
			return fd
		}
	}
	return nil
}

// member returns the fields in which a member of a message's object can be. Tag
// is that of a union, or empty. It reports false if there is no place for the
// member but that of unknown ones.
func member(md protoreflect.MessageDescriptor, name, tag string) ([]protoreflect.FieldDescriptor, bool) {
	o := messageOptions(md)
	switch {
	case o.GetValue():
		for _, fd := range expand(fieldsOf(md)...) {
			if isMirror(fd) {
				if fields, ok := member(fd.Message(), name, tag); ok {
					return fields, true
				}
			}
		}
		return nil, false
	case o.GetTag() != "" && o.GetContent() == "":
		if name == o.GetTag() && tag != "" {
			return nil, arm(md, tag) != nil
		}
		if fd := arm(md, tag); fd != nil {
			return member(fd.Message(), name, "")
		}
		return nil, false
	case o.GetContent() != "" && tag != "" && arm(md, tag) != nil:
		switch name {
		case o.GetTag():
			return nil, true
		case o.GetContent():
			return []protoreflect.FieldDescriptor{arm(md, tag)}, true
		}
	}
	var out []protoreflect.FieldDescriptor
	for _, fd := range fieldsOf(md) {
		own := fieldOptions(fd).GetName()
		if own == "" {
			own = fd.JSONName()
		}
		if own == name && fieldOptions(fd).GetLiteral() == "" && !fieldOptions(fd).GetExtra() {
			out = append(out, fd)
		}
	}
	return expand(out...), len(out) > 0
}

// keeps reports whether a message keeps members that are no fields, exactly.
func keeps(md protoreflect.MessageDescriptor) bool {
	return slices.ContainsFunc(fieldsOf(md), func(fd protoreflect.FieldDescriptor) bool {
		return fieldOptions(fd).GetExtra() && fd.Kind() == protoreflect.BytesKind
	})
}

// literals are those of an enum.
func literals(ed protoreflect.EnumDescriptor) []string {
	var out []string
	for i := range ed.Values().Len() {
		o, _ := proto.GetExtension(ed.Values().Get(i).Options(), jsonv1.E_Value).(*jsonv1.EnumValueOptions)
		if o.GetLiteral() != "" {
			out = append(out, o.GetLiteral())
		}
	}
	return out
}

// takes reports whether a field takes scalars of a type of JSON Schema.
func takes(fd protoreflect.FieldDescriptor, kind string, enum []any) bool {
	if fd.IsList() || fd.IsMap() {
		return false
	}
	if fd.Message() != nil {
		return fd.Message().FullName() == "google.protobuf.Value"
	}
	switch fd.Kind() {
	case protoreflect.StringKind:
		return kind == "string"
	case protoreflect.BytesKind:
		return kind == "string" && !fieldOptions(fd).GetRaw() || kind == "null" && fieldOptions(fd).GetRaw()
	case protoreflect.BoolKind:
		return kind == "boolean"
	case protoreflect.DoubleKind:
		return kind == "number" || kind == "integer"
	case protoreflect.Int64Kind:
		return kind == "integer" && fieldOptions(fd).GetNumber()
	case protoreflect.Int32Kind:
		return kind == "integer"
	case protoreflect.EnumKind:
		if fd.Enum().FullName() == "google.protobuf.NullValue" {
			return kind == "null"
		}
		all := literals(fd.Enum())
		return kind == "string" && enum != nil && !slices.ContainsFunc(enum, func(v any) bool { return !slices.Contains(all, v.(string)) })
	default:
		return false
	}
}
