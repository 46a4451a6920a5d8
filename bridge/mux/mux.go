package mux

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/backoff"
	"github.com/mcp-bridge/mcp-bridge/internal/seal"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// MetaUnavailable is the member of _meta by which lists and server/discover name
// the upstreams that are down, and so left out.
const MetaUnavailable = "io.github.mcp-bridge/unavailable"

// Mux is several upstreams as one [protocol.Handler]. It is used concurrently.
type Mux struct {
	root     *View
	snapshot atomic.Pointer[snapshot]
	hub      *hub
	log      *slog.Logger

	apply    sync.Mutex // one configuration at a time; guards the fields below
	conns    map[string]*conn
	closed   bool
	now      chan struct{} // closed when nothing is waited for any more
	draining sync.WaitGroup
}

var _ protocol.Handler = (*Mux)(nil)

// New returns a Mux, which begins to open its upstreams. It fails if cfg is wrong,
// and then reports every fault. Close it.
func New(cfg Config) (*Mux, error) {
	m := &Mux{hub: newHub(), conns: make(map[string]*conn), now: make(chan struct{})}
	m.root = newView(m, Endpoint{})
	if err := m.Apply(cfg); err != nil {
		return nil, err
	}
	return m, nil
}

// Apply replaces the configuration. Upstreams whose name and version stay the same
// keep running; new ones are opened, and those that are gone or have changed are
// closed once the calls to them have ended. Apply does not wait for that. If cfg is
// wrong nothing changes, and the error reports every fault.
//
// Without keys, the Mux keeps the key that it has made.
func (m *Mux) Apply(cfg Config) error {
	if err := cfg.validate(); err != nil {
		return fmt.Errorf("mux: %w", err)
	}
	m.apply.Lock()
	defer m.apply.Unlock()
	if m.closed {
		return errors.New("mux: it is closed")
	}
	old := m.snapshot.Load()
	var box *seal.Box
	if len(cfg.Keys) == 0 && old != nil && len(old.cfg.Keys) == 0 {
		box = old.box
	} else {
		var err error
		if box, err = seal.New(cfg.Keys...); err != nil {
			return fmt.Errorf("mux: %w", err)
		}
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	cfg.MinPause = cmp.Or(cfg.MinPause, DefaultMinPause)
	cfg.MaxPause = max(cmp.Or(cfg.MaxPause, DefaultMaxPause), cfg.MinPause)
	cfg.DrainTimeout = cmp.Or(cfg.DrainTimeout, DefaultDrainTimeout)
	if cfg.Server == nil {
		cfg.Server = json.RawMessage(`{"name":"mcp-bridge","version":"devel"}`)
	}
	conns := make(map[string]*conn, len(cfg.Upstreams))
	for i := range cfg.Upstreams {
		u := &cfg.Upstreams[i]
		c := m.conns[u.Name]
		if c == nil || c.version != u.Version {
			c = newConn(u, backoff.Backoff{Min: cfg.MinPause, Max: cfg.MaxPause, Healthy: healthyPeriod}, cfg.Logger, m.hub)
		}
		conns[u.Name] = c
	}
	m.snapshot.Store(newSnapshot(&cfg, box, conns))
	for name, c := range m.conns {
		if conns[name] != c {
			m.draining.Go(func() { c.drain(cfg.DrainTimeout, m.now) })
		}
	}
	m.conns = conns
	m.hub.send(topologyChanged)
	return nil
}

// View returns the View of an endpoint. It follows what is applied later: an
// upstream that is not configured any more is not shown, and one that is comes
// back.
func (m *Mux) View(e Endpoint) *View { return newView(m, e) }

// OwnNames returns a Handler of one upstream under its own names, whatever prefix and
// new names are configured, for programs that know the upstream by itself, such as
// those with stubs made of it. It serves what the Mux serves of the upstream: filters,
// overrides and fixed arguments hold. Calls pass the guard, whose targets have the
// public names as ever. Lists of an upstream that is down are errors.
//
// Like a View, it follows what is applied later.
func (m *Mux) OwnNames(upstream string) protocol.Handler {
	v := newView(m, Endpoint{Name: "own names of " + upstream}) // no endpoint has a space in its name
	v.own = upstream
	return v
}

// All returns the View of everything.
func (m *Mux) All() *View { return m.root }

// Handle answers one MCP request.
func (m *Mux) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	return m.root.Handle(ctx, r, n)
}

// Ready waits until each upstream has been tried once, which takes 30 seconds at
// most, or until ctx ends, and says of those that are down why, by name.
func (m *Mux) Ready(ctx context.Context) map[string]error {
	down := make(map[string]error)
	for _, u := range m.snapshot.Load().members {
		if err := u.settled(ctx, readyTimeout); err != nil {
			down[u.name] = err
		}
	}
	return down
}

// Status is the state of one upstream.
type Status struct {
	Name, Version string
	// Required is as configured.
	Required bool
	// Up is true where the upstream is available, and otherwise Err says why it is
	// not. Since is when that changed last.
	Up    bool
	Err   error
	Since time.Time
	// Outages is how often it has gone down after it had been up.
	Outages int
	// Server is what Open has returned, or nil.
	Server Server
	// Tools, Prompts, Resources and Templates count what is served, as far as it
	// has been listed.
	Tools, Prompts, Resources, Templates int
	// Faults are names and URIs that are listed and not served, and why.
	Faults []string
}

// Status returns the state of all upstreams, in the order of their names.
func (m *Mux) Status() []Status {
	s := m.snapshot.Load()
	all := make([]Status, len(s.members))
	for i, u := range s.members {
		u.mu.Lock()
		st := Status{Name: u.name, Version: u.version, Required: u.spec.Required, Up: u.down == nil, Err: u.down, Since: u.since, Outages: u.outages, Server: u.server}
		u.mu.Unlock()
		for k, count := range map[list]*int{listTools: &st.Tools, listPrompts: &st.Prompts, listResources: &st.Resources, listTemplates: &st.Templates} {
			if found, _ := u.lists.known(k); found != nil {
				*count = len(u.compile(found, k, s).entries)
			}
		}
		st.Faults = s.faults(u, m.hub)
		all[i] = st
	}
	return all
}

// EndSubscriptions ends the subscriptions of all clients, so that a server can wait
// for the calls that are under way.
func (m *Mux) EndSubscriptions() { m.hub.close() }

// Close ends subscriptions and closes all upstreams. It does not wait for calls.
func (m *Mux) Close() {
	m.hub.close()
	m.apply.Lock()
	if !m.closed {
		m.closed = true
		close(m.now)
		for _, c := range m.conns {
			m.draining.Go(func() { c.drain(0, m.now) })
		}
	}
	m.apply.Unlock()
	m.draining.Wait()
}
