package mux

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcp-bridge/mcp-bridge/bridge/find"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is an MCP server that answers by what it is asked for. Its fields may be
// changed under mu.
type server struct {
	name    string
	tools   []string // on pages of two
	prompts []string
	uris    []string
	silent  bool // tells of no changes
	cache   protocol.Cache
	// answer, if it is set, answers a request, or returns neither a result nor an
	// error to leave it to the server.
	answer func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error)

	listens chan string                 // the filter of each subscription of a client
	notify  chan *protocol.Notification // for those
	changed chan *protocol.Notification // for the one of the Mux

	mu     sync.Mutex
	down   bool
	asked  map[string]int
	seen   []*protocol.Request
	opened int
	closed int
}

func newServer(name string, tools ...string) *server {
	return &server{
		name: name, tools: tools, listens: make(chan string, 100), notify: make(chan *protocol.Notification), changed: make(chan *protocol.Notification),
		asked: make(map[string]int), cache: protocol.Cache{TTLMillis: 60_000},
	}
}

func (s *server) setDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// count returns how often a method was asked for.
func (s *server) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[method]
}

// closes returns how often the server was closed.
func (s *server) closes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// last returns the last request of a method.
func (s *server) last(method string) *protocol.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range slices.Backward(s.seen) {
		if r.Method == method {
			return r
		}
	}
	return nil
}

var errDown = &protocol.UpstreamError{Kind: protocol.UpstreamUnavailable, Message: "it is down"}

func (s *server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
}

func (s *server) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	s.mu.Lock()
	down, answer := s.down, s.answer
	tools, prompts, uris, cache := s.tools, s.prompts, s.uris, s.cache
	s.asked[r.Method]++
	s.seen = append(s.seen, r)
	s.mu.Unlock()
	if down {
		return nil, errDown
	}
	if answer != nil {
		if res, err := answer(ctx, r, n); res != nil || err != nil {
			return res, err
		}
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
	list := func(member string, items []string) (*protocol.Result, error) {
		own := cache
		return &protocol.Result{Body: json.RawMessage(`{"` + member + `":[` + strings.Join(items, ",") + `]}`), Cache: &own}, nil
	}
	var items []string
	switch r.Method {
	case protocol.MethodDiscover:
		return &protocol.Result{
			Body:   json.RawMessage(`{"capabilities":{"tools":{},"x-` + s.name + `":{}},"instructions":"Use ` + s.name + `."}`),
			Cache:  &protocol.Cache{TTLMillis: 7},
			Server: json.RawMessage(`{"name":"` + s.name + `"}`),
		}, nil
	case protocol.MethodListTools:
		start := 0
		if p.Cursor != "" {
			_, _ = fmt.Sscan(p.Cursor, &start)
		}
		end := min(start+2, len(tools))
		for _, name := range tools[start:end] {
			items = append(items, tool(name, s.name))
		}
		res, err := list("tools", items)
		if end < len(tools) {
			res.Body = json.RawMessage(strings.TrimSuffix(string(res.Body), "}") + fmt.Sprintf(`,"nextCursor":"%d"}`, end))
		}
		return res, err
	case protocol.MethodListPrompts:
		if prompts == nil {
			return nil, protocol.MethodNotFound(r.Method)
		}
		for _, prompt := range prompts {
			items = append(items, fmt.Sprintf(`{"name":%q}`, prompt))
		}
		return list("prompts", items)
	case protocol.MethodListResources:
		for _, uri := range uris {
			items = append(items, fmt.Sprintf(`{"uri":%q,"name":%q}`, uri, s.name))
		}
		return list("resources", items)
	case protocol.MethodListTemplates:
		return list("resourceTemplates", []string{`{"uriTemplate":"` + s.name + `://{id}","name":"x"}`})
	case protocol.MethodReadResource:
		if slices.Contains(uris, p.URI) || strings.HasPrefix(p.URI, s.name+"://") {
			return &protocol.Result{Body: json.RawMessage(`{"contents":[{"uri":"` + p.URI + `","text":"` + p.URI + `"}]}`)}, nil
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
		if s.silent {
			return nil, protocol.MethodNotFound(r.Method)
		}
		if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationAcknowledged, Params: json.RawMessage(`{"notifications":` + string(p.Notifications) + `}`)}); err != nil {
			return nil, err
		}
		notes := s.changed
		if !r.Caller.Principal.Internal() {
			notes = s.notify
			s.listens <- string(p.Notifications)
		}
		for {
			select {
			case note := <-notes:
				if note == nil {
					return &protocol.Result{}, nil // it ends the subscription
				}
				if err := n.Notify(ctx, note); err != nil {
					return nil, err
				}
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	case "x/custom":
		return say("custom %s", r.Params)
	}
	return nil, protocol.MethodNotFound(r.Method)
}

// open is the Open of an upstream.
func (s *server) open(context.Context) (Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return nil, errDown
	}
	s.opened++
	return s, nil
}

func (s *server) upstream() Upstream { return Upstream{Name: s.name, Open: s.open, Probe: -1} }

// resolving is a server that names its RPCs.
type resolving struct {
	*server

	resolve func(ctx context.Context, r *protocol.Request) (*protocol.Resolution, error)
}

func (s *resolving) Resolve(ctx context.Context, r *protocol.Request) (*protocol.Resolution, error) {
	return s.resolve(ctx, r)
}

// config returns the Config of servers.
func config(servers ...*server) Config {
	cfg := Config{MinPause: time.Millisecond, MaxPause: 10 * time.Millisecond, Server: json.RawMessage(`{"name":"mux"}`)}
	for _, s := range servers {
		cfg.Upstreams = append(cfg.Upstreams, s.upstream())
	}
	return cfg
}

// start returns a Mux whose upstreams have been tried.
func start(t testing.TB, cfg Config) *Mux {
	t.Helper()
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	m.Ready(t.Context())
	return m
}

// principals of tests.
var (
	alice = protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthJWT, Subject: "alice"})
	bob   = protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthJWT, Subject: "bob"})
)

func request(method, params string) *protocol.Request {
	return &protocol.Request{
		Method: method, Params: json.RawMessage(params), Caller: &protocol.Caller{},
		Meta: protocol.Meta{Revision: protocol.Revision20260728, Capabilities: json.RawMessage(`{"elicitation":{},"extensions":{"` + protocol.ExtensionTasks + `":{}}}`)},
	}
}

// from returns a request of a principal.
func from(p *protocol.Principal, method, params string) *protocol.Request {
	r := request(method, params)
	r.Caller = &protocol.Caller{Principal: p}
	return r
}

// do returns the body of a result, or the error.
func do(t testing.TB, h protocol.Handler, r *protocol.Request) string {
	t.Helper()
	res, err := h.Handle(t.Context(), r, protocol.Discard)
	if err != nil {
		return err.Error()
	}
	return string(res.Body)
}

func ask(t testing.TB, h protocol.Handler, method, params string) string {
	t.Helper()
	return do(t, h, request(method, params))
}

func tool(name, from string) string {
	return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object"}}`, name, from)
}

// toolNames returns the names of the tools that a caller is shown.
func toolNames(t testing.TB, h protocol.Handler, r *protocol.Request) string {
	t.Helper()
	var body struct{ Tools []struct{ Name string } }
	text := do(t, h, r)
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatal(text)
	}
	var names []string
	for _, tool := range body.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

// member returns a string in a JSON object.
func memberOf(t testing.TB, object, name string) string {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(object), &all); err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	s, ok := all[name].(string)
	if !ok {
		t.Fatalf("no %s in %s", name, object)
	}
	return s
}

// hearing is a subscription of a test.
type hearing struct {
	t     testing.TB
	notes chan string
	done  chan error
}

// hear subscribes, until the test ends.
func hear(t testing.TB, h protocol.Handler, r *protocol.Request) *hearing {
	t.Helper()
	s := &hearing{t: t, notes: make(chan string, 1000), done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, err := h.Handle(ctx, r, protocol.NotifierFunc(func(_ context.Context, n *protocol.Notification) error {
			s.notes <- n.Method + string(n.Params)
			return nil
		}))
		s.done <- err
	}()
	t.Cleanup(func() { cancel(); <-s.done })
	return s
}

// next waits for a notification.
func (s *hearing) next(want string) {
	s.t.Helper()
	select {
	case got := <-s.notes:
		if got != want {
			s.t.Errorf("heard %s\nwant  %s", got, want)
		}
	case err := <-s.done:
		s.done <- err
		s.t.Fatalf("the subscription has ended: %v; want %s", err, want)
	case <-time.After(30 * time.Second):
		s.t.Fatalf("did not hear %s", want)
	}
}

// skip passes over those notifications that are there already.
func (s *hearing) skip(what string) {
	for len(s.notes) > 0 {
		if got := <-s.notes; got != what {
			s.t.Errorf("heard %s, want %s", got, what)
		}
	}
}

const acknowledged = protocol.NotificationAcknowledged

// search puts tool search before a Mux.
func search(m *Mux) protocol.Handler {
	return find.Middleware(find.Config{Shown: func(ctx context.Context, r *protocol.Request) (find.Shown, error) {
		tools, err := m.All().Shown(ctx, r)
		return find.Shown{Tools: tools, Unknown: func(name string) error { return m.All().UnknownTool(ctx, r, name) }}, err
	}})(m)
}
