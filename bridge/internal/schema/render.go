package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// docs says how much of the author's words is written.
type docs uint8

const (
	allDocs docs = iota
	firstSentences
	noDocs
)

// mode says how much of a tree is written.
type mode struct {
	fold        bool // a message is not written inside itself
	rootDocs    docs // of the root and its properties
	nestedDocs  docs // of the messages in these
	deepDocs    docs // of everything below
	sampleEnums bool // long enumerations become samples
	shortRules  bool // the words of rules are shortened
	// bare leaves out what nothing else bounds: references, unions, and the
	// rules of the root.
	bare bool
}

func (m mode) docs(depth int) docs {
	switch depth {
	case 0:
		return m.rootDocs
	case 1:
		return m.nestedDocs
	default:
		return m.deepDocs
	}
}

// state says how a property is written that holds a message.
type state uint8

const (
	open    state = iota // with its members; also what holds no message
	again                // recursion ends here
	closed               // its members are left out
	unknown              // nothing is known of it
	ref                  // it stands in $defs
	self                 // it is the root
)

// head is a rendered property: all of it, or up to where the members of its
// message begin. tail is what follows them.
type head struct {
	key    uint8
	bytes  []byte
	tail   string
	pruned bool
	next   *head
}

// writer appends JSON. It stops early, with incomplete JSON, once it is beyond
// limit, where limit is not zero.
type writer struct {
	*cache
	mode     mode
	limit    int
	maxBytes int // longer enumerations are samples
	buf      []byte
	pruned   bool
	// defs are the objects to be written in $defs.
	defs   []*object
	queued map[*object]bool
}

// reset prepares the writer for another try.
func (w *writer) reset(m mode) {
	w.mode, w.buf, w.pruned, w.defs = m, w.buf[:0], false, w.defs[:0]
	clear(w.queued)
}

func (w *writer) over() bool { return w.limit > 0 && len(w.buf) > w.limit }

func (w *writer) raw(s string) { w.buf = append(w.buf, s...) }

func appendDescription(b []byte, text string) []byte {
	if text == "" {
		return b
	}
	return appendString(append(b, `,"description":`...), text)
}

// root writes the root. keep says which properties are given, nil means all;
// left are the names of those that are not given.
func (w *writer) root(o *object, keep func(int) bool, left []string) {
	w.raw("{" + typeObject)
	text := join(shorten(o.info.doc, w.mode.rootDocs), w.rules(o.info), unlistedText(o.info.unlisted))
	if len(left) > 0 {
		text = join(text, w.leftText(o.info, left))
		w.pruned = true
	}
	w.buf = appendDescription(w.buf, cut(text, maxText))
	w.members(o, keep)
	for i := 0; i < len(w.defs) && !w.over(); i++ {
		w.raw(pick(i == 0, `,"$defs":{`, ","))
		w.def(w.defs[i])
	}
	if len(w.defs) > 0 {
		w.raw("}")
	}
	w.raw("}")
}

// def writes a member of $defs.
func (w *writer) def(o *object) {
	w.buf = appendString(w.buf, o.info.def)
	w.raw(":{" + typeObject)
	doc := shorten(o.info.doc, w.mode.nestedDocs)
	if !o.expanded || o.collapsed {
		w.pruned = true
		w.buf = appendDescription(w.buf, join(doc, w.closedText(o.info)))
		w.raw("}")
		return
	}
	w.buf = appendDescription(w.buf, cut(join(doc, w.rules(o.info), unlistedText(o.info.unlisted)), maxText))
	w.members(o, nil)
	w.raw("}")
}

// rules returns the words of the rules of a message.
func (w *writer) rules(info *messageInfo) string {
	if w.mode.bare {
		return ""
	}
	return shortRules(info.rules, w.mode.shortRules)
}

func shortRules(text string, short bool) string {
	if short {
		return cut(text, maxShortRules)
	}
	return text
}

// members writes the properties of an object and what else there is to say of
// them.
func (w *writer) members(o *object, keep func(int) bool) {
	w.raw(`,"properties":{`)
	first, required := true, false
	for i := range o.props {
		if w.over() {
			return
		}
		if keep != nil && !keep(i) {
			continue
		}
		if !first {
			w.raw(",")
		}
		first = false
		w.property(&o.props[i])
		required = required || o.requires(&o.props[i])
	}
	w.raw("}")
	if required {
		w.raw(`,"required":[`)
		first = true
		for i := range o.props {
			if !o.requires(&o.props[i]) || keep != nil && !keep(i) {
				continue
			}
			if !first {
				w.raw(",")
			}
			first = false
			w.buf = appendString(w.buf, o.props[i].name)
		}
		w.raw("]")
	}
	if w.full && !w.mode.bare {
		w.raw(o.info.extras)
	}
}

// state returns how the child of a property is written.
func (w *writer) state(o *object) state {
	switch {
	case o == nil:
		return open
	case o.again, o.repeated && w.mode.fold:
		return again
	case o.info.desc.IsPlaceholder():
		return unknown
	case w.full && o.owner == nil:
		return self
	case o.shared && !w.mode.bare:
		return ref
	case !o.expanded || o.collapsed || w.full && w.mode.bare:
		return closed
	default:
		return open
	}
}

// property writes a member of "properties".
func (w *writer) property(p *property) {
	h := w.head(p)
	w.buf = append(w.buf, h.bytes...)
	w.pruned = w.pruned || h.pruned
	if p.child == nil {
		return
	}
	switch w.state(p.child) {
	case open:
		if len(p.child.props) > 0 || w.full {
			w.members(p.child, nil)
		}
	case ref:
		if !w.queued[p.child] {
			w.queued[p.child] = true
			w.defs = append(w.defs, p.child)
		}
	default:
	}
	w.raw(h.tail)
}

// head returns the rendered property, from what was rendered before where
// possible.
func (w *writer) head(p *property) *head {
	level, at := w.mode.docs(p.depth), w.state(p.child)
	e := encoder{cache: w.cache, field: p.fieldInfo, state: at, level: level, short: w.mode.shortRules}
	if en := p.value.enumOf(); en != nil {
		e.sampled = en.sampled(w.mode, w.maxBytes)
	}
	if p.child != nil {
		e.info = p.child.info
	}
	key := uint8(level)<<5 | uint8(at)<<2 | bit(e.sampled)<<1 | bit(e.short)
	first := p.heads.Load()
	for h := first; h != nil; h = h.next {
		if h.key == key {
			return h
		}
	}
	h := e.head()
	h.key = key
	for {
		h.next = first
		if p.heads.CompareAndSwap(first, h) {
			return h
		}
		first = p.heads.Load()
	}
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// encoder renders one property in one way.
type encoder struct {
	*cache
	field   *fieldInfo
	info    *messageInfo // of the message that the property holds
	state   state
	level   docs
	short   bool
	sampled bool
	buf     []byte
}

func (e *encoder) head() *head {
	e.buf = append(appendString(takeBuffer(), e.field.name), ':')
	defer func() { giveBuffer(e.buf) }()
	v := e.field.value
	e.value(v, true)
	h := &head{bytes: slices.Clone(e.buf), pruned: e.sampled || e.state == closed}
	if v.messageOf() != nil {
		for v.message == nil {
			h.tail += "}"
			v = cmp.Or(v.list, v.mapping)
		}
		h.tail += "}"
	}
	return h
}

func (e *encoder) raw(s string) { e.buf = append(e.buf, s...) }

// value writes a schema node, without its end where it holds a message. top is
// set for that of the field, and not for items and values of maps.
func (e *encoder) value(v *value, top bool) {
	e.raw("{")
	switch {
	case v.list != nil:
		e.raw(`"type":"array"`)
		e.describe(top, v, "")
		e.raw(v.keywords + `,"items":`)
		e.value(v.list, false)
	case v.mapping != nil:
		e.raw(typeObject)
		e.describe(top, v, "")
		e.raw(v.keywords)
		if v.keys != "" {
			e.raw(`,"propertyNames":{` + v.keys + `}`)
		}
		e.raw(`,"additionalProperties":`)
		e.value(v.mapping, false)
	case v.message != nil:
		e.message(top, v)
		return
	default:
		keywords, text := v.keywords, ""
		if v.enum != nil {
			tool := e.tool
			keywords, text = v.enum.keywords(e.sampled, tool)
		}
		first, rest := splitType(keywords)
		e.raw(first)
		e.describe(top, v, text)
		e.raw(rest)
		if e.level != noDocs {
			e.raw(v.examples)
		}
	}
	if v.messageOf() == nil {
		e.raw("}")
	}
}

// message writes the beginning of a message.
func (e *encoder) message(top bool, v *value) {
	if e.state == ref || e.state == self {
		e.raw(`"$ref":` + quote(pick(e.state == self, "#", e.info.ref)))
		e.describe(top, v, "")
		return
	}
	e.raw(typeObject)
	text := ""
	switch e.state {
	case again:
		text = "Message " + clip(string(e.info.desc.FullName()), maxNameText) + ", nested like the one above."
	case closed:
		text = e.closedText(e.info)
	case unknown:
		text = "Message " + clip(string(e.info.desc.FullName()), maxNameText) + "; its fields are not listed here."
	default:
		text = join(shortRules(e.info.rules, e.short), unlistedText(e.info.unlisted))
		if len(e.info.fields) == 0 && len(e.info.unlisted) == 0 {
			text = join(text, "An object without fields.")
		}
	}
	e.describe(top, v, text)
}

// closedText stands for the members of a message.
func (c *cache) closedText(info *messageInfo) string {
	name := clip(string(info.desc.FullName()), maxNameText)
	if c.tool == "" {
		return "Message " + name + "; its fields are not listed here."
	}
	return "Message " + name + "; call " + c.tool + " for its fields."
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

// describe writes the description of a node: what must be read first, the
// author's words, then ours, then the comments of enum values. more are words
// of ours that must not be lost.
func (e *encoder) describe(top bool, v *value, more string) {
	var lead, doc, rule, help string
	if top {
		lead, doc, rule, help = e.field.lead, e.field.doc, e.field.rule, e.field.help
		if doc == "" {
			doc = e.typeDoc(v)
		}
	}
	note := v.note
	if e.level == noDocs {
		note, help = "", ""
	}
	tail := join(help, rule, v.rule, shortRules(v.rules, e.short), more, note)
	doc = shorten(doc, e.level)
	text := cut(join(lead, cut(doc, maxText-len(lead)-len(tail)-4), tail), maxText)
	if en := v.enumOf(); en != nil && top && e.level == allDocs {
		for _, line := range en.lines {
			if len(text)+1+len(line) > maxText {
				break
			}
			text = strings.TrimPrefix(text+"\n"+line, "\n")
		}
	}
	e.buf = appendDescription(e.buf, text)
}

// typeDoc returns the comment of the type, for fields that have none.
func (e *encoder) typeDoc(v *value) string {
	if en := v.enumOf(); en != nil {
		return en.doc
	}
	if e.info != nil && e.state != ref && e.state != self {
		return e.info.doc
	}
	return ""
}

func shorten(doc string, level docs) string {
	switch level {
	case firstSentences:
		return firstSentence(doc)
	case noDocs:
		return ""
	default:
		return doc
	}
}

// unlistedText and leftText are bounded, because trim must have room for them.
const (
	maxNameSample = 200
	maxLeftText   = maxNameSample + 100
	maxToolText   = 64
)

// unlistedText tells of fields whose names no property may have.
func unlistedText(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("Fields whose names cannot be listed here: %s.", sample(names, 5, maxNameSample))
}

// leftText tells of fields that the budget has no room for.
func (c *cache) leftText(info *messageInfo, names []string) string {
	if c.tool == "" || c.dir == reference {
		return fmt.Sprintf("%d more fields have no room here: %s.", len(names), sample(names, 10, maxNameSample))
	}
	text := fmt.Sprintf("; call %s for all of %s.", c.tool, clip(string(info.desc.FullName()), 100))
	return fmt.Sprintf("%d more fields have no room here: %s", len(names), sample(names, 10, max(0, maxNameSample-len(text)))) + text
}
