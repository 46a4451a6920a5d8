package transcode

import (
	"fmt"
	"math"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

func (w *writer) wellKnown(m protoreflect.Message, wkt wellKnown, depth int) {
	fields := m.Descriptor().Fields()
	switch wkt {
	case wktAny:
		w.any(m, depth)
	case wktTimestamp:
		w.timestamp(m)
	case wktDuration:
		w.duration(m)
	case wktFieldMask:
		w.fieldMask(m)
	case wktValue:
		w.value(m, depth)
	case wktStruct:
		fd := fields.ByNumber(1)
		w.mapping(fd, m.Get(fd).Map(), depth)
	case wktListValue:
		fd := fields.ByNumber(1)
		w.list(fd, m.Get(fd).List(), depth)
	default:
		fd := fields.ByNumber(1)
		w.single(fd, m.Get(fd), depth)
	}
}

func (w *writer) value(m protoreflect.Message, depth int) {
	fd := m.WhichOneof(m.Descriptor().Oneofs().Get(0))
	if fd == nil {
		w.warn("a Value that holds nothing became null")
		w.raw("null")
		return
	}
	v := m.Get(fd)
	if f, ok := v.Interface().(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		w.warn("a Value that holds %v, for which JSON has no number, became null", f)
		w.raw("null")
		return
	}
	w.single(fd, v, depth)
}

// any appends an Any. What cannot be shown in its own form is shown in base64,
// which [reader.any] takes back.
func (w *writer) any(m protoreflect.Message, depth int) {
	if w.deep(depth) {
		return
	}
	fields := m.Descriptor().Fields()
	url, contents := m.Get(fields.ByNumber(1)).String(), m.Get(fields.ByNumber(2)).Bytes()
	if url == "" && len(contents) == 0 {
		w.raw("{}")
		return
	}
	opaque := func(why string) {
		w.warn("the contents of an Any are in base64: %s", why)
		w.raw(`{"@type":`)
		w.dst = jsontok.AppendString(w.dst, url)
		w.raw(`,"value":`)
		w.base64(contents)
		w.raw(`}`)
	}
	if url == "" {
		opaque("it names no type")
		return
	}
	typ, err := w.codec.findMessage(url)
	if err != nil {
		opaque(fmt.Sprintf("the type %q is not known", clip(url, maxNameText)))
		return
	}
	em := typ.New()
	if err := w.unmarshal(contents, em); err != nil {
		opaque(fmt.Sprintf("they are no valid %s", em.Descriptor().FullName()))
		return
	}
	w.raw(`{"@type":`)
	w.dst = jsontok.AppendString(w.dst, url)
	if inAnyValue(em.Descriptor()) {
		w.raw(`,"value":`)
		w.message(em, depth+1)
	} else {
		w.members(em, 1, depth)
	}
	w.raw(`}`)
}

func getTime(m protoreflect.Message) (seconds, nanos int64) {
	fields := m.Descriptor().Fields()
	return m.Get(fields.ByNumber(1)).Int(), m.Get(fields.ByNumber(2)).Int()
}

func (w *writer) timestamp(m protoreflect.Message) {
	seconds, nanos := getTime(m)
	if seconds < minTimestampSeconds || seconds > maxTimestampSeconds || nanos < 0 || nanos >= nanosPerSecond {
		w.warn("a Timestamp out of range (%d seconds, %d nanos) became null", seconds, nanos)
		w.raw("null")
		return
	}
	w.raw(`"`)
	w.dst = time.Unix(seconds, nanos).UTC().AppendFormat(w.dst, "2006-01-02T15:04:05")
	w.fraction(nanos)
	w.raw(`Z"`)
}

// fraction appends the fraction of a second with 0, 3, 6 or 9 digits.
func (w *writer) fraction(nanos int64) {
	if nanos == 0 {
		return
	}
	s := fmt.Sprintf(".%09d", nanos)
	w.raw(strings.TrimSuffix(strings.TrimSuffix(s, "000"), "000"))
}

func (w *writer) duration(m protoreflect.Message) {
	seconds, nanos := getTime(m)
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
	w.dst = fmt.Appendf(w.dst, "%d", seconds)
	w.fraction(nanos)
	w.raw(`s"`)
}

func (w *writer) fieldMask(m protoreflect.Message) {
	list := m.Get(m.Descriptor().Fields().ByNumber(1)).List()
	paths := make([]string, list.Len())
	for i := range paths {
		p := list.Get(i).String()
		if camel := camelCase(p); protoreflect.FullName(p).IsValid() && snakeCase(camel) == p {
			p = camel
		} else {
			w.warn("the path %q of a FieldMask has no form in lowerCamelCase; it is shown as it is", clip(p, maxNameText))
		}
		paths[i] = p
	}
	w.dst = jsontok.AppendString(w.dst, strings.Join(paths, ","))
}
