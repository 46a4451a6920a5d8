package schema

import (
	"slices"
	"sync"
)

// The steps by which a schema shrinks until it fits its budget. What a model
// needs to write a correct call goes last: the root, its comments, the words
// of rules, and the structure near the root. What says the same once more goes
// first: a message inside itself.
var steps = []mode{
	{},
	{fold: true},
	{fold: true, nestedDocs: firstSentences, deepDocs: firstSentences},
	{fold: true, nestedDocs: firstSentences, deepDocs: noDocs},
	{fold: true, nestedDocs: noDocs, deepDocs: noDocs},
	{fold: true, nestedDocs: noDocs, deepDocs: noDocs, sampleEnums: true},
	{fold: true, nestedDocs: noDocs, deepDocs: noDocs, sampleEnums: true, rootDocs: firstSentences},
	{fold: true, nestedDocs: noDocs, deepDocs: noDocs, sampleEnums: true, rootDocs: firstSentences, shortRules: true},
}

// buffers are those of writers.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func takeBuffer() []byte {
	if buf, ok := buffers.Get().(*[]byte); ok {
		return *buf
	}
	return nil
}

func giveBuffer(buf []byte) {
	if cap(buf) <= MaxMaxBytes {
		buf = buf[:0]
		buffers.Put(&buf)
	}
}

// fit renders t in at most limit bytes.
func (c *cache) fit(t *tree, limit int) Schema {
	w := writer{cache: c, limit: limit, maxBytes: limit, buf: takeBuffer()}
	defer func() { giveBuffer(w.buf) }()
	if c.full {
		w.queued = make(map[*object]bool)
	}
	for _, m := range steps {
		if w.render(t, m) {
			return w.schema()
		}
	}
	last := steps[len(steps)-1]
	for range 2 {
		if w.prune(t, last) && w.render(t, last) {
			return w.schema()
		}
		last.rootDocs = noDocs
		restore(t)
	}
	w.prune(t, last)
	last.bare = true
	return w.trim(t, last)
}

// schema returns what was written.
func (w *writer) schema() Schema {
	return Schema{JSON: slices.Clone(w.buf), Pruned: w.pruned}
}

// render writes t and reports whether it fits.
func (w *writer) render(t *tree, m mode) bool {
	w.reset(m)
	w.root(t.root, nil, nil)
	return !w.over()
}

// unlimited returns a writer for sizes.
func (w *writer) unlimited(m mode) *writer {
	sizes := &writer{cache: w.cache, mode: m, maxBytes: w.maxBytes, buf: takeBuffer()}
	if w.full {
		sizes.queued = make(map[*object]bool)
	}
	return sizes
}

// prune collapses nested messages, the deepest and last ones first, until the
// schema fits, and reports whether it does.
func (w *writer) prune(t *tree, m mode) bool {
	sizes := w.unlimited(m)
	defer func() { giveBuffer(sizes.buf) }()
	sizes.root(t.root, nil, nil)
	size := len(sizes.buf)
	for i := len(t.nested) - 1; i >= 0 && size > w.limit; i-- {
		// Everything inside is collapsed or small by now, so that both sizes
		// are cheap to take. In $defs, what is referred to from here alone is
		// not taken off; it is at most more than what is needed.
		o := t.nested[i]
		if m.fold && o.repeated {
			continue // it is not written anyway
		}
		before := sizes.objectSize(o, m)
		o.collapsed = true
		after := sizes.objectSize(o, m)
		if after > before {
			o.collapsed = false
			continue
		}
		size -= before - after
	}
	return size <= w.limit
}

func restore(t *tree) {
	for _, o := range t.nested {
		o.collapsed = false
	}
}

// objectSize returns the size of what changes when o is collapsed.
func (w *writer) objectSize(o *object, m mode) int {
	w.reset(m)
	if o.shared && !m.bare {
		w.def(o)
	} else {
		w.property(o.owner)
	}
	return len(w.buf)
}

func (w *writer) propertySize(p *property, m mode) int {
	w.reset(m)
	w.property(p)
	return len(w.buf)
}

// trim leaves out properties of the root, the required ones last, until the
// schema fits. It names some of what it left out.
func (w *writer) trim(t *tree, m mode) Schema {
	root := t.root
	sizes := w.unlimited(m)
	defer func() { giveBuffer(sizes.buf) }()
	sizes.root(root, func(int) bool { return false }, nil)
	room := w.limit - len(sizes.buf) - len(`,"description":"","required":[]`) - maxLeftText
	keep := make([]bool, len(root.props))
	for _, required := range []bool{true, false} {
		for i := range root.props {
			p := &root.props[i]
			if root.requires(p) != required || room <= 0 {
				continue
			}
			size := sizes.propertySize(p, m) + len(",")
			if required {
				size += len(p.name) + len(`"",`)
			}
			if size <= room {
				keep[i] = true
				room -= size
			}
		}
	}
	var left []string
	for i := range root.props {
		if !keep[i] {
			left = append(left, root.props[i].name)
		}
	}
	w.reset(m)
	w.limit = 0
	w.root(root, func(i int) bool { return keep[i] }, left)
	return w.schema()
}
