package schema

import "encoding/json"

// The steps by which a schema shrinks until it fits its budget. What a model
// needs to write a correct call goes last: the root, its comments, and the
// structure near it.
var steps = []mode{
	{},
	{nestedDocs: firstSentences},
	{nestedDocs: noDocs},
	{nestedDocs: noDocs, sampleEnums: true},
	{nestedDocs: noDocs, sampleEnums: true, rootDocs: firstSentences},
}

// fit renders t in at most limit bytes.
func fit(t *tree, limit int) json.RawMessage {
	for _, m := range steps {
		if b, ok := render(t, m, limit); ok {
			return b
		}
	}
	last := steps[len(steps)-1]
	if prune(t, last, limit) {
		if b, ok := render(t, last, limit); ok {
			return b
		}
	}
	last.rootDocs = noDocs
	restore(t)
	if prune(t, last, limit) {
		if b, ok := render(t, last, limit); ok {
			return b
		}
	}
	return trim(t, last, limit)
}

func render(t *tree, m mode, limit int) (json.RawMessage, bool) {
	r := renderer{mode: m, limit: limit}
	r.root(t.root, t.root.props, nil)
	return r.buf, !r.full()
}

// prune collapses nested messages, the deepest and last ones first, until the
// schema fits, and reports whether it does.
func prune(t *tree, m mode, limit int) bool {
	whole := renderer{mode: m}
	whole.root(t.root, t.root.props, nil)
	size := len(whole.buf)
	for i := len(t.nested) - 1; i >= 0 && size > limit; i-- {
		// Everything inside is collapsed or small by now, so that both sizes
		// are cheap to take.
		o := t.nested[i]
		open := propertySize(o.owner, m)
		o.collapsed = true
		closed := propertySize(o.owner, m)
		if closed > open {
			o.collapsed = false
			continue
		}
		size -= open - closed
	}
	return size <= limit
}

func restore(t *tree) {
	for _, o := range t.nested {
		o.collapsed = false
	}
}

func propertySize(p *property, m mode) int {
	r := renderer{mode: m}
	r.property(p)
	return len(r.buf)
}

// trim leaves out properties of the root, the required ones last, until the
// schema fits. It names some of what it left out.
func trim(t *tree, m mode, limit int) json.RawMessage {
	root := t.root
	frame := renderer{mode: m}
	frame.root(root, nil, nil)
	room := limit - len(frame.buf) - len(`,"description":"","required":[]`) - maxLeftText
	keep := make([]bool, len(root.props))
	for _, required := range []bool{true, false} {
		for i, p := range root.props {
			if p.required != required || room <= 0 {
				continue
			}
			size := propertySize(p, m) + len(",")
			if required {
				size += len(p.name) + len(`"",`)
			}
			if size <= room {
				keep[i] = true
				room -= size
			}
		}
	}
	var props []*property
	var left []string
	for i, p := range root.props {
		if keep[i] {
			props = append(props, p)
		} else {
			left = append(left, p.name)
		}
	}
	r := renderer{mode: m}
	r.root(root, props, left)
	return r.buf
}
