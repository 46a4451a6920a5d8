package transcode

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

func (w *writer) wellKnown(p *plan, b []byte, depth int) {
	switch p.wkt {
	case wktAny:
		w.any(p, b, depth)
	case wktTimestamp:
		if seconds, nanos, ok := w.time(p, b); ok {
			w.timestamp(seconds, nanos)
		}
	case wktDuration:
		if seconds, nanos, ok := w.time(p, b); ok {
			w.duration(seconds, nanos)
		}
	case wktValue:
		w.anyValue(p, b, depth)
	default:
		w.only(p, b, depth)
	}
}

// only appends a message that is its one field.
func (w *writer) only(p *plan, b []byte, depth int) {
	base := len(w.occurrences)
	defer func() { w.occurrences = w.occurrences[:base] }()
	if !w.gather(p, b) {
		return
	}
	all := w.occurrences[base:]
	f := &p.fields[0]
	switch p.wkt {
	case wktStruct:
		w.mapping(f, all, depth)
	case wktListValue:
		w.elements(f, all, depth)
	case wktFieldMask:
		w.fieldMask(all)
	default: // wrappers
		content := f.zero()
		if len(all) > 0 {
			content = all[len(all)-1].content
		}
		w.value(f, content, depth)
	}
}

// elements appends an array of messages.
func (w *writer) elements(f *field, all []occurrence, depth int) {
	if w.deep(depth) {
		return
	}
	w.raw("[")
	for i, o := range all {
		w.element(f, o.content, i, depth)
	}
	w.raw("]")
}

// anyValue appends a google.protobuf.Value.
func (w *writer) anyValue(p *plan, b []byte, depth int) {
	// Nearly all have one field and nothing else.
	if num, typ, n := consumeTag(b); n > 0 {
		content, size := consumeValue(num, typ, b[n:])
		if f := p.byNumber(num); size >= 0 && n+size == len(b) && f != nil && f.takes(typ) {
			w.kindOfValue(f, content, depth)
			return
		}
	}
	base := len(w.occurrences)
	defer func() { w.occurrences = w.occurrences[:base] }()
	if !w.gather(p, b) {
		return
	}
	var set []occurrence
	for _, o := range w.occurrences[base:] {
		if o.at < 0 {
			w.check(o.field, o.content, depth)
		} else {
			set = append(set, o)
		}
	}
	if len(set) == 0 {
		w.warn("a Value that holds nothing became null")
		w.raw("null")
		return
	}
	f, content := set[0].field, set[len(set)-1].content
	if f.message != nil && len(set) > 1 {
		content = w.merged(f, set)
	}
	w.kindOfValue(f, content, depth)
}

func (w *writer) kindOfValue(f *field, content []byte, depth int) {
	if f.kind == protoreflect.DoubleKind {
		v, _ := protowire.ConsumeFixed64(content)
		if n := math.Float64frombits(v); math.IsNaN(n) || math.IsInf(n, 0) {
			w.warn("a Value that holds %v, for which JSON has no number, became null", n)
			w.raw("null")
			return
		}
	}
	w.value(f, content, depth)
}

// scalars reads the fields 1 and 2 of a message that has no others. The last
// occurrence of each counts.
func scalars(p *plan, b []byte) (first, second []byte, err error) {
	for len(b) > 0 {
		num, typ, n := consumeTag(b)
		if n < 0 {
			return nil, nil, protowire.ParseError(n)
		}
		content, size := consumeValue(num, typ, b[n:])
		if size < 0 {
			return nil, nil, protowire.ParseError(size)
		}
		b = b[n+size:]
		if f := p.byNumber(num); f != nil && f.takes(typ) {
			if num == 1 {
				first = content
			} else {
				second = content
			}
		}
	}
	return first, second, nil
}

// any appends an Any. What cannot be shown in its own form is shown in base64,
// which [reader.any] takes back.
func (w *writer) any(p *plan, b []byte, depth int) {
	if w.deep(depth) {
		return
	}
	rawURL, contents, err := scalars(p, b)
	if err != nil {
		w.malformed(p, err)
		return
	}
	if len(rawURL) == 0 && len(contents) == 0 {
		w.raw("{}")
		return
	}
	start, warnings := len(w.dst), len(w.warnings)
	w.raw(`{"@type":`)
	w.value(&p.fields[0], rawURL, depth)
	opaque := func(why string) {
		w.dst = w.dst[:start]
		w.warnings = w.warnings[:warnings]
		w.warn("the contents of an Any are in base64: %s", why)
		w.raw(`{"@type":`)
		w.value(&p.fields[0], rawURL, depth)
		w.raw(`,"value":`)
		w.base64(contents)
		w.raw(`}`)
	}
	url := string(rawURL)
	if url == "" {
		opaque("it names no type")
		return
	}
	typ, err := w.findMessage(url)
	if err != nil {
		opaque(fmt.Sprintf("the type %q is not known", clip(url, maxNameText)))
		return
	}
	sub := w.plan(typ.Descriptor())
	if sub.wkt != wktNone {
		w.raw(`,"value":`)
		w.message(sub, contents, depth+1)
	} else {
		w.members(sub, contents, 1, depth)
	}
	w.raw(`}`)
	if _, ok := errors.AsType[*malformedError](w.err); ok {
		w.err = nil
		opaque(fmt.Sprintf("they are no valid %s", sub.desc.FullName()))
	}
}

// time reads a Timestamp or a Duration.
func (w *writer) time(p *plan, b []byte) (seconds int64, nanos int32, ok bool) {
	first, second, err := scalars(p, b)
	if err != nil {
		w.malformed(p, err)
		return 0, 0, false
	}
	s, _ := consumeVarint(first)
	n, _ := consumeVarint(second)
	return int64(s), int32(n), true //nolint:gosec // as protobuf's parsers cut it
}

func (w *writer) timestamp(seconds int64, nanos int32) {
	if seconds < minTimestampSeconds || seconds > maxTimestampSeconds || nanos < 0 || nanos >= nanosPerSecond {
		w.warn("a Timestamp out of range (%d seconds, %d nanos) became null", seconds, nanos)
		w.raw("null")
		return
	}
	year, month, day := time.Unix(seconds, 0).UTC().Date()
	of := int((seconds%86400 + 86400) % 86400) // the day
	w.raw(`"`)
	w.digits(year/100, 2)
	w.digits(year%100, 2)
	w.raw("-")
	w.digits(int(month), 2)
	w.raw("-")
	w.digits(day, 2)
	w.raw("T")
	w.digits(of/3600, 2)
	w.raw(":")
	w.digits(of/60%60, 2)
	w.raw(":")
	w.digits(of%60, 2)
	w.fraction(nanos)
	w.raw(`Z"`)
}

// digits appends the last n digits of v.
func (w *writer) digits(v, n int) {
	for range n {
		w.dst = append(w.dst, '0')
	}
	for i := len(w.dst) - 1; v > 0 && i >= len(w.dst)-n; i-- {
		w.dst[i] = byte('0' + v%10)
		v /= 10
	}
}

// fraction appends the fraction of a second with 0, 3, 6 or 9 digits.
func (w *writer) fraction(nanos int32) {
	n, v := 9, int(nanos)
	switch {
	case v == 0:
		return
	case v%1_000_000 == 0:
		n, v = 3, v/1_000_000
	case v%1000 == 0:
		n, v = 6, v/1000
	}
	w.raw(".")
	w.digits(v, n)
}

func (w *writer) duration(seconds int64, nanos int32) {
	if seconds < -maxDurationSeconds || seconds > maxDurationSeconds || nanos <= -nanosPerSecond || nanos >= nanosPerSecond ||
		seconds > 0 && nanos < 0 || seconds < 0 && nanos > 0 {
		w.warn("a Duration out of range (%d seconds, %d nanos) became null", seconds, nanos)
		w.raw("null")
		return
	}
	w.raw(`"`)
	if seconds < 0 || nanos < 0 {
		w.raw("-")
		seconds, nanos = -seconds, -nanos
	}
	w.dst = strconv.AppendInt(w.dst, seconds, 10)
	w.fraction(nanos)
	w.raw(`s"`)
}

func (w *writer) fieldMask(all []occurrence) {
	text := make([]byte, 0, 64)
	for i, o := range all {
		if i > 0 {
			text = append(text, ',')
		}
		p := string(o.content)
		if camel := camelCase(p); protoreflect.FullName(p).IsValid() && snakeCase(camel) == p {
			p = camel
		} else {
			w.warn("the path %q of a FieldMask has no form in lowerCamelCase; it is shown as it is", clip(p, maxNameText))
		}
		text = append(text, p...)
	}
	w.dst = jsontok.AppendString(w.dst, text)
}
