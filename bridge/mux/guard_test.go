package mux

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// rules is a Guard of functions. It remembers what it was asked.
type rules struct {
	decide func(a *protocol.Access) protocol.Decision
	hides  func(p *protocol.Principal, t *protocol.Target) bool

	mu    sync.Mutex
	asked []string
}

func (g *rules) Decide(_ context.Context, a *protocol.Access) protocol.Decision {
	t := a.Target
	g.mu.Lock()
	g.asked = append(g.asked, strings.Join([]string{string(t.Kind), t.Upstream, t.Name, t.PublicName, t.RPC}, " "))
	g.mu.Unlock()
	if g.decide == nil {
		return protocol.Decision{Allow: true}
	}
	return g.decide(a)
}

func (g *rules) Visible(_ context.Context, p *protocol.Principal, targets []*protocol.Target) []bool {
	shown := make([]bool, len(targets))
	for i, t := range targets {
		shown[i] = g.hides == nil || !g.hides(p, t)
	}
	return shown
}

func (g *rules) take() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	asked := g.asked
	g.asked = nil
	return asked
}

// noDeletes refuses what deletes books, and hides it.
func noDeletes() *rules {
	refused := func(t *protocol.Target) bool {
		return t.Name == "DeleteBook" || t.Name == "x:secret" || t.Name == "secret" || t.Name == "a://{id}"
	}
	return &rules{
		decide: func(a *protocol.Access) protocol.Decision {
			arguments, err := a.Arguments()
			return protocol.Decision{Allow: err == nil && !refused(a.Target) && string(arguments) != `{"no":1}`}
		},
		hides: func(_ *protocol.Principal, t *protocol.Target) bool { return refused(t) },
	}
}

// TestGuard: no spelling and no detour gets around the guard, and what it refuses
// looks like a missing name.
func TestGuard(t *testing.T) {
	t.Parallel()
	for _, several := range []bool{false, true} {
		a := newServer("a", "GetBook", "DeleteBook", "task")
		a.prompts, a.uris = []string{"greet", "secret"}, []string{"x:open", "x:secret"}
		g := noDeletes()
		cfg := config(a)
		prefix, scheme := "", ""
		if several {
			cfg, prefix, scheme = config(a, newServer("b")), "a_", "a+"
		}
		cfg.Guard = g
		m := start(t, cfg)
		found := search(m)
		unknownTool := func(name string) string {
			return `there is no tool "` + name + `"; tools/list names those there are (code -32602)`
		}
		unknownPrompt := func(name string) string {
			return `there is no prompt "` + name + `"; prompts/list names those there are (code -32602)`
		}
		for _, tt := range []struct {
			name           string
			handler        protocol.Handler
			method, params string
			want           string
		}{
			{"allowed", m, protocol.MethodCallTool, `{"name":"%GetBook"}`, `{"said":"a: tool GetBook"}`},
			{"refused", m, protocol.MethodCallTool, `{"name":"%DeleteBook"}`, unknownTool(prefix + "DeleteBook")},
			{"unknown", m, protocol.MethodCallTool, `{"name":"%Nothing"}`, unknownTool(prefix + "Nothing")},
			{"escaped", m, protocol.MethodCallTool, `{"name":"%Delete\u0042ook"}`, unknownTool(prefix + "DeleteBook")},
			{"escaped member", m, protocol.MethodCallTool, `{"n\u0061me":"%DeleteBook"}`, unknownTool(prefix + "DeleteBook")},
			{"duplicate name", m, protocol.MethodCallTool, `{"name":"%GetBook","name":"%DeleteBook"}`, `params: at byte 18: member "name" occurs twice (code -32602)`},
			{"escaped duplicate", m, protocol.MethodCallTool, `{"name":"%GetBook","arguments":{"a":[{"b":1,"\u0062":2}]}}`, `occurs twice (code -32602)`},
			{"call_tool", found, protocol.MethodCallTool, `{"name":"call_tool","arguments":{"name":"%DeleteBook"}}`, unknownTool(prefix + "DeleteBook")},
			{"call_tool, escaped", found, protocol.MethodCallTool, `{"name":"call_tool","arguments":{"name":"%Delete\u0042ook"}}`, unknownTool(prefix + "DeleteBook")},
			{"call_tool, unknown", found, protocol.MethodCallTool, `{"name":"call_tool","arguments":{"name":"%Nothing"}}`, unknownTool(prefix + "Nothing")},
			{"call_tool, refused though shown", found, protocol.MethodCallTool, `{"name":"call_tool","arguments":{"name":"%task","arguments":{"no":1}}}`, unknownTool(prefix + "task")},
			{"call_tool, allowed", found, protocol.MethodCallTool, `{"name":"call_tool","arguments":{"name":"%GetBook"}}`, `{"said":"a: tool GetBook"}`},
			{"describe_tool", found, protocol.MethodCallTool, `{"name":"describe_tool","arguments":{"name":"%DeleteBook"}}`, unknownTool(prefix + "DeleteBook")},
			{"describe_tool, unknown", found, protocol.MethodCallTool, `{"name":"describe_tool","arguments":{"name":"%Nothing"}}`, unknownTool(prefix + "Nothing")},
			{"describe_tool, shown", found, protocol.MethodCallTool, `{"name":"describe_tool","arguments":{"name":"%GetBook"}}`, `"structuredContent":{"name":"` + prefix + `GetBook"`},
			{"search_tools", found, protocol.MethodCallTool, `{"name":"search_tools","arguments":{}}`, `"total":2}`},
			{"prompt", m, protocol.MethodGetPrompt, `{"name":"%secret"}`, unknownPrompt(prefix + "secret")},
			{"unknown prompt", m, protocol.MethodGetPrompt, `{"name":"%nothing"}`, unknownPrompt(prefix + "nothing")},
			{"completion", m, protocol.MethodComplete, `{"ref":{"type":"ref/prompt","name":"%secret"}}`, unknownPrompt(prefix + "secret")},
			{"completion of a template", m, protocol.MethodComplete, `{"ref":{"type":"ref/resource","uri":"+a://{id}"}}`, errNoReference.Error()},
			{"completion of an unknown template", m, protocol.MethodComplete, `{"ref":{"type":"ref/resource","uri":"+a://{other}"}}`, errNoReference.Error()},
			{"completion of a resource", m, protocol.MethodComplete, `{"ref":{"type":"ref/resource","uri":"+x:open"}}`, `{"said":"a: x:open"}`},
			{"resource", m, protocol.MethodReadResource, `{"uri":"+x:secret"}`, `there is no resource "` + scheme + `x:secret" (code -32602)`},
			{"unknown resource", m, protocol.MethodReadResource, `{"uri":"+x:nothing"}`, `there is no resource "` + scheme + `x:nothing" (code -32602)`},
			{"escaped resource", m, protocol.MethodReadResource, `{"uri":"+x:s%65cret"}`, `the URI "` + scheme + `x:s%65cret" is not in the normal form of RFC 3986, section 6.2.2 (code -32602)`},
			{"dots", m, protocol.MethodReadResource, `{"uri":"+x:y/../secret"}`, `the URI "` + scheme + `x:y/../secret" is not in the normal form of RFC 3986, section 6.2.2 (code -32602)`},
			{"upper case", m, protocol.MethodReadResource, `{"uri":"+X:secret"}`, `is not in the normal form`},
			{"task of nobody", m, protocol.MethodGetTask, `{"taskId":"a.t.1"}`, `there is no task "a.t.1" (code -32602)`},
			{"extension", m, "x/custom", `{}`, `method "x/custom" is not available (code -32601)`},
			{"list", m, protocol.MethodListPrompts, `{}`, `{"prompts":[{"name":"` + prefix + `greet"}]}`},
			{"resources", m, protocol.MethodListResources, `{}`, `{"resources":[{"uri":"` + scheme + `x:open","name":"a"}`},
		} {
			params := strings.ReplaceAll(strings.ReplaceAll(tt.params, "%6", "\x00"), "%", prefix)
			params = strings.ReplaceAll(strings.ReplaceAll(params, `"+`, `"`+scheme), "\x00", "%6")
			if tt.name == "duplicate name" && several {
				tt.want = `occurs twice (code -32602)`
			}
			if got := do(t, tt.handler, from(alice, tt.method, params)); !strings.Contains(got, tt.want) {
				t.Errorf("%s (several: %t):\ngot  %s\nwant %s", tt.name, several, got, tt.want)
			}
		}
		for _, r := range a.seen {
			if strings.Contains(string(r.Params), "secret") || strings.Contains(string(r.Params), "Delete") {
				t.Errorf("the upstream got %s %s", r.Method, r.Params)
			}
		}
	}
}

// TestGuardListen: each URI and each task of a subscription is decided.
func TestGuardListen(t *testing.T) {
	t.Parallel()
	a := newServer("a", "task", "DeleteBook")
	g := noDeletes()
	cfg := config(a, newServer("b"))
	cfg.Guard = g
	m := start(t, cfg)
	id := memberOf(t, do(t, m, from(alice, protocol.MethodCallTool, `{"name":"a_task"}`)), "taskId")
	foreign := memberOf(t, do(t, m, from(bob, protocol.MethodCallTool, `{"name":"a_task"}`)), "taskId")
	g.take()
	s := hear(t, m, from(alice, protocol.MethodListen, `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a+x:open","a+x:secret","a+x:s%65cret","c+x:1"],"taskIds":["`+id+`","`+foreign+`","t.1"]}}`))
	s.next(acknowledged + `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a+x:open"],"taskIds":["` + id + `"]}}`)
	if got := <-a.listens; got != `{"resourceSubscriptions":["x:open"],"taskIds":["t.1"]}` {
		t.Errorf("the upstream hears of %s", got)
	}
	if got, want := g.take(), []string{"resource a x:open a+x:open ", "resource a x:secret a+x:secret ", "task a task a_task "}; !slices.Equal(got, want) {
		t.Errorf("decided %q, want %q", got, want)
	}
	a.notify <- &protocol.Notification{Method: protocol.NotificationTask, Params: json.RawMessage(`{"taskId":"t.1","status":"working"}`)}
	s.next(protocol.NotificationTask + `{"taskId":"` + id + `","status":"working"}`)
}

// TestTasks: a task is its caller's, at the endpoint that made it, and has one id.
func TestTasks(t *testing.T) {
	t.Parallel()
	a := newServer("a", "task")
	g := &rules{}
	cfg := config(a, newServer("b"))
	cfg.Guard = g
	m := start(t, cfg)
	var notes []string
	res, err := m.Handle(t.Context(), from(alice, protocol.MethodCallTool, `{"name":"a_task"}`), protocol.NotifierFunc(func(_ context.Context, n *protocol.Notification) error {
		notes = append(notes, string(n.Params))
		return nil
	}))
	if err != nil || res.Type != protocol.ResultTask {
		t.Fatalf("%+v, %v", res, err)
	}
	id := memberOf(t, string(res.Body), "taskId")
	if want := `{"taskId":"` + id + `","status":"working"}`; len(notes) != 1 || notes[0] != want || string(res.Body) != want {
		t.Errorf("%q, %s", notes, res.Body)
	}
	view := m.View(Endpoint{Name: "support"})
	g.take()
	for _, tt := range []struct {
		name   string
		h      protocol.Handler
		caller *protocol.Principal
		method string
		id     string
		want   string
	}{
		{"get", m, alice, protocol.MethodGetTask, id, `{"taskId":"` + id + `","status":"completed"}`},
		{"cancel", m, alice, protocol.MethodCancelTask, id, `{"said":"a: cancel t.1"}`},
		{"other caller", m, bob, protocol.MethodGetTask, id, `there is no task "` + clipped(id) + `" (code -32602)`},
		{"anonymous", m, nil, protocol.MethodCancelTask, id, `there is no task "` + clipped(id) + `" (code -32602)`},
		{"other endpoint", view, alice, protocol.MethodGetTask, id, `there is no task "` + clipped(id) + `" (code -32602)`},
		{"the upstream's id", m, alice, protocol.MethodUpdateTask, "t.1", `there is no task "t.1" (code -32602)`},
		{"no id", m, alice, protocol.MethodGetTask, "", `there is no task "" (code -32602)`},
	} {
		if got := do(t, tt.h, from(tt.caller, tt.method, `{"taskId":"`+tt.id+`"}`)); got != tt.want {
			t.Errorf("%s: got %s\nwant %s", tt.name, got, tt.want)
		}
	}
	if got := g.take(); len(got) != 2 || got[0] != "task a task a_task " {
		t.Errorf("decided %q", got)
	}
	g.decide = func(*protocol.Access) protocol.Decision { return protocol.Decision{} }
	if got := do(t, m, from(alice, protocol.MethodGetTask, `{"taskId":"`+id+`"}`)); got != `there is no task "`+clipped(id)+`" (code -32602)` {
		t.Error(got)
	}
}

// TestScopes: a refusal for lack of scopes says which.
func TestScopes(t *testing.T) {
	t.Parallel()
	cfg := config(newServer("a", "one"))
	cfg.Guard = &rules{decide: func(*protocol.Access) protocol.Decision {
		return protocol.Decision{Scopes: []string{"orders.read", "orders.write"}}
	}}
	m := start(t, cfg)
	_, err := m.Handle(t.Context(), request(protocol.MethodCallTool, `{"name":"one"}`), protocol.Discard)
	fault, ok := errors.AsType[*protocol.Error](err)
	if !ok || fault.Code != protocol.CodeInvalidRequest || !slices.Equal(fault.Scopes, []string{"orders.read", "orders.write"}) || fault.Message != "this needs a credential with these scopes: orders.read orders.write" {
		t.Errorf("error %v", err)
	}
}

// TestResolver: where an upstream names its RPCs, the guard decides by them and by
// the message that is sent.
func TestResolver(t *testing.T) {
	t.Parallel()
	a := newServer("a", "GetBook", "DeleteBook")
	a.prompts, a.uris = []string{"greet"}, []string{"x:1"}
	up := &resolving{server: a, resolve: func(_ context.Context, r *protocol.Request) (*protocol.Resolution, error) {
		var p struct {
			Name, URI string
			Ref       struct{ Name string }
			Arguments map[string]any
		}
		if err := json.Unmarshal(r.Params, &p); err != nil {
			return nil, err
		}
		return &protocol.Resolution{
			RPC: "lib.v1.Library." + p.Name + p.URI + p.Ref.Name, Hints: protocol.Hints{ReadOnly: p.Name == "GetBook"},
			Message: func() (json.RawMessage, *protocol.Request, error) {
				if p.Arguments["bad"] != nil {
					return nil, nil, errors.New("bad is no field")
				}
				id := p.Arguments["shelf_id"] // and shelfId are one field
				if id == nil {
					id = p.Arguments["shelfId"]
				}
				message, err := json.Marshal(map[string]any{"shelfId": id})
				own := *r
				own.Params = json.RawMessage(`{"name":"` + p.Name + `","arguments":` + string(message) + `}`)
				return message, &own, err
			},
		}, nil
	}}
	var seen []string
	g := &rules{
		decide: func(a *protocol.Access) protocol.Decision {
			arguments, err := a.Arguments()
			if err != nil {
				seen = append(seen, err.Error())
				return protocol.Decision{Allow: true}
			}
			seen = append(seen, a.Target.RPC+" "+string(arguments))
			return protocol.Decision{Allow: !strings.Contains(string(arguments), `"shelfId":"secret"`)}
		},
		hides: func(_ *protocol.Principal, t *protocol.Target) bool {
			return !t.Hints.ReadOnly && t.Kind == protocol.TargetTool
		},
	}
	cfg := Config{Guard: g, Upstreams: []Upstream{{Name: "a", Probe: -1, Open: func(context.Context) (Server, error) { return up, nil }}}}
	m := start(t, cfg)
	if got := toolNames(t, m, request(protocol.MethodListTools, `{}`)); got != "GetBook" {
		t.Errorf("lists %s", got)
	}
	const unknown = `there is no tool "GetBook"; tools/list names those there are (code -32602)`
	for _, tt := range []struct{ method, params, decided, want, sent string }{
		{protocol.MethodCallTool, `{"name":"GetBook","arguments":{"shelf_id":"1"}}`, `lib.v1.Library.GetBook {"shelfId":"1"}`, `{"said":"a: tool GetBook"}`, `{"name":"GetBook","arguments":{"shelfId":"1"}}`},
		{protocol.MethodCallTool, `{"name":"GetBook","arguments":{"shelf_id":"s\u0065cret"}}`, `lib.v1.Library.GetBook {"shelfId":"secret"}`, unknown, ""},
		{protocol.MethodCallTool, `{"name":"GetBook","arguments":{"shelfId":"secret"}}`, `lib.v1.Library.GetBook {"shelfId":"secret"}`, unknown, ""},
		{protocol.MethodCallTool, `{"name":"GetBook","arguments":{"bad":1}}`, `bad is no field`, `{"said":"a: tool GetBook"}`, `{"name":"GetBook","arguments":{"bad":1}}`},
		{protocol.MethodGetPrompt, `{"name":"greet"}`, `lib.v1.Library.greet {"shelfId":null}`, `{"said":"a: prompt greet"}`, ""},
		{protocol.MethodReadResource, `{"uri":"x:1"}`, `lib.v1.Library.x:1 {"shelfId":null}`, `{"said":"`, ""},
		{protocol.MethodComplete, `{"ref":{"type":"ref/prompt","name":"greet"}}`, `lib.v1.Library.greet {"shelfId":null}`, `{"said":"a: `, ""},
	} {
		seen = nil
		got := do(t, m, request(tt.method, tt.params))
		if tt.method == protocol.MethodCallTool && got != tt.want || len(seen) != 1 || seen[0] != tt.decided {
			t.Errorf("%s: got %s, decided %q\nwant %s, decided %q", tt.params, got, seen, tt.want, tt.decided)
		}
		if tt.sent != "" && string(a.last(tt.method).Params) != tt.sent {
			t.Errorf("%s: sent %s, want %s", tt.params, a.last(tt.method).Params, tt.sent)
		}
	}
}

// TestConfirm: the user is asked once, also where the upstream asks something itself.
func TestConfirm(t *testing.T) {
	t.Parallel()
	a := newServer("a", "one")
	a.answer = func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		if r.Method != protocol.MethodCallTool {
			return nil, nil //nolint:nilnil // the server answers
		}
		if strings.Contains(string(r.Params), `"requestState":"mine"`) {
			return &protocol.Result{Body: json.RawMessage(`{"done":true}`)}, nil
		}
		return &protocol.Result{Type: protocol.ResultInputRequired, Body: json.RawMessage(`{"inputRequests":{"q":{}},"requestState":"mine"}`)}, nil
	}
	question := "Really?"
	cfg := config(a, newServer("b"))
	cfg.Guard = &rules{decide: func(*protocol.Access) protocol.Decision { return protocol.Decision{Allow: true, Confirm: question} }}
	m := start(t, cfg)
	call := func(p *protocol.Principal, arguments, state, responses string) string {
		t.Helper()
		params := `{"name":"a_one","arguments":` + arguments
		if state != "" {
			params += `,"requestState":"` + state + `"`
		}
		if responses != "" {
			params += `,"inputResponses":` + responses
		}
		return do(t, m, from(p, protocol.MethodCallTool, params+`}`))
	}
	const (
		accept  = `{"confirm":{"action":"accept"}}`
		foreign = "params.requestState was not given to this caller for this request, or has expired: call again without it (code -32602)"
	)
	asked := call(alice, `{"a":1,"b":2}`, "", "")
	if !strings.HasPrefix(asked, `{"inputRequests":{"confirm":{"method":"elicitation/create","params":{"mode":"form","message":"Really?",`) {
		t.Fatal(asked)
	}
	state := memberOf(t, asked, "requestState")
	for _, tt := range []struct {
		name                        string
		caller                      *protocol.Principal
		arguments, state, responses string
		want                        string
	}{
		{"other caller", bob, `{"a":1,"b":2}`, state, accept, foreign},
		{"other arguments", alice, `{"a":1,"b":3}`, state, accept, foreign},
		{"forged", alice, `{"a":1,"b":2}`, forged(state), accept, foreign},
		{"the upstream's own", alice, `{"a":1,"b":2}`, "mine", accept, foreign},
		{"no answer", alice, `{"a":1,"b":2}`, state, "", `{"inputRequests":{"confirm":`},
		{"an answer without a question", alice, `{"a":1,"b":2}`, "", accept, `{"inputRequests":{"confirm":`},
		{"declined", alice, `{"a":1,"b":2}`, state, `{"confirm":{"action":"decline"}}`, `The user did not confirm the call.`},
	} {
		if got := call(tt.caller, tt.arguments, tt.state, tt.responses); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if n := a.count(protocol.MethodCallTool); n != 0 {
		t.Fatalf("the upstream was called %d times", n)
	}
	asked = call(alice, `{"b":2, "a":1}`, state, accept)
	if !strings.HasPrefix(asked, `{"inputRequests":{"q":{}},"requestState":"`) {
		t.Fatal(asked)
	}
	if got := string(a.last(protocol.MethodCallTool).Params); got != `{"name":"one","arguments":{"b":2, "a":1}}` {
		t.Errorf("the upstream got %s", got)
	}
	inner := memberOf(t, asked, "requestState")
	if got := call(alice, `{"a":1,"b":2}`, inner, `{"q":{"action":"accept"}}`); got != `{"done":true}` {
		t.Errorf("asked again: %s", got)
	}
	if got := string(a.last(protocol.MethodCallTool).Params); got != `{"name":"one","arguments":{"a":1,"b":2},"inputResponses":{"q":{"action":"accept"}},"requestState":"mine"}` {
		t.Errorf("the upstream got %s", got)
	}
	question = "Something else?"
	if got := call(alice, `{"a":1,"b":2}`, inner, `{"q":{"action":"accept"}}`); !strings.Contains(got, `"message":"Something else?"`) {
		t.Errorf("not asked another question: %s", got)
	}
	r := from(alice, protocol.MethodCallTool, `{"name":"a_one"}`)
	r.Meta.Capabilities = json.RawMessage(`{}`)
	if got := do(t, m, r); !strings.Contains(got, "this client cannot ask for it. Nothing was called.") {
		t.Error(got)
	}
}

// forged returns another token of the same length.
func forged(token string) string {
	if token[0] == 'x' {
		return "y" + token[1:]
	}
	return "x" + token[1:]
}

// TestInternal: what this program asks on its own account is below the guard, and
// calls nothing.
func TestInternal(t *testing.T) {
	t.Parallel()
	a := newServer("a", "one", "DeleteBook")
	cfg := config(a)
	cfg.Guard = noDeletes()
	m := start(t, cfg)
	internal := protocol.InternalPrincipal()
	if got := toolNames(t, m, from(internal, protocol.MethodListTools, `{}`)); got != "one DeleteBook" {
		t.Errorf("lists %s", got)
	}
	for _, r := range []*protocol.Request{
		from(internal, protocol.MethodCallTool, `{"name":"one"}`), from(internal, protocol.MethodReadResource, `{"uri":"x:1"}`),
		from(internal, protocol.MethodGetTask, `{"taskId":"x"}`), from(internal, "x/custom", `{}`),
	} {
		if got := do(t, m, r); got != `method "`+r.Method+`" is not available (code -32601)` {
			t.Errorf("%s: %s", r.Method, got)
		}
	}
}

// TestVisible: a principal hears of no upstream of which it sees nothing.
func TestVisible(t *testing.T) {
	t.Parallel()
	a, b := newServer("a", "one"), newServer("b", "two")
	cfg := config(a, b)
	cfg.Guard = &rules{
		decide: func(a *protocol.Access) protocol.Decision {
			return protocol.Decision{Allow: a.Target.Upstream == "a" || a.Principal.Subject == "alice"}
		},
		hides: func(p *protocol.Principal, t *protocol.Target) bool {
			return t.Upstream == "b" && p.Key() != alice.Key()
		},
	}
	m := start(t, cfg)
	for p, want := range map[*protocol.Principal]string{alice: "a_one b_two", bob: "a_one"} {
		if got := toolNames(t, m, from(p, protocol.MethodListTools, `{}`)); got != want {
			t.Errorf("%s is shown %s", p.Subject, got)
		}
		if got := do(t, m, from(p, protocol.MethodDiscover, `{}`)); strings.Contains(got, "Use b.") != (p == alice) {
			t.Errorf("%s: %s", p.Subject, got)
		}
	}
	b.setDown(true)
	s := hear(t, m, request(protocol.MethodListen, `{"notifications":{"toolsListChanged":true}}`))
	s.next(acknowledged + `{"notifications":{"toolsListChanged":true}}`)
	_ = do(t, m, from(alice, protocol.MethodCallTool, `{"name":"b_two"}`))
	s.next(protocol.NotificationToolsChanged)
	for p, want := range map[*protocol.Principal]string{alice: `{"io.github.mcp-bridge/unavailable":["b"]}`, bob: ""} {
		res, err := m.Handle(t.Context(), from(p, protocol.MethodListTools, `{}`), protocol.Discard)
		if err != nil || string(res.Meta) != want || !res.Cache.Private {
			t.Errorf("%s: %+v, %v", p.Subject, res, err)
		}
		got := do(t, m, from(p, protocol.MethodCallTool, `{"name":"a_nothing"}`))
		if strings.Contains(got, "unavailable: b") != (p == alice) {
			t.Errorf("%s: %s", p.Subject, got)
		}
	}
}

// TestGuardPin: the upstream is told what the guard's decision was made by, whether or
// not the guard has read the message. The RPCs behind templates are shown to the guard,
// and those that tell of changes are decided.
func TestGuardPin(t *testing.T) {
	t.Parallel()
	a := newServer("a", "Get")
	a.uris = []string{"x:polled", "x:followed", "x:denied"}
	pin := 0
	up := &resolving{server: a, resolve: func(_ context.Context, r *protocol.Request) (*protocol.Resolution, error) {
		res := &protocol.Resolution{Pin: r.Pin}
		if r.Pin == nil {
			pin++
			res.Pin = pin
		}
		switch uri, _ := text(r.Params, "uri"); {
		case r.Method == protocol.MethodListen && !strings.Contains(string(r.Params), "x:polled"):
			res.RPC = "lib.Follow"
			if strings.Contains(string(r.Params), "denied") {
				res.RPC = "lib.Secret"
			}
		case strings.HasPrefix(uri, "a://"):
			res.RPC = "lib.Template"
		case r.Method == protocol.MethodReadResource, r.Method == protocol.MethodListen:
			res.RPC = "lib.Read"
		case strings.Contains(string(r.Params), `"Get"`):
			res.RPC = "lib.Get"
			res.Message = func() (json.RawMessage, *protocol.Request, error) {
				own := *r
				own.Pin = nil
				return json.RawMessage(`{"sent":1}`), &own, nil
			}
		}
		return res, nil
	}}
	var templates []string
	reads := false
	g := &rules{
		decide: func(a *protocol.Access) protocol.Decision {
			if reads {
				_, _ = a.Arguments()
			}
			return protocol.Decision{Allow: a.Target.RPC != "lib.Secret"}
		},
		hides: func(_ *protocol.Principal, t *protocol.Target) bool {
			if t.Kind == protocol.TargetTemplate {
				templates = append(templates, t.RPC)
			}
			return false
		},
	}
	m := start(t, Config{Guard: g, Upstreams: []Upstream{{Name: "a", Probe: -1, Open: func(context.Context) (Server, error) { return up, nil }}}})
	for _, reads = range []bool{false, true} {
		before := pin
		if got := do(t, m, from(alice, protocol.MethodCallTool, `{"name":"Get"}`)); got != `{"said":"a: tool Get"}` {
			t.Errorf("got %s", got)
		}
		if got := a.last(protocol.MethodCallTool).Pin; got != pin || pin == before {
			t.Errorf("the call has the pin %v, want %v", got, pin)
		}
		if got := do(t, m, from(alice, protocol.MethodReadResource, `{"uri":"x:polled"}`)); !strings.Contains(got, "contents") || a.last(protocol.MethodReadResource).Pin != pin {
			t.Errorf("got %s by the pin %v, want %v", got, a.last(protocol.MethodReadResource).Pin, pin)
		}
	}
	if _ = do(t, m, from(alice, protocol.MethodListTemplates, `{}`)); !slices.Equal(templates, []string{"lib.Template"}) {
		t.Errorf("templates are read by %q", templates)
	}
	g.take()
	before := pin
	s := hear(t, m, from(alice, protocol.MethodListen, `{"notifications":{"resourceSubscriptions":["x:polled","x:followed","x:denied"]}}`))
	s.next(acknowledged + `{"notifications":{"resourceSubscriptions":["x:polled","x:followed"]}}`)
	if got, want := g.take(), []string{
		"resource a x:polled x:polled lib.Read", "resource a x:followed x:followed lib.Read", "resource a x:followed x:followed lib.Follow",
		"resource a x:denied x:denied lib.Read", "resource a x:denied x:denied lib.Secret",
	}; !slices.Equal(got, want) {
		t.Errorf("decided %q\nwant    %q", got, want)
	}
	if got := a.last(protocol.MethodListen).Pin; got != pin || pin != before+1 {
		t.Errorf("the subscription has the pin %v, want %v", got, before+1)
	}
}
