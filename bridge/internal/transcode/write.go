package transcode

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// writer appends the JSON form of wire bytes. There is no message in between:
// the fields of a message are collected as records, which are put into the
// order of output and written one after the other. Records hold offsets into
// the one buffer that is read, so nothing is copied, not even where the
// occurrences of a message must be merged.
//
// The depth that its methods take is that of the value: 1 for the outermost
// object. After the first error, which is kept, nothing that is written
// counts.
type writer struct {
	compiler *Compiler
	output   Output
	// max is how long dst may get, and limit how much of it is ours to say.
	max, limit int
	wire       []byte
	dst        []byte
	// records, entries and runs are stacks: what a message has collected lies
	// above what those around it have, until it is written.
	records []record
	entries []entry
	runs    []run
	// unsorted and scratch are for one step of work only.
	unsorted []record
	scratch  []int32

	trail    trail
	warnings []string
	// texts are what readable bytes are, where those are asked for.
	texts    []string
	readable bool
	err      error
}

const notUTF8 = "bytes that are not UTF-8 became U+FFFD"

var writers sync.Pool // of *writer

// maxPooled is how many records a writer keeps room for when it is not used.
const maxPooled = 1 << 14

func newWriter(c *Codec, dst, wire []byte) *writer {
	w, ok := writers.Get().(*writer)
	if !ok {
		w = new(writer)
	}
	w.compiler, w.output, w.dst, w.wire = c.Compiler, c.output, dst, wire
	w.limit, w.max = c.limit, math.MaxInt
	if c.limit > 0 {
		w.max = len(dst) + c.limit
	}
	return w
}

// release gives the writer back. Of what it had, nothing may be used any more
// but dst and the warnings.
func (w *writer) release() {
	keep := writer{trail: w.trail[:0]}
	if cap(w.records) <= maxPooled {
		keep.records = w.records[:0]
	}
	if cap(w.entries) <= maxPooled {
		keep.entries = w.entries[:0]
	}
	if cap(w.runs) <= maxPooled {
		clear(w.runs[:cap(w.runs)])
		keep.runs = w.runs[:0]
	}
	if cap(w.unsorted) <= maxPooled {
		keep.unsorted = w.unsorted[:0]
	}
	if cap(w.scratch) <= maxPooled {
		keep.scratch = w.scratch[:0]
	}
	*w = keep
	writers.Put(w)
}

func (w *writer) raw(s string) { w.dst = append(w.dst, s...) }

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// depthError says that JSON would be nested too deep.
type depthError struct {
	limit int
	path  string
}

func (e *depthError) Error() string {
	return fmt.Sprintf("arrays and objects are nested more than %d deep, at %s", e.limit, e.path)
}

func tooDeep(err error) bool {
	_, ok := errors.AsType[*depthError](err)
	return ok
}

func tooLarge(err error) bool {
	_, ok := errors.AsType[*SizeError](err)
	return ok
}

// over reports whether too much has been written, or anything else is wrong.
func (w *writer) over() bool {
	if len(w.dst) > w.max && w.err == nil {
		w.err = &SizeError{w.limit}
	}
	return w.err != nil
}

// deep reports whether an array or object may not stand at the depth.
func (w *writer) deep(depth int) bool {
	if limit := w.compiler.opts.MaxDepth; depth > limit && w.err == nil {
		w.err = &depthError{limit, clip(w.path().String(), 4*maxNameText)}
	}
	return w.over()
}

// outermost writes the message that the whole buffer is.
func (w *writer) outermost(p *plan, wrapped bool) error {
	w.records = append(w.records, record{bits: span(0, len(w.wire))})
	if wrapped {
		w.raw(`{"value":`)
		w.trail = append(w.trail, mark{name: "value"})
		w.message(p, 0, 1, 2)
		w.raw(`}`)
	} else {
		w.message(p, 0, 1, 1)
	}
	// What is wrong with the message itself comes first.
	if tooDeep(w.err) && !valid(p, w.wire, span(0, len(w.wire)), 0) {
		return errMalformed
	}
	if w.err == nil {
		w.over()
	}
	return w.err
}

// message writes the message that the records from lo to hi span, merged.
func (w *writer) message(p *plan, lo, hi, depth int) {
	base := len(w.records)
	if p.wkt != wktNone {
		w.collect(p, lo, hi)
		if w.err == nil {
			w.wellKnown(p, base, depth)
		}
	} else if p.isValue() {
		w.value(p, lo, hi, depth)
	} else if p.isUnion() {
		w.union(p, lo, hi, depth)
	} else if !w.deep(depth) {
		w.collect(p, lo, hi)
		w.raw("{")
		w.members(p, base, depth)
		w.end('}')
	}
	w.records = w.records[:base]
}

// end closes an object or array. What stands in it has a comma behind it.
func (w *writer) end(bracket byte) {
	if n := len(w.dst) - 1; w.dst[n] == ',' {
		w.dst[n] = bracket
	} else {
		w.dst = append(w.dst, bracket)
	}
}

// members writes the fields in the records from base on as members.
func (w *writer) members(p *plan, base, depth int) {
	if p.shape != nil {
		w.shapedMembers(p, base, depth, "", false)
		return
	}
	end := len(w.records)
	unset := p.unset[w.output.level(depth == 1)]
	for i := base; w.err == nil; {
		index := len(p.fields)
		if i < end {
			index = int(w.records[i].index)
		}
		for len(unset) > 0 && int(unset[0]) <= index && w.err == nil {
			if int(unset[0]) < index {
				w.member(&p.fields[unset[0]], i, i, depth)
			}
			unset = unset[1:]
		}
		if i == end {
			return
		}
		if index >= len(p.fields) {
			w.extensions(p, i, depth)
			return
		}
		j := w.runEnd(i, end)
		w.member(&p.fields[index], i, j, depth)
		i = j
	}
}

// shows reports whether a field of a message at the depth is written where it
// has its default.
func (w *writer) shows(f *field, depth int) bool { return f.shown.has(w.output.level(depth == 1)) }

// extensions writes the records from lo on, which are of extensions, by the
// names of these.
func (w *writer) extensions(p *plan, lo, depth int) {
	base := len(w.runs)
	w.extensionRuns(p, lo)
	for i := base; i < len(w.runs) && w.err == nil; i++ {
		if r := w.runs[i]; r.field.incomplete {
			w.leaveOut(r)
		} else {
			w.member(r.field, r.lo, r.hi, depth)
		}
	}
	w.runs = w.runs[:base]
}

// leaveOut passes an extension of an incomplete type.
func (w *writer) leaveOut(r run) {
	for i := r.lo; i < r.hi; i++ {
		if !valid(r.field.sub(), w.wire, w.records[i].bits, 0) {
			w.fail(errMalformed)
			return
		}
	}
	w.warn("the extension %s is left out: its type is not known", r.field.desc.FullName())
}

// member writes the field that the records from lo to hi are of, and a comma,
// unless it has nothing to show.
func (w *writer) member(f *field, lo, hi, depth int) {
	switch {
	case lo == hi && f.elseNull:
		w.dst = append(w.dst, f.member...)
		w.raw("null,")
	case f.key != nil:
		if lo < hi || w.shows(f, depth) {
			w.dst = append(w.dst, f.member...)
			w.trail = append(w.trail, mark{name: f.name})
			w.mapping(f, lo, hi, depth+1)
			w.trail = w.trail[:len(w.trail)-1]
			w.raw(",")
		}
	case f.list:
		// Packed fields may be empty.
		for lo < hi && f.list && f.numeric && w.records[lo].typ == protowire.BytesType && w.empty(lo) {
			lo++
		}
		if lo < hi || w.shows(f, depth) && !f.desc.IsExtension() {
			w.dst = append(w.dst, f.member...)
			w.trail = append(w.trail, mark{name: f.name})
			w.list(f, lo, hi, depth+1)
			w.trail = w.trail[:len(w.trail)-1]
			w.raw(",")
		}
	case f.message != nil:
		w.dst = append(w.dst, f.member...)
		w.trail = append(w.trail, mark{name: f.name})
		w.message(f.sub(), lo, hi, depth+1)
		w.trail = w.trail[:len(w.trail)-1]
		w.raw(",")
	default:
		bits := uint64(0)
		if lo < hi {
			bits = w.records[hi-1].bits
		}
		if !f.implicit || w.shows(f, depth) || !isZero(f.kind, bits) {
			w.dst = append(w.dst, f.member...)
			w.scalar(f, bits, f.name)
			w.raw(",")
		}
	}
}

// empty reports whether what a record spans has no bytes.
func (w *writer) empty(i int) bool {
	start, end := unspan(w.records[i].bits)
	return start == end
}

func (w *writer) list(f *field, lo, hi, depth int) {
	if w.deep(depth) {
		return
	}
	w.raw("[")
	top := len(w.trail)
	for i := lo; i < hi && !w.over(); i++ {
		r := w.records[i]
		switch {
		case f.message != nil:
			w.trail = append(w.trail, mark{index: i - lo, kind: stepIndex})
			w.message(f.sub(), i, i+1, depth+1)
			w.trail = w.trail[:top]
			w.raw(",")
		case r.typ == protowire.BytesType && f.list && f.numeric:
			w.packed(f, r.bits)
		case f.kind == protoreflect.StringKind:
			start, end := unspan(r.bits)
			var ok bool
			if w.dst, ok = jsontok.AppendBytes(w.dst, w.wire[start:end]); !ok {
				w.trail = append(w.trail, mark{index: i - lo, kind: stepIndex})
				w.warn(notUTF8)
				w.trail = w.trail[:top]
			}
			w.raw(",")
		default:
			w.trail = append(w.trail, mark{index: i - lo, kind: stepIndex})
			w.scalar(f, r.bits, "")
			w.trail = w.trail[:top]
			w.raw(",")
		}
	}
	w.end(']')
}

func (w *writer) packed(f *field, bits uint64) {
	pos, end := unspan(bits)
	b := w.wire[:end]
	for pos < end && !w.over() {
		var bits uint64
		if bits, pos = value(b, pos, f.number, f.wire); pos < 0 {
			w.fail(errMalformed)
			return
		}
		w.scalar(f, bits, "")
		w.raw(",")
	}
}

// scalar writes a value that is no message. The name is that of the member if
// the value is one, and leads to it in a warning.
func (w *writer) scalar(f *field, bits uint64, name string) {
	switch f.kind {
	case protoreflect.StringKind:
		start, end := unspan(bits)
		var ok bool
		if w.dst, ok = jsontok.AppendBytes(w.dst, w.wire[start:end]); !ok {
			top := len(w.trail)
			if name != "" {
				w.trail = append(w.trail, mark{name: name})
			}
			w.warn(notUTF8)
			w.trail = w.trail[:top]
		}
	case protoreflect.BytesKind:
		start, end := unspan(bits)
		if f.rawJSON {
			w.rawJSON(w.wire[start:end])
		} else {
			w.dst = f.encoding.AppendJSON(w.dst, w.wire[start:end])
			if w.readable && f.encoding == Base64 {
				w.noteText(w.wire[start:end], name)
			}
		}
	case protoreflect.BoolKind:
		w.dst = strconv.AppendBool(w.dst, bits != 0)
	case protoreflect.EnumKind:
		w.enum(f, protoreflect.EnumNumber(int32(bits))) //nolint:gosec // as protobuf has it
	case protoreflect.FloatKind:
		w.dst = appendFloat(w.dst, float64(math.Float32frombits(uint32(bits))), 32) //nolint:gosec // 32 bits
	case protoreflect.DoubleKind:
		w.dst = appendFloat(w.dst, math.Float64frombits(bits), 64)
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		if f.asNumber {
			w.dst = strconv.AppendInt(w.dst, signed(f.kind, bits), 10)
			return
		}
		w.dst = append(strconv.AppendInt(append(w.dst, '"'), signed(f.kind, bits), 10), '"')
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		if f.asNumber {
			w.dst = strconv.AppendUint(w.dst, bits, 10)
			return
		}
		w.dst = append(strconv.AppendUint(append(w.dst, '"'), bits, 10), '"')
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		w.dst = strconv.AppendUint(w.dst, uint64(uint32(bits)), 10) //nolint:gosec // as protobuf has it
	default:
		w.dst = strconv.AppendInt(w.dst, signed(f.kind, bits), 10)
	}
}

// signed returns the value that bits have as a signed integer of the kind.
// Bits that the kind has no room for are dropped, as by protobuf's parsers.
func signed(k protoreflect.Kind, bits uint64) int64 {
	switch k {
	case protoreflect.Sint32Kind:
		return protowire.DecodeZigZag(bits & math.MaxUint32)
	case protoreflect.Sint64Kind:
		return protowire.DecodeZigZag(bits)
	case protoreflect.Int64Kind, protoreflect.Sfixed64Kind:
		return int64(bits) //nolint:gosec // two's complement
	default:
		return int64(int32(bits)) //nolint:gosec // two's complement
	}
}

// isZero reports whether bits are the zero value of the kind, which is none
// of messages.
func isZero(k protoreflect.Kind, bits uint64) bool {
	switch k {
	case protoreflect.StringKind, protoreflect.BytesKind:
		start, end := unspan(bits)
		return start == end
	case protoreflect.BoolKind, protoreflect.FloatKind, protoreflect.DoubleKind,
		protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Uint64Kind,
		protoreflect.Sfixed64Kind, protoreflect.Fixed64Kind:
		return bits == 0
	default:
		return uint32(bits) == 0 //nolint:gosec // as protobuf has it
	}
}

func (w *writer) enum(f *field, n protoreflect.EnumNumber) {
	if f.enum.null {
		w.raw("null")
		return
	}
	if name := f.enum.name(n); name != nil {
		w.dst = append(w.dst, name...)
		return
	}
	w.dst = strconv.AppendInt(w.dst, int64(n), 10)
}
