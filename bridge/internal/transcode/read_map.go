package transcode

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// mapping appends a map: its entries in the order of the text.
func (r *reader) mapping(c *cursor, f *field, depth int) {
	c, ok := r.nested(c, jsontok.KindObject, depth, f.expected())
	if !ok {
		return
	}
	// Keys are remembered also where the value does not fit.
	seen := r.openKeys()
	for more := c.enter(); more && !r.full; more = c.more() {
		raw := c.key()
		r.path.push(step{raw: raw, kind: stepKey})
		mark := len(r.out)
		r.out = protowire.AppendTag(r.out, f.number, protowire.BytesType)
		start := r.begin()
		if key, ok := r.key(raw, f.key); !ok {
			c.skip()
		} else if !seen.add(key) {
			c.skip()
			r.report(Violation{Problem: "the key occurs twice"})
		} else {
			r.entry(c, f.value, depth+1)
		}
		if len(r.violations) > 0 {
			r.out = r.out[:mark]
		} else {
			r.end(start)
		}
		r.path.pop()
	}
	r.maps--
}

// entry appends the value of an entry.
func (r *reader) entry(c *cursor, f *field, depth int) {
	if c.kind() == jsontok.KindNull && !f.null {
		r.wrong(c, "null cannot be the value of a key; leave the key out", f.expectedElement())
		return
	}
	if f.message != nil {
		r.submessage(c, f, depth)
		return
	}
	r.out = protowire.AppendTag(r.out, f.number, f.wire)
	r.scalar(c, f)
}

// key appends the key of an entry. It reports false after it has reported a
// violation.
func (r *reader) key(raw []byte, f *field) (k mapKey, ok bool) {
	name := raw[1 : len(raw)-1]
	if bytes.IndexByte(raw, '\\') >= 0 {
		text, ok := unquote(raw)
		if !ok {
			r.report(Violation{Problem: loneSurrogate})
			return k, false
		}
		name = []byte(text)
	}
	r.out = protowire.AppendTag(r.out, f.number, f.wire)
	if f.kind == protoreflect.StringKind {
		r.out = protowire.AppendBytes(r.out, name)
		return mapKey{text: name}, true
	}
	k.number, ok = parseKey(f.kind, string(name))
	if !ok || r.opts.Exact && !isCanonicalKey(f.kind, k.number, string(name)) {
		r.report(Violation{Problem: "wrong type of key", Expected: f.expectedElement() + " in quotes", Seen: strconv.Quote(clip(string(name), maxSeenText))})
		return k, false
	}
	r.out = appendInteger(r.out, f.kind, k.number)
	return k, true
}

// parseKey returns the key that a name stands for, as 64 bits.
//
//nolint:gosec // negative numbers are two's complements
func parseKey(kind protoreflect.Kind, name string) (uint64, bool) {
	switch kind {
	case protoreflect.BoolKind:
		if name == "true" {
			return 1, true
		}
		return 0, name == "false"
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		n, err := strconv.ParseInt(name, 10, 32)
		return uint64(n), err == nil
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		n, err := strconv.ParseInt(name, 10, 64)
		return uint64(n), err == nil
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		n, err := strconv.ParseUint(name, 10, 32)
		return n, err == nil
	default:
		n, err := strconv.ParseUint(name, 10, 64)
		return n, err == nil
	}
}

// isCanonicalKey reports whether a key, which was read from the name, would be
// written as that.
func isCanonicalKey(kind protoreflect.Kind, n uint64, name string) bool {
	switch {
	case kind == protoreflect.BoolKind:
		return true
	case isSigned(kind):
		return strconv.FormatInt(int64(n), 10) == name //nolint:gosec // two's complement
	default:
		return strconv.FormatUint(n, 10) == name
	}
}

// mapKey is the key of a map: text or a number.
type mapKey struct {
	text   []byte
	number uint64
}

func (k mapKey) equal(other mapKey) bool {
	return k.number == other.number && bytes.Equal(k.text, other.text)
}

// keySet is a set of keys. Small ones are searched from end to end.
type keySet struct {
	keys []mapKey
	// table has the indexes of keys plus one, at places that follow from
	// their hashes. It is a power of two long, or empty.
	table []int32
	seed  maphash.Seed
}

const (
	smallSet = 12
	// maxKeys bounds the memory that a set keeps for the next map.
	maxKeys = 4096
)

// openKeys returns an empty set. One is closed by taking it off r.maps.
func (r *reader) openKeys() *keySet {
	if r.maps == len(r.keys) {
		r.keys = append(r.keys, &keySet{seed: maphash.MakeSeed()})
	}
	s := r.keys[r.maps]
	r.maps++
	clear(s.keys)
	if cap(s.keys) > maxKeys {
		s.keys = nil
	}
	s.keys, s.table = s.keys[:0], s.table[:0]
	return s
}

// add adds a key, and reports false if it is there already.
func (s *keySet) add(k mapKey) bool {
	if len(s.keys) < smallSet {
		if slices.ContainsFunc(s.keys, k.equal) {
			return false
		}
		s.keys = append(s.keys, k)
		return true
	}
	if 2*len(s.keys) >= len(s.table) {
		s.grow()
	}
	at := s.find(k)
	if s.table[at] > 0 {
		return false
	}
	s.keys = append(s.keys, k)
	s.table[at] = int32(len(s.keys)) //nolint:gosec // text of that many keys is longer than text may be
	return true
}

// find returns the place of a key, or the empty one where it belongs.
func (s *keySet) find(k mapKey) int {
	mask := len(s.table) - 1
	at := int(maphash.Bytes(s.seed, k.text)^k.number*0x9e3779b97f4a7c15) & mask //nolint:gosec // any bits do
	for s.table[at] > 0 && !k.equal(s.keys[s.table[at]-1]) {
		at = (at + 1) & mask
	}
	return at
}

// grow makes the table large enough for twice as many keys.
func (s *keySet) grow() {
	size := 64
	for size < 4*len(s.keys) {
		size *= 2
	}
	if cap(s.table) >= size && size <= 4*maxKeys {
		s.table = s.table[:size]
		clear(s.table)
	} else {
		s.table = make([]int32, size)
	}
	for i, k := range s.keys {
		s.table[s.find(k)] = int32(i + 1)
	}
}
