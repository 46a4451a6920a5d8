package transcode

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// maxLevel is how deep messages may be nested where they are read but not
// written. It is the limit of protobuf's parsers.
const maxLevel = protowire.DefaultRecursionLimit

// valid reports whether what the bits of a record span is a message of type
// p. It is for what is replaced, and so is not written.
func valid(p *plan, b []byte, bits uint64, level int) bool {
	start, end := unspan(bits)
	return check(p, b[:end], start, 0, level) == end
}

// check passes the fields of a message, to the end of b or, for a group that
// has a number, behind its end. It returns a negative offset if they are
// malformed.
func check(p *plan, b []byte, pos int, group protowire.Number, level int) int {
	if level >= maxLevel {
		return -1
	}
	for pos < len(b) {
		number, typ, next := tag(b, pos)
		if next < 0 {
			return -1
		}
		if typ == protowire.EndGroupType && group == number {
			return next
		}
		f := p.byNumber(number)
		if f == nil {
			var err error
			if f, err = p.extensionByNumber(number); err != nil {
				return -1
			}
		}
		if f != nil && typ == protowire.StartGroupType && f.wire == typ {
			if pos = check(f.sub(), b, next, number, level+1); pos < 0 {
				return -1
			}
			continue
		}
		bits, next := value(b, next, number, typ)
		if next < 0 || f != nil && typ == protowire.BytesType && !checkBytes(f, b, bits, level) {
			return -1
		}
		pos = next
	}
	if group != 0 {
		return -1
	}
	return pos
}

// checkBytes reports whether a field with a length holds what it must.
func checkBytes(f *field, b []byte, bits uint64, level int) bool {
	start, end := unspan(bits)
	b = b[:end]
	switch {
	case f.key != nil:
		return checkEntry(f, b, start, level+1)
	case f.list && f.numeric:
		for start < end {
			if _, start = value(b, start, f.number, f.wire); start < 0 {
				return false
			}
		}
		return true
	case f.wire == protowire.BytesType && f.message != nil:
		return valid(f.sub(), b, bits, level+1)
	default:
		return true
	}
}

// checkEntry reports whether an entry of a map is valid.
func checkEntry(f *field, b []byte, pos, level int) bool {
	if level >= maxLevel {
		return false
	}
	for pos < len(b) {
		number, typ, next := tag(b, pos)
		if next < 0 {
			return false
		}
		bits, next := value(b, next, number, typ)
		if next < 0 {
			return false
		}
		if number == f.value.number && typ == f.value.wire && f.value.message != nil && !valid(f.value.sub(), b, bits, level) {
			return false
		}
		pos = next
	}
	return true
}
