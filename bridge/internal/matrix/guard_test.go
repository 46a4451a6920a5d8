package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/find"
	"github.com/mcp-bridge/mcp-bridge/bridge/mux"
	"github.com/mcp-bridge/mcp-bridge/gen/library/v1/libraryv1connect"
	"github.com/mcp-bridge/mcp-bridge/internal/demo"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/ways"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// forbidding is a guard that forbids a tool, a prompt, a resource, a completion
// and a task, by what they are and not by how somebody asks for them, and an
// argument of a tool.
type forbidding struct{}

const libraryAPI = "library.v1.Library."

// Decide forbids what it must.
func (forbidding) Decide(_ context.Context, a *protocol.Access) protocol.Decision {
	t := a.Target
	forbidden := t.RPC == libraryAPI+"DeleteBook" || t.Kind == protocol.TargetCompletion && t.RPC == libraryAPI+"ListBooks" ||
		t.Upstream == "notes" && (t.Name == "greet" || t.Name == resourceURI || t.Kind == protocol.TargetTask || t.Name == "last")
	if t.RPC == libraryAPI+"GetBook" || t.RPC == libraryAPI+"ListBooks" && t.Kind == protocol.TargetTool {
		message, err := a.Arguments()
		var m struct{ Name, Genre string }
		forbidden = err != nil || json.Unmarshal(message, &m) != nil || m.Name == "shelves/1/books/2" || m.Genre == "GENRE_GOTHIC"
	}
	return protocol.Decision{Allow: !forbidden}
}

// Visible hides what is always forbidden. Whoever knows its name asks for it all the
// same.
func (forbidding) Visible(_ context.Context, _ *protocol.Principal, targets []*protocol.Target) []bool {
	shown := make([]bool, len(targets))
	for i, t := range targets {
		shown[i] = t.Name != "Library_DeleteBook" && t.Name != "last" && t.Name != "greet" && t.Name != resourceURI
	}
	return shown
}

// closer is a Handler as an upstream that needs no end.
type closer struct{ protocol.Handler }

func (closer) Close() {}

// guarded is an API and an MCP server behind a guard.
type guarded struct {
	notes *fixture
	mux   *mux.Mux

	mu   sync.Mutex
	rpcs map[string]int // calls by RPC
	asks []string       // what the MCP server was asked, by method and params
}

// calls returns how often an RPC was called since it was asked last.
func (g *guarded) calls(rpc string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.rpcs[rpc]
	delete(g.rpcs, rpc)
	return n
}

func newGuarded(t *testing.T, guard protocol.Guard) *guarded {
	t.Helper()
	g := &guarded{notes: newFixture(t), rpcs: make(map[string]int)}
	options, err := os.ReadFile("../../../examples/annotated/options.yaml")
	if err != nil {
		t.Fatal(err)
	}
	library := demo.Handler(demo.New())
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.rpcs[strings.TrimPrefix(r.URL.Path, "/library.v1.Library/")]++
		g.mu.Unlock()
		library.ServeHTTP(w, r)
	})
	api, err := bridge.New(t.Context(), []bridge.Upstream{bridge.InProcess(counted, libraryv1connect.LibraryName)}, bridge.WithOptions(options), bridge.WithoutConfirmation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	notes := protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
		if !r.Caller.Principal.Internal() {
			g.mu.Lock()
			g.asks = append(g.asks, r.Method+" "+string(r.Params))
			g.mu.Unlock()
		}
		return g.notes.Handle(ctx, r, n)
	})
	g.mux, err = mux.New(mux.Config{
		Guard: guard,
		Upstreams: []mux.Upstream{
			{Name: "library", Open: func(context.Context) (mux.Server, error) { return api, nil }},
			{Name: "notes", Open: func(context.Context) (mux.Server, error) { return closer{notes}, nil }},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.mux.Close)
	if down := g.mux.Ready(t.Context()); len(down) > 0 {
		t.Fatal(down)
	}
	return g
}

// trick is a way to something that is forbidden. Typed services and Google's have
// no place for some.
type trick struct {
	name           string
	method, params string
	// like is the same request for something that does not exist. The answers must
	// be the same, but for the name. Without it, any refusal will do.
	like string
	// allowed is the same for something that is allowed.
	allowed string
	// rpc is what must not be called, and notes what the MCP server must not hear.
	rpc, notes string
	// only are the fronts that have a place for it; without any, all have.
	only func(ways.Way) bool
}

// carriesJSON reports whether a front passes JSON on as it is.
func carriesJSON(w ways.Way) bool {
	return schemes[w.Transport] == "" && w.Transport != google && w.Transport != typed
}

// hasLists reports whether a front is a way to more than tools.
func hasLists(w ways.Way) bool { return w.Transport != typed }

var tricks = []trick{
	{
		name: "tool", method: protocol.MethodCallTool, rpc: "DeleteBook",
		params:  `{"name":"library_Library_DeleteBook","arguments":{"name":"shelves/1/books/1"}}`,
		like:    `{"name":"library_Library_Nothing","arguments":{"name":"shelves/1/books/1"}}`,
		allowed: `{"name":"library_Library_GetBook","arguments":{"name":"shelves/1/books/1"}}`,
	},
	{
		name: "escaped name", method: protocol.MethodCallTool, rpc: "DeleteBook", only: carriesJSON,
		params: `{"name":"library_Library_Delete\u0042ook","arguments":{"name":"shelves/1/books/1"}}`,
		like:   `{"name":"library_Library_Nothin\u0067","arguments":{"name":"shelves/1/books/1"}}`,
	},
	{
		name: "member", method: protocol.MethodCallTool, rpc: "GetBook",
		params: `{"name":"library_Library_GetBook","arguments":{"name":"shelves/1/books/2"}}`,
		like:   `{"name":"library_Library_Nothing","arguments":{"name":"shelves/1/books/2"}}`,
	},
	{
		name: "escaped member", method: protocol.MethodCallTool, rpc: "GetBook", only: carriesJSON,
		params: `{"name":"library_Library_GetBook","argument\u0073":{"n\u0061me":"shelves\/1/books/2"}}`,
		like:   `{"name":"library_Library_Nothing","arguments":{"name":"shelves/1/books/2"}}`,
	},
	{
		name: "value in lower case", method: protocol.MethodCallTool, rpc: "ListBooks", only: carriesJSON,
		params:  `{"name":"library_Library_ListBooks","arguments":{"genre":"gothic"}}`,
		like:    `{"name":"library_Library_Nothing","arguments":{"genre":"gothic"}}`,
		allowed: `{"name":"library_Library_ListBooks","arguments":{"genre":"novel"}}`,
	},
	{
		name: "value as a number", method: protocol.MethodCallTool, rpc: "ListBooks", only: carriesJSON,
		params: `{"name":"library_Library_ListBooks","arguments":{"genre":2}}`,
		like:   `{"name":"library_Library_Nothing","arguments":{"genre":2}}`,
	},
	{
		name: "arguments as text", method: protocol.MethodCallTool, rpc: "GetBook", only: carriesJSON,
		params: `{"name":"library_Library_GetBook","arguments":"{\"name\":\"shelves/1/books/2\"}"}`,
	},
	{
		name: "member that occurs twice", method: protocol.MethodCallTool, rpc: "GetBook", only: carriesJSON,
		params: `{"name":"library_Library_GetBook","arguments":{"name":"shelves/1/books/1","name":"shelves/1/books/2"}}`,
	},
	{
		name: "name that occurs twice", method: protocol.MethodCallTool, rpc: "DeleteBook", only: carriesJSON,
		params: `{"name":"library_Library_GetBook","name":"library_Library_DeleteBook","arguments":{"name":"shelves/1/books/1"}}`,
	},
	{
		name: "tool by call_tool", method: protocol.MethodCallTool, rpc: "DeleteBook", only: hasLists,
		params:  `{"name":"call_tool","arguments":{"name":"library_Library_DeleteBook","arguments":{"name":"shelves/1/books/1"}}}`,
		like:    `{"name":"call_tool","arguments":{"name":"library_Library_Nothing","arguments":{"name":"shelves/1/books/1"}}}`,
		allowed: `{"name":"call_tool","arguments":{"name":"library_Library_GetBook","arguments":{"name":"shelves/1/books/1"}}}`,
	},
	{
		name: "member by call_tool", method: protocol.MethodCallTool, rpc: "GetBook", only: hasLists,
		params: `{"name":"call_tool","arguments":{"name":"library_Library_GetBook","arguments":{"name":"shelves/1/books/2"}}}`,
	},
	{
		name: "escaped name by call_tool", method: protocol.MethodCallTool, rpc: "DeleteBook", only: carriesJSON,
		params: `{"name":"c\u0061ll_tool","arguments":{"n\u0061me":"library_Library_Delete\u0042ook","arguments":{"name":"shelves/1/books/1"}}}`,
		like:   `{"name":"call_tool","arguments":{"name":"library_Library_Nothing","arguments":{"name":"shelves/1/books/1"}}}`,
	},
	{
		name: "resource of an RPC", method: protocol.MethodReadResource, rpc: "GetBook", only: hasLists,
		params:  `{"uri":"library+library://shelves/1/books/2"}`,
		like:    `{"uri":"library+nothing://shelves/1/books/2"}`,
		allowed: `{"uri":"library+library://shelves/1/books/1"}`,
	},
	{
		name: "resource with an escape", method: protocol.MethodReadResource, rpc: "GetBook", only: hasLists,
		params: `{"uri":"library+library://shelves/1/books/%32"}`,
	},
	{
		name: "completion of an RPC", method: protocol.MethodComplete, rpc: "ListBooks", only: hasLists,
		params: `{"ref":{"type":"ref/resource","uri":"library+library://{+name}"},"argument":{"name":"name","value":"shelves/1"}}`,
		like:   `{"ref":{"type":"ref/resource","uri":"library+nothing://{+name}"},"argument":{"name":"name","value":"shelves/1"}}`,
	},
	{
		name: "tool of an MCP server", method: protocol.MethodCallTool, notes: `"last"`,
		params:  `{"name":"notes_last"}`,
		like:    `{"name":"notes_lost"}`,
		allowed: `{"name":"notes_echo"}`,
	},
	{
		name: "prompt", method: protocol.MethodGetPrompt, notes: `"greet"`, only: hasLists,
		params: `{"name":"notes_greet","arguments":{"who":"Ann"}}`,
		like:   `{"name":"notes_nothing","arguments":{"who":"Ann"}}`,
	},
	{
		name: "completion of a prompt", method: protocol.MethodComplete, notes: `"greet"`, only: hasLists,
		params: `{"ref":{"type":"ref/prompt","name":"notes_greet"},"argument":{"name":"who","value":"A"}}`,
		like:   `{"ref":{"type":"ref/prompt","name":"notes_nothing"},"argument":{"name":"who","value":"A"}}`,
	},
	{
		name: "resource", method: protocol.MethodReadResource, notes: resourceURI, only: hasLists,
		params: `{"uri":"notes+` + resourceURI + `"}`,
		like:   `{"uri":"notes+test://notes/nothing"}`,
	},
}

// TestGuardOnEveryFront: what a guard forbids is refused like what does not exist,
// by whatever front, name, spelling and detour it is asked for.
func TestGuardOnEveryFront(t *testing.T) {
	t.Parallel()
	for _, w := range everyFront() {
		t.Run(w.String(), func(t *testing.T) {
			t.Parallel()
			g := newGuarded(t, forbidding{})
			all := newNode(t, g.mux).connectAny(t, w)
			c := all
			if w.Transport != typed { // whose service is one of tools that are listed
				c = newNode(t, protocol.Chain(g.mux, find.Middleware(find.Config{}))).connectAny(t, w)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			for _, trick := range tricks {
				if trick.only != nil && !trick.only(w) || w.Transport == typed && trick.method != protocol.MethodCallTool {
					continue
				}
				g.try(ctx, t, c, w, &trick)
			}
			g.tryTask(ctx, t, all, w)
			g.trySubscriptions(ctx, t, c, w)
		})
	}
}

func (g *guarded) try(ctx context.Context, t *testing.T, c protocol.Handler, w ways.Way, trick *trick) {
	t.Helper()
	if trick.allowed != "" {
		if refused := refusedWith(c.Handle(ctx, request(trick.method, trick.allowed), protocol.Discard)); refused != "" {
			t.Errorf("%s: what is allowed is refused: %s", trick.name, refused)
		}
		if trick.rpc == "ListBooks" && g.calls(trick.rpc) == 0 {
			t.Errorf("%s: what is allowed is not called", trick.name)
		}
	}
	g.calls("GetBook")
	refused := refusedWith(c.Handle(ctx, request(trick.method, trick.params), protocol.Discard))
	if refused == "" {
		t.Errorf("%s: not refused", trick.name)
	}
	if trick.rpc != "" && g.calls(trick.rpc) > 0 {
		t.Errorf("%s: the API was called", trick.name)
	}
	g.mu.Lock()
	for _, asked := range g.asks {
		if trick.notes != "" && strings.Contains(asked, trick.notes) {
			t.Errorf("%s: the MCP server was asked %s", trick.name, asked)
		}
	}
	g.asks = nil
	g.mu.Unlock()
	if trick.like == "" || w.Transport == typed { // a typed service has no RPC for what does not exist
		return
	}
	want := refusedWith(c.Handle(ctx, request(trick.method, trick.like), protocol.Discard))
	for _, name := range []string{"library_Library_Nothing", "library_Library_DeleteBook", "library_Library_GetBook", "library_Library_ListBooks",
		"notes_nothing", "notes_lost", "notes_last", "notes_greet", "library+nothing", "library+library", "notes+test://notes/nothing", "notes+" + resourceURI} {
		want, refused = strings.ReplaceAll(want, name, "NAME"), strings.ReplaceAll(refused, name, "NAME")
	}
	// What the caller may see is suggested, by how near it is.
	want, refused = suggestions.ReplaceAllString(want, ""), suggestions.ReplaceAllString(refused, "")
	if refused != want {
		t.Errorf("%s: refused with %s, but what does not exist with %s", trick.name, refused, want)
	}
}

// tryTask follows a task, which is allowed to begin and no more.
func (g *guarded) tryTask(ctx context.Context, t *testing.T, c protocol.Handler, w ways.Way) {
	t.Helper()
	if w.Transport == typed || w.Transport == google || w.Revision < string(protocol.Revision20251125) {
		return
	}
	res, err := c.Handle(ctx, request(protocol.MethodCallTool, `{"name":"notes_task"}`), protocol.Discard)
	if err != nil || res.Type != protocol.ResultTask {
		t.Errorf("no task: %+v, %v", res, err)
		return
	}
	raw, _ := jsontok.Lookup(res.Body, "taskId")
	id, _ := jsontok.String(raw)
	for _, method := range []string{protocol.MethodGetTask, protocol.MethodUpdateTask, protocol.MethodCancelTask} {
		refused := refusedWith(c.Handle(ctx, request(method, `{"taskId":`+string(raw)+`}`), protocol.Discard))
		other := id[:len(id)-4] + "AAAA"
		want := refusedWith(c.Handle(ctx, request(method, `{"taskId":"`+other+`"}`), protocol.Discard))
		// A client of a session knows itself which tasks it has.
		if refused == "" || w.Revision == ways.Modern && strings.ReplaceAll(refused, id, "ID") != strings.ReplaceAll(want, other, "ID") {
			t.Errorf("%s: refused with %q, but for what does not exist with %q", method, refused, want)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, asked := range g.asks {
		if strings.HasPrefix(asked, "tasks/") {
			t.Errorf("the MCP server was asked %s", asked)
		}
	}
}

// trySubscriptions listens to resources that the guard forbids, and to one that it
// allows.
func (g *guarded) trySubscriptions(ctx context.Context, t *testing.T, c protocol.Handler, w ways.Way) {
	t.Helper()
	if w.Transport == typed || w.Transport == google {
		return
	}
	const allowed = "library+library://shelves/1/books/1"
	for _, uri := range []string{allowed, "library+library://shelves/1/books/2", "notes+" + resourceURI} {
		listening, stop := context.WithCancel(ctx)
		heard, done := make(heard, 16), make(chan error, 1)
		go func() {
			_, err := c.Handle(listening, request(protocol.MethodListen, `{"notifications":{"resourceSubscriptions":["`+uri+`"]}}`), heard)
			done <- err
		}()
		granted := ""
		select {
		case n := <-heard:
			granted = string(n.Params)
			stop()
			<-done
		case err := <-done: // a session is refused
			if err == nil {
				t.Errorf("%s: the stream ended", uri)
			}
		}
		stop()
		if strings.Contains(granted, uri) != (uri == allowed) {
			t.Errorf("%s: granted %s", uri, granted)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, asked := range g.asks {
		if strings.Contains(asked, resourceURI) {
			t.Errorf("the MCP server was asked %s", asked)
		}
	}
}

var suggestions = regexp.MustCompile(`; did you mean [^?]*\?`)

// refusedWith returns how a request was refused, or "" where it was not.
func refusedWith(res *protocol.Result, err error) string {
	if err != nil {
		fault := protocol.AsError(err)
		return fmt.Sprintf("%d %s %s", fault.Code, fault.Message, fault.Data)
	}
	if strings.Contains(string(res.Body), `"isError":true`) {
		return string(res.Body)
	}
	return ""
}
