package find_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/find"
	"github.com/mcp-bridge/mcp-bridge/bridge/mux"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/realapis"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// question is a line of testdata/questions.txt.
type question struct {
	held      bool // not looked at while tuning
	api, text string
	tools     []string // with the names of their APIs before them, as a Mux shows them
}

func questions(t *testing.T) []question {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "questions.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out []question
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(line, "|")
		if len(parts) != 4 {
			t.Fatalf("%q has %d parts, want 4", line, len(parts))
		}
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		q := question{held: parts[0] == "held", api: parts[1], text: parts[2]}
		for tool := range strings.FieldsSeq(parts[3]) {
			api, name, ok := strings.Cut(tool, ":")
			if !ok {
				api, name = q.api, tool
			}
			q.tools = append(q.tools, api+"_"+name)
		}
		out = append(out, q)
	}
	return out
}

// apis are the services of the APIs, by the names that the questions have for them.
var apis = map[string][]string{
	"bigtable":   {"google.bigtable.*"},
	"containerd": {"containerd.*"},
	"cri":        {"runtime.v1.*"},
	"envoy":      {"envoy.*"},
	"etcd":       {"etcdserverpb.*"},
	"milvus":     {"milvus.proto.*"},
	"openfga":    {"openfga.*"},
	"qdrant":     {"qdrant.*"},
	"spanner":    {"google.spanner.*", "google.iam.*", "google.longrunning.*"},
	"spicedb":    {"authzed.*"},
	"temporal":   {"temporal.*"},
}

// lasting is a Server that outlives the Mux that opened it.
type lasting struct{ protocol.Handler }

func (lasting) Close() {}

// realUpstreams returns the APIs, whose tools cannot be called. Every Mux that has one
// shares it.
func realUpstreams(t *testing.T) []mux.Upstream {
	t.Helper()
	source := bridge.DescriptorSet(realapis.Linked(t))
	none := rpc.CallerFunc(func(context.Context, *rpc.Call, func([]byte) error) (*rpc.Trailer, error) {
		return nil, errors.New("there is no backend")
	})
	var out []mux.Upstream
	for _, name := range slices.Sorted(maps.Keys(apis)) {
		b, err := bridge.New(t.Context(), []bridge.Upstream{{Caller: none, Descriptors: source, Services: apis[name]}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		out = append(out, mux.Upstream{Name: name, Version: "1", Required: true, Open: func(context.Context) (mux.Server, error) {
			return lasting{b}, nil
		}})
	}
	return out
}

// catalogOf returns upstreams behind a Mux and the tools that find them.
func catalogOf(t *testing.T, upstreams ...mux.Upstream) protocol.Handler {
	t.Helper()
	m, err := mux.New(mux.Config{Upstreams: upstreams, Prefix: mux.PrefixAlways, Server: json.RawMessage(`{"name":"test","version":"1"}`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	if down := m.Ready(t.Context()); len(down) > 0 {
		t.Fatal(down)
	}
	return find.Middleware(find.Config{})(m)
}

// found returns the names of the tools that a search shows.
func found(t *testing.T, h protocol.Handler, query string, limit int) []string {
	t.Helper()
	arguments, err := json.Marshal(map[string]any{"query": query, "limit": limit})
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		StructuredContent struct{ Tools []struct{ Name string } }
	}
	got := call(t, h, find.SearchTool, string(arguments))
	if err := json.Unmarshal([]byte(got), &result); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	names := make([]string, len(result.StructuredContent.Tools))
	for i, tool := range result.StructuredContent.Tools {
		names[i] = tool.Name
	}
	return names
}

// TestQuestions asks for tools of real APIs as people do: of each API by itself, and of
// all together.
func TestQuestions(t *testing.T) {
	t.Parallel()
	upstreams := realUpstreams(t)
	alone := make(map[string]protocol.Handler)
	for _, u := range upstreams {
		alone[u.Name] = catalogOf(t, u)
	}
	together := catalogOf(t, upstreams...)
	all := questions(t)
	held, known := 0, make(map[string]bool)
	for _, q := range all {
		if q.held {
			held++
		}
		known[q.api] = true
	}
	if len(all) != 100 || held != 30 || len(known) != len(apis) {
		t.Errorf("%d questions about %d APIs, %d of them held; want 100, %d, 30", len(all), len(known), held, len(apis))
	}
	for _, tt := range []struct {
		name    string
		catalog func(api string) protocol.Handler
		want    int // of 100
	}{
		{"each API alone", func(api string) protocol.Handler { return alone[api] }, 95},
		{"all APIs together", func(string) protocol.Handler { return together }, 85},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var right, first, rightHeld int
			for _, q := range all {
				h := tt.catalog(q.api)
				got := found(t, h, q.text, 3)
				isRight := func(name string) bool { return slices.Contains(q.tools, name) }
				switch at := slices.IndexFunc(got, isRight); {
				case at < 0:
					if !q.held { // those stay unseen
						t.Logf("%s: %q: want one of %q, got %q", q.api, q.text, q.tools, got)
					}
				default:
					right++
					if q.held {
						rightHeld++
					}
					if at == 0 {
						first++
					}
				}
			}
			t.Logf("%d of %d among the first three, %d of them first; of the %d held ones %d", right, len(all), first, held, rightHeld)
			if right < tt.want {
				t.Errorf("%d of %d questions have the right tool among the first three, want %d", right, len(all), tt.want)
			}
		})
	}
}
