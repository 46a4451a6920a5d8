package engine

import (
	"context"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// withDeadline bounds ctx by the client's own timeout and by limit, where
// that is not 0.
func withDeadline(ctx context.Context, r *protocol.Request, limit time.Duration) (context.Context, context.CancelFunc, error) {
	limit, err := limitOf(r, limit)
	if err != nil {
		return nil, nil, err
	}
	if limit == 0 {
		return ctx, func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	return ctx, cancel, nil
}

// limitOf returns the client's own timeout, or limit where that is shorter. 0 is
// no limit.
func limitOf(r *protocol.Request, limit time.Duration) (time.Duration, error) {
	own, err := protocol.RequestTimeout(r)
	if own > 0 && (limit == 0 || own < limit) {
		limit = own
	}
	return limit, err
}

// deadlineSlack is how much earlier than here the deadline of a call may be seen
// to pass elsewhere.
const deadlineSlack = time.Second / 4

// passed returns the limit of a call, bounded by [withDeadline], whose time is up,
// and 0 for other calls.
func passed(ctx context.Context, r *protocol.Request, limit time.Duration) time.Duration {
	deadline, bounded := ctx.Deadline()
	if !bounded || time.Until(deadline) > deadlineSlack {
		return 0
	}
	limit, err := limitOf(r, limit)
	if err != nil { // withDeadline has refused it
		return 0
	}
	return limit
}
