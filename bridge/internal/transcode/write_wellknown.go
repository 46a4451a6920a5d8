package transcode

import (
	"bytes"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// wellKnown writes a message of a well-known type, whose fields are the
// records from base on.
func (w *writer) wellKnown(p *plan, base, depth int) {
	end := len(w.records)
	f := &p.fields[0] // for types with one field
	switch p.wkt {
	case wktAny:
		w.any(p, base, depth)
	case wktTimestamp:
		w.timestamp(p, base)
	case wktDuration:
		w.duration(p, base)
	case wktFieldMask:
		w.fieldMask(base)
	case wktValue:
		w.valueOf(p, base, depth)
	case wktStruct:
		w.mapping(f, base, end, depth)
	case wktListValue:
		w.list(f, base, end, depth)
	default:
		bits := uint64(0)
		if base < end {
			bits = w.records[end-1].bits
		}
		w.scalar(f, bits, "")
	}
}

// bits returns the bits of the last of the records from base on that are of a
// field with the number, or zero. It is for well-known types.
func (w *writer) bits(base int, p *plan, number protowire.Number) uint64 {
	for i := len(w.records) - 1; i >= base; i-- {
		if r := w.records[i]; p.fields[r.index].number == number {
			return r.bits
		}
	}
	return 0
}

// valueOf writes a google.protobuf.Value.
func (w *writer) valueOf(p *plan, base, depth int) {
	end := len(w.records)
	if base == end {
		w.warn("a Value that holds nothing became null")
		w.raw("null")
		return
	}
	r := w.records[end-1]
	f := &p.fields[r.index]
	if f.message != nil {
		w.message(f.sub(), base, end, depth)
		return
	}
	if n := math.Float64frombits(r.bits); f.kind == protoreflect.DoubleKind && (math.IsNaN(n) || math.IsInf(n, 0)) {
		w.warn("a Value that holds %v, for which JSON has no number, became null", n)
		w.raw("null")
		return
	}
	w.scalar(f, r.bits, "")
}

func (w *writer) times(p *plan, base int) (seconds, nanos int64) {
	return int64(w.bits(base, p, 1)), int64(int32(w.bits(base, p, 2))) //nolint:gosec // two's complement
}

func (w *writer) timestamp(p *plan, base int) {
	seconds, nanos := w.times(p, base)
	if seconds < minTimestampSeconds || seconds > maxTimestampSeconds || nanos < 0 || nanos >= nanosPerSecond {
		w.warn("a Timestamp out of range (%d seconds, %d nanos) became null", seconds, nanos)
		w.raw("null")
		return
	}
	w.dst = append(appendTime(append(w.dst, '"'), seconds, nanos), '"')
}

func (w *writer) duration(p *plan, base int) {
	seconds, nanos := w.times(p, base)
	if seconds < -maxDurationSeconds || seconds > maxDurationSeconds || nanos <= -nanosPerSecond || nanos >= nanosPerSecond ||
		seconds > 0 && nanos < 0 || seconds < 0 && nanos > 0 {
		w.warn("a Duration out of range (%d seconds, %d nanos) became null", seconds, nanos)
		w.raw("null")
		return
	}
	w.dst = append(appendDuration(append(w.dst, '"'), seconds, nanos), '"')
}

func (w *writer) fieldMask(base int) {
	w.raw(`"`)
	for i := base; i < len(w.records); i++ {
		if i > base {
			w.raw(",")
		}
		path := w.bytes(w.records[i].bits)
		start := len(w.dst)
		var ok bool
		if w.dst, ok = appendCamelPath(w.dst, path); ok {
			continue
		}
		// The quotes of the string are taken away again.
		w.dst, ok = jsontok.AppendBytes(w.dst[:start], path)
		if !ok {
			w.warn(notUTF8)
			path = bytes.ToValidUTF8(path, []byte("\uFFFD"))
		}
		w.dst = append(w.dst[:start], w.dst[start+1:len(w.dst)-1]...)
		w.warn("the path %q of a FieldMask has no form in lowerCamelCase; it is shown as it is", clip(string(path), maxNameText))
	}
	w.raw(`"`)
}

// appendCamelPath appends a path of a FieldMask in lowerCamelCase. It reports
// whether that is possible: the path must consist of field names and be what
// [snakeCase] makes of the result.
func appendCamelPath(dst, path []byte) ([]byte, bool) {
	first := true // of a name
	for i := 0; i < len(path); i++ {
		c := path[i]
		switch {
		case 'a' <= c && c <= 'z':
		case c == '_' && i+1 < len(path) && 'a' <= path[i+1] && path[i+1] <= 'z':
			i++
			c = path[i] - ('a' - 'A')
		case '0' <= c && c <= '9' && !first:
		case c == '.' && !first:
			dst = append(dst, c)
			first = true
			continue
		default:
			return dst, false
		}
		dst = append(dst, c)
		first = false
	}
	return dst, !first
}

// any writes an Any. What cannot be shown in its own form is shown in base64,
// which [reader.any] takes back.
func (w *writer) any(p *plan, base, depth int) {
	if w.deep(depth) {
		return
	}
	url, contents := w.bits(base, p, 1), w.bits(base, p, 2)
	name := w.bytes(url)
	if len(name) == 0 && len(w.bytes(contents)) == 0 {
		w.raw("{}")
		return
	}
	w.raw(`{"@type":`)
	start := len(w.dst)
	w.scalar(p.byNumber(1), url, "")
	end := len(w.dst)
	opaque := func(why string) {
		w.warn("the contents of an Any are in base64: %s", why)
		w.dst = w.dst[:end]
		w.raw(`,"value":`)
		w.dst = Base64.AppendJSON(w.dst, w.bytes(contents))
		w.raw(`}`)
	}
	if len(name) == 0 {
		opaque("it names no type")
		return
	}
	contained := w.compiler.byURL(name)
	if contained == nil {
		shown, _ := jsontok.String(w.dst[start:end])
		opaque(fmt.Sprintf("the type %q is not known", clip(shown, maxNameText)))
		return
	}
	warnings := len(w.warnings)
	lo := len(w.records)
	w.records = append(w.records, record{bits: contents})
	if contained.inAnyValue() {
		w.raw(`,"value":`)
		w.message(contained, lo, lo+1, depth+1)
		w.raw("}")
	} else {
		w.raw(",")
		w.collect(contained, lo, lo+1)
		w.members(contained, lo+1, depth)
		w.end('}')
	}
	w.records = w.records[:lo]
	if w.err != nil && !tooLarge(w.err) && (!tooDeep(w.err) || !valid(contained, w.wire, contents, 0)) {
		w.err = nil
		w.warnings = w.warnings[:warnings]
		opaque("they are no valid " + string(contained.desc.FullName()))
	}
}
