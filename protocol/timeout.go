package protocol

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// TimeoutKey is the member of a request's _meta by which a client bounds its
// call: seconds as a number, or a duration such as "2.5s" or "1m30s". It can
// only shorten what the server allows. Where the call becomes an RPC, the bound
// is its deadline.
const TimeoutKey = "io.github.mcp-bridge/timeout"

// RequestTimeout returns the bound that the client has set by [TimeoutKey], or 0.
func RequestTimeout(r *Request) (time.Duration, error) {
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
		return 0, Errorf(CodeInvalidParams, `params._meta[%q] must be a time above zero, as a number of seconds or as text such as "2.5s"`, TimeoutKey)
	}
	return d, nil
}

// Timeout returns middleware for an upstream that bounds each request by limit,
// or by what the client has set with [TimeoutKey] where that is less. A limit of
// 0 is none. When the time is up the context ends, so the upstream hears that
// the request is cancelled, and the error is an [UpstreamTimeout].
//
// A call that waits for its caller's input has ended with a result, so that time
// does not count: each round has the whole limit. Subscriptions and requests
// about tasks are not bounded, nor is a call that an upstream runs as a task; see
// [LiftTimeout].
func Timeout(limit time.Duration) Middleware {
	return func(next Handler) Handler {
		return HandlerFunc(func(ctx context.Context, r *Request, n Notifier) (*Result, error) {
			if r.Method == MethodListen || strings.HasPrefix(r.Method, "tasks/") {
				return next.Handle(ctx, r, n)
			}
			limit := limit
			own, err := RequestTimeout(r)
			if err != nil {
				return nil, err
			}
			if own > 0 && (limit == 0 || own < limit) {
				limit = own
			}
			if limit == 0 {
				return next.Handle(ctx, r, n)
			}
			timeUp := &UpstreamError{
				Kind: UpstreamTimeout, Message: fmt.Sprintf("the MCP server did not answer within %v", limit),
			}
			bound, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			timer := time.AfterFunc(limit, func() { cancel(timeUp) })
			defer timer.Stop()
			res, err := next.Handle(context.WithValue(bound, timeoutKey{}, timer), r, n)
			if err != nil && ctx.Err() == nil && errors.Is(context.Cause(bound), timeUp) {
				return nil, timeUp
			}
			return res, err
		})
	}
}

// timeoutKey is the key of the timer in a context of [Timeout].
type timeoutKey struct{}

// LiftTimeout takes the bound of [Timeout] off a request: the upstream has
// answered with a task, and only waits for its end now.
func LiftTimeout(ctx context.Context) {
	if timer, ok := ctx.Value(timeoutKey{}).(*time.Timer); ok {
		timer.Stop()
	}
}
