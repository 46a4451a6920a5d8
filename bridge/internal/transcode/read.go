package transcode

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// reader fills a message from JSON and collects what is wrong on the way.
//
// Its methods take a cursor at a value and leave it behind that value, unless
// the reader is full, and the depth of the value: how many arrays and objects
// it stands in.
type reader struct {
	codec      *Codec
	path       path
	violations []Violation
	// full is set when there are too many violations to go on.
	full     bool
	messages int
	// partial is positive inside of an Any: there, required fields may be
	// missing, as in protobuf's own parsers.
	partial int
}

func (c *Codec) read(m protoreflect.Message, arguments []byte) error {
	arguments = bytes.Trim(arguments, " \t\r\n")
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = []byte("{}")
	}
	if err := jsontok.Valid(arguments, jsontok.Limits{MaxDepth: c.opts.MaxDepth}); err != nil {
		return &ArgumentError{Violations: []Violation{{Problem: "not valid JSON: " + err.Error()}}}
	}
	r := &reader{codec: c}
	cur := newCursor(arguments)
	switch {
	case c.wrapped:
		r.wrapped(cur, m)
	default:
		r.message(cur, m, 0)
	}
	if len(r.violations) > 0 {
		return &ArgumentError{Violations: r.violations, Truncated: r.full}
	}
	return nil
}

// wrapped reads {"value": X}.
func (r *reader) wrapped(c *cursor, m protoreflect.Message) {
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
		case c.kind() == jsontok.KindNull && wellKnownOf(m.Descriptor()) != wktValue:
			c.skip()
		default:
			r.message(c, m, 1)
		}
		seen = seen || name == "value"
		r.path.pop()
	}
}

// report adds a violation, at the present path unless it has its own.
func (r *reader) report(v Violation) {
	if len(r.violations) == MaxViolations {
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
	r.report(Violation{Problem: problem, Expected: expected, Seen: describe(c.skip())})
}

// unknown reports a name that does not exist, and passes its value.
func (r *reader) unknown(c *cursor, name string, names iter.Seq[string], count int) {
	c.skip()
	v := Violation{Problem: "unknown field", Suggestions: nearest(name, names, "")}
	switch {
	case count == 0:
		v.Problem = "unknown field; no fields are possible here"
	case len(v.Suggestions) == 0:
		v.Expected = oneOf(names, count)
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
	start := c.pos
	text, ok := unquote(c.skip())
	text = strings.Trim(text, " \t\r\n")
	limits, room := r.codec.depthLeft(depth)
	if !ok || !room || jsontok.KindOf([]byte(clip(text, 1))) != kind || jsontok.Valid([]byte(text), limits) != nil {
		c.pos = start
		return nil, false
	}
	return newCursor([]byte(text)), true
}

// message reads a value into m, which is empty.
func (r *reader) message(c *cursor, m protoreflect.Message, depth int) {
	if !r.countMessage() {
		return
	}
	md := m.Descriptor()
	if wkt := wellKnownOf(md); wkt != wktNone {
		r.wellKnown(c, m, wkt, depth)
		return
	}
	if c, ok := r.nested(c, jsontok.KindObject, depth, "an object ("+string(md.FullName())+")"); ok {
		r.object(c, m, depth, false)
	}
}

// countMessage reports whether there is room for one more message. Without,
// the reader is full.
func (r *reader) countMessage() bool {
	if r.messages++; r.messages <= r.codec.opts.MaxMessages {
		return true
	}
	r.report(Violation{Problem: fmt.Sprintf("the arguments hold more than %d messages", r.codec.opts.MaxMessages)})
	r.full = true
	return false
}

// members is what is known of the members of an object that were read.
type members struct {
	// names are the names by which fields were set or set to null.
	names map[protoreflect.FieldNumber]string
	// oneofs are the names of the fields that set them, by their index.
	oneofs map[int]string
	// inAny is set where the object is the contents of an Any.
	inAny bool
}

func (r *reader) object(c *cursor, m protoreflect.Message, depth int, inAny bool) {
	s := members{names: map[protoreflect.FieldNumber]string{}, oneofs: map[int]string{}, inAny: inAny}
	for more := c.enter(); more && !r.full; more = c.more() {
		r.member(c, m, &s, nil, depth+1)
	}
	r.required(m, &s)
}

// member reads a member of the object for m. In the wrapped form of a oneof,
// only is that oneof.
func (r *reader) member(c *cursor, m protoreflect.Message, s *members, only protoreflect.OneofDescriptor, depth int) {
	name, ok := unquote(c.key())
	r.path.push(step{name: name})
	defer r.path.pop()
	md := m.Descriptor()
	var fd protoreflect.FieldDescriptor
	if ok {
		if s.inAny && name == "@type" && only == nil {
			c.skip()
			return
		}
		fd = r.field(md, name)
	}
	if fd != nil && only != nil && fd.ContainingOneof() != only {
		fd = nil
	}
	if fd == nil {
		if od := oneofByName(md, name); od != nil && only == nil {
			r.wrappedOneof(c, m, s, od, depth)
			return
		}
		if only != nil {
			r.unknown(c, name, fieldNames(only.Fields()), only.Fields().Len())
			return
		}
		r.unknown(c, name, fieldNames(md.Fields()), md.Fields().Len())
		return
	}
	if first, ok := s.names[fd.Number()]; ok {
		c.skip()
		problem := "the field occurs twice"
		if first != name {
			problem += fmt.Sprintf(", as %q and as %q; keep one", first, name)
		}
		r.report(Violation{Problem: problem})
		return
	}
	s.names[fd.Number()] = name
	if c.kind() == jsontok.KindNull && !takesNull(fd) {
		c.skip()
		return
	}
	if od := fd.ContainingOneof(); od != nil {
		if first, ok := s.oneofs[od.Index()]; ok {
			c.skip()
			r.report(Violation{Problem: fmt.Sprintf("%q and %q are both set, but they exclude each other (oneof %s); keep one", first, name, od.Name())})
			return
		}
		s.oneofs[od.Index()] = name
	}
	r.setField(c, m, fd, depth)
}

// field returns the field of that JSON name, proto name or, in brackets,
// extension name, or nil.
func (r *reader) field(md protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if inner, ok := strings.CutPrefix(name, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			return r.extension(md, protoreflect.FullName(inner))
		}
	}
	if fd := md.Fields().ByJSONName(name); fd != nil {
		return fd
	}
	return md.Fields().ByTextName(name)
}

func (r *reader) extension(md protoreflect.MessageDescriptor, name protoreflect.FullName) protoreflect.FieldDescriptor {
	if !name.IsValid() {
		return nil
	}
	typ, err := r.codec.resolver.FindExtensionByName(name)
	if err != nil || typ == nil {
		return nil
	}
	fd := typ.TypeDescriptor()
	if !md.ExtensionRanges().Has(fd.Number()) || fd.ContainingMessage().FullName() != md.FullName() {
		return nil
	}
	if sub := fd.Message(); sub != nil && !r.codec.complete(sub) {
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
func (r *reader) wrappedOneof(c *cursor, m protoreflect.Message, s *members, od protoreflect.OneofDescriptor, depth int) {
	if c.kind() == jsontok.KindNull {
		c.skip()
		return
	}
	c, ok := r.nested(c, jsontok.KindObject, depth, fmt.Sprintf("no member of this name but one of those that the oneof is for: %s", oneOf(fieldNames(od.Fields()), od.Fields().Len())))
	if !ok {
		return
	}
	for more := c.enter(); more && !r.full; more = c.more() {
		r.member(c, m, s, od, depth+1)
	}
}

// required reports the required fields that are missing.
func (r *reader) required(m protoreflect.Message, s *members) {
	if r.partial > 0 || r.full || m.Descriptor().RequiredNumbers().Len() == 0 {
		return
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if fd.Cardinality() != protoreflect.Required || m.Has(fd) {
			continue
		}
		// A value that did not fit has been reported.
		problem := "the required field is missing"
		if _, seen := s.names[fd.Number()]; seen && len(r.violations) > 0 {
			continue
		} else if seen {
			problem = "the required field is null"
		}
		r.path.push(step{name: fd.JSONName()})
		r.report(Violation{Problem: problem, Expected: expected(fd)})
		r.path.pop()
	}
}

// takesNull reports whether null is a value of the field, and not its
// absence.
func takesNull(fd protoreflect.FieldDescriptor) bool {
	if fd.IsList() || fd.IsMap() {
		return false
	}
	return isNullable(fd)
}

// isNullable reports whether null is a value of the type of fd.
func isNullable(fd protoreflect.FieldDescriptor) bool {
	if md := fd.Message(); md != nil {
		return wellKnownOf(md) == wktValue
	}
	return isNullEnum(fd)
}

func isNullEnum(fd protoreflect.FieldDescriptor) bool {
	return fd.Enum() != nil && fd.Enum().FullName() == "google.protobuf.NullValue"
}

func (r *reader) setField(c *cursor, m protoreflect.Message, fd protoreflect.FieldDescriptor, depth int) {
	switch {
	case fd.IsList():
		r.list(c, m.Mutable(fd).List(), fd, depth)
	case fd.IsMap():
		r.mapping(c, m.Mutable(fd).Map(), fd, depth)
	case fd.Message() != nil:
		v := m.NewField(fd)
		r.message(c, v.Message(), depth)
		m.Set(fd, v)
	default:
		if v, ok := r.scalar(c, fd); ok {
			m.Set(fd, v)
		}
	}
}

func (r *reader) list(c *cursor, list protoreflect.List, fd protoreflect.FieldDescriptor, depth int) {
	if c.kind() == jsontok.KindString && mayBeStringified(fd) {
		start := c.pos
		if inner, ok := r.stringified(c, jsontok.KindArray, depth); ok {
			// A string such as "[1]" may well be meant as it is.
			if fd.Kind() != protoreflect.StringKind || onlyStrings(*inner) {
				r.elements(inner, list, fd, depth)
				return
			}
			c.pos = start
		}
	}
	if c.kind() == jsontok.KindArray {
		r.elements(c, list, fd, depth)
		return
	}
	r.element(c, list, fd, depth)
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

func (r *reader) elements(c *cursor, list protoreflect.List, fd protoreflect.FieldDescriptor, depth int) {
	i := 0
	for more := c.enter(); more && !r.full; more = c.more() {
		r.path.push(step{index: i, kind: stepIndex})
		r.element(c, list, fd, depth+1)
		r.path.pop()
		i++
	}
}

func (r *reader) element(c *cursor, list protoreflect.List, fd protoreflect.FieldDescriptor, depth int) {
	if c.kind() == jsontok.KindNull && !isNullable(fd) {
		r.wrong(c, "null cannot be in a list; leave it out", expectedElement(fd))
		return
	}
	if fd.Message() != nil {
		v := list.NewElement()
		r.message(c, v.Message(), depth)
		list.Append(v)
		return
	}
	if v, ok := r.scalar(c, fd); ok {
		list.Append(v)
	}
}

func (r *reader) mapping(c *cursor, mp protoreflect.Map, fd protoreflect.FieldDescriptor, depth int) {
	c, ok := r.nested(c, jsontok.KindObject, depth, expected(fd))
	if !ok {
		return
	}
	// Keys are remembered also where the value does not fit.
	seen := map[any]bool{}
	for more := c.enter(); more && !r.full; more = c.more() {
		name, ok := unquote(c.key())
		r.path.push(step{name: name, kind: stepKey})
		if !ok {
			c.skip()
			r.report(Violation{Problem: loneSurrogate})
		} else if key, ok := mapKey(name, fd.MapKey()); !ok {
			c.skip()
			r.report(Violation{Problem: "wrong type of key", Expected: expectedElement(fd.MapKey()) + " in quotes", Seen: strconv.Quote(clip(name, maxSeenText))})
		} else if seen[key.Interface()] {
			c.skip()
			r.report(Violation{Problem: "the key occurs twice"})
		} else {
			seen[key.Interface()] = true
			r.entry(c, mp, key, fd.MapValue(), depth+1)
		}
		r.path.pop()
	}
}

func (r *reader) entry(c *cursor, mp protoreflect.Map, key protoreflect.MapKey, fd protoreflect.FieldDescriptor, depth int) {
	if c.kind() == jsontok.KindNull && !isNullable(fd) {
		r.wrong(c, "null cannot be the value of a key; leave the key out", expectedElement(fd))
		return
	}
	if fd.Message() != nil {
		v := mp.NewValue()
		r.message(c, v.Message(), depth)
		mp.Set(key, v)
		return
	}
	if v, ok := r.scalar(c, fd); ok {
		mp.Set(key, v)
	}
}

// mapKey returns the key that a name stands for.
func mapKey(name string, fd protoreflect.FieldDescriptor) (protoreflect.MapKey, bool) {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(name).MapKey(), true
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(name == "true").MapKey(), name == "true" || name == "false"
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		n, err := strconv.ParseInt(name, 10, 32)
		return protoreflect.ValueOfInt32(int32(n)).MapKey(), err == nil
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		n, err := strconv.ParseInt(name, 10, 64)
		return protoreflect.ValueOfInt64(n).MapKey(), err == nil
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		n, err := strconv.ParseUint(name, 10, 32)
		return protoreflect.ValueOfUint32(uint32(n)).MapKey(), err == nil
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		n, err := strconv.ParseUint(name, 10, 64)
		return protoreflect.ValueOfUint64(n).MapKey(), err == nil
	default: // no other type can be a key
		return protoreflect.MapKey{}, false
	}
}
