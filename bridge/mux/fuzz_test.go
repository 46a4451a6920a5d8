package mux

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/toolname"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// FuzzNames: the public name of a tool is short, distinct, and leads back to its
// upstream and own name.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{"echo", "a_b", "_", "", strings.Repeat("x", 80), strings.Repeat("ü", 40), "b-2+x", "files_"} {
		f.Add(seed, seed+"x")
	}
	open := newServer("x").open
	m := start(f, Config{Upstreams: []Upstream{{Name: "a", Open: open}, {Name: "B_2", Open: open}, {Name: "b", Open: open, Tools: Tools{Rename: map[string]string{"x": "y"}}}}})
	s := m.snapshot.Load()
	f.Fuzz(func(t *testing.T, one, other string) {
		if !utf8.ValidString(one) || !utf8.ValidString(other) {
			return
		}
		seen := make(map[string]bool)
		for _, u := range s.members {
			for _, own := range []string{one, other} {
				public, ok := u.publicTool(own)
				if !ok {
					continue
				}
				if len(public) > toolname.MaxBytes || !utf8.ValidString(public) {
					t.Fatalf("%s: %q is called %q", u.name, own, public)
				}
				if seen[public] && one != other {
					t.Fatalf("two tools are called %q", public)
				}
				seen[public] = true
				found, rest := s.prefixedMember(public)
				if found != u {
					t.Fatalf("%q leads to another upstream than %s", public, u.name)
				}
				if back, _ := found.ownTool(rest); len(public) < toolname.MaxBytes && back != own {
					t.Fatalf("%q of %s leads back to %q", own, u.name, back)
				}
			}
		}
	})
}

func TestNormalURI(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		uri  string
		want bool
	}{
		{"file:///x", true},
		{"a+file:///x/y.txt?q=%2F#f", true},
		{"http://user:PASS@host:8080/A/b", true},
		{"http://[::1]/", true},
		{"urn:isbn:1", true},
		{"test://static-text", true},
		{"x:", true},
		{"", false},
		{"no scheme", false},
		{":x", false},
		{"1x:y", false},
		{"File:///x", false},
		{"http://HOST/", false},
		{"http://[::A]/", false},
		{"file:///a/./b", false},
		{"file:///a/../b", false},
		{"file:///..", false},
		{"x:../y", false},
		{"file:///%61", false},
		{"file:///%7E", false},
		{"file:///%2f", false},
		{"file:///%2", false},
		{"file:///%", false},
		{"file:///a b", false},
		{"file:///ü", false},
		{"file:///a\\b", false},
		{"file:///{id}", false},
	} {
		if got := normalURI(tt.uri); got != tt.want {
			t.Errorf("%q: %t", tt.uri, got)
		}
	}
}

// FuzzURI: what is in normal form stays as it is when it is read and resolved, and no
// other spelling of it is in normal form too. A public URI leads back to its own.
func FuzzURI(f *testing.F) {
	for _, seed := range []string{"file:///x", "http://host/a%2Fb?c#d", "x:1", "a+b:c", "HTTP://x/%7e/../1", "urn:a:b"} {
		f.Add(seed)
	}
	m := start(f, config(newServer("a"), newServer("B_2")))
	s := m.snapshot.Load()
	f.Fuzz(func(t *testing.T, uri string) {
		for _, u := range s.members {
			if found, own := s.uriMember(u.publicURI(uri)); found != u || own != uri {
				t.Fatalf("%q of %s leads back to %q", uri, u.name, own)
			}
		}
		if !normalURI(uri) {
			return
		}
		if normalURI(strings.ToUpper(uri)) && strings.ToUpper(uri[:strings.IndexByte(uri, ':')]) != uri[:strings.IndexByte(uri, ':')] {
			t.Errorf("%q and its capitals are both in normal form", uri)
		}
		parsed, err := url.Parse(uri)
		if err != nil || parsed.Opaque != "" || parsed.Host == "" {
			return // net/url is stricter about ports, and knows no opaque paths
		}
		if resolved := (&url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: "/"}).ResolveReference(parsed); parsed.Path != "" && resolved.Path != parsed.Path {
			t.Errorf("%q is %q once resolved", uri, resolved.Path)
		}
	})
}

// FuzzTaskID: only the id that was sealed opens, and for its caller only.
func FuzzTaskID(f *testing.F) {
	cfg := config(newServer("a", "task"), newServer("b"))
	cfg.Keys = [][]byte{[]byte(strings.Repeat("k", 32))}
	m := start(f, cfg)
	id := memberOf(f, do(f, m, from(alice, protocol.MethodCallTool, `{"name":"a_task"}`)), "taskId")
	f.Add(id)
	f.Add("t.1")
	f.Add("")
	f.Fuzz(func(t *testing.T, other string) {
		a := &asker{ctx: t.Context(), s: m.snapshot.Load(), r: request(protocol.MethodGetTask, `{}`), principal: alice}
		if ref, ok := m.root.openTask(a, other); ok != (other == id) || ok && (ref.id != "t.1" || ref.upstream != "a" || ref.tool != "task") {
			t.Errorf("%q opens: %t, %+v", other, ok, ref)
		}
		a.principal = bob
		if _, ok := m.root.openTask(a, other); ok {
			t.Errorf("%q opens for another caller", other)
		}
	})
}
