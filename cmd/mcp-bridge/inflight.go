package main

import (
	"context"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// inFlight is a Handler that knows how many calls its next one has under way.
// Subscriptions do not count: they end with the bridge, not by themselves.
type inFlight struct {
	next protocol.Handler

	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n falls to 0; nil where nobody waits
}

var _ protocol.Handler = (*inFlight)(nil)

// Handle counts the request and passes it on.
func (f *inFlight) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	if r.Method != protocol.MethodListen {
		f.add(1)
		defer f.add(-1)
	}
	return f.next.Handle(ctx, r, n)
}

func (f *inFlight) add(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n += n
	if f.n == 0 && f.idle != nil {
		close(f.idle)
		f.idle = nil
	}
}

func (f *inFlight) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// wait waits until no call is under way, or ctx ends. One goroutine may wait.
func (f *inFlight) wait(ctx context.Context) {
	f.mu.Lock()
	if f.n == 0 {
		f.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	f.idle = idle
	f.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}
