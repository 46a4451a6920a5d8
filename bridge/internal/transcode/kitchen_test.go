package transcode_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

// kitchen holds the compiled descriptors of testdata.
type kitchen struct {
	files *protoregistry.Files
	types *dynamicpb.Types
}

var compiled = sync.OnceValues(func() (*kitchen, error) {
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{"testdata"}}),
	}
	linked, err := compiler.Compile(context.Background(), "kitchen.proto", "pantry.proto", "larder.proto")
	if err != nil {
		return nil, err
	}
	files := new(protoregistry.Files)
	for _, f := range linked {
		if err := registerAll(files, f); err != nil {
			return nil, err
		}
	}
	wide, err := protodesc.NewFile(wideFile(), nil)
	if err != nil {
		return nil, err
	}
	if err := files.RegisterFile(wide); err != nil {
		return nil, err
	}
	return &kitchen{files, dynamicpb.NewTypes(files)}, nil
})

// registerAll registers a file and what it imports.
func registerAll(files *protoregistry.Files, file protoreflect.FileDescriptor) error {
	if _, err := files.FindFileByPath(file.Path()); err == nil {
		return nil
	}
	for i := range file.Imports().Len() {
		if err := registerAll(files, file.Imports().Get(i).FileDescriptor); err != nil {
			return err
		}
	}
	return files.RegisterFile(file)
}

// wideFile declares a message with 300 fields of all scalar types, single and
// repeated, in the reverse order of their numbers, which are far apart.
func wideFile() *descriptorpb.FileDescriptorProto {
	types := []descriptorpb.FieldDescriptorProto_Type{
		descriptorpb.FieldDescriptorProto_TYPE_INT32, descriptorpb.FieldDescriptorProto_TYPE_STRING,
		descriptorpb.FieldDescriptorProto_TYPE_BOOL, descriptorpb.FieldDescriptorProto_TYPE_SINT64,
		descriptorpb.FieldDescriptorProto_TYPE_DOUBLE, descriptorpb.FieldDescriptorProto_TYPE_BYTES,
		descriptorpb.FieldDescriptorProto_TYPE_FIXED32,
	}
	labels := []descriptorpb.FieldDescriptorProto_Label{
		descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL, descriptorpb.FieldDescriptorProto_LABEL_REPEATED,
	}
	wide := &descriptorpb.DescriptorProto{Name: new("Wide")}
	for i := range int32(300) {
		wide.Field = append(wide.Field, &descriptorpb.FieldDescriptorProto{
			Name: new(fmt.Sprintf("field_%d", i)), Number: new((300 - i) * 19), Type: &types[i%7], Label: &labels[i%5/4],
		})
	}
	return &descriptorpb.FileDescriptorProto{
		Name: new("wide.proto"), Package: new("kitchen.v1"), Syntax: new("proto3"), MessageType: []*descriptorpb.DescriptorProto{wide},
	}
}

func load(tb testing.TB) *kitchen {
	tb.Helper()
	k, err := compiled()
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func (k *kitchen) message(tb testing.TB, name protoreflect.FullName) protoreflect.MessageDescriptor {
	tb.Helper()
	d, err := k.files.FindDescriptorByName(name)
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return d.(protoreflect.MessageDescriptor)
}

func (k *kitchen) codec(tb testing.TB, name protoreflect.FullName, opts transcode.Options) *transcode.Codec {
	tb.Helper()
	c, err := transcode.New(k.message(tb, name), k.types, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// generator makes random messages that JSON can express.
type generator struct {
	*rand.Rand
	k *kitchen
}

func (g generator) fill(m protoreflect.Message, depth int) {
	md := m.Descriptor()
	if g.wellKnown(m, depth) {
		return
	}
	fields := md.Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if fd.Cardinality() == protoreflect.Required || g.IntN(4) == 0 {
			g.field(m, fd, depth)
		}
	}
	for _, name := range []protoreflect.FullName{"kitchen.v1.note", "kitchen.v1.more", "kitchen.v1.tint"} {
		if xt, err := g.k.types.FindExtensionByName(name); err == nil && xt.TypeDescriptor().ContainingMessage().FullName() == md.FullName() && g.IntN(3) == 0 {
			g.field(m, xt.TypeDescriptor(), depth)
		}
	}
}

func (g generator) field(m protoreflect.Message, fd protoreflect.FieldDescriptor, depth int) {
	if fd.Message() != nil && depth <= 0 {
		return
	}
	switch {
	case fd.IsMap():
		mp := m.Mutable(fd).Map()
		for range g.IntN(4) {
			key := g.scalar(fd.MapKey()).MapKey()
			if fd.MapValue().Message() != nil {
				v := mp.NewValue()
				g.fill(v.Message(), depth-1)
				mp.Set(key, v)
			} else {
				mp.Set(key, g.scalar(fd.MapValue()))
			}
		}
	case fd.IsList():
		list := m.Mutable(fd).List()
		for range g.IntN(4) {
			if fd.Message() != nil {
				v := list.NewElement()
				g.fill(v.Message(), depth-1)
				list.Append(v)
			} else {
				list.Append(g.scalar(fd))
			}
		}
	case fd.Message() != nil:
		v := m.NewField(fd)
		g.fill(v.Message(), depth-1)
		m.Set(fd, v)
	default:
		m.Set(fd, g.scalar(fd))
	}
}

func (g generator) wellKnown(m protoreflect.Message, depth int) bool {
	fields := m.Descriptor().Fields()
	set := func(n protoreflect.FieldNumber, v any) { m.Set(fields.ByNumber(n), protoreflect.ValueOf(v)) }
	switch m.Descriptor().FullName() {
	case "google.protobuf.Timestamp":
		set(1, g.Int64N(253402300799+62135596800)-62135596800)
		set(2, g.nanos())
	case "google.protobuf.Duration":
		seconds, nanos := g.Int64N(315576000000), g.nanos()
		if g.IntN(2) == 0 {
			seconds, nanos = -seconds, -nanos
		}
		set(1, seconds)
		set(2, nanos)
	case "google.protobuf.FieldMask":
		list := m.Mutable(fields.ByNumber(1)).List()
		for range g.IntN(3) {
			list.Append(protoreflect.ValueOfString([]string{"a", "a.b_c", "foo_bar.baz"}[g.IntN(3)]))
		}
	case "google.protobuf.Value":
		n := protoreflect.FieldNumber(1 + g.IntN(6))
		if depth <= 0 {
			n = 3
		}
		if n == 2 {
			set(2, g.NormFloat64())
			return true
		}
		if n == 1 {
			set(1, protoreflect.EnumNumber(0))
			return true
		}
		g.field(m, fields.ByNumber(n), depth)
	case "google.protobuf.Any":
		names := []protoreflect.FullName{"kitchen.v1.Sink", "google.protobuf.Duration", "google.protobuf.Empty", "google.protobuf.Value", "google.protobuf.Any", "google.protobuf.Int64Value"}
		typ, err := g.k.types.FindMessageByName(names[g.IntN(len(names))])
		if err != nil || depth <= 0 {
			return true
		}
		em := typ.New()
		g.fill(em, depth-1)
		wire, err := proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(em.Interface())
		if err != nil {
			return true
		}
		set(1, "type.googleapis.com/"+string(typ.Descriptor().FullName()))
		set(2, wire)
	default:
		return false
	}
	return true
}

func (g generator) nanos() int32 {
	return []int32{0, 5e8, 123_000, 1, 999_999_999}[g.IntN(5)]
}

func (g generator) scalar(fd protoreflect.FieldDescriptor) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(g.IntN(2) == 0)
	case protoreflect.EnumKind:
		values := fd.Enum().Values()
		if fd.Enum().FullName() != "google.protobuf.NullValue" && !fd.Enum().IsClosed() && g.IntN(5) == 0 {
			return protoreflect.ValueOfEnum(4711)
		}
		return protoreflect.ValueOfEnum(values.Get(g.IntN(values.Len())).Number())
	case protoreflect.StringKind:
		return protoreflect.ValueOfString([]string{"", "a", "[1]", `{"a":1}`, "\x00\x1f\"\\/\u2028\x7f", "grüße 🦊", "true", "\uFFFD", g.text()}[g.IntN(9)])
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(g.text()))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32([]float32{0, float32(math.Copysign(0, -1)), 1.5, math.MaxFloat32, math.SmallestNonzeroFloat32, float32(math.Inf(-1)), 1e21, 1e-7, float32(g.NormFloat64())}[g.IntN(9)])
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64([]float64{0, math.Copysign(0, -1), 1.5, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), 1e21, 1e-7, g.NormFloat64()}[g.IntN(9)])
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32([]int32{0, 1, -1, math.MaxInt32, math.MinInt32, int32(g.Uint32())}[g.IntN(6)])
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32([]uint32{0, 1, math.MaxUint32, g.Uint32()}[g.IntN(4)])
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64([]uint64{0, 1, math.MaxUint64, g.Uint64()}[g.IntN(4)])
	default:
		return protoreflect.ValueOfInt64([]int64{0, 1, -1, math.MaxInt64, math.MinInt64, int64(g.Uint64())}[g.IntN(6)])
	}
}

func (g generator) text() string {
	var b strings.Builder
	for range g.IntN(6) {
		r := rune(g.IntN(0x11000))
		if utf8.ValidRune(r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}
