package mux

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/toolname"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// View is an endpoint of a Mux: some of its upstreams and tools. It is used
// concurrently.
type View struct {
	mux *Mux
	ep  Endpoint
	own string // the upstream whose own names are shown, and nothing else, or ""

	mu       sync.Mutex
	rendered map[renderKey]*rendered
	filters  []filteredPage
}

func newView(m *Mux, e Endpoint) *View {
	return &View{mux: m, ep: e, rendered: make(map[renderKey]*rendered)}
}

// snapshot returns what is configured at present, as the view shows it.
func (v *View) snapshot() *snapshot {
	s := v.mux.snapshot.Load()
	if v.own != "" {
		return s.ownNames(v.own)
	}
	return s
}

var _ protocol.Handler = (*View)(nil)

// asker is who asks and what for, as everything that decides reads it.
type asker struct {
	ctx       context.Context //nolint:containedctx // lives as long as one request
	s         *snapshot
	r         *protocol.Request
	principal *protocol.Principal
	era       era
}

// guarded reports whether the guard must be asked.
func (a *asker) guarded() bool { return a.s.guarded && !a.principal.Internal() }

// ask returns who asks for something now.
func (v *View) ask(ctx context.Context, r *protocol.Request) *asker {
	a := &asker{ctx: ctx, s: v.snapshot(), r: r, era: eraOf(r.Meta.Revision)}
	if r.Caller != nil {
		a.principal = r.Caller.Principal
	}
	return a
}

// Handle answers one MCP request.
func (v *View) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	for {
		a := v.ask(ctx, r)
		res, err := v.handle(a, n)
		if errors.Is(err, errDrained) {
			if v.snapshot() != a.s {
				continue // another configuration: nothing has been sent yet
			}
			err = &protocol.UpstreamError{Kind: protocol.UpstreamUnavailable, Message: "the server is closing", Unsent: true}
		}
		if err != nil {
			return nil, err
		}
		if a.s.alone == nil {
			own := *res
			own.Server = a.s.cfg.Server
			return &own, nil
		}
		return res, nil
	}
}

func (v *View) handle(a *asker, n protocol.Notifier) (*protocol.Result, error) {
	switch a.r.Method {
	case protocol.MethodDiscover:
		return v.discover(a)
	case protocol.MethodListen:
		return v.listen(a, n)
	}
	if k, ok := listOf(a.r.Method); ok {
		return v.list(a, k)
	}
	if a.principal.Internal() {
		// It is below the guard, so it gets no further.
		return nil, protocol.MethodNotFound(a.r.Method)
	}
	switch a.r.Method {
	case protocol.MethodCallTool:
		return v.callTool(a, n)
	case protocol.MethodGetPrompt:
		return v.getPrompt(a, n)
	case protocol.MethodReadResource:
		return v.readResource(a, n)
	case protocol.MethodComplete:
		return v.complete(a, n)
	case protocol.MethodGetTask, protocol.MethodUpdateTask, protocol.MethodCancelTask, protocol.MethodTaskResult:
		return v.task(a, n)
	}
	// A guard cannot decide what a method of an extension does, and only one
	// upstream can be meant.
	if a.s.alone == nil || a.guarded() || !v.has(a.s.alone) || a.r.Method == protocol.MethodListTasks {
		return nil, protocol.MethodNotFound(a.r.Method)
	}
	return a.s.alone.ask(a.ctx, a.r, n)
}

// has reports whether an upstream is shown.
func (v *View) has(m *member) bool {
	return len(v.ep.Upstreams) == 0 || slices.Contains(v.ep.Upstreams, m.name)
}

// shows reports whether a tool is shown, by its public name.
func (v *View) shows(tool string) bool { return toolname.Chosen(v.ep.Include, v.ep.Exclude, tool) }

// members returns the upstreams that are shown.
func (v *View) members(s *snapshot) []*member {
	if len(v.ep.Upstreams) == 0 {
		return s.members
	}
	var shown []*member
	for _, m := range s.members {
		if v.has(m) {
			shown = append(shown, m)
		}
	}
	return shown
}

// sees reports whether a principal gets to see anything of an upstream.
func (v *View) sees(a *asker, m *member) bool {
	if !a.guarded() {
		return true
	}
	var targets []*protocol.Target
	for k := range kindsOfLists {
		l, _ := m.lists.peek(k, a.era, a.principal)
		if l == nil {
			continue
		}
		for _, e := range m.compile(l, k, a.s).entries {
			if k != listTools || v.shows(e.public) {
				targets = append(targets, e.target)
			}
		}
	}
	if targets == nil {
		// Nothing is known of it yet, so it is judged by its name.
		targets = []*protocol.Target{{Upstream: m.name, Kind: protocol.TargetTool, Hints: protocol.DefaultHints()}}
	}
	return slices.Contains(a.visible(targets), true)
}

// visible asks the guard which targets the principal sees. One that does not say
// shows nothing.
func (a *asker) visible(targets []*protocol.Target) []bool {
	shown := a.s.guard.Visible(a.ctx, a.principal, targets)
	if len(shown) != len(targets) {
		return make([]bool, len(targets))
	}
	return shown
}

// unavailable returns the names of the upstreams that are down and that the
// principal knows of.
func (v *View) unavailable(a *asker) []string {
	var down []string
	for _, m := range v.members(a.s) {
		if m.fault() != nil && v.sees(a, m) {
			down = append(down, m.name)
		}
	}
	return down
}

// maxName bounds how much of a name an error repeats, in bytes.
const maxName = 200

// text returns a member of an object that must be a string.
func text(raw []byte, member string) (string, *protocol.Error) {
	v, ok := jsontok.Lookup(raw, member)
	if s, isString := jsontok.String(v); ok && isString {
		return s, nil
	}
	return "", protocol.Errorf(protocol.CodeInvalidParams, "params.%s must be a string", member)
}

func clipped(name string) string { return clip.Text(name, maxName) }
