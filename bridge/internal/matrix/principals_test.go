package matrix

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/mux"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/ways"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// person is somebody whose requests middleware in front of a front authenticates.
type person struct {
	name      string
	principal atomic.Pointer[protocol.Principal]
	sessions  sync.Map // the ids of sessions that its client has used
}

func newPerson(name string) *person {
	p := &person{name: name}
	p.refresh()
	return p
}

// refresh gives the person a new token.
func (p *person) refresh() {
	p.principal.Store(protocol.NewPrincipal(protocol.Principal{
		Method: protocol.AuthJWT, Issuer: "https://idp.example", Subject: p.name,
		Expiry: time.Now().Add(time.Hour), Claims: fmt.Appendf(nil, `{"jti":"%p"}`, new(int)),
	}))
}

// through returns a front as the person sees it.
func (p *person) through(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := r.Header.Get("Mcp-Session-Id"); id != "" {
			p.sessions.Store(id, true)
		}
		next.ServeHTTP(w, r.WithContext(protocol.WithPrincipal(r.Context(), p.principal.Load())))
	})
}

// crowd is a Handler behind every front that there is, for several persons.
type crowd struct {
	handler protocol.Handler
	jsonrpc ways.Server
	rpcs    *http.ServeMux
}

func newCrowd(t *testing.T, h protocol.Handler) *crowd {
	t.Helper()
	service, err := bridge.NewTypedService(t.Context(), bridge.TypedConfig{Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	front, err := bridge.NewGRPCHandler(bridge.GRPCConfig{Handler: h, Typed: []*bridge.TypedService{service}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		service.Close()
		front.Close()
	})
	c := &crowd{handler: h, jsonrpc: ways.Serve(t, h), rpcs: http.NewServeMux()}
	front.Mount(c.rpcs)
	return c
}

// as returns the fronts as a person comes to them.
func (c *crowd) as(t *testing.T, p *person) *node {
	t.Helper()
	server := httptest.NewUnstartedServer(p.through(c.rpcs))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return &node{
		handler: c.handler, address: strings.TrimPrefix(server.URL, "http://"),
		jsonrpc: ways.Server{
			Stdio: func(ctx context.Context, in io.Reader, out io.Writer) error {
				return c.jsonrpc.Stdio(protocol.WithPrincipal(ctx, p.principal.Load()), in, out)
			},
			HTTP: p.through(c.jsonrpc.HTTP), SSE: p.through(c.jsonrpc.SSE),
		},
	}
}

// old is an MCP server of 2025-11-25 that notes in which of its sessions it was
// called for whom.
type old struct {
	notes *fixture
	url   string

	mu         sync.Mutex
	callers    map[string]map[string]bool // sessions by who called
	subscribed map[string]bool            // sessions that have subscribed
}

func newOld(t *testing.T) *old {
	t.Helper()
	o := &old{notes: newFixture(t), callers: make(map[string]map[string]bool), subscribed: make(map[string]bool)}
	front := ways.OnlyLegacy(ways.Serve(t, o.notes).HTTP, string(protocol.LatestLegacy))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		o.note(r.Header.Get("Mcp-Session-Id"), body)
		front.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	o.url = server.URL
	return o
}

func (o *old) note(session string, body []byte) {
	method, _ := jsontok.Lookup(body, "method")
	params, _ := jsontok.Lookup(body, "params")
	arguments, _ := jsontok.Lookup(params, "arguments")
	raw, _ := jsontok.Lookup(arguments, "who")
	o.mu.Lock()
	defer o.mu.Unlock()
	if who, ok := jsontok.String(raw); ok {
		if o.callers[who] == nil {
			o.callers[who] = make(map[string]bool)
		}
		o.callers[who][session] = true
	}
	if string(method) == `"resources/subscribe"` {
		o.subscribed[session] = true
	}
}

// sessionsOf returns the sessions in which somebody has called.
func (o *old) sessionsOf(who string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []string
	for id := range o.callers[who] {
		all = append(all, id)
	}
	return all
}

// subscribers returns how many sessions have subscribed.
func (o *old) subscribers() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.subscribed)
}

// TestPrincipalsShareNothing: two principals who come to the same front never have
// a session of an upstream, a call that waits for input, a task or a subscription
// in common; and one whose token is refreshed keeps its own.
func TestPrincipalsShareNothing(t *testing.T) {
	t.Parallel()
	for _, w := range everyFront() {
		if w.Revision != ways.Modern && w.Revision != string(protocol.LatestLegacy) && w.Transport != ways.SSE {
			continue // both eras
		}
		t.Run(w.String(), func(t *testing.T) {
			t.Parallel()
			o, notes := newOld(t), newFixture(t)
			client, err := streamable.NewClient(streamable.ClientConfig{ClientConfig: protocol.ClientConfig{}, URL: o.url})
			if err != nil {
				t.Fatal(err)
			}
			m, err := mux.New(mux.Config{Upstreams: []mux.Upstream{
				{Name: "old", Open: func(context.Context) (mux.Server, error) { return client, nil }},
				{Name: "new", Open: func(context.Context) (mux.Server, error) { return closer{notes}, nil }},
			}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(m.Close)
			if down := m.Ready(t.Context()); len(down) > 0 {
				t.Fatal(down)
			}
			c := newCrowd(t, m)
			ann, bob := newPerson("ann"), newPerson("bob")
			p := &pair{way: w, old: o, notes: notes, ann: ann, bob: bob, crowd: c}
			p.asAnn, p.asBob = c.as(t, ann).connectAs(t, w, ann), c.as(t, bob).connectAs(t, w, bob)
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			p.upstreamSessions(ctx, t)
			p.parkedCalls(ctx, t)
			p.tasks(ctx, t)
			p.subscriptions(ctx, t)
			p.ownSessions(ctx, t)
		})
	}
}

// connectAs is [node.connectAny] for a person.
func (n *node) connectAs(t *testing.T, w ways.Way, who *person) protocol.Handler {
	t.Helper()
	if w.Transport == typed {
		return overTyped(t, n.handler, who.through)
	}
	return n.connectAny(t, w)
}

// pair are two persons who come by the same way.
type pair struct {
	way          ways.Way
	old          *old
	notes        *fixture
	crowd        *crowd
	ann, bob     *person
	asAnn, asBob protocol.Handler
}

func call(ctx context.Context, h protocol.Handler, method, params string) (string, error) {
	res, err := h.Handle(ctx, request(method, params), protocol.Discard)
	if err != nil {
		return "", err
	}
	return string(res.Type) + " " + string(res.Body), nil
}

func (p *pair) upstreamSessions(ctx context.Context, t *testing.T) {
	t.Helper()
	for range 2 {
		for who, h := range map[string]protocol.Handler{"ann": p.asAnn, "bob": p.asBob} {
			if got, err := call(ctx, h, protocol.MethodCallTool, `{"name":"old_echo","arguments":{"who":"`+who+`"}}`); err != nil {
				t.Fatalf("%s: %s, %v", who, got, err)
			}
		}
		// A new token is the same principal.
		p.ann.refresh()
	}
	anns, bobs := p.old.sessionsOf("ann"), p.old.sessionsOf("bob")
	if len(anns) != 1 || len(bobs) != 1 || anns[0] == bobs[0] {
		t.Errorf("sessions of the upstream: ann %q, bob %q, want one each", anns, bobs)
	}
}

func (p *pair) parkedCalls(ctx context.Context, t *testing.T) {
	t.Helper()
	if p.way.Transport == typed {
		return // its tools are listed, and this one is not
	}
	res, err := p.asAnn.Handle(ctx, request(protocol.MethodCallTool, `{"name":"old_form"}`), protocol.Discard)
	if p.way.Revision < string(protocol.Revision20250618) {
		return
	}
	if err != nil || res.Type != protocol.ResultInputRequired {
		t.Fatalf("no question: %+v, %v", res, err)
	}
	requests, _ := jsontok.Lookup(res.Body, "inputRequests")
	var key string
	_ = jsontok.Object(requests, func(name, _ []byte) error {
		key = string(name)
		return nil
	})
	state, _ := jsontok.Lookup(res.Body, "requestState")
	answer := fmt.Sprintf(`{"name":"old_form","inputResponses":{%q:%s},"requestState":%s}`, key, questions["form"].answer, state)
	if got, err := call(ctx, p.asBob, protocol.MethodCallTool, answer); err == nil && strings.Contains(got, "Ann") {
		t.Errorf("bob has answered for ann: %s", got)
	}
	p.ann.refresh()
	if got, err := call(ctx, p.asAnn, protocol.MethodCallTool, answer); err != nil || !strings.Contains(got, "Ann") {
		t.Errorf("ann's own answer: %s, %v", got, err)
	}
}

func (p *pair) tasks(ctx context.Context, t *testing.T) {
	t.Helper()
	if p.way.Transport == typed || p.way.Transport == google || p.way.Revision < string(protocol.Revision20251125) {
		return
	}
	res, err := p.asAnn.Handle(ctx, request(protocol.MethodCallTool, `{"name":"new_task"}`), protocol.Discard)
	if err != nil || res.Type != protocol.ResultTask {
		t.Fatalf("no task: %+v, %v", res, err)
	}
	id, _ := jsontok.Lookup(res.Body, "taskId")
	for _, method := range []string{protocol.MethodGetTask, protocol.MethodUpdateTask, protocol.MethodCancelTask} {
		if got, err := call(ctx, p.asBob, method, `{"taskId":`+string(id)+`}`); err == nil {
			t.Errorf("bob has ann's task by %s: %s", method, got)
		}
	}
	p.ann.refresh()
	if got, err := call(ctx, p.asAnn, protocol.MethodGetTask, `{"taskId":`+string(id)+`}`); err != nil || !strings.Contains(got, `"status"`) {
		t.Errorf("ann's own task: %s, %v", got, err)
	}
}

func (p *pair) subscriptions(ctx context.Context, t *testing.T) {
	t.Helper()
	if p.way.Transport == typed || p.way.Transport == google {
		return
	}
	const uri = "old+" + resourceURI
	before := p.old.subscribers()
	listening, stop := context.WithCancel(ctx)
	var done sync.WaitGroup
	defer done.Wait()
	defer stop()
	for _, h := range []protocol.Handler{p.asAnn, p.asBob} {
		heard := make(heard, 16)
		done.Go(func() {
			_, _ = h.Handle(listening, request(protocol.MethodListen, `{"notifications":{"resourceSubscriptions":["`+uri+`"]}}`), heard)
		})
		method, params, err := heard.next(ctx)
		if err != nil || method != protocol.NotificationAcknowledged || !strings.Contains(params, uri) {
			t.Errorf("%s %s, %v", method, params, err)
		}
	}
	if n := p.old.subscribers() - before; n != 2 {
		t.Errorf("%d sessions of the upstream have subscribed, want one for each principal", n)
	}
}

// ownSessions tries the sessions of the one as the other.
func (p *pair) ownSessions(ctx context.Context, t *testing.T) {
	t.Helper()
	if p.way.Transport != ways.HTTP || p.way.Revision == ways.Modern {
		return
	}
	tried := 0
	p.ann.sessions.Range(func(id, _ any) bool {
		tried++
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			r := httptest.NewRequestWithContext(ctx, method, "http://127.0.0.1/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
			r.Header.Set("Mcp-Session-Id", fmt.Sprint(id))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			recorder := httptest.NewRecorder()
			p.bob.through(p.crowd.jsonrpc.HTTP).ServeHTTP(recorder, r)
			if recorder.Code != http.StatusNotFound {
				t.Errorf("%s of ann's session by bob: %d %s", method, recorder.Code, recorder.Body)
			}
		}
		return true
	})
	if tried == 0 {
		t.Error("ann has no session")
	}
}
