package schema

import "google.golang.org/protobuf/reflect/protoreflect"

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
// written. In the full profile it is a graph: a message is in it once.
type tree struct {
	root *object
	// nested are the expanded messages below root, outer ones first.
	nested []*object
}

// object is a message at one place of the tree.
type object struct {
	info   *messageInfo
	parent *object
	depth  int
	// owner is the property that holds the object, nil for the root.
	owner *property
	// props are nil unless expanded.
	props    []property
	expanded bool
	// repeated is set inside a message of the same type, and in all that is in one
	// that is; again is set where recursion ends.
	repeated, again bool
	// shared is set where the object stands in $defs.
	shared bool
	// collapsed is set by the budget: written as if not expanded.
	collapsed bool
}

// requires reports whether a property of the object is always there. A root that
// the schema refers to is described as what it is at all its places.
func (o *object) requires(p *property) bool {
	return p.required || p.outermost && o.owner == nil && !o.shared
}

// property is a member of an object.
type property struct {
	*fieldInfo
	// depth is that of the object the property belongs to.
	depth int
	// child is the message that the property holds, if any: itself, as an
	// item of its list, or as a value of its map.
	child *object
}

// builder expands messages, outer ones first, so that a tree which grows too
// large lacks its deepest messages.
type builder struct {
	*cache
	room  int // nodes that may still be made
	queue []*object
	// once are the objects by message, in the full profile.
	once map[*messageInfo]*object
}

func newBuilder(c *cache, maxBytes int) *builder {
	b := &builder{cache: c, room: maxBytes/minPropertyBytes + 1}
	if c.full {
		b.once = make(map[*messageInfo]*object)
	}
	return b
}

func (b *builder) tree(md protoreflect.MessageDescriptor) *tree {
	if w, ok := wellKnown[md.FullName()]; ok {
		info := &messageInfo{desc: md}
		root := &object{info: info, expanded: true}
		v := w.value(b.dir)
		if w.object {
			info.doc = v.rule
			return &tree{root: root}
		}
		f := &fieldInfo{name: WrapKey, required: true, value: v}
		info.fields = []*fieldInfo{f}
		root.props = []property{{fieldInfo: f}}
		return &tree{root: root}
	}
	root := &object{info: b.message(md, false)}
	if b.full {
		b.once[root.info] = root
	}
	t := &tree{root: root}
	b.expand(root, b.fields(root.info))
	for len(b.queue) > 0 && b.room > 0 {
		o := b.queue[0]
		b.queue = b.queue[1:]
		fields := b.fields(o.info)
		// What does not fit the room cannot fit the budget either. Smaller
		// messages behind it still may.
		if len(fields) > b.room {
			continue
		}
		b.expand(o, fields)
		t.nested = append(t.nested, o)
	}
	return t
}

func (b *builder) expand(o *object, fields []*fieldInfo) {
	o.expanded = true
	o.props = make([]property, len(fields))
	for i, f := range fields {
		b.room--
		p := &o.props[i]
		p.fieldInfo, p.depth = f, o.depth
		if m := f.value.messageOf(); m != nil {
			info := f.child.Load()
			if info == nil {
				info = b.message(m.message, m.lax)
				f.child.Store(info)
			}
			p.child = b.child(o, p, info)
		}
	}
}

// child returns the object of a message that p holds.
func (b *builder) child(parent *object, p *property, info *messageInfo) *object {
	if b.full {
		if o := b.once[info]; o != nil {
			o.shared = true
			return o
		}
	}
	o := &object{info: info, parent: parent, depth: parent.depth + 1, owner: p}
	if info.desc.IsPlaceholder() {
		return o
	}
	if b.full {
		b.once[info] = o
		// Nesting is bounded, because what is in $defs nests nothing.
		o.shared = o.depth%maxDepth == 0
		b.queue = append(b.queue, o)
		return o
	}
	limit := inputUnroll
	if b.dir == output {
		limit = outputUnroll
	}
	name := info.desc.FullName()
	o.repeated = parent.repeated
	for up := parent; up != nil; up = up.parent {
		if up.info == info || up.info.desc.FullName() == name {
			limit--
			o.repeated = true
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
