package mux

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// fixed is a server whose answers cost nothing.
type fixed struct{ tools, result *protocol.Result }

func (f *fixed) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	switch r.Method {
	case protocol.MethodCallTool:
		return f.result, nil
	case protocol.MethodListTools:
		return f.tools, nil
	case protocol.MethodDiscover:
		return &protocol.Result{Body: json.RawMessage(`{"capabilities":{"tools":{}}}`)}, nil
	case protocol.MethodListen:
		if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationAcknowledged, Params: json.RawMessage(`{"notifications":{"toolsListChanged":true}}`)}); err != nil {
			return nil, err
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, protocol.MethodNotFound(r.Method)
}

func (f *fixed) Close() {}

// catalog returns a Mux of some upstreams that have 5,000 tools together.
func catalog(tb testing.TB, upstreams int, change func(cfg *Config)) *Mux {
	tb.Helper()
	const tools = 5000
	schema := `{"type":"object","properties":{"name":{"type":"string","description":"` + strings.Repeat("What it is called. ", 10) + `"}}}`
	var cfg Config
	for i := range upstreams {
		var items []string
		for j := range tools / upstreams {
			items = append(items, fmt.Sprintf(`{"name":"tool_%d","description":"Does one thing well.","inputSchema":%s}`, j, schema))
		}
		f := &fixed{
			tools:  &protocol.Result{Body: json.RawMessage(`{"tools":[` + strings.Join(items, ",") + `]}`), Cache: &protocol.Cache{TTLMillis: 60_000}},
			result: &protocol.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":"done"}]}`)},
		}
		cfg.Upstreams = append(cfg.Upstreams, Upstream{Name: fmt.Sprintf("u%03d", i), Probe: -1, Open: func(context.Context) (Server, error) { return f, nil }})
	}
	if change != nil {
		change(&cfg)
	}
	return start(tb, cfg)
}

var setups = []struct {
	name      string
	upstreams int
	change    func(cfg *Config)
	tool      string
}{
	{"1", 1, nil, "tool_7"},
	{"200", 200, nil, "u150_tool_7"},
	{"200-guard", 200, func(cfg *Config) { cfg.Guard = &rules{} }, "u150_tool_7"},
	{"1-guard", 1, func(cfg *Config) { cfg.Guard = &rules{} }, "tool_7"},
}

// BenchmarkCall: what a call costs with one upstream and with 200.
func BenchmarkCall(b *testing.B) {
	for _, tt := range setups {
		b.Run(tt.name, func(b *testing.B) {
			m := catalog(b, tt.upstreams, tt.change)
			r := request(protocol.MethodCallTool, `{"name":"`+tt.tool+`","arguments":{"name":"x"}}`)
			r.Caller.Principal = alice
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Handle(b.Context(), r, protocol.Discard); err != nil {
					b.Fatal(err)
				}
				if g, ok := m.snapshot.Load().guard.(*rules); ok {
					g.asked = g.asked[:0]
				}
			}
		})
	}
}

// BenchmarkList: what a list of 5,000 tools costs, with its rendering for the client.
func BenchmarkList(b *testing.B) {
	for _, tt := range setups {
		b.Run(tt.name, func(b *testing.B) {
			m := catalog(b, tt.upstreams, tt.change)
			r := request(protocol.MethodListTools, `{}`)
			r.Caller.Principal = alice
			var out []byte
			b.ReportAllocs()
			for b.Loop() {
				res, err := m.Handle(b.Context(), r, protocol.Discard)
				if err != nil {
					b.Fatal(err)
				}
				out = protocol.AppendResult(out[:0], res, protocol.Revision20260728)
			}
			b.ReportMetric(float64(len(out)), "bytes")
		})
	}
}

// BenchmarkFind: what tool search costs with 5,000 tools.
func BenchmarkFind(b *testing.B) {
	for _, tt := range setups {
		for _, call := range []struct{ name, params string }{
			{"search", `{"name":"search_tools","arguments":{"query":"tool 77"}}`},
			{"describe", `{"name":"describe_tool","arguments":{"name":"` + tt.tool + `"}}`},
			{"call", `{"name":"call_tool","arguments":{"name":"` + tt.tool + `","arguments":{"name":"x"}}}`},
		} {
			b.Run(tt.name+"/"+call.name, func(b *testing.B) {
				h := search(catalog(b, tt.upstreams, tt.change))
				r := request(protocol.MethodCallTool, call.params)
				r.Caller.Principal = alice
				b.ReportAllocs()
				for b.Loop() {
					if _, err := h.Handle(b.Context(), r, protocol.Discard); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
