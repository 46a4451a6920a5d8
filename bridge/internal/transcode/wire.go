package transcode

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// consumeTag reads a tag.
func consumeTag(b []byte) (protowire.Number, protowire.Type, int) {
	if len(b) > 0 && b[0] < 0x80 {
		if n := protowire.Number(b[0] >> 3); n > 0 {
			return n, protowire.Type(b[0] & 7), 1
		}
	}
	num, typ, n := protowire.ConsumeTag(b)
	if n >= 0 && num > protowire.MaxValidNumber {
		_, _, n = protowire.ConsumeTag([]byte{0}) // the number 0 is as invalid
	}
	return num, typ, n
}

// consumeVarint reads a varint.
func consumeVarint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return protowire.ConsumeVarint(b)
}

// consumeValue returns how long the value is that follows a tag, and what it
// holds: for bytes and groups what is inside, for others the value itself. A
// negative length is an error.
func consumeValue(num protowire.Number, typ protowire.Type, b []byte) (content []byte, n int) {
	switch typ {
	case protowire.VarintType:
		_, n = consumeVarint(b)
	case protowire.Fixed32Type:
		_, n = protowire.ConsumeFixed32(b)
	case protowire.Fixed64Type:
		_, n = protowire.ConsumeFixed64(b)
	case protowire.BytesType:
		return protowire.ConsumeBytes(b)
	case protowire.StartGroupType:
		return protowire.ConsumeGroup(num, b)
	default:
		n = protowire.ConsumeFieldValue(num, typ, b) // says what is wrong
	}
	if n < 0 {
		return nil, n
	}
	return b[:n], n
}

// takes reports whether a value of the wire type is one of the field, or
// several packed ones. Others are unknown fields, as for protobuf's parsers.
func (f *field) takes(typ protowire.Type) bool {
	if f.key != nil {
		return typ == protowire.BytesType
	}
	return typ == f.wire || f.list && f.numeric && typ == protowire.BytesType
}

// occurrence is one value of a field on the wire.
type occurrence struct {
	field   *field
	typ     protowire.Type
	content []byte
	// at is the place among the occurrences of the message.
	at int
}

// lookup returns the field with the number that takes the wire type, or nil.
func (c *Compiler) lookup(p *plan, num protowire.Number, typ protowire.Type) *field {
	f := p.byNumber(num)
	if f == nil && p.extensible && p.desc.ExtensionRanges().Has(num) {
		typ, err := c.resolver.FindExtensionByNumber(p.desc.FullName(), num)
		if err == nil && typ != nil {
			f = c.extension(typ.TypeDescriptor())
		}
	}
	if f == nil || !f.takes(typ) {
		return nil
	}
	return f
}

// inOrder reports whether all fields of a message come once, lists in one
// piece, in the order of output, and without extensions. It checks the
// structure of the message, but not what is inside of its values.
func (c *Compiler) inOrder(p *plan, b []byte) (bool, error) {
	last := -1
	var oneofs uint64
	ordered := p.oneofs <= 64
	for len(b) > 0 {
		num, typ, n := consumeTag(b)
		if n < 0 {
			return false, protowire.ParseError(n)
		}
		b = b[n:]
		_, n = consumeValue(num, typ, b)
		if n < 0 {
			return false, protowire.ParseError(n)
		}
		b = b[n:]
		if !ordered {
			continue
		}
		f := p.byNumber(num)
		if f == nil {
			ordered = !p.extensible || !p.desc.ExtensionRanges().Has(num)
			continue
		}
		if !f.takes(typ) {
			continue
		}
		if f.index < last || f.index == last && !f.list && f.key == nil {
			ordered = false
			continue
		}
		if f.oneof >= 0 {
			bit := uint64(1) << f.oneof
			ordered = oneofs&bit == 0
			oneofs |= bit
		}
		last = f.index
	}
	return ordered, nil
}

// collect appends the occurrences of all fields, sorted for output: in the
// order of declaration, and after them extensions by name. Of a oneof, only
// those of the member that was set last count.
func (c *Compiler) collect(dst []occurrence, p *plan, b []byte) ([]occurrence, error) {
	base := len(dst)
	switched := make([]int, p.oneofs) // where the present member of a oneof begins
	present := make([]int, p.oneofs)  // its index, plus one
	for len(b) > 0 {
		num, typ, n := consumeTag(b)
		if n < 0 {
			return dst, protowire.ParseError(n)
		}
		b = b[n:]
		content, n := consumeValue(num, typ, b)
		if n < 0 {
			return dst, protowire.ParseError(n)
		}
		b = b[n:]
		f := c.lookup(p, num, typ)
		if f == nil {
			continue
		}
		at := len(dst) - base
		if f.oneof >= 0 && present[f.oneof] != f.index+1 {
			present[f.oneof], switched[f.oneof] = f.index+1, at
		}
		dst = append(dst, occurrence{f, typ, content, at})
	}
	all := dst[base:]
	slices.SortFunc(all, func(a, b occurrence) int {
		if a.field != b.field {
			return compareFields(a.field, b.field)
		}
		return cmp.Compare(a.at, b.at)
	})
	for i := range all {
		if f := all[i].field; f.oneof >= 0 && all[i].at < switched[f.oneof] {
			all[i].at = -1
		}
	}
	return dst, nil
}

func compareFields(a, b *field) int {
	switch {
	case a.index >= 0 && b.index >= 0:
		return cmp.Compare(a.index, b.index)
	case a.index < 0 && b.index < 0:
		return cmp.Compare(a.desc.FullName(), b.desc.FullName())
	default: // extensions are last
		return cmp.Compare(b.index, a.index)
	}
}

// isZero reports whether a scalar on the wire is the zero value of its kind.
func (f *field) isZero(content []byte) bool {
	switch f.kind {
	case protoreflect.StringKind, protoreflect.BytesKind:
		return len(content) == 0
	case protoreflect.BoolKind, protoreflect.Int64Kind, protoreflect.Uint64Kind, protoreflect.Sint64Kind:
		v, _ := consumeVarint(content)
		return v == 0
	case protoreflect.Int32Kind, protoreflect.Uint32Kind, protoreflect.Sint32Kind, protoreflect.EnumKind:
		v, _ := consumeVarint(content)
		return uint32(v) == 0 //nolint:gosec // as protobuf's parsers cut it
	default: // fixed
		return !slices.ContainsFunc(content, func(b byte) bool { return b != 0 })
	}
}
