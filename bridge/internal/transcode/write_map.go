package transcode

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// entry is an entry of a map.
type entry struct {
	// key orders the keys that are no strings as numbers; for strings it is
	// their span.
	key uint64
	// value is that of a record, the last one. Messages have values of them,
	// to be merged.
	value  uint64
	values int32
	// whole is the span of the entry.
	whole uint64
}

// signBit moves the negative numbers in front of the others.
const signBit = 1 << 63

// mapping writes the map that the records from lo to hi are the entries of,
// sorted by their keys. Of entries with the same key, the last one counts.
func (w *writer) mapping(f *field, lo, hi, depth int) {
	if w.deep(depth) {
		return
	}
	w.raw("{")
	w.mapMembers(f, lo, hi, depth, nil)
	w.end('}')
}

// mapMembers writes the entries of a map as members, each with a comma behind
// it. If shown is not nil, those are left out whose name it reports false for.
func (w *writer) mapMembers(f *field, lo, hi, depth int, shown func(name string) bool) {
	base := len(w.entries)
	defer func() { w.entries = w.entries[:base] }()
	sorted := true
	for i := lo; i < hi; i++ {
		e, ok := w.entry(f, w.records[i].bits)
		if !ok {
			w.fail(errMalformed)
			return
		}
		if n := len(w.entries); n > base && w.compare(f.key, w.entries[n-1], e) >= 0 {
			sorted = false
		}
		w.entries = append(w.entries, e)
	}
	if !sorted {
		w.sortEntries(f, base)
	}
	var names map[string]bool
	end := len(w.entries)
	for i := base; i < end && !w.over(); i++ {
		e := w.entries[i]
		start := len(w.dst)
		if !w.key(f.key, e.key) {
			if names == nil {
				names = w.names(base)
			}
			if !w.mendedKey(names, start) {
				w.dst = w.dst[:start]
				w.skipEntry(f, e)
				continue
			}
		}
		if shown != nil {
			if name, _ := jsontok.String(w.dst[start:]); !shown(name) {
				w.dst = w.dst[:start]
				w.skipEntry(f, e)
				continue
			}
		}
		w.trail = append(w.trail, mark{start: start, end: len(w.dst), kind: stepKey})
		w.raw(":")
		w.entryValue(f, e, depth+1)
		w.trail = w.trail[:len(w.trail)-1]
		w.raw(",")
	}
}

// entry takes an entry apart.
func (w *writer) entry(f *field, bits uint64) (entry, bool) {
	e := entry{whole: bits}
	signedKey := isSigned(f.key.kind)
	if signedKey {
		e.key = signBit
	}
	if f.value.kind == protoreflect.EnumKind {
		e.value = uint64(f.value.enum.first) //nolint:gosec // two's complement
	}
	pos, end := unspan(bits)
	b := w.wire[:end]
	for pos < end {
		number, typ, next := tag(b, pos)
		if next < 0 {
			return e, false
		}
		bits, next := value(b, next, number, typ)
		if next < 0 {
			return e, false
		}
		pos = next
		switch {
		case number == f.key.number && typ == f.key.wire:
			switch {
			case signedKey:
				e.key = uint64(signed(f.key.kind, bits)) ^ signBit //nolint:gosec // two's complement
			case f.key.kind == protoreflect.BoolKind && bits != 0:
				e.key = 1
			case f.key.kind == protoreflect.Uint32Kind:
				e.key = uint64(uint32(bits)) //nolint:gosec // as protobuf has it
			default:
				e.key = bits
			}
		case number == f.value.number && typ == f.value.wire:
			e.value = bits
			e.values++
		}
	}
	return e, true
}

func isSigned(k protoreflect.Kind) bool {
	switch k {
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind,
		protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return true
	default:
		return false
	}
}

// compare orders entries by their keys.
func (w *writer) compare(key *field, a, b entry) int {
	if key.kind == protoreflect.StringKind {
		return bytes.Compare(w.bytes(a.key), w.bytes(b.key))
	}
	return cmp.Compare(a.key, b.key)
}

// bytes returns what bits span.
func (w *writer) bytes(bits uint64) []byte {
	start, end := unspan(bits)
	return w.wire[start:end]
}

// sortEntries sorts the entries from base on, and leaves out those that a later
// one with the same key replaces. They must be valid all the same.
func (w *writer) sortEntries(f *field, base int) {
	entries := w.entries[base:]
	slices.SortFunc(entries, func(a, b entry) int {
		if n := w.compare(f.key, a, b); n != 0 {
			return n
		}
		return cmp.Compare(a.whole, b.whole) // they come one after the other
	})
	kept := 0
	for i, e := range entries {
		if i+1 < len(entries) && w.compare(f.key, e, entries[i+1]) == 0 {
			w.skipEntry(f, e)
			continue
		}
		entries[kept] = e
		kept++
	}
	w.entries = w.entries[:base+kept]
}

// skipEntry checks an entry that is not shown.
func (w *writer) skipEntry(f *field, e entry) {
	start, end := unspan(e.whole)
	if w.err == nil && f.value.message != nil && !checkEntry(f, w.wire[:end], start, 0) {
		w.fail(errMalformed)
	}
}

// key writes a key. It reports whether it is UTF-8.
func (w *writer) key(f *field, key uint64) (ok bool) {
	switch {
	case f.kind == protoreflect.StringKind:
		w.dst, ok = jsontok.AppendBytes(w.dst, w.bytes(key))
		return ok
	case f.kind == protoreflect.BoolKind:
		w.dst = append(strconv.AppendBool(append(w.dst, '"'), key != 0), '"')
	case isSigned(f.kind):
		w.dst = append(strconv.AppendInt(append(w.dst, '"'), int64(key^signBit), 10), '"') //nolint:gosec // two's complement
	default:
		w.dst = append(strconv.AppendUint(append(w.dst, '"'), key, 10), '"')
	}
	return true
}

// names returns the keys that are UTF-8 of the entries from base on.
func (w *writer) names(base int) map[string]bool {
	names := map[string]bool{}
	for _, e := range w.entries[base:] {
		if key := w.bytes(e.key); utf8.Valid(key) {
			names[string(key)] = true
		}
	}
	return names
}

// mendedKey warns of a key that was not UTF-8, which is written from start on.
// It reports whether the key can be told from the others, the names.
func (w *writer) mendedKey(names map[string]bool, start int) bool {
	name, _ := jsontok.String(w.dst[start:])
	if names[name] {
		w.warn("an entry whose key is not UTF-8 is left out, as %q is there already", clip(name, maxNameText))
		return false
	}
	w.warn("the key %q held bytes that are not UTF-8; they became U+FFFD", clip(name, maxNameText))
	names[name] = true
	return true
}

func (w *writer) entryValue(f *field, e entry, depth int) {
	v := f.value
	if v.message == nil {
		w.scalar(v, e.value, "")
		return
	}
	lo := len(w.records)
	switch e.values {
	case 0:
	case 1:
		w.records = append(w.records, record{bits: e.value})
	default:
		pos, end := unspan(e.whole)
		for pos < end {
			number, typ, next := tag(w.wire[:end], pos)
			bits, next := value(w.wire[:end], next, number, typ)
			if pos = next; number == v.number && typ == v.wire {
				w.records = append(w.records, record{bits: bits})
			}
		}
	}
	w.message(v.sub(), lo, len(w.records), depth)
	w.records = w.records[:lo]
}
