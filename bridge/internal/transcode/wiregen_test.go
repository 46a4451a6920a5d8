package transcode_test

import (
	"math"
	"math/rand/v2"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// wireGen makes random wire bytes of any message type, in all the ways that
// protobuf allows: fields in any order and more than once, packed lists in
// pieces, messages to be merged, overlong varints, fields that are unknown or
// have another wire type. The same seed gives the same bytes.
type wireGen struct {
	*rand.Rand
	// anys are the types that an Any may hold.
	anys []protoreflect.MessageDescriptor
	// extensions are by the type that they extend.
	extensions map[protoreflect.FullName][]protoreflect.FieldDescriptor
	// wild makes strings that are not UTF-8 and well-known types that have
	// no JSON.
	wild bool
	// plain makes each field occur once and in order, as serialisers do.
	plain bool
	// budget is how many fields may still be made.
	budget int
}

// message appends fields of a message.
func (g *wireGen) message(dst []byte, md protoreflect.MessageDescriptor, depth int) []byte {
	if wire, ok := g.wellKnown(dst, md, depth); ok {
		return wire
	}
	var fields []protoreflect.FieldDescriptor
	n := md.Fields().Len()
	if n > 0 {
		for range min(1+g.IntN(8), 2*n) {
			fields = append(fields, md.Fields().Get(g.IntN(n)))
		}
	}
	for _, fd := range g.extensions[md.FullName()] {
		if g.IntN(3) == 0 {
			fields = append(fields, fd)
		}
	}
	if g.plain {
		slices.SortStableFunc(fields, func(a, b protoreflect.FieldDescriptor) int { return int(a.Number()) - int(b.Number()) })
		oneofs := map[protoreflect.OneofDescriptor]bool{}
		fields = slices.DeleteFunc(fields, func(fd protoreflect.FieldDescriptor) bool {
			od := fd.ContainingOneof()
			was := od != nil && oneofs[od]
			oneofs[od] = true
			return was
		})
		fields = slices.CompactFunc(fields, func(a, b protoreflect.FieldDescriptor) bool {
			return a.Number() == b.Number() && !a.IsList() && !a.IsMap()
		})
	}
	for _, fd := range fields {
		if g.budget--; g.budget < 0 {
			break
		}
		dst = g.field(dst, fd, depth)
		if !g.plain && g.IntN(12) == 0 {
			dst = g.unknown(dst, md, 2)
		}
	}
	return dst
}

// varint appends a varint, sometimes with more bytes than it needs.
func (g *wireGen) varint(dst []byte, v uint64) []byte {
	if g.plain || g.IntN(8) > 0 {
		return protowire.AppendVarint(dst, v)
	}
	size := protowire.SizeVarint(v)
	for range size + g.IntN(10-size+1) - 1 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}

func (g *wireGen) tag(dst []byte, n protoreflect.FieldNumber, typ protowire.Type) []byte {
	v := protowire.EncodeTag(n, typ)
	if g.plain || g.IntN(20) > 0 {
		return protowire.AppendVarint(dst, v)
	}
	return g.varint(dst, v)
}

func (g *wireGen) bytes(dst, contents []byte) []byte {
	return append(g.varint(dst, uint64(len(contents))), contents...)
}

// unknown appends a field with a random number and any wire type.
func (g *wireGen) unknown(dst []byte, md protoreflect.MessageDescriptor, depth int) []byte {
	n := protoreflect.FieldNumber(1 + g.IntN(40))
	switch g.IntN(4) {
	case 0:
		n = protoreflect.FieldNumber(1 + g.IntN(int(protowire.MaxValidNumber)))
	case 1:
		if k := md.Fields().Len(); k > 0 { // one that is known
			n = md.Fields().Get(g.IntN(k)).Number()
		}
	}
	if fd := md.Fields().ByNumber(n); fd != nil && (fd.Message() != nil || fd.IsList()) {
		return protowire.AppendFixed32(g.tag(dst, n, protowire.Fixed32Type), g.Uint32())
	}
	switch g.IntN(5) {
	case 0:
		return g.varint(g.tag(dst, n, protowire.VarintType), g.Uint64())
	case 1:
		return protowire.AppendFixed32(g.tag(dst, n, protowire.Fixed32Type), g.Uint32())
	case 2:
		return protowire.AppendFixed64(g.tag(dst, n, protowire.Fixed64Type), g.Uint64())
	case 3:
		return g.bytes(g.tag(dst, n, protowire.BytesType), []byte(g.text()))
	default:
		dst = g.tag(dst, n, protowire.StartGroupType)
		if depth > 0 {
			dst = g.unknown(dst, md, depth-1)
		}
		return g.tag(dst, n, protowire.EndGroupType)
	}
}

// field appends one or more occurrences of a field.
func (g *wireGen) field(dst []byte, fd protoreflect.FieldDescriptor, depth int) []byte {
	switch {
	case fd.IsMap():
		return g.bytes(g.tag(dst, fd.Number(), protowire.BytesType), g.entry(fd, depth))
	case fd.IsList() && fd.Message() == nil && fd.Kind() != protoreflect.StringKind && fd.Kind() != protoreflect.BytesKind && (g.plain && fd.IsPacked() || !g.plain && g.IntN(2) == 0):
		var packed []byte
		for range g.IntN(4) {
			packed = g.scalar(packed, fd)
		}
		return g.bytes(g.tag(dst, fd.Number(), protowire.BytesType), packed)
	default:
		return g.single(dst, fd, depth)
	}
}

// single appends a field with one value.
func (g *wireGen) single(dst []byte, fd protoreflect.FieldDescriptor, depth int) []byte {
	switch fd.Kind() {
	case protoreflect.GroupKind:
		dst = g.tag(dst, fd.Number(), protowire.StartGroupType)
		if depth > 0 {
			dst = g.message(dst, fd.Message(), depth-1)
		}
		return g.tag(dst, fd.Number(), protowire.EndGroupType)
	case protoreflect.MessageKind:
		var contents []byte
		if depth > 0 {
			contents = g.message(nil, fd.Message(), depth-1)
		}
		return g.bytes(g.tag(dst, fd.Number(), protowire.BytesType), contents)
	default:
		return g.scalar(g.tag(dst, fd.Number(), wireTypeOf(fd.Kind())), fd)
	}
}

func (g *wireGen) entry(fd protoreflect.FieldDescriptor, depth int) []byte {
	var dst []byte
	pieces := []protoreflect.FieldDescriptor{fd.MapKey(), fd.MapValue()}
	if !g.plain {
		switch g.IntN(6) {
		case 0:
			slices.Reverse(pieces)
		case 1:
			pieces = pieces[:g.IntN(2)]
		case 2:
			pieces = append(pieces, fd.MapValue(), fd.MapKey())
		case 3:
			dst = g.varint(g.tag(dst, 9, protowire.VarintType), 7)
		}
	}
	for _, fd := range pieces {
		dst = g.single(dst, fd, depth)
	}
	return dst
}

func wireTypeOf(k protoreflect.Kind) protowire.Type {
	switch k {
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return protowire.Fixed32Type
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return protowire.Fixed64Type
	case protoreflect.StringKind, protoreflect.BytesKind:
		return protowire.BytesType
	default:
		return protowire.VarintType
	}
}

// scalar appends a value without its tag.
func (g *wireGen) scalar(dst []byte, fd protoreflect.FieldDescriptor) []byte {
	switch fd.Kind() {
	case protoreflect.StringKind, protoreflect.BytesKind:
		return g.bytes(dst, []byte(g.text()))
	case protoreflect.EnumKind:
		values := fd.Enum().Values()
		if g.IntN(6) == 0 {
			return g.varint(dst, g.number())
		}
		return g.varint(dst, uint64(int64(values.Get(g.IntN(values.Len())).Number())))
	case protoreflect.FloatKind:
		f := []float32{0, float32(math.Copysign(0, -1)), 1.5, 1e21, 1e-7, float32(math.Inf(1)), float32(math.NaN()), float32(g.NormFloat64())}[g.IntN(8)]
		return protowire.AppendFixed32(dst, math.Float32bits(f))
	case protoreflect.DoubleKind:
		f := []float64{0, math.Copysign(0, -1), 1.5, 1e21, 1e-7, math.Inf(-1), math.NaN(), g.NormFloat64()}[g.IntN(8)]
		return protowire.AppendFixed64(dst, math.Float64bits(f))
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return protowire.AppendFixed32(dst, uint32(g.number()))
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.AppendFixed64(dst, g.number())
	default:
		return g.varint(dst, g.number())
	}
}

func (g *wireGen) number() uint64 {
	return []uint64{0, 1, uint64(g.IntN(200)), math.MaxUint64, 1 << 32, 1 << 31, math.MaxInt64, 1 << 63, g.Uint64()}[g.IntN(9)]
}

func (g *wireGen) text() string {
	texts := []string{"", "a", "b", "text", "a\"b\\c\n\x00\x1f\u2028", "gr\u00fc\u00dfe \U0001f98a, and some more text than fits", "\ufffd"}
	if g.wild {
		texts = append(texts, "\xff", "a\xc3", "0123456789\xed\xa0\x80abc", "\xfe")
	}
	return texts[g.IntN(len(texts))]
}

// wellKnown appends a message of a type that has a JSON form of its own, and
// reports whether md is one.
func (g *wireGen) wellKnown(dst []byte, md protoreflect.MessageDescriptor, depth int) ([]byte, bool) {
	if g.wild && g.IntN(3) == 0 {
		return dst, false
	}
	seconds, nanos := int64(0), []int32{0, 5e8, 123_000, 1, 999_999_999, 10}[g.IntN(6)]
	switch md.FullName() {
	case "google.protobuf.Timestamp":
		seconds = g.Int64N(253402300799+62135596800) - 62135596800
	case "google.protobuf.Duration":
		if seconds = g.Int64N(315576000000); g.IntN(2) == 0 {
			seconds, nanos = -seconds, -nanos
		}
	case "google.protobuf.FieldMask":
		for range g.IntN(4) {
			dst = g.bytes(g.tag(dst, 1, protowire.BytesType), []byte([]string{"a", "a.b_c", "foo_bar.baz", "_x", "a1.b"}[g.IntN(5)]))
		}
		return dst, true
	case "google.protobuf.Value":
		n := protoreflect.FieldNumber(1 + g.IntN(6))
		switch {
		case n == 2:
			return protowire.AppendFixed64(g.tag(dst, 2, protowire.Fixed64Type), math.Float64bits(g.NormFloat64())), true
		case depth <= 0:
			n = 3
		}
		return g.single(dst, md.Fields().ByNumber(n), depth), true
	case "google.protobuf.Any":
		if len(g.anys) == 0 || depth <= 0 {
			return dst, true
		}
		inner := g.anys[g.IntN(len(g.anys))]
		url := "type.googleapis.com/" + string(inner.FullName())
		contents := g.message(nil, inner, depth-1)
		if g.wild && len(contents) > 0 && g.IntN(3) == 0 {
			contents = contents[:len(contents)-1]
		}
		if g.IntN(8) == 0 {
			dst = g.bytes(g.tag(dst, 1, protowire.BytesType), []byte("x/y"))
		}
		dst = g.bytes(g.tag(dst, 2, protowire.BytesType), contents)
		return g.bytes(g.tag(dst, 1, protowire.BytesType), []byte(url)), true
	default:
		return dst, false
	}
	dst = g.varint(g.tag(dst, 2, protowire.VarintType), uint64(int64(nanos)))
	return g.varint(g.tag(dst, 1, protowire.VarintType), uint64(seconds)), true
}

// broken returns wire bytes with some of them changed.
func (g *wireGen) broken(wire []byte) []byte {
	out := slices.Clone(wire)
	for range 1 + g.IntN(3) {
		if len(out) == 0 {
			return out
		}
		i := g.IntN(len(out))
		switch g.IntN(4) {
		case 0:
			out[i] ^= 1 << g.IntN(8)
		case 1:
			out = slices.Delete(out, i, i+1)
		case 2:
			out = slices.Insert(out, i, byte(g.IntN(256)))
		default:
			out = out[:i]
		}
	}
	return out
}

func sortByNumber(list []protoreflect.FieldDescriptor) {
	slices.SortFunc(list, func(a, b protoreflect.FieldDescriptor) int { return int(a.Number()) - int(b.Number()) })
}
