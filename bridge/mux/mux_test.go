package mux

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// TestAlways: names and URIs of several upstreams have prefixes, and every name
// reaches its upstream.
func TestAlways(t *testing.T) {
	t.Parallel()
	a, b := newServer("a", "echo", "one", "task"), newServer("B_2", "two", "echo")
	a.prompts, a.uris, b.uris = []string{"greet"}, []string{"x:1", "x:2"}, []string{"x:2", "b://3"}
	m := start(t, config(b, a))
	for _, tt := range []struct{ method, params, want string }{
		{protocol.MethodCallTool, `{"name":"B_2_echo"}`, `{"said":"B_2: tool echo"}`}, // before any list
		{protocol.MethodListTools, `{}`, `{"tools":[` + strings.Join([]string{
			tool("B_2_two", "B_2"), tool("B_2_echo", "B_2"), tool("a_echo", "a"), tool("a_one", "a"), tool("a_task", "a"),
		}, ",") + `]}`},
		{protocol.MethodListTools, `{"cursor":"x"}`, "params.cursor is not one that tools/list has returned: there is one page (code -32602)"},
		{protocol.MethodCallTool, `{"name":"a_echo","arguments":{"a":1.0}}`, `{"said":"a: tool echo"}`},
		{protocol.MethodCallTool, `{"name":"a_\u0065cho"}`, `{"said":"a: tool echo"}`},
		{protocol.MethodCallTool, `{"name":"a_not_listed"}`, `{"said":"a: tool not_listed"}`},
		{protocol.MethodCallTool, `{"name":"echo"}`, `there is no tool "echo"; did you mean "B_2_echo" or "a_echo"? tools/list names all of them (code -32602)`},
		{protocol.MethodCallTool, `{"name":"c_echo"}`, `there is no tool "c_echo"; did you mean "a_echo"? tools/list names all of them (code -32602)`},
		{protocol.MethodCallTool, `{}`, `params.name must be a string (code -32602)`},
		{protocol.MethodListPrompts, `{}`, `{"prompts":[{"name":"a_greet"}]}`},
		{protocol.MethodGetPrompt, `{"name":"a_greet"}`, `{"said":"a: prompt greet"}`},
		{protocol.MethodGetPrompt, `{"name":"x"}`, `there is no prompt "x"; prompts/list names those there are (code -32602)`},
		{protocol.MethodListResources, `{}`, `{"resources":[{"uri":"b-2+x:2","name":"B_2"},{"uri":"b-2+b://3","name":"B_2"},{"uri":"a+x:1","name":"a"},{"uri":"a+x:2","name":"a"}]}`},
		{protocol.MethodListTemplates, `{}`, `{"resourceTemplates":[{"uriTemplate":"b-2+B_2://{id}","name":"x"},{"uriTemplate":"a+a://{id}","name":"x"}]}`},
		{protocol.MethodReadResource, `{"uri":"a+x:2"}`, `{"contents":[{"uri":"a+x:2","text":"x:2"}]}`},
		{protocol.MethodReadResource, `{"uri":"a+a://1"}`, `{"contents":[{"uri":"a+a://1","text":"a://1"}]}`},
		{protocol.MethodReadResource, `{"uri":"a+x:9"}`, `no such resource (code -32602)`},
		{protocol.MethodReadResource, `{"uri":"x:1"}`, `there is no resource "x:1" (code -32602)`},
		{protocol.MethodComplete, `{"ref":{"type":"ref/prompt","name":"a_greet"}}`, `{"said":"a: greet"}`},
		{protocol.MethodComplete, `{"ref":{"type":"ref/resource","uri":"a+a://{id}"}}`, `{"said":"a: a://{id}"}`},
		{protocol.MethodComplete, `{"ref":{"type":"ref/prompt","name":"none"}}`, `there is no prompt "none"; prompts/list names those there are (code -32602)`},
		{protocol.MethodComplete, `{"ref":{}}`, `params.ref must name a prompt, or a resource or resource template by its uri (code -32602)`},
		{protocol.MethodComplete, `{}`, `params.ref must be an object that names a prompt or a resource template (code -32602)`},
		{protocol.MethodGetTask, `{"taskId":"7"}`, `there is no task "7" (code -32602)`},
		{protocol.MethodListTasks, `{}`, `method "tasks/list" is not available (code -32601)`},
		{"x/custom", `{}`, `method "x/custom" is not available (code -32601)`},
		{protocol.MethodDiscover, `{}`, `{"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],` +
			`"capabilities":{"logging":{},"tools":{"listChanged":true},"x-B_2":{},"x-a":{}},"instructions":"B_2: Use B_2.\n\na: Use a."}`},
	} {
		if got := ask(t, m, tt.method, tt.params); got != tt.want {
			t.Errorf("%s %s:\ngot  %s\nwant %s", tt.method, tt.params, got, tt.want)
		}
	}
	if got := string(a.last(protocol.MethodCallTool).Params); got != `{"name":"not_listed"}` {
		t.Errorf("the upstream got %s", got)
	}
	res, err := m.Handle(t.Context(), request(protocol.MethodListTools, `{}`), protocol.Discard)
	if err != nil || *res.Cache != (protocol.Cache{TTLMillis: 60_000}) || res.Meta != nil || string(res.Server) != `{"name":"mux"}` {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestAlone: one upstream is untouched by the Mux.
func TestAlone(t *testing.T) {
	t.Parallel()
	a := newServer("a", "echo", "one", "task")
	a.uris = []string{"HTTP://x/%7e/../1"}
	m := start(t, config(a))
	for _, tt := range []struct{ method, params, want string }{
		{protocol.MethodListTools, `{}`, `{"tools":[` + tool("echo", "a") + "," + tool("one", "a") + `],"nextCursor":"2"}`},
		{protocol.MethodListTools, `{"cursor":"2"}`, `{"tools":[` + tool("task", "a") + `]}`},
		{protocol.MethodCallTool, `{ "name": "echo", "other": [1.0] }`, `{"said":"a: tool echo"}`},
		{protocol.MethodReadResource, `{"uri":"HTTP://x/%7e/../1"}`, `{"contents":[{"uri":"HTTP://x/%7e/../1","text":"HTTP://x/%7e/../1"}]}`},
		{protocol.MethodListPrompts, `{}`, `method "prompts/list" is not available (code -32601)`},
		{"x/custom", `{"a":1.0}`, `{"said":"a: custom {"a":1.0}"}`},
	} {
		if got := ask(t, m, tt.method, tt.params); got != tt.want {
			t.Errorf("%s %s:\ngot  %s\nwant %s", tt.method, tt.params, got, tt.want)
		}
	}
	if got := string(a.last(protocol.MethodCallTool).Params); got != `{ "name": "echo", "other": [1.0] }` {
		t.Errorf("the upstream got %s", got)
	}
	res, err := m.Handle(t.Context(), request(protocol.MethodDiscover, `{}`), protocol.Discard)
	if err != nil || string(res.Server) != `{"name":"a"}` || res.Cache.TTLMillis != 7 {
		t.Errorf("%+v, %v", res, err)
	}
	s := hear(t, m, request(protocol.MethodListen, `{"notifications":{"toolsListChanged":true,"x":{"y":1}}}`))
	s.next(acknowledged + `{"notifications":{"toolsListChanged":true,"x":{"y":1}}}`)
	if got := <-a.listens; got != `{"toolsListChanged":true,"x":{"y":1}}` {
		t.Errorf("the upstream hears of %s", got)
	}
	a.notify <- &protocol.Notification{Method: "notifications/x", Params: json.RawMessage(`{"a":1}`)}
	s.next(`notifications/x{"a":1}`)
}

// TestNever: names stay as they are, and a name that two upstreams list is served by
// neither.
func TestNever(t *testing.T) {
	t.Parallel()
	a, b := newServer("a", "one", "both"), newServer("b", "two", "both")
	a.uris, b.uris = []string{"file:///a/1", "other:1"}, []string{"file:///b/1"}
	cfg := config(a, b)
	cfg.Prefix = PrefixNever
	cfg.Upstreams[0].Resources = []string{"file:///a/"}
	cfg.Upstreams[1].Resources = []string{"file:///", "b:"}
	m := start(t, cfg)
	for _, tt := range []struct{ method, params, want string }{
		{protocol.MethodCallTool, `{"name":"two"}`, `{"said":"b: tool two"}`}, // before any list
		{protocol.MethodCallTool, `{"name":"both"}`, `there is no tool "both"; tools/list names those there are (code -32602)`},
		{protocol.MethodListTools, `{}`, `{"tools":[` + tool("one", "a") + "," + tool("two", "b") + `]}`},
		{protocol.MethodListResources, `{}`, `{"resources":[{"uri":"file:///a/1","name":"a"},{"uri":"file:///b/1","name":"b"}]}`},
		{protocol.MethodReadResource, `{"uri":"file:///a/1"}`, `{"contents":[{"uri":"file:///a/1","text":"file:///a/1"}]}`},
		{protocol.MethodReadResource, `{"uri":"file:///b/1"}`, `{"contents":[{"uri":"file:///b/1","text":"file:///b/1"}]}`},
		{protocol.MethodReadResource, `{"uri":"b://7"}`, `{"contents":[{"uri":"b://7","text":"b://7"}]}`},
		{protocol.MethodReadResource, `{"uri":"other:1"}`, `there is no resource "other:1" (code -32602)`},
		{protocol.MethodReadResource, `{"uri":"file:///a/../b/1"}`, `the URI "file:///a/../b/1" is not in the normal form of RFC 3986, section 6.2.2 (code -32602)`},
	} {
		if got := ask(t, m, tt.method, tt.params); got != tt.want {
			t.Errorf("%s %s:\ngot  %s\nwant %s", tt.method, tt.params, got, tt.want)
		}
	}
	ask(t, m, protocol.MethodListTemplates, `{}`)
	want := "a: tool both is listed by another upstream too; resource other:1 is not claimed by this upstream; resource template a://{id} is not claimed by this upstream"
	if st := m.Status()[0]; "a: "+strings.Join(st.Faults, "; ") != want || st.Tools != 2 || st.Resources != 1 || !st.Up {
		t.Errorf("%+v", st)
	}
}

// TestUnavailable: an upstream that is down takes nothing else with it, its calls say
// so, and it comes back by itself.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	a, b := newServer("a", "one"), newServer("b", "two")
	b.setDown(true)
	m := start(t, config(a, b))
	if down := m.Ready(t.Context()); len(down) != 1 || !errors.Is(down["b"], errDown) {
		t.Errorf("down: %v", down)
	}
	s := hear(t, m, request(protocol.MethodListen, `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["b+x:1"]}}`))
	s.next(acknowledged + `{"notifications":{"toolsListChanged":true}}`)
	res, err := m.Handle(t.Context(), request(protocol.MethodListTools, `{}`), protocol.Discard)
	if err != nil || string(res.Body) != `{"tools":[`+tool("a_one", "a")+`]}` || string(res.Meta) != `{"io.github.mcp-bridge/unavailable":["b"]}` || res.Cache.TTLMillis != 0 {
		t.Errorf("%+v, %v", res, err)
	}
	if got, want := ask(t, m, protocol.MethodCallTool, `{"name":"b_two"}`), "upstream b: the server is unavailable"; !strings.HasPrefix(got, want) {
		t.Error(got)
	}
	b.setDown(false)
	s.next(protocol.NotificationToolsChanged)
	if got := <-b.listens; got != `{"resourceSubscriptions":["x:1"]}` {
		t.Errorf("b hears of %s", got)
	}
	if got := ask(t, m, protocol.MethodCallTool, `{"name":"b_two"}`); got != `{"said":"b: tool two"}` {
		t.Error(got)
	}
	b.notify <- &protocol.Notification{Method: protocol.NotificationResourceUpdated, Params: json.RawMessage(`{"uri":"x:1"}`)}
	s.next(protocol.NotificationResourceUpdated + `{"uri":"b+x:1"}`)

	b.setDown(true)
	if got := ask(t, m, protocol.MethodCallTool, `{"name":"b_two"}`); got != "upstream b: it is down" {
		t.Error(got)
	}
	s.next(protocol.NotificationToolsChanged)
	b.setDown(false)
	s.next(protocol.NotificationToolsChanged)
	if got := ask(t, m, protocol.MethodCallTool, `{"name":"b_two"}`); got != `{"said":"b: tool two"}` {
		t.Error(got)
	}
}

// TestAloneDown: an only upstream that is down is served as down.
func TestAloneDown(t *testing.T) {
	t.Parallel()
	a := newServer("a", "one")
	a.setDown(true)
	m := start(t, config(a))
	res, err := m.Handle(t.Context(), request(protocol.MethodDiscover, `{}`), protocol.Discard)
	if err != nil || !strings.Contains(string(res.Body), `"prompts":{"listChanged":true}`) || string(res.Meta) != `{"io.github.mcp-bridge/unavailable":["a"]}` {
		t.Errorf("%+v, %v", res, err)
	}
	res, err = m.Handle(t.Context(), request(protocol.MethodListTools, `{}`), protocol.Discard)
	if err != nil || string(res.Body) != `{"tools":[]}` || string(res.Meta) != `{"io.github.mcp-bridge/unavailable":["a"]}` || res.Cache.TTLMillis != 0 {
		t.Errorf("%+v, %v", res, err)
	}
	s := hear(t, m, request(protocol.MethodListen, `{"notifications":{"toolsListChanged":true}}`))
	s.next(acknowledged + `{"notifications":{"toolsListChanged":true}}`)
	a.setDown(false)
	s.next(protocol.NotificationToolsChanged)
	if got := toolNames(t, m, request(protocol.MethodListTools, `{}`)); got != "one" {
		t.Error(got)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	a := newServer("a")
	m := start(t, config(a))
	acked := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		_, err := m.Handle(context.Background(), request(protocol.MethodListen, `{"notifications":{}}`), protocol.NotifierFunc(func(context.Context, *protocol.Notification) error {
			close(acked)
			return nil
		}))
		done <- err
	}()
	<-acked
	m.EndSubscriptions()
	if err := <-done; err != nil {
		t.Error(err)
	}
	m.Close()
	m.Close()
	if a.closed != 1 {
		t.Errorf("closed %d times", a.closed)
	}
	if got := ask(t, m, protocol.MethodCallTool, `{"name":"one"}`); got != "the server is closing" {
		t.Error(got)
	}
	if err := m.Apply(config(a)); err == nil || err.Error() != "mux: it is closed" {
		t.Errorf("error %v", err)
	}
}

// TestCloseAll: all upstreams end at the same time.
func TestCloseAll(t *testing.T) {
	t.Parallel()
	var ending sync.WaitGroup
	ending.Add(3)
	var cfg Config
	for _, name := range []string{"a", "b", "c"} {
		cfg.Upstreams = append(cfg.Upstreams, Upstream{Name: name, Open: func(context.Context) (Server, error) {
			return &closing{newServer(name), func() { ending.Done(); ending.Wait() }}, nil
		}})
	}
	start(t, cfg).Close()
}

type closing struct {
	Server

	close func()
}

func (c *closing) Close() { c.close() }

func TestNew(t *testing.T) {
	t.Parallel()
	open := newServer("x").open
	for _, tt := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"nothing", Config{}, "mux: there is no upstream to serve"},
		{
			"names",
			Config{Upstreams: []Upstream{{Name: "a", Open: open}, {Name: "a.b", Open: open}, {Name: "a", Open: open}, {Name: "A", Open: open}, {Name: "c"}}},
			`mux: the name "a.b" of upstream 1 must have 1 to 32 letters, digits, _ and -` + "\n" +
				`two upstreams are called "a"` + "\n" +
				"the upstreams a and A have URIs that begin alike, with a+\n" +
				"upstream c has no Open",
		},
		{
			"one begins another",
			Config{Upstreams: []Upstream{{Name: "files_old", Open: open}, {Name: "files", Open: open}}},
			"mux: the upstream name files begins that of files_old: nobody could tell whose tool files_old_x is",
		},
		{
			"prefixes and claims",
			Config{Prefix: "some", Upstreams: []Upstream{{Name: "a", Open: open, Resources: []string{"x:"}}, {Name: "b", Open: open, Resources: []string{"x:", "y:"}, Prefix: "no"}}},
			"mux: prefix \"some\" is none of always and never\nupstream b: prefix \"no\" is none of always and never\nthe upstreams a and b both claim the resources x:",
		},
		{
			"tools",
			Config{Upstreams: []Upstream{{Name: "a", Open: open, Tools: Tools{
				Rename:   map[string]string{"x": "z", "y": "z"},
				Override: map[string]Override{"x": {Annotations: json.RawMessage(`[]`)}, "y": {Set: map[string]json.RawMessage{"t": nil}}},
			}}}},
			"mux: upstream a: the tools x and y are both renamed to z\nupstream a: the annotations of the tool x must be an object\nupstream a: the fixed argument t of the tool y is no JSON value",
		},
		{"rename", Config{Upstreams: []Upstream{{Name: "a", Open: open, Tools: Tools{Rename: map[string]string{"x": "ä"}}}}}, `mux: upstream a: the new name "ä" of the tool x must have 1 to 64 letters, digits, _, -, . and /`},
		{"keys", Config{Upstreams: []Upstream{{Name: "a", Open: open}}, Keys: [][]byte{{1}}}, "mux: seal: key 0 has 1 bytes; it needs 32"},
	} {
		if _, err := New(tt.cfg); err == nil || err.Error() != tt.want {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.name, err, tt.want)
		}
	}
}
