package transcode_test

import (
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

// FuzzAppendJSON holds the writer against protobuf's parser and protojson, as
// [agree] says.
func FuzzAppendJSON(f *testing.F) {
	k := load(f)
	for i, name := range roots {
		for seed := range uint64(9) {
			f.Add(byte(i), k.wireGen(seed, 3).message(nil, k.message(f, name), 3))
		}
	}
	for _, wire := range hostile {
		f.Add(byte(0), []byte(wire.bytes))
	}
	opts := []transcode.Options{{}, {EmitDefaults: true}, {MaxDepth: 5}}
	codecs := make([]*transcode.Codec, 0, len(opts)*len(roots))
	for _, o := range opts {
		for _, name := range roots {
			codecs = append(codecs, k.codec(f, name, o))
		}
	}
	f.Fuzz(func(t *testing.T, root byte, wire []byte) {
		i := int(root) % len(codecs)
		_, _ = agree(t, codecs[i], k.message(t, roots[i%len(roots)]), k.types, opts[i/len(roots)], wire)
	})
}
