package matrix

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/internal/ways"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// The fronts that are no way to all of MCP.
const (
	google = "Google's"
	typed  = "typed"
)

// everyFront returns a way through each front, in both eras where it has them.
func everyFront() []ways.Way {
	return append(allWays(), ways.Way{Transport: google, Revision: ways.Modern}, ways.Way{Transport: typed, Revision: ways.Modern})
}

// connectAny is [node.connect] for every front.
func (n *node) connectAny(t *testing.T, w ways.Way) protocol.Handler {
	t.Helper()
	switch w.Transport {
	case google:
		caller, err := bridge.Connect(schemes[grpc]+n.address, bridge.ConnectConfig{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = caller.Close() })
		client, err := bridge.NewGRPCClient(bridge.GRPCClientConfig{Caller: caller, Service: bridge.GoogleService})
		if err != nil {
			t.Fatal(err)
		}
		return client
	case typed:
		return overTyped(t, n, same)
	default:
		return n.connect(t, w)
	}
}

// overTyped returns the tools of a typed service in front of a Handler, behind an
// HTTP handler of the test's.
func overTyped(t *testing.T, h protocol.Handler, wrap func(http.Handler) http.Handler) protocol.Handler {
	t.Helper()
	service, err := bridge.NewTypedService(t.Context(), bridge.TypedConfig{Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	front, err := bridge.NewGRPCHandler(bridge.GRPCConfig{Handler: h, Typed: []*bridge.TypedService{service}})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	front.Mount(mux)
	server := httptest.NewUnstartedServer(wrap(mux))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(func() {
		service.Close()
		front.Close()
		server.Close()
	})
	caller, err := bridge.Connect(schemes[grpc]+strings.TrimPrefix(server.URL, "http://"), bridge.ConnectConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = caller.Close() })
	tools, err := bridge.New(t.Context(), []bridge.Upstream{{Caller: caller}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tools.Close() })
	return tools
}

// recorder is a middleware that notes the requests of clients, not those that
// this program makes on its own account.
type recorder struct {
	mu   sync.Mutex
	seen []*protocol.Request
}

func (r *recorder) middleware(next protocol.Handler) protocol.Handler {
	return protocol.HandlerFunc(func(ctx context.Context, q *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
		if !q.Caller.Principal.Internal() {
			r.mu.Lock()
			r.seen = append(r.seen, q)
			r.mu.Unlock()
		}
		return next.Handle(ctx, q, n)
	})
}

// take returns what has been seen since it was called last, and forgets it.
func (r *recorder) take() []*protocol.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}

// summary counts the requests and the messages of clients that they belong to, by
// method: "tools/call 2/1" are two requests for one message.
func summary(seen []*protocol.Request) string {
	count, ids := make(map[string]int), make(map[string]map[string]bool)
	for _, r := range seen {
		if ids[r.Method] == nil {
			ids[r.Method] = make(map[string]bool)
		}
		count[r.Method]++
		ids[r.Method][string(r.ID)] = true
	}
	var all []string
	for method, n := range count {
		all = append(all, fmt.Sprintf("%s %d/%d", method, n, len(ids[method])))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// step is something that a client does, and what one middleware in front of the
// Handler sees of it.
type step struct {
	name   string
	try    attempt
	want   string            // from most fronts
	legacy string            // from sessions of 2025-11-25, if it is something else
	other  map[string]string // from some fronts: nothing where they cannot do it
}

var steps = []step{
	{
		name: "list", try: asks(protocol.MethodListTools, `{}`, `"name":"echo"`), want: "tools/list 1/1",
		// It has no pages, and says in lists what there is to say of the server.
		other: map[string]string{google: "server/discover 1/1, tools/list 2/1", typed: ""},
	},
	{
		name: "call", try: asks(protocol.MethodCallTool, `{"name":"echo"}`, `"text"`), want: "tools/call 1/1",
	},
	{
		name: "read", try: asks(protocol.MethodReadResource, `{"uri":"`+resourceURI+`"}`, `"the text"`), want: "resources/read 1/1",
		other: map[string]string{typed: ""},
	},
	{
		name: "prompt", try: asks(protocol.MethodGetPrompt, `{"name":"greet","arguments":{"who":"Ann"}}`, `Greet`), want: "prompts/get 1/1",
		other: map[string]string{typed: ""},
	},
	{
		name: "completion", want: "completion/complete 1/1", other: map[string]string{typed: ""},
		try: asks(protocol.MethodComplete, `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"A"}}`, `"Ann"`),
	},
	{
		// A client of a session is asked in the middle of one message.
		name: "question", try: tryQuestion("form"), want: "tools/call 2/2", legacy: "tools/call 2/1",
	},
	{
		name: "task", try: tryTask, want: "tasks/get 2/2, tools/call 1/1",
		// It is told of the task's changes, and waits for its result.
		legacy: "subscriptions/listen 1/1, tasks/get 3/3, tools/call 1/1",
		other:  map[string]string{google: "", typed: ""},
	},
	{
		name: "listen", want: "subscriptions/listen 1/1",
		other: map[string]string{google: "", typed: ""},
		try: tryListen(`{"resourceSubscriptions":["`+resourceURI+`"]}`, protocol.NotificationResourceUpdated, `{"uri":"`+resourceURI+`"}`,
			func(l *listener) bool { return l.uris[resourceURI] }),
	},
}

// TestEveryFrontOnce: one middleware sees each request of every front exactly
// once, with the id of the client's message and who has sent it.
func TestEveryFrontOnce(t *testing.T) {
	t.Parallel()
	for _, w := range everyFront() {
		if w.Revision != ways.Modern && w.Revision != string(protocol.LatestLegacy) && w.Transport != ways.SSE {
			continue // both eras
		}
		t.Run(w.String(), func(t *testing.T) {
			t.Parallel()
			origin, seen := newFixture(t), &recorder{}
			n := newNode(t, protocol.Chain(origin, seen.middleware))
			c := n.connectAny(t, w)
			identified := func(requests []*protocol.Request) {
				for _, r := range requests {
					if len(r.ID) == 0 || r.Caller.Principal == nil || r.Caller.Transport != transportOf(w) {
						t.Errorf("%s: has the id %s and comes by %q of %v", r.Method, r.ID, r.Caller.Transport, r.Caller.Principal)
					}
				}
			}
			// What the program asks on its own account belongs to no message.
			identified(slices.DeleteFunc(seen.take(), func(r *protocol.Request) bool { return r.Caller.Transport == "internal" }))
			for _, s := range steps {
				want := s.want
				if w.Revision != ways.Modern && s.legacy != "" {
					want = s.legacy
				}
				if other, ok := s.other[w.Transport]; ok {
					want = other
				}
				if want == "" || w.Revision < string(protocol.Revision20250618) && (s.name == "question" || s.name == "task") {
					continue
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				got, err := s.try(ctx, c, origin)
				cancel()
				if err != nil || got != works {
					t.Errorf("%s: %q, %v", s.name, got, err)
				}
				requests := seen.take()
				identified(requests)
				// Clients open sessions, and read what tools are, when they need to.
				requests = slices.DeleteFunc(requests, func(r *protocol.Request) bool {
					return r.Method == protocol.MethodDiscover && w.Transport != google || r.Method == protocol.MethodListTools && s.name != "list"
				})
				if got := summary(requests); got != want {
					t.Errorf("%s: seen %s, want %s", s.name, got, want)
				}
			}
		})
	}
}

// transportOf is what a front calls the transport of a way.
func transportOf(w ways.Way) string {
	if w.Transport == google || w.Transport == typed {
		return "grpc"
	}
	return called[w.Transport]
}
