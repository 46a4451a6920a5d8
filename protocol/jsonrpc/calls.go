package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// ErrCancelled is the cause of a context that the client's
// notifications/cancelled ended. No response is sent for such a call.
var ErrCancelled = errors.New("cancelled by the client")

// Calls are the requests of one client that have no response yet, by id. The
// zero value is ready for use, and may be used concurrently.
type Calls struct {
	mu     sync.Mutex
	cancel map[string]context.CancelCauseFunc
}

// Begin registers a request. The context it returns ends when the client
// cancels the request; end must be called once the request is answered. It
// returns false where a request with the same id is still under way.
func (c *Calls) Begin(ctx context.Context, id json.RawMessage) (_ context.Context, end func(), ok bool) {
	key := string(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.cancel[key]; taken {
		return ctx, func() {}, false
	}
	ctx, cancel := context.WithCancelCause(ctx)
	if c.cancel == nil {
		c.cancel = make(map[string]context.CancelCauseFunc)
	}
	c.cancel[key] = cancel
	return ctx, func() {
		c.mu.Lock()
		delete(c.cancel, key)
		c.mu.Unlock()
		cancel(nil)
	}, true
}

// Len returns how many requests are under way.
func (c *Calls) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.cancel)
}

// Cancel ends the request that the params of a notifications/cancelled name.
// Unknown ids and malformed params are ignored, as the specification asks
// (basic/patterns/cancellation, Error Handling).
func (c *Calls) Cancel(params json.RawMessage) {
	if jsontok.KindOf(params) != jsontok.KindObject {
		return
	}
	id, ok := jsontok.Lookup(params, "requestId")
	if !ok {
		return
	}
	c.mu.Lock()
	cancel := c.cancel[string(id)]
	c.mu.Unlock()
	if cancel != nil {
		cancel(ErrCancelled)
	}
}

// Cancelled reports whether ctx, or one it derives from, was ended by
// [Calls.Cancel].
func Cancelled(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), ErrCancelled)
}
