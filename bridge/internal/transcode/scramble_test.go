package transcode_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// scrambler writes messages as no ordinary serialiser does: fields in any
// order and several times, messages in parts, lists packed and not, numbers
// longer than they need be, unknown fields in between.
type scrambler struct{ *rand.Rand }

func (s scrambler) varint(dst []byte, v uint64) []byte {
	dst = protowire.AppendVarint(dst, v)
	for n := protowire.SizeVarint(v); n < 9 && s.IntN(8) == 0; n++ {
		dst[len(dst)-1] |= 0x80
		dst = append(dst, 0)
	}
	return dst
}

func (s scrambler) message(md protoreflect.MessageDescriptor, wire []byte) []byte {
	var parts [][]byte
	for len(wire) > 0 {
		num, typ, n := protowire.ConsumeTag(wire)
		size := protowire.ConsumeFieldValue(num, typ, wire[n:])
		value := wire[n : n+size]
		wire = wire[n+size:]
		for range 1 + s.IntN(4)/3 {
			parts = append(parts, s.field(md.Fields().ByNumber(num), num, typ, value)...)
		}
		if s.IntN(5) == 0 {
			parts = append(parts, s.varint(protowire.AppendTag(nil, 100_000, protowire.VarintType), s.Uint64()))
		}
	}
	if s.IntN(2) == 0 {
		s.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	}
	return bytes.Join(parts, nil)
}

// field returns a field in one or more parts.
func (s scrambler) field(fd protoreflect.FieldDescriptor, num protowire.Number, typ protowire.Type, value []byte) [][]byte {
	tag := protowire.EncodeTag(num, typ)
	switch {
	case typ == protowire.VarintType:
		v, _ := protowire.ConsumeVarint(value)
		if fd != nil && fd.IsList() && s.IntN(2) == 0 {
			packed := s.varint(nil, v)
			return [][]byte{protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), packed)}
		}
		return [][]byte{s.varint(s.varint(nil, tag), v)}
	case typ == protowire.StartGroupType && fd != nil:
		inner, _ := protowire.ConsumeGroup(num, value)
		out := append(s.varint(nil, tag), s.message(fd.Message(), inner)...)
		return [][]byte{s.varint(out, protowire.EncodeTag(num, protowire.EndGroupType))}
	case typ != protowire.BytesType || fd == nil || fd.Message() == nil:
		return [][]byte{append(s.varint(nil, tag), value...)}
	}
	inner, _ := protowire.ConsumeBytes(value)
	whole := func(b []byte) []byte {
		out := s.varint(s.varint(nil, tag), uint64(len(b)))
		return append(out, b...)
	}
	inner = s.message(fd.Message(), inner)
	if fd.IsList() || fd.IsMap() || s.IntN(3) > 0 {
		return [][]byte{whole(inner)}
	}
	return [][]byte{whole(s.message(fd.Message(), inner)), whole(inner)}
}

// Whatever the encoding, the output is that of protobuf's own packages.
func TestScrambled(t *testing.T) {
	t.Parallel()
	k := load(t)
	for _, name := range roots {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			md := k.message(t, name)
			codec := k.codec(t, name, transcode.Options{})
			for seed := range uint64(300) {
				random := rand.New(rand.NewPCG(seed, 4))
				m := dynamicpb.NewMessage(md)
				generator{random, k}.fill(m, 3)
				wire, err := proto.MarshalOptions{AllowPartial: true}.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				wire = scrambler{random}.message(md, wire)
				m = dynamicpb.NewMessage(md)
				if err := unmarshal(k, wire, m); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				want, err := marshal(k, m)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				got, warnings, err := codec.AppendJSON(nil, wire)
				if err != nil || len(warnings) > 0 {
					t.Fatalf("seed %d: %v, warnings %q\n%x", seed, err, warnings, wire)
				}
				if got := unwrap(t, md, got); !bytes.Equal(got, jsontok.AppendCompact(nil, want)) {
					t.Fatalf("seed %d:\n got %s\nwant %s\n%x", seed, got, want, wire)
				}
			}
		})
	}
}
