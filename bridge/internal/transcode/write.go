package transcode

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// writer appends the JSON form of messages. The depth that its methods take
// is that of the value: 1 for the outermost object.
type writer struct {
	*Compiler

	dst      []byte
	path     path
	warnings []string
	err      error

	// Scratch memory, used as stacks, and how far it has been used.
	occurrences                []occurrence
	entries                    []entry
	usedOccurrences, usedEntry int
}

// malformedError says that bytes are no message of a type.
type malformedError struct {
	message protoreflect.FullName
	cause   error
}

func (e *malformedError) Error() string {
	return fmt.Sprintf("the message is no valid %s: %s", e.message, cleanText(e.cause))
}

var writers sync.Pool

// maxScratch bounds the scratch memory that is kept for the next call, in
// elements.
const maxScratch = 4096

// newWriter returns a writer that appends to dst. It is released after use.
func (c *Compiler) newWriter(dst []byte) *writer {
	w, ok := writers.Get().(*writer)
	if !ok {
		w = new(writer)
	}
	w.Compiler, w.dst = c, dst
	return w
}

func (w *writer) release() {
	// What they refer to is not kept.
	clear(w.occurrences[:min(w.usedOccurrences, cap(w.occurrences))])
	clear(w.entries[:min(w.usedEntry, cap(w.entries))])
	clear(w.path[:cap(w.path)])
	kept := writer{occurrences: w.occurrences[:0], entries: w.entries[:0], path: w.path[:0]}
	if cap(kept.occurrences) > maxScratch {
		kept.occurrences = nil
	}
	if cap(kept.entries) > maxScratch {
		kept.entries = nil
	}
	*w = kept
	writers.Put(w)
}

func (w *writer) raw(s string) { w.dst = append(w.dst, s...) }

// comma separates members and elements. The first value of n is 0.
func (w *writer) comma(n int) {
	if n > 0 {
		w.dst = append(w.dst, ',')
	}
}

func (w *writer) warn(format string, args ...any) {
	if len(w.warnings) == MaxViolations {
		return
	}
	text := fmt.Sprintf(format, args...)
	if p := w.path.String(); p != "" {
		text = p + ": " + text
	}
	w.warnings = append(w.warnings, text)
}

// malformed notes that a message cannot be read.
func (w *writer) malformed(p *plan, err error) {
	if w.err == nil {
		w.err = &malformedError{p.desc.FullName(), err}
	}
}

// deep reports whether an array or object may not stand at the depth.
func (w *writer) deep(depth int) bool {
	if depth > w.opts.MaxDepth && w.err == nil {
		w.err = fmt.Errorf("arrays and objects are nested more than %d deep, at %s", w.opts.MaxDepth, clip(w.path.String(), 4*maxNameText))
	}
	return w.err != nil
}

// message appends the JSON of a message.
func (w *writer) message(p *plan, b []byte, depth int) {
	if p.wkt != wktNone {
		w.wellKnown(p, b, depth)
		return
	}
	if w.deep(depth) {
		return
	}
	w.raw("{")
	w.members(p, b, 0, depth)
	w.raw("}")
}

// members appends the fields as members, after n others.
func (w *writer) members(p *plan, b []byte, n, depth int) {
	ordered, err := w.inOrder(p, b)
	switch {
	case err != nil:
		w.malformed(p, err)
	case ordered && !w.opts.EmitDefaults:
		w.ordered(p, b, n, depth)
	default:
		w.sorted(p, b, n, depth)
	}
}

// ordered appends the fields of a message of which [Compiler.inOrder] is true.
func (w *writer) ordered(p *plan, b []byte, n, depth int) {
	for len(b) > 0 && w.err == nil {
		num, typ, size := consumeTag(b)
		rest := b[size:]
		content, size := consumeValue(num, typ, rest)
		next := rest[size:]
		f := p.byNumber(num)
		if f == nil || !f.takes(typ) {
			b = next
			continue
		}
		if f.list {
			var shown int
			shown, b = w.orderedList(p, f, b, n, depth+1)
			n += shown
			continue
		}
		if f.key != nil {
			base := len(w.occurrences)
			b = w.run(p, f, b)
			n += w.field(f, w.occurrences[base:], n, depth)
			w.occurrences = w.occurrences[:base]
			continue
		}
		if !f.implicit || !f.isZero(content) {
			w.comma(n)
			n++
			w.single(f, content, depth)
		}
		b = next
	}
}

// run collects the occurrences of f at the beginning of b, with unknown fields
// between them, and returns what follows.
func (w *writer) run(p *plan, f *field, b []byte) []byte {
	for len(b) > 0 {
		num, typ, n := consumeTag(b)
		content, size := consumeValue(num, typ, b[n:])
		switch other := p.byNumber(num); {
		case other == f && f.takes(typ):
			w.occurrences = append(w.occurrences, occurrence{f, typ, content, 0})
			w.usedOccurrences = max(w.usedOccurrences, len(w.occurrences))
		case other != nil && other.takes(typ):
			return b
		}
		b = b[n+size:]
	}
	return b
}

// orderedList appends the list f, which b begins with, and returns what
// follows it.
func (w *writer) orderedList(p *plan, f *field, b []byte, n, depth int) (shown int, rest []byte) {
	start := len(w.dst)
	w.openList(f, n, depth)
	i := 0
	for len(b) > 0 && w.err == nil {
		num, typ, n := consumeTag(b)
		content, size := consumeValue(num, typ, b[n:])
		switch other := p.byNumber(num); {
		case other == f && f.takes(typ):
			i = w.listValues(f, typ, content, i, depth)
		case other != nil && other.takes(typ):
			return w.closeList(start, i), b
		}
		b = b[n+size:]
	}
	return w.closeList(start, i), b
}

// sorted appends the fields of any message.
func (w *writer) sorted(p *plan, b []byte, n, depth int) {
	base := len(w.occurrences)
	defer func() { w.occurrences = w.occurrences[:base] }()
	if !w.gather(p, b) {
		return
	}
	all := w.occurrences[base:]
	next := 0 // the first field that may have a default to show
	for len(all) > 0 && w.err == nil {
		f := all[0].field
		count := 1
		for count < len(all) && all[count].field == f {
			count++
		}
		if f.index >= 0 {
			n += w.defaults(p, next, f.index, n)
			next = f.index + 1
		} else {
			n += w.defaults(p, next, len(p.fields), n)
			next = len(p.fields)
		}
		shown := w.field(f, all[:count], n, depth)
		if shown == 0 && f.index >= 0 {
			shown = w.defaults(p, f.index, f.index+1, n)
		}
		n += shown
		all = all[count:]
	}
	w.defaults(p, next, len(p.fields), n)
}

// gather appends the occurrences of all fields. It reports false where the
// message is malformed.
func (w *writer) gather(p *plan, b []byte) bool {
	var err error
	w.occurrences, err = w.collect(w.occurrences, p, b)
	w.usedOccurrences = max(w.usedOccurrences, len(w.occurrences))
	if err != nil {
		w.malformed(p, err)
	}
	return err == nil
}

// defaults appends the defaults of some fields, where they are wanted, and
// returns how many.
func (w *writer) defaults(p *plan, from, to, n int) (count int) {
	if !w.opts.EmitDefaults {
		return 0
	}
	for i := from; i < to; i++ {
		f := &p.fields[i]
		switch {
		case f.list:
			w.comma(n + count)
			w.dst = append(append(w.dst, f.member...), "[]"...)
		case f.key != nil:
			w.comma(n + count)
			w.dst = append(append(w.dst, f.member...), "{}"...)
		case f.implicit:
			w.comma(n + count)
			w.dst = append(w.dst, f.member...)
			w.value(f, f.zero(), 0)
		default:
			continue
		}
		count++
	}
	return count
}

// zero returns the value of a scalar on the wire that stands for none: zero, or
// the first value of an enum.
func (f *field) zero() []byte {
	const zeros = "\x00\x00\x00\x00\x00\x00\x00\x00"
	if f.enum != nil {
		return protowire.AppendVarint(nil, uint64(f.enum.desc.Values().Get(0).Number())) //nolint:gosec // as it goes over the wire
	}
	switch f.wire {
	case protowire.VarintType:
		return []byte(zeros[:1])
	case protowire.Fixed32Type:
		return []byte(zeros[:4])
	case protowire.Fixed64Type:
		return []byte(zeros)
	default:
		return nil
	}
}

// field appends a field with all its occurrences, after n other members. It
// returns 1, or 0 where there is nothing to show.
func (w *writer) field(f *field, all []occurrence, n, depth int) int {
	for len(all) > 0 && all[0].at < 0 { // of a oneof that has another member now
		w.check(f, all[0].content, depth)
		all = all[1:]
	}
	if len(all) == 0 || w.err != nil {
		return 0
	}
	if f.index < 0 && f.message != nil && !w.complete(f.message) {
		w.path.push(step{name: f.name})
		w.warn("the extension %s is left out: its type is not known", f.desc.FullName())
		w.path.pop()
		return 0
	}
	last := all[len(all)-1].content
	switch {
	case f.key != nil:
		w.comma(n)
		w.dst = append(w.dst, f.member...)
		w.path.push(step{name: f.name})
		w.mapping(f, all, depth+1)
		w.path.pop()
	case f.list:
		return w.list(f, all, n, depth+1)
	case f.message != nil:
		if len(all) > 1 {
			last = w.merged(f, all)
		}
		w.comma(n)
		w.single(f, last, depth)
	case f.implicit && f.isZero(last):
		return 0
	default:
		w.comma(n)
		w.single(f, last, depth)
	}
	return 1
}

// merged returns a message that came in several parts.
func (w *writer) merged(f *field, all []occurrence) []byte {
	var b []byte
	for _, o := range all {
		// What is no message must not become one by what follows.
		if _, err := w.inOrder(w.sub(f), o.content); err != nil {
			w.malformed(w.sub(f), err)
		}
		b = append(b, o.content...)
	}
	return b
}

// check reads a message whose value does not count.
func (w *writer) check(f *field, content []byte, depth int) {
	if f.message == nil {
		return
	}
	dst, warnings := w.dst, w.warnings
	w.message(w.sub(f), content, depth+1)
	w.dst, w.warnings = dst, warnings
}

// single appends a member with one value.
func (w *writer) single(f *field, content []byte, depth int) {
	w.dst = append(w.dst, f.member...)
	w.path.push(step{name: f.name})
	w.value(f, content, depth+1)
	w.path.pop()
}

// list appends a list as a member. Packed values and others may be mixed.
func (w *writer) list(f *field, all []occurrence, n, depth int) int {
	start := len(w.dst)
	w.openList(f, n, depth)
	i := 0
	for _, o := range all {
		i = w.listValues(f, o.typ, o.content, i, depth)
		if w.err != nil {
			break
		}
	}
	return w.closeList(start, i)
}

func (w *writer) openList(f *field, n, depth int) {
	w.comma(n)
	w.dst = append(w.dst, f.member...)
	w.path.push(step{name: f.name})
	if !w.deep(depth) {
		w.raw("[")
	}
}

// closeList ends the list of i elements that begins at start. An empty one is
// left out.
func (w *writer) closeList(start, i int) (shown int) {
	w.path.pop()
	if i == 0 && !w.opts.EmitDefaults {
		w.dst = w.dst[:start]
		return 0
	}
	w.raw("]")
	return 1
}

// listValues appends a value of a list, or several packed ones, after i
// others, and returns how many there are now.
func (w *writer) listValues(f *field, typ protowire.Type, b []byte, i, depth int) int {
	if typ != protowire.BytesType || !f.numeric {
		w.element(f, b, i, depth)
		return i + 1
	}
	for len(b) > 0 && w.err == nil {
		value, n := consumeValue(f.number, f.wire, b)
		if n < 0 {
			w.err = &malformedError{f.desc.ContainingMessage().FullName(), protowire.ParseError(n)}
			return i
		}
		b = b[n:]
		w.element(f, value, i, depth)
		i++
	}
	return i
}

func (w *writer) element(f *field, b []byte, i, depth int) {
	w.comma(i)
	w.path.push(step{index: i, kind: stepIndex})
	w.value(f, b, depth+1)
	w.path.pop()
}

// value appends a value that is neither list nor map.
func (w *writer) value(f *field, b []byte, depth int) {
	switch f.kind {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		w.message(w.sub(f), b, depth)
	case protoreflect.StringKind:
		if !utf8.Valid(b) {
			w.warn("bytes that are not UTF-8 became U+FFFD")
		}
		w.dst = jsontok.AppendString(w.dst, b)
	case protoreflect.BytesKind:
		w.base64(b)
	case protoreflect.FloatKind:
		v, _ := protowire.ConsumeFixed32(b)
		w.dst = appendFloat(w.dst, float64(math.Float32frombits(v)), 32)
	case protoreflect.DoubleKind:
		v, _ := protowire.ConsumeFixed64(b)
		w.dst = appendFloat(w.dst, math.Float64frombits(v), 64)
	case protoreflect.EnumKind:
		v, _ := consumeVarint(b)
		w.enumValue(f.enum, protoreflect.EnumNumber(v)) //nolint:gosec // as protobuf's parsers cut it
	case protoreflect.BoolKind:
		v, _ := consumeVarint(b)
		w.dst = strconv.AppendBool(w.dst, protowire.DecodeBool(v))
	default:
		w.integer(f.kind, b)
	}
}

//nolint:gosec // numbers are cut as protobuf's parsers cut them
func (w *writer) integer(kind protoreflect.Kind, b []byte) {
	switch kind {
	case protoreflect.Int32Kind:
		v, _ := consumeVarint(b)
		w.dst = strconv.AppendInt(w.dst, int64(int32(v)), 10)
	case protoreflect.Sint32Kind:
		v, _ := consumeVarint(b)
		w.dst = strconv.AppendInt(w.dst, int64(int32(protowire.DecodeZigZag(v&math.MaxUint32))), 10)
	case protoreflect.Sfixed32Kind:
		v, _ := protowire.ConsumeFixed32(b)
		w.dst = strconv.AppendInt(w.dst, int64(int32(v)), 10)
	case protoreflect.Uint32Kind:
		v, _ := consumeVarint(b)
		w.dst = strconv.AppendUint(w.dst, uint64(uint32(v)), 10)
	case protoreflect.Fixed32Kind:
		v, _ := protowire.ConsumeFixed32(b)
		w.dst = strconv.AppendUint(w.dst, uint64(v), 10)
	default:
		w.dst = append(w.dst, '"')
		switch kind {
		case protoreflect.Int64Kind:
			v, _ := consumeVarint(b)
			w.dst = strconv.AppendInt(w.dst, int64(v), 10)
		case protoreflect.Sint64Kind:
			v, _ := consumeVarint(b)
			w.dst = strconv.AppendInt(w.dst, protowire.DecodeZigZag(v), 10)
		case protoreflect.Sfixed64Kind:
			v, _ := protowire.ConsumeFixed64(b)
			w.dst = strconv.AppendInt(w.dst, int64(v), 10)
		case protoreflect.Uint64Kind:
			v, _ := consumeVarint(b)
			w.dst = strconv.AppendUint(w.dst, v, 10)
		default:
			v, _ := protowire.ConsumeFixed64(b)
			w.dst = strconv.AppendUint(w.dst, v, 10)
		}
		w.dst = append(w.dst, '"')
	}
}

func (w *writer) base64(b []byte) {
	w.dst = append(w.dst, '"')
	w.dst = base64.StdEncoding.AppendEncode(w.dst, b)
	w.dst = append(w.dst, '"')
}

func (w *writer) enumValue(e *enumPlan, n protoreflect.EnumNumber) {
	switch {
	case e.null:
		w.raw("null")
	case 0 <= n && int(n) < len(e.quoted) && e.quoted[n] != nil:
		w.dst = append(w.dst, e.quoted[n]...)
	default:
		if v := e.desc.Values().ByNumber(n); v != nil {
			w.dst = jsontok.AppendString(w.dst, string(v.Name()))
			return
		}
		w.dst = strconv.AppendInt(w.dst, int64(n), 10)
	}
}

// appendFloat appends a float as JavaScript writes it, which is the form that
// ProtoJSON takes over.
func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	abs := math.Abs(f)
	small, large := abs < 1e-6, abs >= 1e21
	if bits == 32 {
		small, large = float32(abs) < 1e-6, float32(abs) >= 1e21
	}
	if abs == 0 || !small && !large {
		return strconv.AppendFloat(dst, f, 'f', -1, bits)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, bits)
	// Go writes two digits of the exponent at least.
	if n := len(dst); dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}
