package mux

import (
	"context"
	"encoding/json"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Shown are the tools that a caller is shown. It is immutable: the same pointer means
// the same tools, and while these stay the same, so does the pointer, as a rule.
type Shown struct{ entries []*entry }

// Len returns how many tools there are.
func (s *Shown) Len() int { return len(s.entries) }

// Tool returns a tool as tools/list shows it.
func (s *Shown) Tool(i int) json.RawMessage { return s.entries[i].raw }

// Shown returns the tools that the sender of a request is shown, whatever the request
// asks for. It does not read lists again whose time has passed, but has that done in
// the background. Upstreams that are down are left out.
func (v *View) Shown(ctx context.Context, r *protocol.Request) (*Shown, error) {
	a := v.ask(ctx, r)
	l, err := v.lists(a, listTools, true)
	if err != nil {
		return nil, err
	}
	var shown []bool
	outcome := ""
	if a.guarded() && len(l.targets) > 0 {
		shown, outcome = l.outcome(a)
	}
	return l.shownTo(outcome, shown), nil
}

// shownTo returns the entries for an outcome of the guard.
func (l *content) shownTo(outcome string, shown []bool) *Shown {
	l.mu.Lock()
	defer l.mu.Unlock()
	if made := l.shown[outcome]; made != nil {
		return made
	}
	made := &Shown{entries: l.entries}
	if shown != nil {
		made.entries = nil
		for i, e := range l.entries {
			if shown[i] {
				made.entries = append(made.entries, e)
			}
		}
	}
	if l.shown == nil || len(l.shown) >= maxOutcomes {
		l.shown = make(map[string]*Shown)
	}
	l.shown[outcome] = made
	return made
}

// UnknownTool returns the error for a call of a tool that the sender of a request is not
// shown: the one that [View.Handle] returns for a missing tool and for one that the guard
// refuses.
func (v *View) UnknownTool(ctx context.Context, r *protocol.Request, name string) error {
	return v.unknown(v.ask(ctx, r), listTools, name)
}
