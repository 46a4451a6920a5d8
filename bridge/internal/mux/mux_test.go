package mux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is an MCP server that answers by what it is asked for.
type server struct {
	name    string
	tools   []string // on pages of two
	prompts []string
	uris    []string
	listens chan *server // each subscription that has been acknowledged
	notify  chan *protocol.Notification

	mu   sync.Mutex
	down bool
}

func newServer(name string, tools ...string) *server {
	return &server{name: name, tools: tools, listens: make(chan *server, 10), notify: make(chan *protocol.Notification)}
}

func (s *server) setDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

var errDown = &protocol.UpstreamError{Kind: protocol.UpstreamUnavailable, Message: "it is down"}

func (s *server) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	s.mu.Lock()
	down := s.down
	s.mu.Unlock()
	if down {
		return nil, errDown
	}
	var p struct {
		Name, URI, Cursor, TaskID string
		Ref                       struct{ Name, URI string }
		Notifications             json.RawMessage
	}
	_ = json.Unmarshal(r.Params, &p)
	say := func(format string, args ...any) (*protocol.Result, error) {
		return &protocol.Result{Body: json.RawMessage(`{"said":"` + fmt.Sprintf(s.name+": "+format, args...) + `"}`)}, nil
	}
	switch r.Method {
	case protocol.MethodDiscover:
		return &protocol.Result{Body: json.RawMessage(`{"capabilities":{"tools":{"listChanged":true},"x-` + s.name + `":{}},"instructions":"Use ` + s.name + `."}`), Cache: &protocol.Cache{TTLMillis: 7}}, nil
	case protocol.MethodListTools:
		start := 0
		if p.Cursor != "" {
			_, _ = fmt.Sscan(p.Cursor, &start)
		}
		end := min(start+2, len(s.tools))
		items := []string{}
		for _, tool := range s.tools[start:end] {
			items = append(items, fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object"}}`, tool, s.name))
		}
		body := `{"tools":[` + strings.Join(items, ",") + `]`
		if end < len(s.tools) {
			body += fmt.Sprintf(`,"nextCursor":"%d"`, end)
		}
		return &protocol.Result{Body: json.RawMessage(body + "}"), Cache: &protocol.Cache{TTLMillis: 5, Private: s.name == "b"}}, nil
	case protocol.MethodListPrompts:
		if s.prompts == nil {
			return nil, protocol.MethodNotFound(r.Method)
		}
		var items []string
		for _, prompt := range s.prompts {
			items = append(items, fmt.Sprintf(`{"name":%q}`, prompt))
		}
		return &protocol.Result{Body: json.RawMessage(`{"prompts":[` + strings.Join(items, ",") + `]}`)}, nil
	case protocol.MethodListResources:
		var items []string
		for _, uri := range s.uris {
			items = append(items, fmt.Sprintf(`{"uri":%q,"name":%q}`, uri, s.name))
		}
		return &protocol.Result{Body: json.RawMessage(`{"resources":[` + strings.Join(items, ",") + `]}`)}, nil
	case protocol.MethodListTemplates:
		return &protocol.Result{Body: json.RawMessage(`{"resourceTemplates":[{"uriTemplate":"` + s.name + `://{id}","name":"x"}]}`)}, nil
	case protocol.MethodReadResource:
		if slices.Contains(s.uris, p.URI) || strings.HasPrefix(p.URI, s.name+"://") {
			return say("%s", p.URI)
		}
		return nil, &protocol.Error{Code: protocol.CodeInvalidParams, Message: "no such resource"}
	case protocol.MethodComplete:
		return say("%s%s", p.Ref.Name, p.Ref.URI)
	case protocol.MethodGetPrompt:
		return say("prompt %s", p.Name)
	case protocol.MethodCallTool:
		if p.Name == "task" {
			_ = n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationTask, Params: json.RawMessage(`{"taskId":"t.1","status":"working"}`)})
			return &protocol.Result{Type: protocol.ResultTask, Body: json.RawMessage(`{"taskId":"t.1","status":"working"}`)}, nil
		}
		return say("tool %s", p.Name)
	case protocol.MethodGetTask:
		return &protocol.Result{Body: json.RawMessage(`{"taskId":"` + p.TaskID + `","status":"completed"}`)}, nil
	case protocol.MethodCancelTask:
		return say("cancel %s", p.TaskID)
	case protocol.MethodListen:
		if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationAcknowledged, Params: json.RawMessage(`{"notifications":` + string(p.Notifications) + `}`)}); err != nil {
			return nil, err
		}
		s.listens <- s
		for {
			select {
			case note := <-s.notify:
				if err := n.Notify(ctx, note); err != nil {
					return nil, err
				}
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	return nil, protocol.MethodNotFound(r.Method)
}

// serve returns a Mux of servers that are there.
func serve(t *testing.T, servers ...*server) *Mux {
	t.Helper()
	var parts []Part
	for _, s := range servers {
		parts = append(parts, Part{Name: s.name, Open: func(context.Context) (protocol.Handler, func(), error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.down {
				return nil, nil, errDown
			}
			return s, nil, nil
		}})
	}
	m, err := New(Config{Parts: parts, MinPause: time.Millisecond, MaxPause: 10 * time.Millisecond, Server: json.RawMessage(`{"name":"mux"}`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	m.Ready(t.Context())
	return m
}

func ask(t *testing.T, m *Mux, method, params string) string {
	t.Helper()
	res, err := m.Handle(t.Context(), request(method, params), protocol.Discard)
	if err != nil {
		return err.Error()
	}
	return string(res.Body)
}

func request(method, params string) *protocol.Request {
	return &protocol.Request{
		Method: method, Params: json.RawMessage(params), Caller: &protocol.Caller{},
		Meta: protocol.Meta{Revision: protocol.Revision20260728, Capabilities: json.RawMessage(`{}`)},
	}
}

func tool(name, from string) string {
	return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object"}}`, name, from)
}

// TestNames: what several parts call the same gets their names as prefix, what
// one part has keeps its own, and every name reaches its part.
func TestNames(t *testing.T) {
	t.Parallel()
	a, b := newServer("a", "echo", "one", "task"), newServer("b", "two", "echo", "a_echo")
	a.prompts, a.uris, b.uris = []string{"greet"}, []string{"x:1", "x:2"}, []string{"x:2", "x:3"}
	m := serve(t, a, b)
	for _, tt := range []struct{ method, params, want string }{
		{protocol.MethodCallTool, `{"name":"b_echo"}`, `{"said":"b: tool echo"}`}, // before any list
		{protocol.MethodListTools, `{}`, `{"tools":[` + strings.Join([]string{
			tool("a_echo_2", "a"), tool("one", "a"), tool("task", "a"), tool("two", "b"), tool("b_echo", "b"), tool("a_echo", "b"),
		}, ",") + `]}`},
		{protocol.MethodListTools, `{"cursor":"x"}`, "params.cursor is not one that tools/list has returned: there is one page (code -32602)"},
		{protocol.MethodCallTool, `{"name":"a_echo_2","arguments":{"a":1.0}}`, `{"said":"a: tool echo"}`},
		{protocol.MethodCallTool, `{"name":"a_echo"}`, `{"said":"b: tool a_echo"}`},
		{protocol.MethodCallTool, `{"name":"one"}`, `{"said":"a: tool one"}`},
		{protocol.MethodCallTool, `{"name":"echo"}`, `there is no tool "echo"; tools/list names those there are (code -32602)`},
		{protocol.MethodCallTool, `{}`, `params.name must be a string (code -32602)`},
		{protocol.MethodListPrompts, `{}`, `{"prompts":[{"name":"greet"}]}`},
		{protocol.MethodGetPrompt, `{"name":"greet"}`, `{"said":"a: prompt greet"}`},
		{protocol.MethodGetPrompt, `{"name":"x"}`, `there is no prompt "x"; prompts/list names those there are (code -32602)`},
		{protocol.MethodListResources, `{}`, `{"resources":[{"uri":"x:1","name":"a"},{"uri":"x:2","name":"a"},{"uri":"x:3","name":"b"}]}`},
		{protocol.MethodReadResource, `{"uri":"x:2"}`, `{"said":"a: x:2"}`},
		{protocol.MethodReadResource, `{"uri":"x:3"}`, `{"said":"b: x:3"}`},
		{protocol.MethodReadResource, `{"uri":"b://1"}`, `{"said":"b: b://1"}`},
		{protocol.MethodReadResource, `{"uri":"x:9"}`, `no such resource (code -32602)`},
		{protocol.MethodComplete, `{"ref":{"type":"ref/prompt","name":"greet"}}`, `{"said":"a: greet"}`},
		{protocol.MethodComplete, `{"ref":{"type":"ref/resource","uri":"b://{id}"}}`, `{"said":"b: b://{id}"}`},
		{protocol.MethodComplete, `{"ref":{"type":"ref/prompt","name":"none"}}`, `there is no prompt "none"; prompts/list names those there are (code -32602)`},
		{protocol.MethodComplete, `{}`, `params.ref must be an object that names a prompt or a resource template (code -32602)`},
		{protocol.MethodCallTool, `{"name":"task"}`, `{"taskId":"a.t.1","status":"working"}`},
		{protocol.MethodGetTask, `{"taskId":"a.t.1"}`, `{"taskId":"a.t.1","status":"completed"}`},
		{protocol.MethodCancelTask, `{"taskId":"b.7"}`, `{"said":"b: cancel 7"}`},
		{protocol.MethodGetTask, `{"taskId":"7"}`, `there is no task "7" (code -32602)`},
		{"x/y", `{}`, `method "x/y" is not available (code -32601)`},
		{protocol.MethodDiscover, `{}`, `{"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],` +
			`"capabilities":{"logging":{},"tools":{"listChanged":true},"x-a":{},"x-b":{}},"instructions":"a: Use a.\n\nb: Use b."}`},
	} {
		if got := ask(t, m, tt.method, tt.params); got != tt.want {
			t.Errorf("%s %s:\ngot  %s\nwant %s", tt.method, tt.params, got, tt.want)
		}
	}
	res, err := m.Handle(t.Context(), request(protocol.MethodListTools, `{}`), protocol.Discard)
	if err != nil || *res.Cache != (protocol.Cache{TTLMillis: 5, Private: true}) || res.Meta != nil || string(res.Server) != `{"name":"mux"}` {
		t.Errorf("%+v, %v", res, err)
	}
	// A name that was given stays.
	a.tools = []string{"echo"}
	b.tools = nil
	if got, want := ask(t, m, protocol.MethodListTools, `{}`), `{"tools":[`+tool("a_echo_2", "a")+`]}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestLongNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxToolName)
	m := serve(t, newServer("a", long), newServer("b", long))
	for _, from := range []string{"a", "b"} {
		k := key{m.parts[slices.IndexFunc(m.parts, func(p *part) bool { return p.name == from })], long}
		ask(t, m, protocol.MethodListTools, `{}`)
		name := m.names[protocol.MethodListTools].of(k)
		if len(name) > maxToolName || !strings.HasPrefix(name, from+"_xxx") {
			t.Errorf("%s is called %s", from, name)
		}
		if got := ask(t, m, protocol.MethodCallTool, `{"name":"`+name+`"}`); !strings.HasPrefix(got, `{"said":"`+from+": tool x") {
			t.Error(got)
		}
	}
}

// TestUnavailable: a part that is down takes nothing else with it, its calls say
// so, and it comes back by itself.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	a, b := newServer("a", "one"), newServer("b", "two")
	b.setDown(true)
	m := serve(t, a, b)
	if down := m.Ready(t.Context()); len(down) != 1 || !errors.Is(down["b"], errDown) {
		t.Errorf("down: %v", down)
	}
	heard := make(chan string, 100)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := m.Handle(ctx, request(protocol.MethodListen, `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:1"]}}`),
			protocol.NotifierFunc(func(_ context.Context, n *protocol.Notification) error {
				heard <- n.Method + string(n.Params)
				return nil
			}))
		done <- err
	}()
	hears := func(want string) {
		t.Helper()
		select {
		case got := <-heard:
			if got != want {
				t.Errorf("heard %s, want %s", got, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("did not hear %s", want)
		}
	}
	hears(`notifications/subscriptions/acknowledged{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x:1"]}}`)
	<-a.listens
	res, err := m.Handle(t.Context(), request(protocol.MethodListTools, `{}`), protocol.Discard)
	if err != nil || string(res.Body) != `{"tools":[`+tool("one", "a")+`]}` || string(res.Meta) != `{"io.github.mcp-bridge/unavailable":["b"]}` || res.Cache.TTLMillis != 0 {
		t.Errorf("%+v, %v", res, err)
	}
	b.setDown(false)
	hears(protocol.NotificationToolsChanged)
	<-b.listens
	if got := ask(t, m, protocol.MethodCallTool, `{"name":"two"}`); got != `{"said":"b: tool two"}` {
		t.Error(got)
	}
	b.notify <- &protocol.Notification{Method: protocol.NotificationResourceUpdated, Params: json.RawMessage(`{"uri":"x:1"}`)}
	hears(protocol.NotificationResourceUpdated + `{"uri":"x:1"}`)

	b.setDown(true)
	if got := ask(t, m, protocol.MethodCallTool, `{"name":"two"}`); got != "upstream b: it is down" {
		t.Error(got)
	}
	hears(protocol.NotificationToolsChanged)
	b.setDown(false)
	hears(protocol.NotificationToolsChanged)
	if got := ask(t, m, protocol.MethodCallTool, `{"name":"two"}`); got != `{"said":"b: tool two"}` {
		t.Error(got)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestTaskNotifications(t *testing.T) {
	t.Parallel()
	m := serve(t, newServer("a", "x"), newServer("b", "task"))
	var notes []string
	_, err := m.Handle(t.Context(), request(protocol.MethodCallTool, `{"name":"task"}`), protocol.NotifierFunc(func(_ context.Context, n *protocol.Notification) error {
		notes = append(notes, n.Method+string(n.Params))
		return nil
	}))
	if err != nil || len(notes) != 1 || notes[0] != `notifications/tasks{"taskId":"b.t.1","status":"working"}` {
		t.Errorf("%v, %v", notes, err)
	}
}

// TestListenTasks: a part hears of its own tasks only.
func TestListenTasks(t *testing.T) {
	t.Parallel()
	a, b := newServer("a"), newServer("b")
	m := serve(t, a, b)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := m.Handle(ctx, request(protocol.MethodListen, `{"notifications":{"taskIds":["a.1","c.2","a.x.3"]}}`), protocol.NotifierFunc(func(_ context.Context, n *protocol.Notification) error {
		if want := `{"notifications":{"taskIds":["a.1","a.x.3"]}}`; string(n.Params) != want {
			t.Errorf("%s, want %s", n.Params, want)
		}
		cancel()
		return nil
	}))
	if !errors.Is(err, context.Canceled) || len(b.listens) != 0 {
		t.Errorf("error %v, %d subscriptions to b", err, len(b.listens))
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	m := serve(t, newServer("a"))
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
}

// TestCloseAll: all parts end at the same time.
func TestCloseAll(t *testing.T) {
	t.Parallel()
	var ending sync.WaitGroup
	ending.Add(3)
	var parts []Part
	for _, name := range []string{"a", "b", "c"} {
		parts = append(parts, Part{Name: name, Open: func(context.Context) (protocol.Handler, func(), error) {
			return newServer(name), func() { ending.Done(); ending.Wait() }, nil
		}})
	}
	m, err := New(Config{Parts: parts})
	if err != nil {
		t.Fatal(err)
	}
	m.Ready(t.Context())
	m.Close()
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		names []string
		want  string
	}{
		{nil, "there is nothing to serve"},
		{[]string{"a", "b", "a"}, `two upstreams are called "a"`},
		{[]string{"a.b", ""}, `the name "a.b" of upstream 0 is not of letters, digits, _ and -, at most 32`},
	} {
		var parts []Part
		for _, name := range tt.names {
			parts = append(parts, Part{Name: name})
		}
		if _, err := New(Config{Parts: parts}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.names, err, tt.want)
		}
	}
}
