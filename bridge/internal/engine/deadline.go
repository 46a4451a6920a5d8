package engine

import (
	"context"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// withDeadline bounds ctx by the client's own timeout and by limit, where
// that is not 0.
func withDeadline(ctx context.Context, r *protocol.Request, limit time.Duration) (context.Context, context.CancelFunc, error) {
	own, err := protocol.RequestTimeout(r)
	if err != nil {
		return nil, nil, err
	}
	if own > 0 && (limit == 0 || own < limit) {
		limit = own
	}
	if limit == 0 {
		return ctx, func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	return ctx, cancel, nil
}
