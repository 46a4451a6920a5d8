package mux

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// discoveryTimeout is how long a request waits for what it must know of upstreams
// that have never answered.
const discoveryTimeout = 2 * time.Second

// index finds the upstream of a name that has no prefix, by the lists that all
// callers share.
type index struct {
	version uint64
	made    []*listing // of which lists
	owners  map[string]owner
}

// owner is the upstream that a name belongs to. Where several list it, it belongs to
// none.
type owner struct {
	entry   *entry
	member  *member
	several bool
}

// indexOf returns the index of the present lists.
func (s *snapshot) indexOf(h *hub, k list, e era) *index {
	version := h.version.Load()
	old := s.index[k][e].Load()
	if old != nil && old.version == version {
		return old
	}
	internal := protocol.InternalPrincipal()
	made := make([]*listing, len(s.members))
	for i, m := range s.members {
		if !m.prefixed {
			made[i], _ = m.lists.peek(k, e, internal)
		}
	}
	x := &index{version: version, made: made}
	if old != nil && slices.Equal(old.made, made) {
		x.owners = old.owners
	} else {
		x.owners = make(map[string]owner)
		for i, m := range s.members {
			if made[i] == nil {
				continue
			}
			c := m.compile(made[i], k, s)
			for j := range c.entries {
				e := &c.entries[j]
				if o, taken := x.owners[e.public]; taken {
					o.several = true
					x.owners[e.public] = o
					continue
				}
				x.owners[e.public] = owner{entry: e, member: m}
			}
		}
	}
	s.index[k][e].Store(x)
	return x
}

// contested reports whether another upstream lists the name of an entry too.
func (s *snapshot) contested(h *hub, k list, e era, public string) bool {
	if !s.disjoint || k == listResources || k == listTemplates {
		return false
	}
	return s.indexOf(h, k, e).owners[public].several
}

// unprefixed returns the upstream that a name without prefix belongs to.
func (v *View) unprefixed(a *asker, k list, name string) (owner, bool) {
	found := func() (owner, bool) {
		o, ok := a.s.indexOf(v.mux.hub, k, a.era).owners[name]
		if !ok {
			o, ok = a.private(k, name)
		}
		return o, ok && !o.several
	}
	if o, ok := found(); ok || !a.s.disjoint {
		return o, ok
	}
	a.s.refresh()
	if !a.discover(k, func(m *member) bool { return !m.prefixed }) {
		return owner{}, false
	}
	return found()
}

// private returns the upstream that has a name in a list that it shows to the
// caller only.
func (a *asker) private(k list, name string) (owner, bool) {
	var o owner
	for _, m := range a.s.members {
		if m.prefixed || !m.lists.isPrivate(k) {
			continue
		}
		l, _ := m.lists.peek(k, a.era, a.principal)
		if l == nil {
			continue
		}
		if e := m.compile(l, k, a.s).public[name]; e != nil {
			if o.entry != nil {
				return owner{several: true}, true
			}
			o = owner{entry: e, member: m}
		}
	}
	return o, o.entry != nil
}

// listed returns the entry of a name of one upstream, or nil where it lists none, or
// has shown no list yet.
func (a *asker) listed(m *member, k list, public string) *entry {
	l, tried := m.lists.peek(k, a.era, a.principal)
	if !tried && a.discover(k, func(other *member) bool { return other == m }) {
		l, _ = m.lists.peek(k, a.era, a.principal)
	}
	if l == nil {
		return nil
	}
	return m.compile(l, k, a.s).public[public]
}

// discover waits for the first lists of upstreams that have shown none, and reports
// whether it asked for any. Upstreams that have failed to show one are not asked
// again: a call does not wait for lists that fail.
func (a *asker) discover(k list, wanted func(m *member) bool) bool {
	ctx, cancel := context.WithTimeout(a.ctx, discoveryTimeout)
	defer cancel()
	var wg sync.WaitGroup
	asked := false
	for _, m := range a.s.members {
		if !wanted(m) {
			continue
		}
		if _, tried := m.lists.peek(k, a.era, a.principal); tried {
			continue
		}
		asked = true
		wg.Go(func() {
			if m.settled(ctx, discoveryTimeout) != nil {
				return
			}
			if _, err := m.lists.get(ctx, k, a.r); err != nil {
				m.lists.gaveUp(k, a.era, a.principal)
			}
		})
	}
	wg.Wait()
	return asked
}

// gaveUp notes that a list could not be had in time.
func (l *lists) gaveUp(k list, e era, principal *protocol.Principal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.entry(l.key(k, e, principal))
	if c.tried.IsZero() {
		c.tried = time.Now()
	}
}

// refresh has lists read in the background that are not good any more, from time
// to time.
func (s *snapshot) refresh() {
	now := time.Now().UnixNano()
	last := s.refreshed.Load()
	if now-last < int64(refreshPause) || !s.refreshed.CompareAndSwap(last, now) {
		return
	}
	for _, m := range s.members {
		m.lists.refresh(everyList, refreshPause)
	}
}

// faults returns what an upstream lists and nobody is served, and why.
func (s *snapshot) faults(m *member, h *hub) []string {
	var faults []string
	for k := range kindsOfLists {
		l, era := m.lists.known(k)
		if l == nil {
			continue
		}
		c := m.compile(l, k, s)
		for _, it := range l.items {
			e := c.own[it.name]
			switch {
			case e != nil:
				if s.contested(h, k, era, e.public) {
					faults = append(faults, fmt.Sprintf("%s %s is listed by another upstream too", listInfo[k].noun, e.public))
				}
			case k == listTools && !m.tools.Served(it.name):
			case k == listResources || k == listTemplates:
				faults = append(faults, fmt.Sprintf("%s %s is not claimed by this upstream", listInfo[k].noun, it.name))
			default:
				faults = append(faults, fmt.Sprintf("%s %s has a name that belongs to another one", listInfo[k].noun, it.name))
			}
		}
	}
	return faults
}
