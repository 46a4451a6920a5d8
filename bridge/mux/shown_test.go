package mux

import (
	"context"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// shownNames returns the names of the tools that a caller is shown.
func shownNames(t *testing.T, v *View, r *protocol.Request) (*Shown, string) {
	t.Helper()
	s, err := v.Shown(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range s.Len() {
		names = append(names, memberOf(t, string(s.Tool(i)), "name"))
	}
	return s, strings.Join(names, " ")
}

// TestShown: what a caller is shown is made once for the same lists and the same
// outcome of the guard, and reads no list for that, even of an upstream whose lists are
// never good for long.
func TestShown(t *testing.T) {
	t.Parallel()
	for _, several := range []bool{false, true} {
		a := newServer("a", "GetBook", "DeleteBook", "task")
		a.silent, a.cache = true, protocol.Cache{}
		cfg, prefix := config(a), ""
		if several {
			cfg, prefix = config(a, newServer("b")), "a_"
		}
		cfg.Guard = &rules{hides: func(p *protocol.Principal, target *protocol.Target) bool {
			return p != alice && target.Name == "DeleteBook"
		}}
		m := start(t, cfg)
		for range 100 {
			for principal, want := range map[*protocol.Principal]string{alice: "GetBook DeleteBook task", bob: "GetBook task"} {
				want = prefix + strings.ReplaceAll(want, " ", " "+prefix)
				r := from(principal, protocol.MethodCallTool, `{"name":"search_tools"}`)
				first, names := shownNames(t, m.All(), r)
				if names != want {
					t.Fatalf("shown %q, want %q", names, want)
				}
				if again, _ := shownNames(t, m.All(), r); again != first {
					t.Fatal("the same tools are something else the next time")
				}
			}
		}
		if n := a.count(protocol.MethodListTools); n != 2 { // one for each page
			t.Errorf("%d lists", n)
		}
		if _, names := shownNames(t, m.View(Endpoint{Name: "x", Exclude: []string{"*Book"}}), from(alice, protocol.MethodPing, ``)); names != prefix+"task" {
			t.Errorf("an endpoint shows %q", names)
		}
	}
}

// TestShownChanges: a change that an upstream tells of is in what is shown next, and an
// upstream that is down is left out.
func TestShownChanges(t *testing.T) {
	t.Parallel()
	a, b := newServer("a", "one"), newServer("b", "one")
	m := start(t, config(a, b))
	s := hear(t, m, from(alice, protocol.MethodListen, `{"notifications":{"toolsListChanged":true}}`))
	s.next(acknowledged + `{"notifications":{"toolsListChanged":true}}`)
	r := from(alice, protocol.MethodCallTool, `{}`)
	if _, names := shownNames(t, m.All(), r); names != "a_one b_one" {
		t.Errorf("shown %q", names)
	}
	s.skip(protocol.NotificationToolsChanged)
	a.mu.Lock()
	a.tools = []string{"one", "two"}
	a.mu.Unlock()
	a.changed <- &protocol.Notification{Method: protocol.NotificationToolsChanged}
	s.next(protocol.NotificationToolsChanged)
	if _, names := shownNames(t, m.All(), r); names != "a_one a_two b_one" {
		t.Errorf("after a change: %q", names)
	}
	b.setDown(true)
	_ = do(t, m, from(alice, protocol.MethodCallTool, `{"name":"b_one"}`)) // notices it
	s.next(protocol.NotificationToolsChanged)
	if _, names := shownNames(t, m.All(), r); names != "a_one a_two" {
		t.Errorf("without an upstream: %q", names)
	}
	if all := m.Status(); all[0].Outages != 0 || all[1].Outages != 1 || all[1].Up {
		t.Errorf("status %+v", all)
	}
	if got, want := m.All().UnknownTool(t.Context(), r, "b_one").Error(), `there is no tool "b_one" now, while these upstreams are unavailable: b; did you mean "a_one"? tools/list names all of them (code -32602)`; got != want {
		t.Errorf("unknown: %s, want %s", got, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.All().Shown(ctx, from(bob, protocol.MethodCallTool, `{}`)); err != nil {
		t.Errorf("lists that are there: %v", err)
	}
}
