package transcode

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/nearest"
)

// reader turns JSON into the wire form of a message and collects what is wrong
// on the way. What it has written counts only if nothing is.
//
// Its methods take a cursor at a value and leave it behind that value, unless
// the reader is full, and the depth of the value: how many arrays and objects
// it stands in.
type reader struct {
	*Compiler

	root *plan // of the outermost message
	// masks are those of the outermost message, and mask is the one that is being
	// read, or nil.
	masks []Mask
	mask  *Mask

	out        []byte
	path       path
	violations []Violation
	// full is set when there are too many violations to go on, and fatal where
	// one was not for want of another way to read the value.
	full, fatal bool
	messages    int
	// attempts is how many attempts are going on, see [reader.attempt], and
	// retries how many of those may be followed by another of the same text.
	attempts, retries int
	// decided are the forms that were chosen while there were retries.
	decided map[decision]int
	// partial is positive inside of an Any: there, required fields may be
	// missing, as in protobuf's own parsers.
	partial int
	// misread is set where a value of bytes was no base64, and doubtful to
	// report values too that may be base64 only by chance.
	misread, doubtful bool

	// Scratch memory, used as stacks.
	bits []uint64
	keys []*keySet
	// maps is how many of the keys are in use.
	maps int
}

var readers sync.Pool

// newReader returns a reader that appends to dst. It is released after use.
func (c *Compiler) newReader(dst []byte) *reader {
	r, ok := readers.Get().(*reader)
	if !ok {
		r = new(reader)
	}
	r.Compiler, r.out = c, dst
	return r
}

func (r *reader) release() {
	clear(r.path[:cap(r.path)]) // what it refers to is not kept
	*r = reader{path: r.path[:0], bits: r.bits[:0], keys: r.keys}
	readers.Put(r)
}

// read reads the arguments of a codec.
func (r *reader) read(codec *Codec, arguments []byte) error {
	arguments = bytes.Trim(arguments, " \t\r\n")
	if !r.opts.Exact && !codec.root.isValue() && (len(arguments) == 0 || string(arguments) == "null") {
		arguments = []byte("{}")
	}
	if err := jsontok.Valid(arguments, jsontok.Limits{MaxDepth: r.opts.MaxDepth}); err != nil {
		return &ArgumentError{Violations: []Violation{{Problem: "not valid JSON: " + err.Error()}}}
	}
	cur := newCursor(arguments)
	r.root, r.masks = codec.root, codec.masks
	if codec.wrapped {
		r.wrapped(cur, codec.root)
	} else {
		r.message(cur, codec.root, 0)
	}
	if len(r.violations) == 0 {
		return nil
	}
	if r.misread && !r.doubtful {
		// Who sends one field as text may have sent others so, too.
		again := r.newReader(nil)
		defer again.release()
		again.doubtful = true
		return again.read(codec, arguments)
	}
	return &ArgumentError{Violations: r.violations, Truncated: r.full}
}

// wrapped reads {"value": X}.
func (r *reader) wrapped(c *cursor, p *plan) {
	c, ok := r.nested(c, jsontok.KindObject, 0, `an object with the member "value"`)
	if !ok {
		return
	}
	seen := false
	for more := c.enter(); more && !r.full; more = c.more() {
		name, ok := unquote(c.key())
		r.path.push(step{name: name})
		switch {
		case !ok || name != "value":
			r.unknown(c, name, slices.Values([]string{"value"}), 1)
		case seen:
			c.skip()
			r.report(Violation{Problem: "the member occurs twice"})
		case c.kind() == jsontok.KindNull && p.wkt != wktValue && !r.opts.Exact:
			c.skip()
		default:
			r.message(c, p, 1)
		}
		seen = seen || name == "value"
		r.path.pop()
	}
}

// report adds a violation, at the present path unless it has its own.
func (r *reader) report(v Violation) {
	if r.misfit() {
		return
	}
	if len(r.violations) == r.opts.MaxViolations {
		r.full = true
		return
	}
	if v.Path == "" {
		v.Path = r.path.String()
	}
	r.violations = append(r.violations, v)
}

// wrong reports that the value does not fit, and passes it.
func (r *reader) wrong(c *cursor, problem, expected string) {
	if r.misfit() {
		return
	}
	r.report(Violation{Problem: problem, Expected: expected, Seen: describe(c.skip())})
}

// unknown reports a name that does not exist, and passes its value.
func (r *reader) unknown(c *cursor, name string, names iter.Seq[string], count int) {
	c.skip()
	if r.misfit() {
		return
	}
	v := Violation{Problem: "unknown field", Suggestions: nearest.Names(name, names, "")}
	switch {
	case count == 0:
		v.Problem = "unknown field; no fields are possible here"
	case len(v.Suggestions) == 0:
		v.Expected = oneOf(names, count)
	}
	if where := r.belongs(name); where != "" {
		v.Problem, v.Expected = "unknown field here; "+where, ""
	}
	r.report(v)
}

// nested returns the cursor to read an array or object from. Hosts are known
// to turn those into strings: for a string with such text, that is a cursor
// inside of it.
func (r *reader) nested(c *cursor, kind jsontok.Kind, depth int, expected string) (*cursor, bool) {
	switch c.kind() {
	case kind:
		return c, true
	case jsontok.KindString:
		if inner, ok := r.stringified(c, kind, depth); ok {
			return inner, true
		}
	}
	r.wrong(c, "wrong type", expected)
	return nil, false
}

// stringified passes a string and returns a cursor over its text if that is
// valid JSON of the kind. Otherwise it stays where it is.
func (r *reader) stringified(c *cursor, kind jsontok.Kind, depth int) (*cursor, bool) {
	if r.opts.Exact || r.attempts > 0 {
		return nil, false
	}
	start := c.pos
	text, ok := unquote(c.skip())
	text = strings.Trim(text, " \t\r\n")
	limits, room := r.depthLeft(depth)
	if !ok || !room || jsontok.KindOf([]byte(clip(text, 1))) != kind || jsontok.Valid([]byte(text), limits) != nil {
		c.pos = start
		return nil, false
	}
	return newCursor([]byte(text)), true
}

// message reads a value and appends the fields of the message.
func (r *reader) message(c *cursor, p *plan, depth int) {
	if !r.countMessage() {
		return
	}
	if p.wkt != wktNone {
		r.wellKnown(c, p, depth)
		return
	}
	if p.isValue() {
		r.form(c, p.shape.value, depth)
		return
	}
	if c.kind() != jsontok.KindObject {
		var ok bool
		if c, ok = r.nested(c, jsontok.KindObject, depth, "an object ("+string(p.desc.FullName())+")"); !ok {
			return
		}
	}
	if p.isUnion() {
		r.union(c, p, depth)
		return
	}
	r.object(c, p, depth, object{})
}

// countMessage reports whether there is room for one more message. Without,
// the reader is full.
func (r *reader) countMessage() bool {
	if r.messages++; r.messages <= r.opts.MaxMessages {
		return true
	}
	r.refuse(Violation{Problem: fmt.Sprintf("the arguments hold more than %d messages", r.opts.MaxMessages)})
	r.full = true
	return false
}

// object is what is known of the members of an object that were read.
type object struct {
	plan *plan
	// seen is where the bits of the object begin: one for every field by
	// whose name there was a member, even if that was null, and after them one
	// for every field that was set.
	seen, set int
	// oneofs is set where some oneof is.
	oneofs bool
	// extensions are the names of those that were read.
	extensions map[protowire.Number]string
	// extra and names are the members that are no fields, and their names,
	// where the message keeps them.
	extra []byte
	names map[string]bool
	// start is a cursor at the object.
	start cursor
	// inAny is set where the object is the contents of an Any.
	inAny bool
	// skip are the names of members that have been read already, or nil.
	skip []string
}

// object reads the members of an object into a message. What is set of o is
// inAny and skip.
func (r *reader) object(c *cursor, p *plan, depth int, o object) {
	words := (len(p.fields) + 63) / 64
	base := len(r.bits)
	for range 2 * words {
		r.bits = append(r.bits, 0)
	}
	o.plan, o.seen, o.set, o.start = p, base, base+words, *c
	if p.shape != nil && p.shape.content != "" {
		r.choose(&o, depth+1)
	}
	for more := c.enter(); more && !r.full; more = c.more() {
		r.member(c, &o, nil, depth+1)
	}
	if len(p.required) > 0 {
		r.required(&o)
	}
	if o.extra != nil {
		r.out = protowire.AppendTag(r.out, p.shape.extra.number, protowire.BytesType)
		r.out = protowire.AppendBytes(r.out, append(o.extra, '}'))
	}
	r.bits = r.bits[:base]
}

// mark sets the bit of a field and returns what it was.
func (r *reader) mark(base, index int) (was bool) {
	word, bit := &r.bits[base+index/64], uint64(1)<<(index%64)
	was = *word&bit != 0
	*word |= bit
	return was
}

func (r *reader) marked(base, index int) bool { return r.bits[base+index/64]&(1<<(index%64)) != 0 }

// member reads a member of an object. In the wrapped form of a oneof, only is
// that oneof.
func (r *reader) member(c *cursor, o *object, only protoreflect.OneofDescriptor, depth int) {
	raw := c.key()
	if o.skip != nil && o.skips(raw) {
		c.skip()
		return
	}
	r.path.push(step{raw: raw})
	f := r.find(o.plan, raw)
	if f != nil && only != nil && f.desc.ContainingOneof() != only {
		f = nil
	}
	switch {
	case f == nil:
		r.otherMember(c, o, raw, only, depth)
	case r.again(o, f, raw):
		c.skip()
		r.reportAgain(o, f, raw)
	case r.opts.Exact:
		r.exactMember(c, o, f, raw, depth)
	case c.kind() == jsontok.KindNull && (!f.null || f.list || f.key != nil):
		c.skip()
	case f.oneof >= 0 && r.conflicts(o, f):
		c.skip()
		first, _ := unquote(raw)
		first, name := r.nameOf(o, r.conflict(o, f)), first
		r.report(Violation{Problem: fmt.Sprintf("%q and %q are both set, but they exclude each other (oneof %s); keep one", first, name, f.desc.ContainingOneof().Name())})
	default:
		if f.index >= 0 {
			r.mark(o.set, f.index)
			o.oneofs = o.oneofs || f.oneof >= 0
		}
		r.put(c, f, depth)
	}
	r.path.pop()
}

// otherMember reads a member that is no field.
func (r *reader) otherMember(c *cursor, o *object, raw []byte, only protoreflect.OneofDescriptor, depth int) {
	name, ok := unquote(raw)
	if ok && o.inAny && name == "@type" && only == nil {
		c.skip()
		return
	}
	if only != nil {
		r.unknown(c, name, fieldNames(only.Fields()), only.Fields().Len())
		return
	}
	if s := o.plan.shape; s != nil && (s.extra != nil || s.extraMap != nil) {
		r.extra(c, o, raw, depth)
		return
	}
	if od := oneofByName(o.plan.desc, name); od != nil && !r.opts.Exact {
		r.wrappedOneof(c, o, od, depth)
		return
	}
	if r.misfit() {
		return
	}
	names, count := o.plan.memberNames()
	r.unknown(c, name, names, count)
}

// again notes that there is a member for f, and reports whether there was one
// before.
func (r *reader) again(o *object, f *field, raw []byte) bool {
	if f.index >= 0 {
		return r.mark(o.seen, f.index)
	}
	if _, ok := o.extensions[f.number]; ok {
		return true
	}
	if o.extensions == nil {
		o.extensions = make(map[protowire.Number]string)
	}
	o.extensions[f.number] = string(raw)
	return false
}

func (r *reader) reportAgain(o *object, f *field, raw []byte) {
	problem := "the field occurs twice"
	name, _ := unquote(raw)
	if first := r.nameOf(o, f); first != name {
		problem += fmt.Sprintf(", as %q and as %q; keep one", first, name)
	}
	r.refuse(Violation{Problem: problem})
}

// conflicts reports whether another field of the same oneof is set.
func (r *reader) conflicts(o *object, f *field) bool { return o.oneofs && r.conflict(o, f) != nil }

func (r *reader) conflict(o *object, f *field) *field {
	fields := f.desc.ContainingOneof().Fields()
	for i := range fields.Len() {
		if other := o.plan.byNumber(fields.Get(i).Number()); other != nil && other != f && r.marked(o.set, other.index) {
			return other
		}
	}
	return nil
}

// nameOf returns the name of the first member of an object that stands for f.
func (r *reader) nameOf(o *object, f *field) string {
	c := o.start
	for more := c.enter(); more; more = c.more() {
		raw := c.key()
		if r.find(o.plan, raw) == f {
			name, _ := unquote(raw)
			return name
		}
		c.skip()
	}
	return f.name
}

// find returns the field of that JSON name, proto name or, in brackets,
// extension name, which is given in quotes, or nil.
func (r *reader) find(p *plan, raw []byte) *field {
	if bytes.IndexByte(raw, '\\') < 0 {
		if i, ok := p.names[string(raw[1:len(raw)-1])]; ok {
			return &p.fields[i]
		}
		if !p.extensible {
			return nil
		}
	}
	name, ok := unquote(raw)
	if !ok {
		return nil
	}
	if i, ok := p.names[name]; ok {
		return &p.fields[i]
	}
	if inner, ok := strings.CutPrefix(name, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			if fd := r.extension(p.desc, protoreflect.FullName(inner)); fd != nil {
				return r.Compiler.extension(fd)
			}
		}
	}
	return nil
}

func (r *reader) extension(md protoreflect.MessageDescriptor, name protoreflect.FullName) protoreflect.FieldDescriptor {
	if !name.IsValid() {
		return nil
	}
	typ, err := r.resolver.FindExtensionByName(name)
	if err != nil || typ == nil {
		return nil
	}
	fd := typ.TypeDescriptor()
	if !md.ExtensionRanges().Has(fd.Number()) || fd.ContainingMessage().FullName() != md.FullName() {
		return nil
	}
	if sub := fd.Message(); sub != nil && !r.complete(sub) {
		return nil
	}
	return fd
}

func fieldNames(fields protoreflect.FieldDescriptors) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range fields.Len() {
			if !yield(fields.Get(i).JSONName()) {
				return
			}
		}
	}
}

// oneofByName returns the oneof of that proto or lowerCamelCase name, or nil.
func oneofByName(md protoreflect.MessageDescriptor, name string) protoreflect.OneofDescriptor {
	for i := range md.Oneofs().Len() {
		od := md.Oneofs().Get(i)
		if !od.IsSynthetic() && (string(od.Name()) == name || camelCase(string(od.Name())) == name) {
			return od
		}
	}
	return nil
}

// wrappedOneof reads {"oneof_name": {"field": X}}, the form in which some
// models write {"field": X}.
func (r *reader) wrappedOneof(c *cursor, o *object, od protoreflect.OneofDescriptor, depth int) {
	if c.kind() == jsontok.KindNull {
		c.skip()
		return
	}
	c, ok := r.nested(c, jsontok.KindObject, depth, fmt.Sprintf("no member of this name but one of those that the oneof is for: %s", oneOf(fieldNames(od.Fields()), od.Fields().Len())))
	if !ok {
		return
	}
	for more := c.enter(); more && !r.full; more = c.more() {
		r.member(c, o, od, depth+1)
	}
}

// required reports the required fields that are missing.
func (r *reader) required(o *object) {
	if r.partial > 0 || r.full {
		return
	}
	for _, i := range o.plan.required {
		f := &o.plan.fields[i]
		if r.marked(o.set, i) {
			continue // what did not fit has been reported
		}
		problem := "the required field is missing"
		if r.marked(o.seen, i) {
			problem = "the required field is null"
		}
		r.path.push(step{name: f.name})
		r.report(Violation{Problem: problem, Expected: f.expected()})
		r.path.pop()
	}
}

// begin makes room for the length of what is appended next, and end fills it
// in.
func (r *reader) begin() int {
	r.out = append(r.out, 0)
	return len(r.out)
}

func (r *reader) end(start int) {
	n := len(r.out) - start
	if n < 0x80 {
		r.out[start-1] = byte(n) //nolint:gosec // it is small
		return
	}
	extra := protowire.SizeVarint(uint64(n)) - 1
	for range extra {
		r.out = append(r.out, 0)
	}
	copy(r.out[start+extra:], r.out[start:start+n])
	protowire.AppendVarint(r.out[:start-1], uint64(n))
}

// put reads the value of a member.
func (r *reader) put(c *cursor, f *field, depth int) {
	if f.forms != nil {
		r.form(c, f.forms, depth)
		return
	}
	r.setField(c, f, depth)
}

func (r *reader) setField(c *cursor, f *field, depth int) {
	switch {
	case f.list:
		r.list(c, f, depth)
	case f.key != nil:
		r.mapping(c, f, depth)
	case f.message != nil:
		r.submessage(c, f, depth)
	default:
		mark := len(r.out)
		r.out = protowire.AppendTag(r.out, f.number, f.wire)
		if zero, ok := r.scalar(c, f); !ok || zero && f.implicit {
			r.out = r.out[:mark]
		}
	}
}

// submessage appends a message as a field.
func (r *reader) submessage(c *cursor, f *field, depth int) {
	r.out = protowire.AppendTag(r.out, f.number, f.wire)
	if f.kind == protoreflect.GroupKind {
		r.message(c, r.sub(f), depth)
		r.out = protowire.AppendTag(r.out, f.number, protowire.EndGroupType)
		return
	}
	if r.masks != nil {
		r.mask = r.maskOf(f)
	}
	start := r.begin()
	r.message(c, r.sub(f), depth)
	r.end(start)
	r.mask = nil
}

func (r *reader) list(c *cursor, f *field, depth int) {
	mark := len(r.out)
	start := 0
	if f.packed {
		r.out = protowire.AppendTag(r.out, f.number, protowire.BytesType)
		start = r.begin()
	}
	if inner, ok := r.listText(c, f, depth); ok {
		r.elements(inner, f, depth)
	} else if r.opts.Exact || f.message != nil && r.sub(f).isValue() {
		// The element might be a list as well, without end.
		r.wrong(c, "wrong type", "an array")
	} else {
		r.element(c, f, depth)
	}
	switch {
	case !f.packed:
	case len(r.out) == start:
		r.out = r.out[:mark]
	default:
		r.end(start)
	}
}

// listText returns the cursor to read a list from, and false if the value is
// no list but may be the one element of it.
func (r *reader) listText(c *cursor, f *field, depth int) (*cursor, bool) {
	switch c.kind() {
	case jsontok.KindArray:
		return c, true
	case jsontok.KindString:
		if !mayBeStringified(f.desc) {
			return nil, false
		}
		start := c.pos
		if inner, ok := r.stringified(c, jsontok.KindArray, depth); ok {
			// A string such as "[1]" may well be meant as it is.
			if f.kind != protoreflect.StringKind || onlyStrings(*inner) {
				return inner, true
			}
			c.pos = start
		}
	}
	return nil, false
}

// mayBeStringified reports whether a string in the place of a list may be the
// list as text. A Value is never read again.
func mayBeStringified(fd protoreflect.FieldDescriptor) bool {
	if md := fd.Message(); md != nil {
		wkt := wellKnownOf(md)
		return wkt != wktValue && wkt != wktListValue
	}
	return true
}

func onlyStrings(c cursor) bool {
	for more := c.enter(); more; more = c.more() {
		if c.kind() != jsontok.KindString {
			return false
		}
		c.skip()
	}
	return true
}

func (r *reader) elements(c *cursor, f *field, depth int) {
	i := 0
	for more := c.enter(); more && !r.full; more = c.more() {
		r.path.push(step{index: i, kind: stepIndex})
		r.element(c, f, depth+1)
		r.path.pop()
		i++
	}
}

// element appends an element of a list, with its tag unless it is packed.
func (r *reader) element(c *cursor, f *field, depth int) {
	if c.kind() == jsontok.KindNull && !f.null {
		r.wrong(c, "null cannot be in a list; leave it out", f.expectedElement())
		return
	}
	if f.message != nil {
		r.submessage(c, f, depth)
		return
	}
	mark := len(r.out)
	if !f.packed {
		r.out = protowire.AppendTag(r.out, f.number, f.wire)
	}
	if _, ok := r.scalar(c, f); !ok {
		r.out = r.out[:mark]
	}
}
