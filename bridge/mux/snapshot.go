package mux

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcp-bridge/mcp-bridge/internal/seal"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// snapshot is everything that a request reads. It is immutable; [Mux.Apply] makes
// another one.
type snapshot struct {
	cfg      *Config
	box      *seal.Box
	guard    protocol.Guard
	guarded  bool      // the guard does not allow everything
	members  []*member // sorted by name
	byName   map[string]*member
	byScheme map[string]*member // of those with a prefix
	claims   []claim
	alone    *member // the only upstream, where its names have no prefix, or nil
	disjoint bool    // some names have no prefix and must be looked up

	index     [kindsOfLists][eras]atomic.Pointer[index]
	refreshed atomic.Int64 // when lists were last refreshed for calls

	mu     sync.Mutex
	alones map[string]*snapshot // those that ownNames has made, by upstream
}

// claim is the beginning of URIs that belong to an upstream.
type claim struct {
	prefix string
	member *member
}

func newSnapshot(cfg *Config, box *seal.Box, conns map[string]*conn) *snapshot {
	s := &snapshot{cfg: cfg, box: box, guard: cfg.Guard, byName: make(map[string]*member), byScheme: make(map[string]*member)}
	if s.guard == nil {
		s.guard = protocol.AllowAll
	}
	s.guarded = s.guard != protocol.AllowAll
	for i := range cfg.Upstreams {
		u := &cfg.Upstreams[i]
		m := newMember(conns[u.Name], u, cfg.ToolPrefix(u), len(cfg.Upstreams) > 1)
		s.members = append(s.members, m)
		s.byName[u.Name] = m
		if m.prefixed {
			s.byScheme[schemeOf(u.Name)] = m
			continue
		}
		for _, prefix := range u.Resources {
			s.claims = append(s.claims, claim{prefix, m})
		}
		s.disjoint = s.disjoint || len(cfg.Upstreams) > 1
	}
	slices.SortFunc(s.members, func(a, b *member) int { return cmp.Compare(a.name, b.name) })
	if len(s.members) == 1 && !s.members[0].prefixed {
		s.alone = s.members[0]
	}
	return s
}

// ownNames returns the snapshot of one upstream alone, under its own names. If there is
// no such upstream, it is empty.
func (s *snapshot) ownNames(upstream string) *snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if made := s.alones[upstream]; made != nil {
		return made
	}
	own := &snapshot{cfg: s.cfg, box: s.box, guard: s.guard, guarded: s.guarded, byName: make(map[string]*member)}
	if m := s.byName[upstream]; m != nil {
		own.alone = m.ownNames()
		own.members = []*member{own.alone}
		own.byName[upstream] = own.alone
	}
	if s.alones == nil {
		s.alones = make(map[string]*snapshot)
	}
	s.alones[upstream] = own
	return own
}

// ToolPrefix returns what the public names of an upstream's tools begin with, or "".
func (c *Config) ToolPrefix(u *Upstream) string {
	prefix := cmp.Or(u.Prefix, c.Prefix)
	if prefix == PrefixNever || prefix == PrefixDefault && len(c.Upstreams) < 2 {
		return ""
	}
	return u.Name + "_"
}

// strict reports whether tools and prompts must be listed to be called. Where a
// guard decides, an upstream's own refusal of an unknown name would tell it from
// the refusal of a known one.
func (s *snapshot) strict() bool { return s.cfg.Authenticated || s.guarded }
