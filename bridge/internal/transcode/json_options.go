package transcode

import (
	"iter"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/customoption"
	jsonv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/json/v1"
)

// jsonOptions is how the path of the file that declares the options of
// mcp.json.v1 ends.
const jsonOptions = "mcp/json/v1/json.proto"

// heed sets what the options of mcp.json.v1 say of a field by itself. Options
// that make no sense for its type are none. It returns the options, which may
// say more of the message, if there are any.
func (f *field) heed(fd protoreflect.FieldDescriptor) *jsonv1.FieldOptions {
	o := fieldOptions(fd)
	if o == nil {
		return nil
	}
	values := f
	if f.value != nil {
		values = f.value
	}
	f.nullable = o.GetNullable() && !f.implicit && (f.list || f.key != nil || !f.null)
	f.elseNull = f.nullable && o.GetAlways()
	f.omitEmpty = o.GetOmitEmpty() && (f.list || f.key != nil)
	switch {
	case o.GetAlways() && !f.elseNull && (f.list || f.key != nil || f.implicit):
		f.shown = everyLevel
	case f.omitEmpty || f.nullable: // an empty one is none
		f.shown &^= 1 << levelOutermost
	}
	values.asNumber = o.GetNumber()
	values.rawJSON = o.GetRaw() && values.kind == protoreflect.BytesKind
	values.null = values.null || values.rawJSON
	f.having = o.GetHaving()
	return o
}

// fieldOptions returns the options of a field, or nil if it has none.
func fieldOptions(fd protoreflect.FieldDescriptor) *jsonv1.FieldOptions {
	if !customoption.Imports(fd.ParentFile(), jsonOptions) {
		return nil
	}
	o := &jsonv1.FieldOptions{}
	if customoption.Read(fd, jsonOptions, jsonv1.E_Field.TypeDescriptor().Number(), o) != nil || proto.Size(o) == 0 {
		return nil
	}
	return o
}

// messageOptions returns the options of a message, or nil if it has none.
func messageOptions(md protoreflect.MessageDescriptor) *jsonv1.MessageOptions {
	if !customoption.Imports(md.ParentFile(), jsonOptions) {
		return nil
	}
	o := &jsonv1.MessageOptions{}
	if customoption.Read(md, jsonOptions, jsonv1.E_Message.TypeDescriptor().Number(), o) != nil || proto.Size(o) == 0 {
		return nil
	}
	return o
}

// literals are the names that the values of an enum have in JSON, by number,
// where options of mcp.json.v1 say so.
func literals(ed protoreflect.EnumDescriptor) map[protoreflect.EnumNumber]string {
	if !customoption.Imports(ed.ParentFile(), jsonOptions) {
		return nil
	}
	var all map[protoreflect.EnumNumber]string
	for i := range ed.Values().Len() {
		v := ed.Values().Get(i)
		o := &jsonv1.EnumValueOptions{}
		if customoption.Read(v, jsonOptions, jsonv1.E_Value.TypeDescriptor().Number(), o) != nil || o.GetLiteral() == "" {
			continue
		}
		if all == nil {
			all = make(map[protoreflect.EnumNumber]string)
		}
		all[v.Number()] = o.GetLiteral()
	}
	return all
}

// names are those that stand in JSON, for messages to people.
func (e *enumPlan) names() iter.Seq[string] {
	if e.literals == nil {
		return valueNames(e.desc.Values())
	}
	return func(yield func(string) bool) {
		for i := range e.desc.Values().Len() {
			v := e.desc.Values().Get(i)
			name, ok := e.literals[v.Number()]
			if !ok && v.Number() == 0 {
				continue // it stands for none of them
			}
			if !ok {
				name = string(v.Name())
			}
			if !yield(name) {
				return
			}
		}
	}
}
