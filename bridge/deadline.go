package bridge

import (
	"context"
	"strconv"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// TimeoutKey is the member of a request's _meta by which a client bounds its
// call: seconds as a number, or a duration such as "2.5s" or "1m30s". The
// bound travels to the backend as the deadline of the RPC. It can only shorten
// what the Bridge allows.
const TimeoutKey = "io.github.mcp-bridge/timeout"

// withDeadline bounds ctx by the client's own timeout and by limit, where
// that is not 0.
func withDeadline(ctx context.Context, r *protocol.Request, limit time.Duration) (context.Context, context.CancelFunc, error) {
	own, err := clientTimeout(r)
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

// clientTimeout returns what the client has set, or 0.
func clientTimeout(r *protocol.Request) (time.Duration, error) {
	meta, ok := jsontok.Lookup(r.Params, "_meta")
	if !ok {
		return 0, nil
	}
	raw, ok := jsontok.Lookup(meta, TimeoutKey)
	if !ok {
		return 0, nil
	}
	var d time.Duration
	if text, isString := jsontok.String(raw); isString {
		d, _ = time.ParseDuration(text)
	} else if seconds, err := strconv.ParseFloat(string(raw), 64); err == nil && seconds < time.Duration(1<<63-1).Seconds() {
		d = time.Duration(seconds * float64(time.Second))
	}
	if d <= 0 {
		return 0, protocol.Errorf(protocol.CodeInvalidParams, `params._meta[%q] must be a time above zero, as a number of seconds or as text such as "2.5s"`, TimeoutKey)
	}
	return d, nil
}
