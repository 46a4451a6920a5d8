package gateway

import (
	"context"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// inFlight knows how many calls are under way. Subscriptions do not count: they
// end with the Gateway, not by themselves.
type inFlight struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n falls to 0; nil where nobody waits
}

// count is the middleware that counts.
func (f *inFlight) count(next protocol.Handler) protocol.Handler {
	return protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
		if r.Method != protocol.MethodListen {
			f.add(1)
			defer f.add(-1)
		}
		return next.Handle(ctx, r, n)
	})
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

func (f *inFlight) underWay() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

// wait waits until no call is under way, or ctx ends.
func (f *inFlight) wait(ctx context.Context) {
	f.mu.Lock()
	if f.n == 0 {
		f.mu.Unlock()
		return
	}
	if f.idle == nil {
		f.idle = make(chan struct{})
	}
	idle := f.idle
	f.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}
