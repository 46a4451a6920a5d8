package gateway_test

import (
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/demo"
)

// TestToolNamesInTexts: texts name a tool as clients know it, also after a reload that
// changes that, and not at all where clients do not have it.
func TestToolNamesInTexts(t *testing.T) {
	t.Parallel()
	backend := httptest.NewServer(demo.Handler(demo.New()))
	t.Cleanup(backend.Close)
	g := newGateway(t, books(backend.URL, nil))
	base := serve(t, g)
	c := browser(t)
	mentions := regexp.MustCompile(`[A-Za-z_]*(describe_type|explain)`)
	for _, tt := range []struct {
		name    string
		tools   *configv1.Tools
		several bool
		want    []string // how texts and lists call describe_type
		unknown string
	}{
		{"alone", nil, false, []string{"describe_type"}, "nothing"},
		{"prefix", nil, true, []string{"books_describe_type"}, "books_nothing"},
		{"rename", &configv1.Tools{Rename: map[string]string{"describe_type": "explain", "nothing": "other"}}, true, []string{"books_explain"}, "books_other"},
		{"rename alone", &configv1.Tools{Rename: map[string]string{"describe_type": "explain", "nothing": "other"}}, false, []string{"explain"}, "other"},
		{"exclude", &configv1.Tools{Exclude: []string{"describe_*"}}, true, nil, "books_nothing"},
		{"alone again", nil, false, []string{"describe_type"}, "nothing"},
	} {
		cfg := books(backend.URL, tt.tools)
		if tt.several {
			cfg.Upstreams["other"] = &configv1.Upstream{Url: "connect+" + backend.URL, Proto: []string{"../../proto/library"}}
		}
		if err := g.Apply(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		if down := g.Ready(t.Context()); len(down) > 0 {
			t.Fatal(down)
		}
		_, list := post(t, c, base+"/mcp", listTools)
		got := mentions.FindAllString(list, -1)
		slices.Sort(got)
		if n := len(got); n == 1 {
			t.Errorf("%s: nothing but the tool itself is called %q", tt.name, got)
		}
		if got := slices.Compact(got); !slices.Equal(got, tt.want) {
			t.Errorf("%s: describe_type is called %q, want %q", tt.name, got, tt.want)
		}
		call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tt.unknown + `"}}`
		if _, body := post(t, c, base+"/mcp", call); !strings.Contains(body, `there is no tool \"`+tt.unknown+`\"`) {
			t.Errorf("%s: %s", tt.name, body)
		}
	}
}

// books is a Config of the demo behind a URL, whose schemas leave things out.
func books(url string, tools *configv1.Tools) *configv1.Config {
	cfg := local()
	cfg.Upstreams = map[string]*configv1.Upstream{"books": {
		Url: "connect+" + url, Proto: []string{"../../proto/library"}, Schema: &configv1.Schema{MaxBytes: 2048}, Tools: tools,
	}}
	return cfg
}
