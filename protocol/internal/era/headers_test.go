package era

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestHeaderPlan(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ schema, args, want, err string }{
		{schema: `{"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`, args: `{"region":"us"}`, want: "Mcp-Param-Region: us"},
		{schema: `{"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`, args: `{"region":null}`},
		{schema: `{"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`, args: `{}`},
		{schema: `{"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`},
		{schema: `{"properties":{"region":{"type":"string","x-mcp-\u0068eader":"Region"}}}`, args: `{"region":"é"}`, want: "Mcp-Param-Region: =?base64?w6k=?="},
		{
			schema: `{"properties":{"a":{"properties":{"n":{"type":"integer","x-mcp-header":"N"},"b":{"type":"boolean","x-mcp-header":"B"}}}}}`,
			args:   `{"a":{"n":42.0,"b":true}}`, want: "Mcp-Param-B: true\nMcp-Param-N: 42",
		},
		{schema: `{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}}`, args: `{"n":1e999999999}`, want: "Mcp-Param-N: 1e999999999"},
		{schema: `{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}}`, args: `{"n":[1]}`},
		{schema: `{"properties":{"x-mcp-header":{"type":"string","default":{"x-mcp-header":1}}}}`, args: `{"x-mcp-header":"v"}`},
		{schema: `{"properties":{"a":{"type":"number","x-mcp-header":"N"}}}`, err: `x-mcp-header "N" is on a parameter whose type is not string, integer or boolean`},
		{schema: `{"properties":{"a":{"type":"string","x-mcp-header":""}}}`, err: `x-mcp-header "" is no name for a header`},
		{schema: `{"properties":{"a":{"type":"string","x-mcp-header":7}}}`, err: `x-mcp-header 7 is no name for a header`},
		{schema: `{"properties":{"a":{"type":"string","x-mcp-header":"a\r\nb"}}}`, err: `x-mcp-header "a\r\nb" is no name for a header`},
		{schema: `{"type":"string","x-mcp-header":"A"}`, err: `x-mcp-header "A" is where no chain of properties leads`},
		{schema: `{"properties":{"a":{"items":{"type":"string","x-mcp-header":"A"}}}}`, err: `x-mcp-header "A" is where no chain of properties leads`},
		{schema: `{"allOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`, err: `x-mcp-header "A" is where no chain of properties leads`},
		{schema: `{"$defs":{"d":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}}`, err: `x-mcp-header "A" is where no chain of properties leads`},
		{schema: `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`, err: `x-mcp-header "a" is there twice`},
	} {
		plan, err := compileHeaders(json.RawMessage(tt.schema))
		if err != nil || tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%s: error %v, want %s", tt.schema, err, tt.err)
			}
			continue
		}
		header := make(http.Header)
		plan.apply(header, json.RawMessage(tt.args))
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(header)) {
			lines = append(lines, name+": "+header.Get(name))
		}
		if got := strings.Join(lines, "\n"); got != tt.want {
			t.Errorf("%s with %s: %s, want %s", tt.schema, tt.args, got, tt.want)
		}
	}
}

func FuzzHeaderPlan(f *testing.F) {
	f.Add(`{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}`, `{"a":"x"}`)
	f.Add(`{"properties":{"a":{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}`, `{"a":{"n":1.0}}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		plan, err := compileHeaders(json.RawMessage(schema))
		if err != nil {
			return
		}
		header := make(http.Header)
		plan.apply(header, json.RawMessage(args))
		for name, values := range header {
			if !strings.HasPrefix(name, "Mcp-Param-") || strings.ContainsAny(name+values[0], "\r\n") {
				t.Fatalf("header %q: %q", name, values)
			}
		}
	})
}

// TestLearn: a tool that breaks the rules is left out, and no other one.
func TestLearn(t *testing.T) {
	t.Parallel()
	h := &headers{log: slog.New(slog.DiscardHandler)}
	body := `{"tools":[{"name":"good","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}},` +
		`{"name":"bad","inputSchema":{"x-mcp-header":"A"}}, {"name":"plain"}],"nextCursor":"c"}`
	got, err := h.learn(t.Context(), "me", json.RawMessage(body))
	want := `{"tools":[{"name":"good","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}},{"name":"plain"}],"nextCursor":"c"}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
	if plan, ok := h.plan("me", "good"); !ok || len(plan) != 1 {
		t.Errorf("plan %v", plan)
	}
	if _, ok := h.plan("me", "other"); ok {
		t.Error("a tool that has not been listed is known")
	}
	if _, ok := h.plan("you", "good"); ok {
		t.Error("one caller's tools are known to another")
	}
	if _, err := h.learn(t.Context(), "me", json.RawMessage(`{"tools":1}`)); err == nil {
		t.Error("a list of tools that is none is taken")
	}
}
