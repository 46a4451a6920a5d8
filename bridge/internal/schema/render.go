package schema

import (
	"fmt"
	"strings"
)

// docs says how much of the author's words is written.
type docs int

const (
	allDocs docs = iota
	firstSentences
	noDocs
)

// mode says how much of a tree is written.
type mode struct {
	rootDocs    docs // of the root and its properties
	nestedDocs  docs // of everything below
	sampleEnums bool // long enumerations become samples
}

func (m mode) docs(depth int) docs {
	if depth == 0 {
		return m.rootDocs
	}
	return m.nestedDocs
}

// renderer appends JSON. It stops early, with incomplete JSON, once it is
// beyond limit, where limit is not zero.
type renderer struct {
	mode  mode
	limit int
	buf   []byte
}

func (r *renderer) full() bool { return r.limit > 0 && len(r.buf) > r.limit }

func (r *renderer) raw(s string) { r.buf = append(r.buf, s...) }

func (r *renderer) description(text string) {
	if text != "" {
		r.raw(`,"description":`)
		r.buf = appendString(r.buf, text)
	}
}

// root writes the root with the given properties. left are the names of those
// that are not given.
func (r *renderer) root(o *object, props []*property, left []string) {
	r.raw("{" + typeObject)
	text := join(r.shorten(o.doc, r.mode.rootDocs), unlistedText(o.unlisted))
	if len(left) > 0 {
		text = join(text, leftText(left))
	}
	r.description(cut(text, maxText))
	r.raw(`,"properties":`)
	r.properties(props)
	r.raw("}")
}

// properties writes the value of "properties" and, where there is something
// required, the member "required".
func (r *renderer) properties(props []*property) {
	r.raw("{")
	var required []string
	for i, p := range props {
		if r.full() {
			return
		}
		if i > 0 {
			r.raw(",")
		}
		r.property(p)
		if p.required {
			required = append(required, p.name)
		}
	}
	r.raw("}")
	if len(required) > 0 {
		r.raw(`,"required":`)
		r.buf = appendStrings(r.buf, required)
	}
}

// property writes a member of "properties".
func (r *renderer) property(p *property) {
	r.buf = appendString(r.buf, p.name)
	r.raw(":")
	r.value(p.value, p)
}

// value writes a schema node. p is the property it is the value of, and nil
// for items and values of maps.
func (r *renderer) value(v *value, p *property) {
	r.raw("{")
	switch {
	case v.list != nil:
		r.raw(`"type":"array"`)
		r.description(r.text(p, v, ""))
		r.raw(`,"items":`)
		r.value(v.list, nil)
	case v.mapping != nil:
		r.raw(typeObject)
		r.description(r.text(p, v, ""))
		r.raw(`,"additionalProperties":`)
		r.value(v.mapping, nil)
	case v.enum != nil:
		keywords, text := v.enum.keywords(r.mode)
		first, rest := splitType(keywords)
		r.raw(first)
		r.description(r.text(p, v, text))
		r.raw(rest)
	case v.object != nil:
		r.object(v, p)
	default:
		first, rest := splitType(v.keywords)
		r.raw(first)
		r.description(r.text(p, v, ""))
		r.raw(rest)
	}
	r.raw("}")
}

// splitType splits keywords after the type, so that the description comes
// second.
func splitType(keywords string) (first, rest string) {
	from := 0
	if strings.HasPrefix(keywords, `"type":[`) {
		from = strings.IndexByte(keywords, ']')
	}
	if i := strings.IndexByte(keywords[from:], ','); i >= 0 {
		return keywords[:from+i], keywords[from+i:]
	}
	return keywords, ""
}

func (r *renderer) object(v *value, p *property) {
	o := v.object
	name := clip(string(o.desc.FullName()), maxNameText)
	r.raw(typeObject)
	switch {
	case o.again:
		r.description(r.text(p, v, "Message "+name+", nested like the one above."))
	case !o.expanded || o.collapsed:
		r.description(r.text(p, v, "Message "+name+"; its fields are not listed here."))
	case len(o.props) == 0:
		r.description(r.text(p, v, join(unlistedText(o.unlisted), when(len(o.unlisted) == 0, "An object without fields."))))
	default:
		r.description(r.text(p, v, unlistedText(o.unlisted)))
		r.raw(`,"properties":`)
		r.properties(o.props)
	}
}

// text returns the description of a node: what must be read first, the
// author's words, then ours, then the comments of enum values. more are words
// of ours that must not be lost.
func (r *renderer) text(p *property, v *value, more string) string {
	level := r.mode.nestedDocs
	var lead, doc, rule string
	if p != nil {
		level = r.mode.docs(p.depth)
		lead, doc, rule = p.lead, p.doc, p.rule
		if doc == "" {
			doc = typeDoc(v)
		}
	}
	note := v.note
	if level == noDocs {
		note = ""
	}
	tail := join(rule, v.rule, more, note)
	doc = r.shorten(doc, level)
	text := cut(join(lead, cut(doc, maxText-len(lead)-len(tail)-4), tail), maxText)
	if e := v.enumOf(); e != nil && p != nil && level == allDocs {
		for _, line := range e.lines {
			if len(text)+1+len(line) > maxText {
				break
			}
			text = strings.TrimPrefix(text+"\n"+line, "\n")
		}
	}
	return text
}

func (r *renderer) shorten(doc string, level docs) string {
	switch level {
	case firstSentences:
		return firstSentence(doc)
	case noDocs:
		return ""
	default:
		return doc
	}
}

// enumOf returns the enum whose values are described at v.
func (v *value) enumOf() *enumValue {
	if v.list != nil && v.list.enum != nil {
		return v.list.enum
	}
	if v.mapping != nil && v.mapping.enum != nil {
		return v.mapping.enum
	}
	return v.enum
}

// typeDoc returns the comment of the type, for fields that have none.
func typeDoc(v *value) string {
	switch {
	case v.list != nil:
		return typeDoc(v.list)
	case v.mapping != nil:
		return typeDoc(v.mapping)
	case v.object != nil:
		return v.object.doc
	case v.enum != nil:
		return v.enum.doc
	}
	return ""
}

// unlistedText and leftText are bounded, because trim must have room for them.
const (
	maxNameSample = 200
	maxLeftText   = maxNameSample + 100
)

// unlistedText tells of fields whose names no property may have.
func unlistedText(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("Fields whose names cannot be listed here: %s.", sample(names, 5, maxNameSample))
}

// leftText tells of fields that the budget has no room for.
func leftText(names []string) string {
	return fmt.Sprintf("%d more fields have no room here: %s.", len(names), sample(names, 10, maxNameSample))
}
