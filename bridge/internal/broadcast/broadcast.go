// Package broadcast tells any number of listeners that something has changed.
package broadcast

import "sync"

// Broadcast tells listeners of changes. Changes that come faster than a
// listener hears become one. The zero value is ready for use.
type Broadcast struct {
	mu        sync.Mutex
	listeners map[chan struct{}]struct{}
	closed    chan struct{}
	done      bool
}

func (b *Broadcast) init() {
	if b.closed == nil {
		b.closed = make(chan struct{})
		b.listeners = make(map[chan struct{}]struct{})
	}
}

// Join adds a listener: changed has a value after a change, closed is closed
// with the broadcast.
func (b *Broadcast) Join() (changed, closed <-chan struct{}, leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.init()
	ch := make(chan struct{}, 1)
	b.listeners[ch] = struct{}{}
	return ch, b.closed, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, ch)
	}
}

// Send tells all listeners.
func (b *Broadcast) Send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ch := range b.listeners {
		select {
		case ch <- struct{}{}:
		default: // it has not heard of the last change yet
		}
	}
}

// Close tells all listeners that nothing will change any more.
func (b *Broadcast) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.init()
	if !b.done {
		b.done = true
		close(b.closed)
	}
}
