package schema

import (
	"fmt"
	"math"
	"math/rand/v2"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/structpb"
)

// filler makes random messages that protojson can write.
type filler struct {
	*rand.Rand
	// tame keeps to values that an input schema advertises: no NaN, no
	// unknown numbers of enums, what is required, nothing that only the server
	// sets.
	tame bool
	// failed is set where there is no such message.
	failed *bool
}

func (f filler) message(md protoreflect.MessageDescriptor, depth int) protoreflect.Message {
	m := dynamicpb.NewMessage(md)
	f.fill(m, depth)
	return m
}

func (f filler) fill(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	set := func(name protoreflect.Name, v any) { m.Set(fields.ByName(name), protoreflect.ValueOf(v)) }
	switch m.Descriptor().FullName() {
	case "google.protobuf.Timestamp":
		set("seconds", f.Int64N(253402300800+62135596800)-62135596800)
		set("nanos", f.nanos())
		return
	case "google.protobuf.Duration":
		sign := int64(1 - 2*f.IntN(2))
		set("seconds", sign*f.Int64N(315576000000))
		set("nanos", int32(sign)*f.nanos())
		return
	case "google.protobuf.FieldMask":
		paths := m.Mutable(fields.ByName("paths")).List()
		for range f.IntN(4) {
			paths.Append(protoreflect.ValueOfString([]string{"a", "b.c_d", "long_name.x"}[f.IntN(3)]))
		}
		return
	case "google.protobuf.Any":
		if f.IntN(3) == 0 {
			return
		}
		inner := proto.Message(structpb.NewStringValue("inner"))
		if f.IntN(2) == 0 {
			inner = f.message((&structpb.Struct{}).ProtoReflect().Descriptor(), depth-1).Interface()
		}
		b, err := proto.Marshal(inner)
		if err != nil {
			panic(err)
		}
		set("type_url", "type.googleapis.com/"+string(proto.MessageName(inner)))
		set("value", b)
		return
	case "google.protobuf.Value":
		f.value(m, depth)
		return
	}
	for i := range fields.Len() {
		fd := fields.Get(i)
		message := fd.Message() != nil
		needed := false
		if f.tame {
			o := readFieldOptions(fd)
			if o.outputOnly {
				continue
			}
			group := fd.ContainingOneof()
			needed = o.required && (group == nil || group.IsSynthetic())
		}
		switch {
		case needed:
			if depth < -8 {
				*f.failed = true
				return
			}
		case fd.Cardinality() == protoreflect.Required:
		case message && depth <= 0, f.IntN(3) == 0:
			continue
		}
		switch {
		case fd.IsMap():
			values := m.Mutable(fd).Map()
			for range f.count(needed) {
				v := values.NewValue()
				if fd.MapValue().Message() != nil {
					f.fill(v.Message(), depth-1)
				} else {
					v = f.scalar(fd.MapValue())
				}
				values.Set(f.scalar(fd.MapKey()).MapKey(), v)
			}
		case fd.IsList():
			values := m.Mutable(fd).List()
			for range f.count(needed) {
				if message {
					f.fill(values.AppendMutable().Message(), depth-1)
				} else {
					values.Append(f.scalar(fd))
				}
			}
		case message:
			f.fill(m.Mutable(fd).Message(), depth-1)
		default:
			m.Set(fd, f.scalar(fd))
			for tries := 0; needed && !m.Has(fd); tries++ { // zero without presence
				m.Set(fd, f.scalar(fd))
				if tries > 100 {
					*f.failed = true
					return
				}
			}
		}
	}
}

// count returns how many items a list or map gets.
func (f filler) count(needed bool) int {
	if needed {
		return 1 + f.IntN(2)
	}
	return f.IntN(3)
}

func (f filler) nanos() int32 {
	return []int32{0, 1, 500, 120000, 999999999, 250000000}[f.IntN(6)]
}

func (f filler) value(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	kind := f.IntN(6)
	if depth <= 0 {
		kind = f.IntN(4)
	}
	fd := fields.Get(kind)
	switch fd.Name() {
	case "null_value":
		m.Set(fd, protoreflect.ValueOfEnum(0))
	case "number_value":
		m.Set(fd, protoreflect.ValueOfFloat64(f.NormFloat64()))
	case "string_value":
		m.Set(fd, protoreflect.ValueOfString("text"))
	case "bool_value":
		m.Set(fd, protoreflect.ValueOfBool(f.IntN(2) == 0))
	default:
		f.fill(m.Mutable(fd).Message(), depth-1)
	}
}

func (f filler) scalar(fd protoreflect.FieldDescriptor) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(f.IntN(2) == 0)
	case protoreflect.EnumKind:
		values := fd.Enum().Values()
		if !f.tame && !fd.Enum().IsClosed() && f.IntN(4) == 0 {
			return protoreflect.ValueOfEnum(protoreflect.EnumNumber(f.Int32()))
		}
		return protoreflect.ValueOfEnum(values.Get(f.IntN(values.Len())).Number())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(f.Uint32()))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(f.Uint32())
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64([]int64{math.MinInt64, math.MaxInt64, -1, f.Int64()}[f.IntN(4)])
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64([]uint64{0, math.MaxUint64, f.Uint64()}[f.IntN(3)])
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(f.float()))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(f.float())
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte{0xff, byte(f.IntN(256)), 0xfe})
	case protoreflect.StringKind:
		return protoreflect.ValueOfString([]string{"", "x", "ünï\n\"", "null"}[f.IntN(4)])
	default:
		panic(fmt.Sprintf("scalar of kind %v", fd.Kind()))
	}
}

func (f filler) float() float64 {
	if f.tame {
		return f.NormFloat64()
	}
	return []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.MaxFloat32, f.NormFloat64()}[f.IntN(6)]
}
