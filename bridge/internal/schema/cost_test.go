package schema

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/realapis"
)

// TestCostOfAnswers measures what [transcode.Answers] and [transcode.All] add to
// the results and schemas of well-known APIs, in bytes, and holds it below what
// docs/mapping.md says, rounded up. In results every other field is set.
func TestCostOfAnswers(t *testing.T) {
	t.Parallel()
	set, err := descriptor.FromFileDescriptorSet(realapis.Linked(t)).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	outputs := []transcode.Output{transcode.Canonical, transcode.Answers, transcode.All}
	renderers := make([]*Renderer, len(outputs))
	for i, output := range outputs {
		renderers[i] = New(Options{Output: output})
	}
	codecs := transcode.NewCompiler(set.Types(), transcode.Options{})
	var results, empty, schemas [3]int
	methods := 0
	seen := map[protoreflect.FullName]bool{}
	for _, service := range set.Services() {
		for i := range service.Methods().Len() {
			md := service.Methods().Get(i).Output()
			if seen[md.FullName()] || Wrapped(md) || md.Fields().Len() == 0 {
				continue
			}
			seen[md.FullName()] = true
			codec, err := codecs.Codec(md)
			if err != nil {
				continue
			}
			methods++
			f := filler{Rand: rand.New(rand.NewPCG(uint64(methods), 5))}
			const rounds = 5
			var wires [][]byte
			for range rounds {
				wire, err := proto.MarshalOptions{AllowPartial: true}.Marshal(f.message(md, 3).Interface())
				if err != nil {
					t.Fatal(err)
				}
				wires = append(wires, wire)
			}
			for j, output := range outputs {
				for _, wire := range wires {
					text, _, err := codec.Writing(output, 0).AppendJSON(nil, wire)
					if err != nil {
						t.Fatalf("%s: %v", md.FullName(), err)
					}
					results[j] += len(text)
				}
				text, _, err := codec.Writing(output, 0).AppendJSON(nil, nil)
				if err != nil {
					t.Fatalf("%s: %v", md.FullName(), err)
				}
				empty[j] += len(text)
				s, err := renderers[j].Output(md)
				if err != nil {
					t.Fatal(err)
				}
				schemas[j] += len(s.JSON)
			}
		}
	}
	percent := func(of [3]int, i int) string {
		return fmt.Sprintf("%+.1f %%", 100*float64(of[i]-of[0])/float64(of[0]))
	}
	for i, most := range []struct{ result, empty, schema float64 }{{}, {0.25, 25, 0.06}, {0.5, 40, 0.15}} {
		grown := func(of [3]int) float64 { return float64(of[i]-of[0]) / float64(of[0]) }
		if each := float64(empty[i]) / float64(methods); i > 0 && (grown(results) > most.result || each > most.empty || grown(schemas) > most.schema) {
			t.Errorf("output %d costs more than documented", outputs[i])
		}
	}
	t.Logf("%d types of results: results %v (%s, %s), empty ones %v, %d bytes each (%d, %d), schemas %v (%s, %s)", methods,
		results, percent(results, 1), percent(results, 2), empty, empty[0]/methods, empty[1]/methods, empty[2]/methods,
		schemas, percent(schemas, 1), percent(schemas, 2))
}
