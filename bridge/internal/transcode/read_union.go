package transcode

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/nearest"
)

// skips reports whether a member, by its name in quotes, is not to be read.
func (o *object) skips(raw []byte) bool {
	return slices.ContainsFunc(o.skip, func(name string) bool { return isName(raw, name) })
}

// isName reports whether raw, a string in quotes, stands for the name.
func isName(raw []byte, name string) bool {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1:len(raw)-1]) == name
	}
	s, ok := unquote(raw)
	return ok && s == name
}

// lookup finds a member of the object at which the cursor stands. It returns
// false after it has refused a second one, else a cursor at its value, or nil.
func (r *reader) lookup(c cursor, name string) (at *cursor, ok bool) {
	for more := c.enter(); more; more = c.more() {
		if isName(c.key(), name) {
			if at != nil {
				r.path.push(step{name: name})
				r.refuse(Violation{Problem: "the field occurs twice"})
				r.path.pop()
				return nil, false
			}
			found := c
			at = &found
		}
		c.skip()
	}
	return at, true
}

// arm returns the field that a tag chooses, or nil. Without a tag, that is nil.
func (r *reader) arm(p *plan, tag *cursor) *field {
	s := p.shape
	if tag == nil {
		// That there was no tag can be told only by a field for it.
		if s.untagged == nil || r.opts.Exact && (s.content != "" || s.untagged.literal != "" && r.sub(s.untagged).tagField(s.tag) == nil) {
			return nil
		}
		return s.untagged
	}
	if tag.kind() != jsontok.KindString {
		return nil
	}
	literal, ok := unquote(tag.peek())
	if !ok {
		return nil
	}
	return s.arms[literal]
}

// union reads an object into the field that its tag chooses.
func (r *reader) union(c *cursor, p *plan, depth int) {
	s := p.shape
	tag, ok := r.lookup(*c, s.tag)
	if !ok {
		c.skip()
		return
	}
	f := r.arm(p, tag)
	switch {
	case f == nil && s.fallback == nil:
		r.noArm(c, p, tag)
		return
	case f != nil && (s.fallback == nil || !r.opts.Exact):
		r.inside(c, f, s.tag, depth)
		return
	case f != nil:
		t := r.attempt(c)
		if r.inside(c, f, s.tag, depth); r.settle(t) {
			return
		}
	}
	r.setField(c, s.fallback, depth)
}

// inside reads an object into the message in a field, but for the tag if there
// is no field for it.
func (r *reader) inside(c *cursor, f *field, tag string, depth int) {
	p := r.sub(f)
	o := object{}
	if p.tagField(tag) == nil {
		o.skip = []string{tag}
	}
	r.out = protowire.AppendTag(r.out, f.number, f.wire)
	if !r.countMessage() {
		return
	}
	if f.kind == protoreflect.GroupKind {
		r.object(c, p, depth, o)
		r.out = protowire.AppendTag(r.out, f.number, protowire.EndGroupType)
		return
	}
	start := r.begin()
	r.object(c, p, depth, o)
	r.end(start)
}

// noArm reports that a tag chooses nothing, and passes the object.
func (r *reader) noArm(c *cursor, p *plan, tag *cursor) {
	c.skip()
	if r.misfit() {
		return
	}
	s := p.shape
	literals := slices.Sorted(maps.Keys(s.arms))
	v := Violation{Problem: fmt.Sprintf("the member %q is missing", s.tag), Expected: oneOf(slices.Values(literals), len(literals))}
	if tag != nil {
		raw := tag.peek()
		seen, _ := unquote(raw)
		v.Problem, v.Seen = "no such "+s.tag, describe(raw)
		v.Suggestions = nearest.Names(seen, slices.Values(literals), "")
		r.path.push(step{name: s.tag})
		defer r.path.pop()
	}
	r.report(v)
}

// choose reads the content of an object whose tag fits a literal. Otherwise
// both members are like others.
func (r *reader) choose(o *object, depth int) {
	s := o.plan.shape
	tag, ok := r.lookup(o.start, s.tag)
	if !ok {
		return
	}
	f := r.arm(o.plan, tag)
	if f == nil {
		return
	}
	content, ok := r.lookup(o.start, s.content)
	if !ok || content == nil || content.kind() == jsontok.KindNull && !f.null {
		return
	}
	r.path.push(step{name: s.content})
	defer r.path.pop()
	if r.opts.Exact {
		key := decision{&content.data[content.pos], f}
		if _, ok := r.decided[key]; ok {
			return // it is no other decision than unfit
		}
		t := r.attempt(content)
		r.retries++
		r.setField(content, f, depth)
		r.retries--
		if !r.settle(t) {
			r.decide(r.retries > 0, key, unfit)
			return
		}
	} else {
		r.setField(content, f, depth)
	}
	r.mark(o.set, f.index)
	o.oneofs = true
	o.skip = []string{s.tag, s.content}
}

// extra reads a member that is no field, in a message that keeps those.
func (r *reader) extra(c *cursor, o *object, raw []byte, depth int) {
	s := o.plan.shape
	name, ok := unquote(raw)
	switch {
	case !ok:
		c.skip()
		r.report(Violation{Problem: loneSurrogate})
		return
	case o.names[name]:
		c.skip()
		r.refuse(Violation{Problem: "the member occurs twice"})
		return
	case s.extraMap == nil || s.extra != nil && r.opts.PreferRaw:
		r.keep(c, o, raw, name)
		return
	}
	o.note(name)
	if s.extra == nil {
		r.extraEntry(c, s.extraMap, raw, depth)
		return
	}
	t := r.attempt(c)
	if r.extraEntry(c, s.extraMap, raw, depth); !r.settle(t) {
		r.keep(c, o, raw, name)
	}
}

// extraEntry reads a member as an entry of a map.
func (r *reader) extraEntry(c *cursor, f *field, raw []byte, depth int) {
	mark := len(r.out)
	r.out = protowire.AppendTag(r.out, f.number, protowire.BytesType)
	start := r.begin()
	if _, ok := r.key(raw, f.key); !ok {
		c.skip()
	} else {
		r.entry(c, f.value, depth)
	}
	if len(r.violations) > 0 {
		r.out = r.out[:mark]
	} else {
		r.end(start)
	}
}

// note remembers the name of an extra member.
func (o *object) note(name string) {
	if o.names == nil {
		o.names = make(map[string]bool)
	}
	o.names[name] = true
}

// keep keeps a member as it is.
func (r *reader) keep(c *cursor, o *object, raw []byte, name string) {
	o.note(name)
	sep := byte(',')
	if o.extra == nil {
		sep = '{'
	}
	o.extra = append(append(o.extra, sep), raw...)
	o.extra = jsontok.AppendCompact(append(o.extra, ':'), c.skip())
}
