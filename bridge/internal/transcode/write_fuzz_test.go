package transcode_test

import (
	"errors"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
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
	opts := []transcode.Options{{}, {Output: transcode.All}, {MaxDepth: 5}}
	codecs := make([]*transcode.Codec, 0, len(opts)*len(roots))
	for _, o := range opts {
		for _, name := range roots {
			codecs = append(codecs, k.codec(f, name, o))
		}
	}
	f.Fuzz(func(t *testing.T, root byte, wire []byte) {
		i := int(root) % len(codecs)
		_, refused := agree(t, codecs[i], k.message(t, roots[i%len(roots)]), k.types, opts[i/len(roots)], wire)
		const limit = 1 << 16
		out, _, err := codecs[i].Writing(transcode.Answers, limit).AppendJSON(nil, wire)
		tooLarge, _ := errors.AsType[*transcode.SizeError](err)
		switch {
		case err == nil && refused != nil || err != nil && refused == nil && tooLarge == nil:
			t.Fatalf("answers: %v, otherwise %v", err, refused)
		case err == nil && (len(out) > limit || jsontok.Valid(out, jsontok.Limits{}) != nil):
			t.Fatalf("answers: %s", out)
		}
	})
}
