package schema

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	// inputUnroll and outputUnroll say how often a message may stand inside
	// itself, the outermost one counted.
	inputUnroll  = 2
	outputUnroll = 1
	// maxDepth is how many messages may stand inside each other.
	maxDepth = 32
	// minPropertyBytes is less than any property takes in a schema. It turns
	// the byte budget into a bound on the size of the tree.
	minPropertyBytes = 16
)

// A tree is what a message becomes, before the decision of how much of it is
// written.
type tree struct {
	root *object
	// nested are the expanded messages below root, outer ones first.
	nested []*object
}

// object is a message at one place of the tree.
type object struct {
	desc   protoreflect.MessageDescriptor
	parent *object
	depth  int
	// owner is the property that holds the object, nil for the root.
	owner *property
	doc   string
	// props are nil unless expanded.
	props    []*property
	expanded bool
	// again is set where recursion ends.
	again bool
	// unlisted are fields that no property can stand for.
	unlisted []string
	// collapsed is set by the budget: written as if not expanded.
	collapsed bool
}

// property is a member of an object.
type property struct {
	name     string
	doc      string // the author's words
	lead     string // our words that must be read first
	rule     string // our words that must not be lost
	required bool
	value    *value
	// depth is that of the object the property belongs to.
	depth int
}

// value is one node of a schema. Exactly one of list, mapping, object, enum
// and keywords is set.
type value struct {
	list     *value
	mapping  *value
	object   *object
	enum     *enumValue
	keywords string // members of a JSON object, "type" first
	rule     string // our words that must not be lost
	note     string // our words that explain what the keywords say already
}

// builder expands messages, outer ones first, so that a tree which grows too
// large lacks its deepest messages.
type builder struct {
	dir      direction
	maxBytes int
	room     int // nodes that may still be made
	queue    []*object
	messages map[protoreflect.FullName]*messageInfo
	enums    map[enumKey]*enumValue
}

func newBuilder(dir direction, maxBytes int) *builder {
	return &builder{
		dir:      dir,
		maxBytes: maxBytes,
		room:     maxBytes/minPropertyBytes + 1,
		messages: make(map[protoreflect.FullName]*messageInfo),
		enums:    make(map[enumKey]*enumValue),
	}
}

func (b *builder) tree(md protoreflect.MessageDescriptor) *tree {
	root := &object{desc: md, expanded: true}
	t := &tree{root: root}
	if w, ok := wellKnown[md.FullName()]; ok {
		if !w.object {
			v := w.value(b.dir)
			root.props = []*property{{name: WrapKey, required: b.dir == input, value: v}}
		} else {
			root.doc = w.value(b.dir).rule
		}
		return t
	}
	info := b.message(md)
	root.doc, root.unlisted = info.doc, info.unlisted
	root.props = b.properties(root, info)
	for len(b.queue) > 0 && b.room > 0 {
		o := b.queue[0]
		b.queue = b.queue[1:]
		info := b.message(o.desc)
		// What does not fit the room cannot fit the budget either. Smaller
		// messages behind it still may.
		if cost := len(info.fields); cost > b.room {
			continue
		}
		o.unlisted = info.unlisted
		o.props = b.properties(o, info)
		o.expanded = true
		t.nested = append(t.nested, o)
	}
	return t
}

func (b *builder) properties(o *object, info *messageInfo) []*property {
	props := make([]*property, 0, len(info.fields))
	for _, f := range info.fields {
		b.room--
		p := &property{name: f.name, doc: f.doc, lead: f.lead, rule: f.rule, required: f.required, depth: o.depth}
		p.value = b.field(o, p, f.desc)
		props = append(props, p)
	}
	return props
}

func (b *builder) field(o *object, p *property, fd protoreflect.FieldDescriptor) *value {
	switch {
	case fd.IsMap():
		v := &value{mapping: b.single(o, p, fd.MapValue())}
		switch fd.MapKey().Kind() {
		case protoreflect.BoolKind:
			v.note = "Keys are true or false."
		case protoreflect.StringKind:
		default:
			v.note = "Keys are decimal integers."
		}
		return v
	case fd.IsList():
		return &value{list: b.single(o, p, fd)}
	default:
		return b.single(o, p, fd)
	}
}

// single returns the schema of one value of a field, disregarding that the
// field may be repeated.
func (b *builder) single(o *object, p *property, fd protoreflect.FieldDescriptor) *value {
	switch fd.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		md := fd.Message()
		if w, ok := wellKnown[md.FullName()]; ok {
			return w.value(b.dir)
		}
		return &value{object: b.object(o, p, md)}
	case protoreflect.EnumKind:
		return b.enum(fd)
	default:
		return scalar(fd.Kind(), b.dir)
	}
}

func (b *builder) object(parent *object, p *property, md protoreflect.MessageDescriptor) *object {
	o := &object{desc: md, parent: parent, depth: parent.depth + 1, owner: p}
	if md.IsPlaceholder() {
		return o
	}
	o.doc = b.message(md).doc
	limit := inputUnroll
	if b.dir == output {
		limit = outputUnroll
	}
	for up := parent; up != nil; up = up.parent {
		if up.desc.FullName() == md.FullName() {
			limit--
		}
	}
	switch {
	case limit <= 0:
		o.again = true
	case o.depth < maxDepth:
		b.queue = append(b.queue, o)
	}
	return o
}

// messageInfo is what all places of a message share.
type messageInfo struct {
	doc      string
	fields   []*fieldInfo
	unlisted []string
}

type fieldInfo struct {
	desc       protoreflect.FieldDescriptor
	name       string
	doc        string
	lead, rule string
	required   bool
}

func (b *builder) message(md protoreflect.MessageDescriptor) *messageInfo {
	if info, ok := b.messages[md.FullName()]; ok {
		return info
	}
	info := &messageInfo{doc: comment(md)}
	if info.doc == "" {
		info.doc = commonTypes[md.FullName()]
	}
	b.messages[md.FullName()] = info

	seen := make(map[string]bool)
	rules := make(map[protoreflect.FullName]string)
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		says := fieldBehavior(fd)
		if !says.travels(b.dir) {
			continue
		}
		name := fd.JSONName()
		if !validKey(name) || seen[name] {
			info.unlisted = append(info.unlisted, strings.Map(visible, clip(name, 64)))
			continue
		}
		seen[name] = true
		f := &fieldInfo{desc: fd, name: name, doc: comment(fd)}
		if deprecated(fd) && !strings.HasPrefix(strings.ToLower(f.doc), "deprecated") {
			f.lead = "Deprecated."
		}
		group := fd.ContainingOneof()
		if group != nil && group.IsSynthetic() {
			group = nil
		}
		if group != nil {
			rule, ok := rules[group.FullName()]
			if !ok {
				rule = b.oneofRule(group)
				rules[group.FullName()] = rule
			}
			f.rule = rule
		}
		f.required = b.dir == input && group == nil && (says.required || fd.Cardinality() == protoreflect.Required)
		info.fields = append(info.fields, f)
	}
	return info
}

func (b *builder) oneofRule(group protoreflect.OneofDescriptor) string {
	const most = 8
	var names []string
	for i := range group.Fields().Len() {
		fd := group.Fields().Get(i)
		if fieldBehavior(fd).travels(b.dir) {
			names = append(names, strings.Map(visible, fd.JSONName()))
		}
		if len(names) > most {
			break
		}
	}
	name := clip(string(group.Name()), maxNameText)
	if len(names) == 1 {
		return fmt.Sprintf("The only member of oneof %s.", name)
	}
	return fmt.Sprintf("Oneof %s: at most one of %s.", name, sample(names, most, 4*maxNameText))
}

// validKey reports whether hosts accept a property of the name
// (^[a-zA-Z0-9_.-]{1,64}$).
func validKey(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !isAlphanumeric(c) && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
