package transcode

import (
	"iter"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/customoption"
	jsonv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/json/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// jsonOptions is how the path of the file that declares the options of
// mcp.json.v1 ends.
const jsonOptions = "mcp/json/v1/json.proto"

// heed sets what the options of mcp.json.v1 say of a field. Options that make
// no sense for its type are none.
func (f *field) heed(fd protoreflect.FieldDescriptor) {
	o := &jsonv1.FieldOptions{}
	if customoption.Read(fd, jsonOptions, jsonv1.E_Field.TypeDescriptor().Number(), o) != nil {
		return
	}
	single := !fd.IsList() && !fd.IsMap()
	values := f
	if f.value != nil {
		values = f.value
	}
	isBytes := values.kind == protoreflect.BytesKind
	f.always = o.GetAlways() && (f.list || f.key != nil || f.implicit)
	values.asNumber = o.GetNumber()
	values.rawJSON = o.GetRaw() && isBytes
	values.null = values.null || values.rawJSON
	f.extra = o.GetExtra() && isBytes && single
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
			if !ok {
				name = string(v.Name())
			}
			if !yield(name) {
				return
			}
		}
	}
}

// readExtra notes a member that is no field, in a message that keeps those. It
// reports false for other messages.
func (r *reader) readExtra(c *cursor, o *object, raw []byte) bool {
	if o.plan.extra == nil {
		return false
	}
	name, ok := unquote(raw)
	value := c.skip()
	switch {
	case !ok:
		r.report(Violation{Problem: loneSurrogate})
	case o.names[name]:
		r.report(Violation{Problem: "the member occurs twice"})
	default:
		if o.names == nil {
			o.names = make(map[string]bool)
		}
		o.names[name] = true
		sep := byte(',')
		if o.extra == nil {
			sep = '{'
		}
		o.extra = append(append(o.extra, sep), raw...)
		o.extra = jsontok.AppendCompact(append(o.extra, ':'), value)
	}
	return true
}

// rawJSON writes JSON text that stands in a field.
func (w *writer) rawJSON(text []byte) {
	if jsontok.Valid(text, jsontok.Limits{MaxDepth: w.compiler.opts.MaxDepth}) != nil {
		w.warn("bytes that are no JSON became null")
		w.raw("null")
		return
	}
	w.dst = jsontok.AppendCompact(w.dst, text)
}

// writeExtra writes the members that a field keeps, each with a comma behind
// it. Those with the name of a field are left out.
func (w *writer) writeExtra(p *plan, text []byte) {
	if jsontok.Valid(text, jsontok.Limits{MaxDepth: w.compiler.opts.MaxDepth}) != nil || jsontok.KindOf(jsontok.AppendCompact(nil, text)) != jsontok.KindObject {
		w.warn("%s holds no JSON object; it is left out", p.extra.desc.FullName())
		return
	}
	err := jsontok.Object(text, func(key, value []byte) error {
		if i, ok := p.names[string(key)]; ok && &p.fields[i] != p.extra {
			w.warn("the member %q of %s is left out, for there is a field of that name", clip(string(key), maxNameText), p.extra.desc.FullName())
			return nil
		}
		w.dst = append(jsontok.AppendString(w.dst, key), ':')
		w.dst = append(jsontok.AppendCompact(w.dst, value), ',')
		return nil
	})
	if err != nil { // a name that occurs twice
		w.warn("%s: %v", p.extra.desc.FullName(), err)
	}
}
