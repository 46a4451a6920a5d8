package transcode

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// entry is an entry of a map.
type entry struct {
	text   []byte // the key, where it is a string
	number uint64 // the key, where it is not: in the order of output
	value  []byte
	at     int
	absent bool // there is no value: it is the default
}

// mapping appends a map. Of entries with one key, the last one counts.
func (w *writer) mapping(f *field, all []occurrence, depth int) {
	if w.deep(depth) {
		return
	}
	base := len(w.entries)
	defer func() { w.entries = w.entries[:base] }()
	mended := false
	for i, o := range all {
		e, ok := w.entry(f, o.content)
		if !ok {
			return
		}
		e.at = i
		mended = mended || !utf8.Valid(e.text)
		w.entries = append(w.entries, e)
		w.usedEntry = max(w.usedEntry, len(w.entries))
	}
	entries := w.entries[base:]
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(bytes.Compare(a.text, b.text), cmp.Compare(a.number, b.number), cmp.Compare(a.at, b.at))
	})
	entries = w.last(f, entries, depth)
	if mended {
		entries = w.distinct(entries)
	}
	w.raw("{")
	for i, e := range entries {
		w.comma(i)
		start := len(w.dst)
		w.appendKey(f.key.kind, e)
		w.path.push(step{raw: w.dst[start:len(w.dst):len(w.dst)], kind: stepKey})
		w.raw(":")
		if e.absent && f.value.message == nil {
			e.value = f.value.zero()
		}
		w.value(f.value, e.value, depth+1)
		w.path.pop()
		if w.err != nil {
			return
		}
	}
	w.raw("}")
}

// entry reads an entry of a map.
func (w *writer) entry(f *field, b []byte) (e entry, ok bool) {
	e.absent = true
	e.number = order(f.key.kind, 0)
	values := 0
	for len(b) > 0 {
		num, typ, n := consumeTag(b)
		if n < 0 {
			w.badEntry(f, n)
			return e, false
		}
		content, size := consumeValue(num, typ, b[n:])
		if size < 0 {
			w.badEntry(f, size)
			return e, false
		}
		b = b[n+size:]
		switch {
		case num == 1 && typ == f.key.wire:
			if f.key.kind == protoreflect.StringKind {
				e.text = content
			} else {
				e.number = order(f.key.kind, bits(typ, content))
			}
		case num == 2 && typ == f.value.wire:
			if values++; values > 1 && f.value.message != nil {
				e.value = w.merged(f.value, []occurrence{{content: e.value}, {content: content}})
			} else {
				e.value = content
			}
			e.absent = false
		}
	}
	return e, w.err == nil
}

func (w *writer) badEntry(f *field, n int) {
	if w.err == nil {
		w.err = &malformedError{f.desc.ContainingMessage().FullName(), protowire.ParseError(n)}
	}
}

// bits returns the bits of a varint or a fixed value.
func bits(typ protowire.Type, content []byte) uint64 {
	switch typ {
	case protowire.Fixed32Type:
		v, _ := protowire.ConsumeFixed32(content)
		return uint64(v)
	case protowire.Fixed64Type:
		v, _ := protowire.ConsumeFixed64(content)
		return v
	default:
		v, _ := consumeVarint(content)
		return v
	}
}

const signBit = 1 << 63

// order returns a number that sorts as the key does, of which the bits on the
// wire are given. number is its inverse.
//
//nolint:gosec // numbers are cut as protobuf's parsers cut them
func order(kind protoreflect.Kind, v uint64) uint64 {
	switch kind {
	case protoreflect.BoolKind:
		return min(v, 1)
	case protoreflect.Int32Kind, protoreflect.Sfixed32Kind:
		return uint64(int64(int32(v))) ^ signBit
	case protoreflect.Sint32Kind:
		return uint64(int64(int32(protowire.DecodeZigZag(v&0xffffffff)))) ^ signBit
	case protoreflect.Int64Kind, protoreflect.Sfixed64Kind:
		return v ^ signBit
	case protoreflect.Sint64Kind:
		return uint64(protowire.DecodeZigZag(v)) ^ signBit
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return uint64(uint32(v))
	default:
		return v
	}
}

//nolint:gosec // the inverse of order
func (w *writer) appendKey(kind protoreflect.Kind, e entry) {
	if kind == protoreflect.StringKind {
		w.dst = jsontok.AppendString(w.dst, e.text)
		return
	}
	w.dst = append(w.dst, '"')
	switch kind {
	case protoreflect.BoolKind:
		w.dst = strconv.AppendBool(w.dst, e.number != 0)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		w.dst = strconv.AppendUint(w.dst, e.number, 10)
	default:
		w.dst = strconv.AppendInt(w.dst, int64(e.number^signBit), 10)
	}
	w.dst = append(w.dst, '"')
}

// last leaves out entries that a later one with the same key replaces.
func (w *writer) last(f *field, entries []entry, depth int) []entry {
	n := 0
	for i, e := range entries {
		if i+1 < len(entries) && e.number == entries[i+1].number && bytes.Equal(e.text, entries[i+1].text) {
			if !e.absent {
				w.check(f.value, e.value, depth)
			}
			continue
		}
		entries[n] = e
		n++
	}
	return entries[:n]
}

// distinct leaves out entries whose keys cannot be told from others as JSON.
func (w *writer) distinct(entries []entry) []entry {
	seen := map[string]bool{}
	for _, e := range entries {
		if utf8.Valid(e.text) {
			seen[string(e.text)] = true
		}
	}
	return slices.DeleteFunc(entries, func(e entry) bool {
		if utf8.Valid(e.text) {
			return false
		}
		name, _ := jsontok.String(jsontok.AppendString(nil, e.text))
		if seen[name] {
			w.warn("an entry whose key is not UTF-8 is left out, as %q is there already", clip(name, maxNameText))
			return true
		}
		w.warn("the key %q held bytes that are not UTF-8; they became U+FFFD", clip(name, maxNameText))
		seen[name] = true
		return false
	})
}
