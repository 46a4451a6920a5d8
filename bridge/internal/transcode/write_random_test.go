package transcode_test

import (
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

// wireGen returns a generator of messages of the kitchen.
func (k *kitchen) wireGen(seed, stream uint64) *wireGen {
	g := &wireGen{Rand: rand.New(rand.NewPCG(seed, stream)), extensions: map[protoreflect.FullName][]protoreflect.FieldDescriptor{}, budget: 200}
	for _, name := range roots {
		if d, err := k.files.FindDescriptorByName(name); err == nil {
			g.anys = append(g.anys, d.(protoreflect.MessageDescriptor))
		}
	}
	k.files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Extensions().Len() {
			fd := file.Extensions().Get(i)
			name := fd.ContainingMessage().FullName()
			g.extensions[name] = append(g.extensions[name], fd)
		}
		return true
	})
	for _, list := range g.extensions {
		sortByNumber(list)
	}
	g.wild = seed%3 == 1
	g.plain = seed%3 == 2
	return g
}

func TestAppendJSONOfRandomWire(t *testing.T) {
	t.Parallel()
	k := load(t)
	seeds := uint64(1500)
	if raceEnabled {
		seeds = 150
	}
	for _, name := range roots {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			md := k.message(t, name)
			refused := 0
			for _, opts := range []transcode.Options{{}, {Output: transcode.All}} {
				codec := k.codec(t, name, opts)
				for seed := range seeds {
					g := k.wireGen(seed, 7)
					wire := g.message(nil, md, 5)
					if _, err := agree(t, codec, md, k.types, opts, wire); err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
					if _, err := agree(t, codec, md, k.types, opts, g.broken(wire)); err != nil {
						refused++
					}
				}
			}
			if refused == 0 && name == roots[0] {
				t.Error("no broken message was refused")
			}
		})
	}
}
