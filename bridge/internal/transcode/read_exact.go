package transcode

import (
	"bytes"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// exactMember reads the member of a field, or keeps it if it does not fit.
func (r *reader) exactMember(c *cursor, o *object, f *field, raw []byte, depth int) {
	if o.plan.keeper() == nil {
		r.exactField(c, o, f, depth)
		return
	}
	t := r.attempt(c)
	if r.exactField(c, o, f, depth); !r.settle(t) {
		if name, ok := unquote(raw); ok {
			r.keep(c, o, raw, name)
		}
	}
}

// exactField reads the value of a field, which must then be told from one that
// is not there, unless options say that it is the same.
func (r *reader) exactField(c *cursor, o *object, f *field, depth int) {
	if f.nullable && c.kind() == jsontok.KindNull {
		c.skip()
		return
	}
	if f.oneof >= 0 && r.conflicts(o, f) {
		c.skip()
		r.report(Violation{Problem: "another member of the oneof " + string(f.desc.ContainingOneof().Name()) + " is set"})
		return
	}
	mark, faults := len(r.out), len(r.violations)
	r.put(c, f, depth)
	switch {
	case r.full || len(r.violations) > faults:
	case len(r.out) == mark && !f.shown.has(levelCanonical) && !f.omitEmpty:
		r.report(Violation{Problem: "the value cannot be told from none; leave it out"})
		return
	}
	if f.index >= 0 && !r.full {
		r.mark(o.set, f.index)
		o.oneofs = o.oneofs || f.oneof >= 0
	}
}

// exactScalar is [reader.scalar] for values that are written again as they are.
func (r *reader) exactScalar(c *cursor, f *field) (zero, ok bool) {
	kind := c.kind()
	switch f.kind {
	case protoreflect.BoolKind:
		if kind == jsontok.KindBool {
			return r.boolean(c)
		}
	case protoreflect.StringKind:
		if kind == jsontok.KindString {
			return r.text(c)
		}
	case protoreflect.BytesKind:
		if f.rawJSON {
			r.out = protowire.AppendBytes(r.out, jsontok.AppendCompact(nil, c.skip()))
			return false, true
		}
		if kind == jsontok.KindString {
			return r.bytes(c, f.encoding)
		}
	case protoreflect.EnumKind:
		if n, ok := f.enum.exact(c.peek()); ok {
			c.skip()
			return r.enumNumber(n), true
		}
		if r.attempts == 0 {
			r.wrong(c, "no value of "+string(f.enum.desc.FullName()), oneOf(f.enum.names(), f.enum.desc.Values().Len()))
			return false, false
		}
	case protoreflect.FloatKind:
		if v, ok := exactNumber(c.peek(), 32); ok {
			c.skip()
			return r.putFloat(v, 32), true
		}
	case protoreflect.DoubleKind:
		if v, ok := exactNumber(c.peek(), 64); ok {
			c.skip()
			return r.putFloat(v, 64), true
		}
	default:
		if v, ok := exactInteger(c.peek(), f.kind, is64Bit(f.kind) && !f.asNumber); ok {
			c.skip()
			r.out = appendInteger(r.out, f.kind, v)
			return v == 0, true
		}
	}
	if r.misfit() {
		return false, false
	}
	want := f.expectedElement()
	if is64Bit(f.kind) && !f.asNumber {
		want += " in quotes"
	}
	r.wrong(c, "the field cannot hold the value exactly", want)
	return false, false
}

// exact returns the number that is written as raw.
func (e *enumPlan) exact(raw []byte) (protoreflect.EnumNumber, bool) {
	switch jsontok.KindOf(raw) {
	case jsontok.KindNull:
		return 0, e.null
	case jsontok.KindString:
		s, ok := unquote(raw)
		n, known := e.numbers[s]
		switch {
		case !ok || !known || e.null:
			return 0, false
		case bytes.Equal(e.name(n), raw):
			return n, true
		}
		name, _ := unquote(e.name(n))
		return n, name == s
	case jsontok.KindNumber:
		v, ok := exactInteger(raw, protoreflect.Int32Kind, false)
		n := protoreflect.EnumNumber(int32(v)) //nolint:gosec // it is of that kind
		return n, ok && !e.null && !e.desc.IsClosed() && e.name(n) == nil
	default:
		return 0, false
	}
}

// exactInteger returns an integer as 64 bits. It is a number in JSON, or quoted
// and then as it is written.
func exactInteger(raw []byte, kind protoreflect.Kind, quoted bool) (uint64, bool) {
	isQuoted := raw[0] == '"'
	if isQuoted != quoted || !isQuoted && jsontok.KindOf(raw) != jsontok.KindNumber {
		return 0, false
	}
	text := raw
	if quoted {
		text = raw[1 : len(raw)-1]
	}
	if v, ok := shortInteger(kind, text); ok && (!quoted || string(text) != "-0") {
		return v, true
	}
	s := string(text)
	if quoted && !isNumber(s) {
		return 0, false
	}
	d := parseDecimal(s)
	digits, whole := d.integer()
	if !whole {
		return 0, false
	}
	v, err := integerValue(kind, d.negative && digits != "0", digits)
	return v, err == nil && (!quoted || isCanonicalKey(kind, v, s))
}

// exactNumber returns the float that is written as raw, or as a number of the
// same value.
func exactNumber(raw []byte, bits int) (float64, bool) {
	if jsontok.KindOf(raw) != jsontok.KindNumber {
		switch string(raw) {
		case `"NaN"`, `"Infinity"`, `"-Infinity"`:
			return special(string(raw[1 : len(raw)-1]))
		}
		return 0, false
	}
	const fewDigits = 15 // a double keeps that many
	if bits == 64 && len(raw) <= fewDigits {
		if f, ok := exactFloat(raw); ok {
			return f, true
		}
	}
	f, err := strconv.ParseFloat(string(raw), bits)
	if err != nil {
		return 0, false
	}
	a, b := parseDecimal(string(raw)), parseDecimal(string(appendFloat(nil, f, bits)))
	return f, a == b || a.digits == "" && b.digits == ""
}

// exactWellKnown reads a message of a well-known type. Those that have forms
// which are not written are taken only as they would be.
func (r *reader) exactWellKnown(c *cursor, p *plan, depth int) {
	switch p.wkt {
	case wktAny, wktTimestamp, wktDuration, wktFieldMask:
	default:
		r.readWellKnown(c, p, depth)
		return
	}
	text, mark, faults := c.peek(), len(r.out), len(r.violations)
	r.readWellKnown(c, p, depth)
	if r.full || len(r.violations) > faults {
		return
	}
	again, _, err := (&Codec{Compiler: r.Compiler, root: p}).AppendJSON(nil, r.out[mark:])
	if err != nil || !bytes.Equal(again, jsontok.AppendCompact(nil, text)) {
		r.report(Violation{Problem: "the value would be written as " + clip(string(again), maxSeenText), Seen: describe(text)})
	}
}
