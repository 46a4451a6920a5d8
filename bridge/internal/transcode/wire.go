package transcode

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// errMalformed has the text of the protobuf module.
var errMalformed = errors.New("cannot parse invalid wire-format data")

// record is a field as it stands in wire bytes.
type record struct {
	// bits are the value of a varint or fixed-width field, and the span of
	// all others: of a group what is between its tags.
	bits  uint64
	index int32
	typ   protowire.Type
}

// span makes one number of the offsets where something begins and ends.
// [Codec.AppendJSON] refuses messages that are too large for that.
func span(start, end int) uint64 { return uint64(start)<<32 | uint64(end) } //nolint:gosec // never negative

func unspan(bits uint64) (start, end int) { return int(bits >> 32), int(bits & 0xffffffff) }

// varint returns the varint at pos and the offset behind it, or a negative one
// if there is none.
func varint(b []byte, pos int) (uint64, int) {
	if uint(pos) < uint(len(b)) && b[pos] < 0x80 {
		return uint64(b[pos]), pos + 1
	}
	return longVarint(b, pos)
}

func longVarint(b []byte, pos int) (v uint64, next int) {
	for shift := uint(0); shift < 64; shift += 7 {
		if pos >= len(b) {
			return 0, -1
		}
		c := b[pos]
		pos++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			if shift == 63 && c > 1 {
				return 0, -1
			}
			return v, pos
		}
	}
	return 0, -1
}

// tag returns the field number and wire type at pos and the offset behind
// them, or a negative one.
func tag(b []byte, pos int) (protowire.Number, protowire.Type, int) {
	v, next := varint(b, pos)
	if next < 0 || v>>3 == 0 || v>>3 > uint64(protowire.MaxValidNumber) {
		return 0, 0, -1
	}
	return protowire.Number(v >> 3), protowire.Type(v & 7), next
}

// value returns the bits of the value at pos, which [record] describes, and
// the offset behind the value, or a negative one.
func value(b []byte, pos int, number protowire.Number, typ protowire.Type) (bits uint64, next int) {
	switch typ {
	case protowire.VarintType:
		return varint(b, pos)
	case protowire.BytesType:
		n, pos := varint(b, pos)
		if pos < 0 || n > uint64(len(b)-pos) { //nolint:gosec // never negative
			return 0, -1
		}
		return span(pos, pos+int(n)), pos + int(n) //nolint:gosec // checked
	case protowire.Fixed32Type:
		if len(b)-pos < 4 {
			return 0, -1
		}
		return uint64(binary.LittleEndian.Uint32(b[pos:])), pos + 4
	case protowire.Fixed64Type:
		if len(b)-pos < 8 {
			return 0, -1
		}
		return binary.LittleEndian.Uint64(b[pos:]), pos + 8
	case protowire.StartGroupType:
		contents, n := protowire.ConsumeGroup(number, b[pos:])
		if n < 0 {
			return 0, -1
		}
		return span(pos, pos+len(contents)), pos + n
	default:
		return 0, -1
	}
}

// maxOneofBits is how many oneofs [writer.collect] tells apart.
const maxOneofBits = 64

// collect appends the fields of a message of the type p to w.records, sorted
// by their index. The message is what the records from lo to hi span, merged;
// each of these must be valid by itself. Fields that are not known are left
// out, as are members of a oneof that another one replaced.
func (w *writer) collect(p *plan, lo, hi int) {
	base := len(w.records)
	records := w.records
	sorted := true
	last := int32(0)
	seen, replaced := uint64(0), false
	for i := lo; i < hi; i++ {
		pos, end := unspan(records[i].bits)
		b := w.wire[:end]
		for pos < end {
			number, typ, next := tag(b, pos)
			if next < 0 {
				w.fail(errMalformed)
				return
			}
			bits, next := value(b, next, number, typ)
			if next < 0 {
				w.fail(errMalformed)
				return
			}
			pos = next
			f := p.byNumber(number)
			if f == nil {
				var err error
				if f, err = p.extensionByNumber(number); err != nil {
					w.fail(err)
					return
				}
			}
			if f == nil || typ != f.wire && (typ != protowire.BytesType || !f.list || !f.numeric) {
				continue
			}
			sorted = sorted && f.slot >= last
			last = f.slot
			if f.oneof >= 0 {
				bit := uint64(1) << (f.oneof % maxOneofBits)
				replaced = replaced || seen&bit != 0
				seen |= bit
			}
			records = append(records, record{bits, f.slot, typ})
		}
	}
	w.records = records
	if replaced {
		w.resolveOneofs(p, base)
	}
	if !sorted {
		w.sort(p, w.records[base:])
	}
}

// resolveOneofs leaves out the members of oneofs that another one replaced.
// They must be valid all the same.
func (w *writer) resolveOneofs(p *plan, base int) {
	const closed = -1
	members := resize(&w.scratch, p.oneofs) // the last member, plus one
	clear(members)
	records := w.records[base:]
	kept := len(records)
	for _, r := range slices.Backward(records) {
		f := p.at(r.index)
		if f.oneof >= 0 {
			switch member := &members[f.oneof]; *member {
			case 0:
				*member = r.index + 1
			case r.index + 1:
			default:
				*member = closed
			}
			if members[f.oneof] == closed {
				if f.message != nil && w.err == nil && !valid(f.sub(), w.wire, r.bits, 0) {
					w.fail(errMalformed)
				}
				continue
			}
		}
		kept--
		records[kept] = r
	}
	n := copy(records, records[kept:])
	w.records = w.records[:base+n]
}

// sort sorts records by their index and keeps the order of those that have
// the same.
func (w *writer) sort(p *plan, records []record) {
	const few = 24
	if len(records) <= few {
		for i := 1; i < len(records); i++ {
			r := records[i]
			j := i
			for ; j > 0 && records[j-1].index > r.index; j-- {
				records[j] = records[j-1]
			}
			records[j] = r
		}
		return
	}
	n := len(p.fields)
	if s := p.extensions.Load(); s != nil {
		n += len(s.list)
	}
	if n > 4*len(records) {
		slices.SortStableFunc(records, func(a, b record) int { return int(a.index) - int(b.index) })
		return
	}
	// starts are where the records of an index go.
	starts := resize(&w.scratch, n+1)
	clear(starts)
	for _, r := range records {
		starts[r.index+1]++
	}
	for i := range n {
		starts[i+1] += starts[i]
	}
	w.unsorted = append(w.unsorted[:0], records...)
	for _, r := range w.unsorted {
		records[starts[r.index]] = r
		starts[r.index]++
	}
}

// resize returns the slice with the length n. Its contents are undefined.
func resize(s *[]int32, n int) []int32 {
	*s = slices.Grow((*s)[:0], n)[:n]
	return *s
}

// extensionRuns appends to w.runs the records from lo on, which are of
// extensions, as runs of the same one, by name.
func (w *writer) extensionRuns(p *plan, lo int) {
	base := len(w.runs)
	for i := lo; i < len(w.records); {
		j := w.runEnd(i, len(w.records))
		w.runs = append(w.runs, run{p.at(w.records[i].index), i, j})
		i = j
	}
	slices.SortFunc(w.runs[base:], func(a, b run) int {
		return strings.Compare(string(a.field.desc.FullName()), string(b.field.desc.FullName()))
	})
}

// run are the records of one field.
type run struct {
	field  *field
	lo, hi int
}

// runEnd returns where the records end that have the index of the one at i.
func (w *writer) runEnd(i, end int) int {
	index := w.records[i].index
	j := i + 1
	for j < end && w.records[j].index == index {
		j++
	}
	return j
}
