package mux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/toolname"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// TestTools: filters, new names, overrides and fixed arguments, by own names.
func TestTools(t *testing.T) {
	t.Parallel()
	for _, several := range []bool{false, true} {
		a := newServer("a", "keep", "purge_all", "old", "taken", "set")
		a.answer = func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
			if r.Method != protocol.MethodListTools {
				return nil, nil //nolint:nilnil // the server answers
			}
			return &protocol.Result{Cache: &protocol.Cache{TTLMillis: 1000}, Body: json.RawMessage(`{"tools":[{"name":"keep"},{"name":"purge_all"},{"name":"old"},{"name":"taken"},{"name":"zzz"},` +
				`{"name":"set","title":"T","description":"D","inputSchema":{"type":"object","properties":{"tenant":{},"id":{}},"required":["tenant","id"]},"annotations":{"title":"T","readOnlyHint":false},"x":1.0}]}`)}, nil
		}
		cfg, prefix := config(a), ""
		if several {
			cfg, prefix = config(a, newServer("b")), "a_"
		}
		cfg.Upstreams[0].Tools = Tools{
			Include: []string{"*e*", "o?d", "purge_*"}, Exclude: []string{"purge_*"},
			Rename: map[string]string{"old": "taken"},
			Override: map[string]Override{"set": {
				Title: "Title", Description: "Says", Annotations: json.RawMessage(`{"readOnlyHint":true}`),
				Set: map[string]json.RawMessage{"tenant": json.RawMessage(`"acme"`)},
			}},
		}
		m := start(t, cfg)
		list := ask(t, m, protocol.MethodListTools, `{}`)
		want := strings.ReplaceAll(`{"tools":[{"name":"%keep"},{"name":"%taken"},`+
			`{"name":"%set","title":"Title","description":"Says","inputSchema":{"type":"object","properties":{"id":{}},"required":["id"]},"annotations":{"title":"Title","readOnlyHint":true},"x":1.0}]}`, "%", prefix)
		if list != want {
			t.Errorf("several: %t: lists\n%s\nwant\n%s", several, list, want)
		}
		for _, tt := range []struct{ params, want, sent string }{
			{`{"name":"%keep"}`, `{"said":"a: tool keep"}`, `{"name":"keep"}`},
			{`{"name":"%taken"}`, `{"said":"a: tool old"}`, `{"name":"old"}`},
			{`{"name":"%old"}`, `there is no tool "%old"; tools/list names those there are (code -32602)`, ""},
			{`{"name":"%purge_all"}`, `there is no tool "%purge_all"; tools/list names those there are (code -32602)`, ""},
			{`{"name":"%zzz"}`, `there is no tool "%zzz"; tools/list names those there are (code -32602)`, ""},
			{`{"name":"%set","arguments":{"id":1.0}}`, `{"said":"a: tool set"}`, `{"name":"set","arguments":{"id":1.0,"tenant":"acme"}}`},
			{`{"name":"%set"}`, `{"said":"a: tool set"}`, `{"name":"set","arguments":{"tenant":"acme"}}`},
			{`{"name":"%set","arguments":{"tenant":"acme"}}`, `The argument \"tenant\" is fixed for this tool and must be left out. Nothing was called.`, ""},
			{`{"name":"%set","arguments":{"t\u0065nant":"x"}}`, `The argument \"tenant\" is fixed`, ""},
			{`{"name":"%set","arguments":{"Tenant":"x"}}`, `The argument \"Tenant\" is fixed`, ""},
			{`{"name":"%set","arguments":{"id":1,"id":2}}`, `params.arguments: at byte 8: member "id" occurs twice (code -32602)`, ""},
			{`{"name":"%set","arguments":[]}`, `params.arguments: at byte 0: want an object, got '[' (code -32602)`, ""},
		} {
			before := a.count(protocol.MethodCallTool)
			got := ask(t, m, protocol.MethodCallTool, strings.ReplaceAll(tt.params, "%", prefix))
			if !strings.Contains(got, strings.ReplaceAll(tt.want, "%", prefix)) {
				t.Errorf("several: %t: %s:\ngot  %s\nwant %s", several, tt.params, got, tt.want)
			}
			called := a.count(protocol.MethodCallTool) > before
			if called != (tt.sent != "") || called && string(a.last(protocol.MethodCallTool).Params) != tt.sent {
				t.Errorf("several: %t: %s: called: %t, %s", several, tt.params, called, a.last(protocol.MethodCallTool).Params)
			}
		}
	}
}

// TestFixedFields: a fixed argument of an RPC is refused in every spelling of its
// field, and what is sent has it once.
func TestFixedFields(t *testing.T) {
	t.Parallel()
	a := newServer("a", "Get")
	up := &resolving{server: a, resolve: func(_ context.Context, r *protocol.Request) (*protocol.Resolution, error) {
		return &protocol.Resolution{RPC: "x.Get", Message: func() (json.RawMessage, *protocol.Request, error) {
			var p struct{ Arguments map[string]any }
			if err := json.Unmarshal(r.Params, &p); err != nil {
				return nil, nil, err
			}
			message := `{}`
			if v, ok := p.Arguments["[ext.tenant_alias]"]; ok { // another way to write tenantId
				message = fmt.Sprintf(`{"tenantId":%q}`, v)
			}
			if p.Arguments["bad"] != nil {
				return nil, nil, errors.New("bad is no field")
			}
			own := *r
			own.Params = mcpjson.Set(r.Params, "arguments", []byte(message))
			return json.RawMessage(message), &own, nil
		}}, nil
	}}
	m := start(t, Config{Upstreams: []Upstream{{
		Name: "a", Probe: -1, Open: func(context.Context) (Server, error) { return up, nil },
		Tools: Tools{Override: map[string]Override{"Get": {Set: map[string]json.RawMessage{"tenant_id": json.RawMessage(`"acme"`)}}}},
	}}})
	for _, tt := range []struct{ arguments, want string }{
		{`{"tenant_id":"x"}`, `The argument \"tenant_id\" is fixed`},
		{`{"tenantId":"x"}`, `The argument \"tenantId\" is fixed`},
		{`{"tenantid":"x"}`, `The argument \"tenantid\" is fixed`},
		{`{"[ext.tenant_alias]":"x"}`, `The argument \"tenantId\" is fixed`},
		{`{"bad":1}`, `{"content":[{"type":"text","text":"bad is no field"}],"isError":true}`},
		{`{"other":1}`, `{"said":"a: tool Get"}`},
	} {
		if got := ask(t, m, protocol.MethodCallTool, `{"name":"Get","arguments":`+tt.arguments+`}`); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.arguments, got, tt.want)
		}
	}
	if n := a.count(protocol.MethodCallTool); n != 1 || string(a.last(protocol.MethodCallTool).Params) != `{"name":"Get","arguments":{"tenant_id":"acme"}}` {
		t.Errorf("%d calls, %s", n, a.last(protocol.MethodCallTool).Params)
	}
}

// TestLongNames: a long name keeps its head, gets a hash, and is found.
func TestLongNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", toolname.MaxBytes)
	a, b := newServer("a", long, long+"y"), newServer("b", long)
	m := start(t, config(a, b))
	const want = "a_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_"
	public, _ := toolname.New("b_", nil, nil, nil).Public(long)
	if got := ask(t, m, protocol.MethodCallTool, `{"name":"`+public+`"}`); got != `{"said":"b: tool `+long+`"}` {
		t.Errorf("before any list: %s", got)
	}
	for i, name := range strings.Fields(toolNames(t, m, request(protocol.MethodListTools, `{}`))) {
		own := []string{"a: tool " + long, "a: tool " + long + "y", "b: tool " + long}[i]
		if len(name) != toolname.MaxBytes || i < 2 && !strings.HasPrefix(name, want) {
			t.Errorf("name %s", name)
		}
		if got := ask(t, m, protocol.MethodCallTool, `{"name":"`+name+`"}`); got != `{"said":"`+own+`"}` {
			t.Error(got)
		}
	}
	if n := a.count(protocol.MethodListTools) + b.count(protocol.MethodListTools); n > 4 { // once each, and once more where the subscription began meanwhile
		t.Errorf("%d lists", n)
	}
}

// TestAuthenticated: where callers are authenticated, names that are not listed are
// unknown.
func TestAuthenticated(t *testing.T) {
	t.Parallel()
	a := newServer("a", "one")
	cfg := config(a, newServer("b"))
	cfg.Authenticated = true
	m := start(t, cfg)
	for _, tt := range []struct{ name, want string }{
		{"a_one", `{"said":"a: tool one"}`},
		{"a_two", `there is no tool "a_two"; tools/list names those there are (code -32602)`},
	} {
		if got := do(t, m, from(alice, protocol.MethodCallTool, `{"name":"`+tt.name+`"}`)); got != tt.want {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}

// TestRewrite: URIs get their prefix wherever they name a resource, and nowhere else.
func TestRewrite(t *testing.T) {
	t.Parallel()
	a := newServer("a")
	body := ""
	a.answer = func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		if body == "" || r.Method == protocol.MethodDiscover {
			return nil, nil //nolint:nilnil // the server answers
		}
		return &protocol.Result{Body: json.RawMessage(body)}, nil
	}
	m := start(t, config(a, newServer("b")))
	for _, tt := range []struct{ method, params, body, want string }{
		{
			protocol.MethodCallTool, `{"name":"a_x"}`,
			`{"content":[{"type":"text","text":"x:1"},{"type":"resource_link","uri":"x:1","y":1.0},{"type":"resource","resource":{"uri":"x:2","text":"\"uri\":\"x:3\""}},{"type":"z","uri":"x:4"}],"structuredContent":{"uri":"x:5"}}`,
			`{"content":[{"type":"text","text":"x:1"},{"type":"resource_link","uri":"a+x:1","y":1.0},{"type":"resource","resource":{"uri":"a+x:2","text":"\"uri\":\"x:3\""}},{"type":"z","uri":"x:4"}],"structuredContent":{"uri":"x:5"}}`,
		},
		{
			protocol.MethodCallTool, `{"name":"a_x"}`,
			`{"content":[{"type":"resource_link","\u0075ri":"x:1"}]}`, `{"content":[{"type":"resource_link","uri":"a+x:1"}]}`,
		},
		{
			protocol.MethodGetPrompt, `{"name":"a_x"}`,
			`{"messages":[{"role":"user","content":{"type":"resource_link","uri":"x:1"}},{"role":"user","content":[{"type":"resource","resource":{"uri":"x:2"}}]}]}`,
			`{"messages":[{"role":"user","content":{"type":"resource_link","uri":"a+x:1"}},{"role":"user","content":[{"type":"resource","resource":{"uri":"a+x:2"}}]}]}`,
		},
		{protocol.MethodReadResource, `{"uri":"a+x:1"}`, `{"contents":[{"uri":"x:1","text":"x:1"},{"uri":"x:1/2"}]}`, `{"contents":[{"uri":"a+x:1","text":"x:1"},{"uri":"a+x:1/2"}]}`},
	} {
		body = tt.body
		if got := ask(t, m, tt.method, tt.params); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.method, got, tt.want)
		}
	}
}

// TestView: an endpoint shows some of the upstreams and tools, and follows changes.
func TestView(t *testing.T) {
	t.Parallel()
	a, b := newServer("a", "search_x", "other"), newServer("b", "two")
	m := start(t, config(a, b))
	v := m.View(Endpoint{Name: "support", Upstreams: []string{"a", "c"}, Include: []string{"a_search_*", "c_*"}})
	if got := toolNames(t, v, request(protocol.MethodListTools, `{}`)); got != "a_search_x" {
		t.Errorf("lists %s", got)
	}
	for _, tt := range []struct{ method, params, want string }{
		{protocol.MethodCallTool, `{"name":"a_search_x"}`, `{"said":"a: tool search_x"}`},
		{protocol.MethodCallTool, `{"name":"a_other"}`, `there is no tool "a_other"; tools/list names those there are (code -32602)`},
		{protocol.MethodCallTool, `{"name":"b_two"}`, `there is no tool "b_two"; tools/list names those there are (code -32602)`},
		{protocol.MethodReadResource, `{"uri":"b+b://1"}`, `there is no resource "b+b://1" (code -32602)`},
		{protocol.MethodDiscover, `{}`, `"instructions":"a: Use a."}`},
	} {
		if got := ask(t, v, tt.method, tt.params); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.params, got, tt.want)
		}
	}
	cfg := config(a, newServer("c", "three"))
	if err := m.Apply(cfg); err != nil {
		t.Fatal(err)
	}
	m.Ready(t.Context())
	if got := toolNames(t, v, request(protocol.MethodListTools, `{}`)); got != "a_search_x c_three" {
		t.Errorf("lists %s", got)
	}
	alone := start(t, config(newServer("a", "one", "two", "three")))
	v = alone.View(Endpoint{Name: "x", Exclude: []string{"t*"}})
	if got := ask(t, v, protocol.MethodListTools, `{}`); got != `{"tools":[`+tool("one", "a")+`],"nextCursor":"2"}` {
		t.Error(got)
	}
	if got := ask(t, alone.View(Endpoint{Upstreams: []string{"z"}}), protocol.MethodListTools, `{}`); got != `{"tools":[]}` {
		t.Error(got)
	}
}

// TestOwnNames: a program that knows an upstream by itself sees it under its own
// names, and what is configured and decided holds for it too.
func TestOwnNames(t *testing.T) {
	t.Parallel()
	a := newServer("a", "GetBook", "DeleteBook", "task", "Hidden", "Taken")
	a.prompts, a.uris = []string{"greet"}, []string{"x:open", "x:secret"}
	g := noDeletes()
	cfg := config(a, newServer("b", "GetBook"))
	cfg.Guard = g
	cfg.Upstreams[0].Tools = Tools{
		Exclude: []string{"Hidden"}, Rename: map[string]string{"GetBook": "read", "task": "Taken"},
		Override: map[string]Override{"GetBook": {Set: map[string]json.RawMessage{"tenant": json.RawMessage(`"acme"`)}}},
	}
	m := start(t, cfg)
	own := m.OwnNames("a")
	if got, want := toolNames(t, own, from(alice, protocol.MethodListTools, `{}`)), "GetBook"; got != want {
		t.Errorf("tools %q, want %q", got, want)
	}
	unknownTool := func(name string) string {
		return `there is no tool "` + name + `"; tools/list names those there are (code -32602)`
	}
	if got, want := toolNames(t, own, from(alice, protocol.MethodListTools, `{"cursor":"2"}`)), "task"; got != want {
		t.Errorf("tools %q, want %q", got, want)
	}
	g.take()
	for _, tt := range []struct{ method, params, want, decided string }{
		{protocol.MethodCallTool, `{"name":"GetBook"}`, `{"said":"a: tool GetBook"}`, "tool a GetBook a_read "},
		{protocol.MethodCallTool, `{"name":"GetBook","arguments":{"tenant":"x"}}`, `is fixed for this tool`, ""},
		{protocol.MethodCallTool, `{"name":"a_read"}`, unknownTool("a_read"), ""},
		{protocol.MethodCallTool, `{"name":"read"}`, unknownTool("read"), ""},
		{protocol.MethodCallTool, `{"name":"Hidden"}`, unknownTool("Hidden"), ""},
		{protocol.MethodCallTool, `{"name":"Taken"}`, unknownTool("Taken"), ""},
		{protocol.MethodCallTool, `{"name":"DeleteBook"}`, unknownTool("DeleteBook"), "tool a DeleteBook a_DeleteBook "},
		{protocol.MethodGetPrompt, `{"name":"greet"}`, `{"said":"a: prompt greet"}`, "prompt a greet a_greet "},
		{protocol.MethodComplete, `{"ref":{"type":"ref/prompt","name":"greet"}}`, `{"said":"a: greet"}`, "completion a greet a_greet "},
		{protocol.MethodReadResource, `{"uri":"x:open"}`, `{"contents":[{"uri":"x:open","text":"x:open"}]}`, "resource a x:open a+x:open "},
		{protocol.MethodReadResource, `{"uri":"x:secret"}`, `there is no resource "x:secret" (code -32602)`, "resource a x:secret a+x:secret "},
	} {
		var decided []string
		if tt.decided != "" {
			decided = []string{tt.decided}
		}
		if got := do(t, own, from(alice, tt.method, tt.params)); !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: %s, want %s", tt.method, tt.params, got, tt.want)
		}
		if got := g.take(); !slices.Equal(got, decided) {
			t.Errorf("%s %s: decided %q, want %q", tt.method, tt.params, got, decided)
		}
	}
	// Tasks are the view's own.
	id := memberOf(t, do(t, own, from(alice, protocol.MethodCallTool, `{"name":"task"}`)), "taskId")
	if got := do(t, own, from(alice, protocol.MethodGetTask, `{"taskId":"`+id+`"}`)); !strings.Contains(got, "completed") {
		t.Errorf("the task is %s", got)
	}
	if got := do(t, m, from(alice, protocol.MethodGetTask, `{"taskId":"`+id+`"}`)); !strings.Contains(got, "there is no task") {
		t.Errorf("elsewhere, the task is %s", got)
	}
	if got, want := g.take(), []string{"tool a task a_Taken ", "task a task a_Taken "}; !slices.Equal(got, want) {
		t.Errorf("decided %q, want %q", got, want)
	}
	// What is configured later counts, and an upstream that is down is an error.
	cfg.Upstreams[0].Tools = Tools{}
	if err := m.Apply(cfg); err != nil {
		t.Fatal(err)
	}
	if got, want := toolNames(t, own, from(alice, protocol.MethodListTools, `{"cursor":"2"}`)), "task Hidden"; got != want {
		t.Errorf("tools %q, want %q", got, want)
	}
	a.setDown(true)
	if got := do(t, own, from(alice, protocol.MethodListTools, `{}`)); !strings.Contains(got, "it is down") {
		t.Errorf("tools of an upstream that is down: %s", got)
	}
	if err := m.Apply(config(newServer("c"))); err != nil {
		t.Fatal(err)
	}
	if got := do(t, own, from(alice, protocol.MethodCallTool, `{"name":"GetBook"}`)); got != unknownTool("GetBook") {
		t.Errorf("a call of an upstream that is gone: %s", got)
	}
}
