package transcode

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// value writes the message of one value that the records from lo to hi span,
// merged.
func (w *writer) value(p *plan, lo, hi, depth int) {
	base := len(w.records)
	w.collect(p, lo, hi)
	end := len(w.records)
	f := &p.fields[0]
	if base < end {
		f = &p.fields[w.records[end-1].index]
	}
	switch {
	case w.err != nil:
	case f.key != nil:
		w.mapping(f, base, end, depth)
	case f.list:
		w.list(f, base, end, depth)
	case base == end && !f.implicit:
		w.warn("a %s that holds nothing became null", p.desc.FullName())
		w.raw("null")
	case f.message != nil:
		w.message(f.sub(), base, end, depth)
	case base == end:
		w.scalar(f, 0, "")
	default:
		w.scalar(f, w.records[end-1].bits, "")
	}
}

// union writes the message that the records from lo to hi span, merged. Its
// members are those of the message in the field that is set, after the tag.
func (w *writer) union(p *plan, lo, hi, depth int) {
	if w.deep(depth) {
		return
	}
	s := p.shape
	base := len(w.records)
	w.collect(p, lo, hi)
	end := len(w.records)
	if w.err != nil {
		return
	}
	if base == end {
		w.raw("{}")
		return
	}
	f := &p.fields[w.records[end-1].index]
	switch {
	case f == s.fallback:
		w.scalar(f, w.records[end-1].bits, "")
		return
	case f.literal == "" && !f.untagged:
		w.raw("{")
		w.member(f, base, end, depth)
		w.end('}')
		return
	}
	sub := f.sub()
	w.raw("{")
	w.collect(sub, base, end)
	tag := sub.tagField(s.tag)
	tagged := f.literal != "" && (!f.untagged || tag == nil || w.holds(tag, end))
	if tagged {
		w.dst = append(jsontok.AppendString(w.dst, s.tag), ':')
		w.dst = append(jsontok.AppendString(w.dst, f.literal), ',')
	}
	around := s.tag
	if f.literal == "" {
		around = ""
	}
	if w.err == nil {
		w.shapedMembers(sub, end, depth, around, tagged)
	}
	w.end('}')
}

// find returns the records of a field among those from base on, which are
// sorted.
func (w *writer) find(f *field, base int) (lo, hi int) {
	records := w.records[base:]
	lo, ok := slices.BinarySearchFunc(records, f.slot, func(r record, slot int32) int { return int(r.index - slot) })
	if !ok {
		return base + lo, base + lo
	}
	return base + lo, w.runEnd(base+lo, len(w.records))
}

// holds reports whether the message whose records begin at base has a value of
// a field that is not the default.
func (w *writer) holds(f *field, base int) bool {
	lo, hi := w.find(f, base)
	switch {
	case lo == hi:
		return false
	case f.list && f.numeric:
		return slices.ContainsFunc(w.records[lo:hi], func(r record) bool {
			start, end := unspan(r.bits)
			return r.typ != protowire.BytesType || start < end
		})
	case f.implicit:
		return !isZero(f.kind, w.records[hi-1].bits)
	default:
		return true
	}
}

// outline is what is known of an object of a message with a shape.
type outline struct {
	*shape
	plan *plan
	base int
	// around is the tag of a union around the message, if not empty, and tagged
	// is set where that is written.
	around string
	tagged bool
	// arm is what is set of a union, or nil.
	arm *field
	// kept are the extra members as an object, or nil, and keptNames their
	// names, once these were asked for.
	kept      []byte
	keptNames map[string]bool
	// names are those of extra members that were written.
	names map[string]bool
}

// shapedMembers is [writer.members] for messages with a shape, and for those
// whose members stand beside the tag of a union around them.
func (w *writer) shapedMembers(p *plan, base, depth int, around string, tagged bool) {
	o := w.outline(p, base)
	o.around, o.tagged = around, tagged
	at := w.output.level(depth == 1)
	all := len(p.unset[at]) > 0
	end := len(w.records)
	i := base
	for index := 0; w.err == nil; index++ {
		if !all && i < end {
			index = int(w.records[i].index)
		}
		if index >= len(p.fields) || !all && i == end {
			break
		}
		j := i
		if i < end && int(w.records[i].index) == index {
			j = w.runEnd(i, end)
		}
		switch f := &p.fields[index]; {
		case f == o.extra:
			w.extra(&o)
		case f == o.extraMap:
			w.mapMembers(f, i, j, depth, func(name string) bool { return w.mayWrite(&o, f, name) })
		case o.hides(f):
			w.pass(f, i, j)
		case j > i || f.showsUnset(at):
			if w.holds(f, base) || !o.keeps(f.name) {
				w.member(f, i, j, depth)
			}
		}
		i = j
	}
	if i < end && w.err == nil {
		w.extensions(p, i, depth)
	}
}

// outline returns what is known of the message whose records begin at base.
func (w *writer) outline(p *plan, base int) outline {
	o := outline{shape: p.shape, plan: p, base: base}
	if o.shape == nil {
		o.shape = &shape{}
		return o
	}
	if o.content != "" {
		for _, r := range w.records[base:] {
			if int(r.index) < len(p.fields) && p.fields[r.index].literal != "" {
				o.arm = &p.fields[r.index]
			}
		}
	}
	if o.extra == nil {
		return o
	}
	lo, hi := w.find(o.extra, base)
	if lo == hi || w.empty(hi-1) {
		return o
	}
	text := w.bytes(w.records[hi-1].bits)
	if jsontok.Valid(text, jsontok.Limits{MaxDepth: w.compiler.opts.MaxDepth}) == nil {
		if c := newCursor(text); c.kind() == jsontok.KindObject {
			o.kept = text
			return o
		}
	}
	w.warn("%s holds no JSON object; it is left out", o.extra.desc.FullName())
	return o
}

// hides reports whether a field is not written, as another member has its name.
func (o *outline) hides(f *field) bool {
	if o.around != "" && f == o.plan.tagField(o.around) {
		return true
	}
	return o.arm != nil && f != o.arm && (f.name == o.tag || f.name == o.content)
}

// keeps reports whether there is an extra member of a name.
func (o *outline) keeps(name string) bool {
	if o.kept == nil {
		return false
	}
	if o.keptNames == nil {
		o.keptNames = make(map[string]bool)
		c := newCursor(o.kept)
		for more := c.enter(); more; more = c.more() {
			if name, ok := unquote(c.key()); ok {
				o.keptNames[name] = true
			}
			c.skip()
		}
	}
	return o.keptNames[name]
}

// writes reports whether a member of that name, which is no extra one, is
// written.
func (w *writer) writes(o *outline, name string) bool {
	if name == o.around && o.tagged || o.arm != nil && (name == o.tag || name == o.content) {
		return true
	}
	i, ok := o.plan.names[name]
	if !ok {
		return false
	}
	fields := []*field{&o.plan.fields[i]}
	if fields[0].forms != nil {
		fields = fields[0].forms.fields
	}
	return slices.ContainsFunc(fields, func(f *field) bool { return !o.hides(f) && w.holds(f, o.base) })
}

// mayWrite reports whether an extra member of f can be written beside what is
// written otherwise, and notes its name.
func (w *writer) mayWrite(o *outline, f *field, name string) bool {
	why := ""
	switch {
	case o.names[name]:
		why = "it occurs twice"
	case w.writes(o, name):
		why = "there is a field of that name"
	default:
		if o.names == nil {
			o.names = make(map[string]bool)
		}
		o.names[name] = true
		return true
	}
	w.warn("the member %q of %s is left out, for %s", clip(name, maxNameText), f.desc.FullName(), why)
	return false
}

// pass checks the records of a field that is not written.
func (w *writer) pass(f *field, lo, hi int) {
	for _, r := range w.records[lo:hi] {
		ok := true
		switch {
		case r.typ == protowire.BytesType:
			ok = checkBytes(f, w.wire, r.bits, 0)
		case f.message != nil:
			ok = valid(f.sub(), w.wire, r.bits, 0)
		}
		if !ok {
			w.fail(errMalformed)
		}
	}
}

// extra writes the members that bytes keep, each with a comma behind it.
func (w *writer) extra(o *outline) {
	if o.kept == nil {
		return
	}
	c := newCursor(o.kept)
	for more := c.enter(); more; more = c.more() {
		raw := c.key()
		value := c.skip()
		name, ok := unquote(raw)
		if !ok {
			w.warn("a member of %s is left out: %s", o.extra.desc.FullName(), loneSurrogate)
			continue
		}
		if w.mayWrite(o, o.extra, name) {
			w.dst = append(jsontok.AppendString(w.dst, name), ':')
			w.dst = append(jsontok.AppendCompact(w.dst, value), ',')
		}
	}
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
