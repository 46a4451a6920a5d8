package mux

import (
	"sync"
	"sync/atomic"
)

// changes is a set of things that have changed.
type changes uint8

const (
	toolsChanged changes = 1 << iota
	promptsChanged
	resourcesChanged
	// topologyChanged: upstreams have come or gone, and all lists with them.
	topologyChanged
)

// hub tells subscriptions what has changed. Changes that come faster than a
// subscription hears of them become one.
type hub struct {
	// version changes whenever something does, also what is told to nobody.
	version atomic.Uint64

	mu        sync.Mutex
	listeners map[*listener]struct{}
	closed    chan struct{}
	done      bool
}

// listener is one subscription. ready has a value when something has changed.
type listener struct {
	hub     *hub
	side    side
	ready   chan struct{}
	pending changes // guarded by hub.mu
}

func newHub() *hub {
	return &hub{listeners: make(map[*listener]struct{}), closed: make(chan struct{})}
}

// join begins a subscription of clients of a side.
func (h *hub) join(s side) *listener {
	l := &listener{hub: h, side: s, ready: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listeners[l] = struct{}{}
	return l
}

func (l *listener) leave() {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	delete(l.hub.listeners, l)
}

// take returns what has changed since it was last called.
func (l *listener) take() changes {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	pending := l.pending
	l.pending = 0
	return pending
}

// send tells all listeners of changes, of which there may be none.
func (h *hub) send(c changes) {
	h.tell(c, func(*listener) bool { return true })
}

// sendTo tells the listeners of one side.
func (h *hub) sendTo(s side, c changes) {
	h.tell(c, func(l *listener) bool { return l.side == s })
}

func (h *hub) tell(c changes, concerns func(*listener) bool) {
	h.version.Add(1)
	if c == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.listeners {
		if !concerns(l) {
			continue
		}
		l.pending |= c
		select {
		case l.ready <- struct{}{}:
		default: // it has not heard of the last change yet
		}
	}
}

// close ends all subscriptions.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.done {
		h.done = true
		close(h.closed)
	}
}
