package transcode

import (
	"iter"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	jsonv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/json/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// shape is what options of mcp.json.v1 say of the JSON of a message as a whole.
type shape struct {
	// value are the forms of a message that is one value.
	value *forms
	// tag is the member that tells what a union holds, and content the one
	// that holds it, if that is not the same object.
	tag, content string
	// arms are the fields of the union by their literal. In an object without a
	// tag it is untagged that is set, and fallback has what is none of them.
	arms               map[string]*field
	untagged, fallback *field
	// extraMap and extra keep the members that are no fields.
	extraMap, extra *field
}

// forms are fields of which each is a form of the same value.
type forms struct {
	// fields are in the order in which they are tried.
	fields []*field
	// accepts are the kinds that are canonical for each.
	accepts []kinds
}

// isValue reports whether the JSON of the message is that of one of its fields.
func (p *plan) isValue() bool { return p.shape != nil && p.shape.value != nil }

// isUnion reports whether the members of the message's object are those of the
// message in one of its fields.
func (p *plan) isUnion() bool { return p.shape != nil && p.shape.arms != nil && p.shape.content == "" }

// keeper returns the field of bytes that keeps members which do not fit
// elsewhere, or nil.
func (p *plan) keeper() *field {
	if p.shape == nil {
		return nil
	}
	return p.shape.extra
}

// isMember reports whether the field has a member of its own name.
func (p *plan) isMember(f *field) bool {
	return p.shape == nil || f != p.shape.extra && f != p.shape.extraMap && f.literal == ""
}

// tagField returns the field that keeps the tag of a union around the message,
// or nil.
func (p *plan) tagField(tag string) *field {
	i, ok := p.names[tag]
	if !ok || p.fields[i].name != tag {
		return nil
	}
	f := &p.fields[i]
	if f.list || f.forms != nil || f.kind != protoreflect.StringKind && f.kind != protoreflect.EnumKind {
		return nil
	}
	return f
}

// memberNames are the names of members, for messages to people.
func (p *plan) memberNames() (names iter.Seq[string], count int) {
	var all []string
	if p.shape != nil && p.shape.content != "" {
		all = append(all, p.shape.tag, p.shape.content)
	}
	for i := range p.fields {
		if f := &p.fields[i]; p.isMember(f) && !slices.Contains(all, f.name) {
			all = append(all, f.name)
		}
	}
	return slices.Values(all), len(all)
}

// newShape returns the shape of a message of which the fields have options, if
// those are not nil, and sets what the options say of several fields together.
// It returns nil where there is nothing to say.
func (c *Compiler) newShape(p *plan, options []*jsonv1.FieldOptions) *shape {
	o := messageOptions(p.desc)
	if o == nil && options == nil || p.wkt != wktNone {
		return nil
	}
	s := &shape{}
	if fields := valueFields(p.desc); fields != nil {
		all := make([]*field, len(p.fields))
		for i := range p.fields {
			all[i] = &p.fields[i]
		}
		s.value = c.newForms(all)
		return s
	}
	if options == nil {
		return nil
	}
	s.findUnion(p, o, options)
	if s.arms != nil && s.content == "" {
		return s
	}
	s.findExtra(p, options)
	s.setNames(c, p, options)
	if s.arms == nil && s.extra == nil && s.extraMap == nil {
		return nil
	}
	return s
}

// findUnion finds what a tag chooses from: fields with a literal, in one oneof.
// If the tag stands among the members of what it chooses, these are messages,
// and the oneof has all fields of the message.
func (s *shape) findUnion(p *plan, o *jsonv1.MessageOptions, options []*jsonv1.FieldOptions) {
	inside := o.GetContent() == ""
	if o.GetTag() == "" || o.GetTag() == o.GetContent() {
		return
	}
	for i := range p.fields {
		if f := &p.fields[i]; inside && (realOneof(f) < 0 || f.oneof != p.fields[0].oneof) {
			return
		}
	}
	oneof := -1
	for i := range p.fields {
		f := &p.fields[i]
		chosen := options[i].GetLiteral() != "" || options[i].GetUntagged() && inside
		if !chosen || realOneof(f) < 0 || oneof >= 0 && f.oneof != oneof || inside && !isArm(f) {
			continue
		}
		oneof = f.oneof
		literal := options[i].GetLiteral()
		if s.arms == nil {
			s.arms = make(map[string]*field)
		}
		if s.arms[literal] != nil {
			continue
		}
		if literal != "" {
			s.arms[literal] = f
			f.literal = literal
		}
		if options[i].GetUntagged() && s.untagged == nil {
			s.untagged = f
			f.untagged = true
		}
	}
	if s.arms == nil {
		return
	}
	s.tag, s.content = o.GetTag(), o.GetContent()
	for i := range p.fields {
		f := &p.fields[i]
		if inside && f.rawJSON && s.fallback == nil {
			s.fallback = f
		}
		if !inside && f.literal != "" {
			f.name = s.content
			f.member = append(jsontok.AppendString(nil, s.tag), ':')
			f.member = append(jsontok.AppendString(f.member, f.literal), ',')
			f.member = append(jsontok.AppendString(f.member, f.name), ':')
		}
	}
}

// isArm reports whether the members of the message in a field can stand beside
// a tag.
func isArm(f *field) bool {
	if f.message == nil || wellKnownOf(f.message) != wktNone || valueFields(f.message) != nil {
		return false
	}
	o := messageOptions(f.message)
	return o.GetTag() == "" || o.GetContent() != ""
}

// realOneof returns the index of the oneof that stands in the source, or -1.
func realOneof(f *field) int {
	if od := f.desc.ContainingOneof(); od == nil || od.IsSynthetic() {
		return -1
	}
	return f.oneof
}

// findExtra finds the first map from strings and the first bytes that keep
// members.
func (s *shape) findExtra(p *plan, options []*jsonv1.FieldOptions) {
	for i := range p.fields {
		f := &p.fields[i]
		switch {
		case !options[i].GetExtra() || realOneof(f) >= 0:
		case f.key != nil && f.key.kind == protoreflect.StringKind:
			if s.extraMap == nil {
				s.extraMap = f
			}
		case f.kind == protoreflect.BytesKind && !f.list:
			if s.extra == nil {
				s.extra = f
			}
		}
	}
}

// setNames gives fields the names of their options, and makes forms of those
// fields of a oneof that have the same. If two fields have the same name and are
// not of one oneof, all keep the names that they have in ProtoJSON.
func (s *shape) setNames(c *Compiler, p *plan, options []*jsonv1.FieldOptions) {
	first := make(map[string]*field)
	same := make(map[*field][]*field)
	nameOf := func(i int) string {
		if name := options[i].GetName(); name != "" {
			return name
		}
		return p.fields[i].name
	}
	named := make(map[string]bool)
	for i := range p.fields {
		named[options[i].GetName()] = true
	}
	for i := range p.fields {
		f := &p.fields[i]
		if f == s.extra || f == s.extraMap || f.literal != "" {
			continue
		}
		name := nameOf(i)
		other := first[name]
		switch {
		case other == nil:
			first[name] = f
		case !named[name]:
		case realOneof(f) < 0 || realOneof(f) != realOneof(other):
			return
		default:
			same[other] = append(same[other], f)
		}
	}
	for i := range p.fields {
		f := &p.fields[i]
		if name := options[i].GetName(); name != "" && f.literal == "" {
			f.name = name
			f.member = append(jsontok.AppendString(nil, f.name), ':')
		}
	}
	for f, others := range same {
		g := c.newForms(append([]*field{f}, others...))
		for _, f := range g.fields {
			f.forms = g
			f.null = g.takesNull()
		}
	}
}

// newForms makes forms of fields that are in the order of their declaration.
// Where raw JSON is preferred, it comes before messages that are any JSON too.
func (c *Compiler) newForms(fields []*field) *forms {
	g := &forms{fields: slices.Clone(fields)}
	if c.opts.PreferRaw {
		slices.SortStableFunc(g.fields, func(a, b *field) int { return rank(a) - rank(b) })
	}
	for _, f := range g.fields {
		g.accepts = append(g.accepts, fieldKinds(f.desc, nil))
	}
	return g
}

// rank is the place of a form where raw JSON is preferred: behind those of a
// certain type, which it would hide.
func rank(f *field) int {
	switch {
	case f.rawJSON:
		return 1
	case f.message == nil:
		return 0
	}
	switch wellKnownOf(f.message) {
	case wktStruct, wktValue, wktListValue:
		return 2
	default:
		return 0
	}
}

// mayBe reports whether the value at which the cursor stands may have a form.
func (g *forms) mayBe(c *cursor, i int) bool {
	name := g.fields[i].having
	return g.accepts[i].has(c.kind()) && (name == "" || c.kind() != jsontok.KindObject || c.has(name))
}

// takesNull reports whether null is one of the values.
func (g *forms) takesNull() bool {
	for _, k := range g.accepts {
		if k.has(jsontok.KindNull) {
			return true
		}
	}
	return false
}

// maxValues is how many messages that are values may stand for each other.
const maxValues = 64

// valueFields returns the forms of a message that is one value: all its fields,
// which are one or are in one oneof. It returns nil for other messages, and for
// one that would be a form of itself or of too many.
func valueFields(md protoreflect.MessageDescriptor) []protoreflect.FieldDescriptor {
	fields := markedFields(md)
	if fields == nil {
		return nil
	}
	seen := map[protoreflect.FullName]bool{}
	todo := fields
	for len(todo) > 0 {
		fd := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		sub := fd.Message()
		if sub == nil || fd.IsList() || fd.IsMap() || seen[sub.FullName()] {
			continue
		}
		if sub.FullName() == md.FullName() || len(seen) == maxValues {
			return nil
		}
		inner := markedFields(sub)
		if inner != nil {
			seen[sub.FullName()] = true
		}
		todo = append(todo, inner...)
	}
	return fields
}

// markedFields returns the fields of a message that has the option value, if
// they can be the forms of one.
func markedFields(md protoreflect.MessageDescriptor) []protoreflect.FieldDescriptor {
	if !messageOptions(md).GetValue() || wellKnownOf(md) != wktNone {
		return nil
	}
	var fields []protoreflect.FieldDescriptor
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if i > 0 && (fd.ContainingOneof() == nil || fd.ContainingOneof() != fields[0].ContainingOneof()) {
			return nil
		}
		fields = append(fields, fd)
	}
	return fields
}
