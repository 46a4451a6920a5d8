package grpcgo

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/redact"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// observation is what the transport saw of one call. grpc-go returns statuses
// of its own making and those of the peer alike; only its events tell them
// apart.
type observation struct {
	// trailer is set when the peer has sent its status.
	trailer atomic.Bool
}

type observationKey struct{}

// observer is the stats handler that fills observations.
type observer struct{}

var _ stats.Handler = observer{}

func (observer) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (observer) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (observer) HandleConn(context.Context, stats.ConnStats)                       {}

func (observer) HandleRPC(ctx context.Context, event stats.RPCStats) {
	if _, ok := event.(*stats.InTrailer); !ok {
		return
	}
	if seen, ok := ctx.Value(observationKey{}).(*observation); ok {
		seen.trailer.Store(true)
	}
}

// status turns an error of grpc-go into the error of a call, without what the peer
// repeats of the headers.
func (c *Caller) status(ctx context.Context, call *rpc.Call, err error, seen *observation) error {
	return redact.Error(c.whole(ctx, call, err, seen), c.header, call.Header)
}

// whole is [Caller.status] with all that the peer has said.
func (c *Caller) whole(ctx context.Context, call *rpc.Call, err error, seen *observation) error {
	st := status.Convert(err)
	if c.isResponseTooLarge(st, call) {
		return c.peer.ResponseTooLarge(c.maxReceive, err)
	}
	ctxErr := c.peer.Context(ctx)
	if ctxErr != nil && (!seen.trailer.Load() || codes.Code(ctxErr.Code()) == st.Code() && len(st.Proto().GetDetails()) == 0) { //nolint:gosec // status codes fit both types
		return ctxErr
	}
	if seen.trailer.Load() {
		return &rpc.StatusError{Status: st.Proto()}
	}
	return c.localStatus(st, err)
}

// localStatus words a status that grpc-go made, all of which are plain text.
func (c *Caller) localStatus(st *status.Status, err error) error {
	text := st.Message()
	has := func(part string) bool { return strings.Contains(text, part) }
	switch {
	case has("the client connection is closing"):
		return fault.New(code.Code_UNAVAILABLE, err, "the caller of %s is closed", c.peer.Name)
	case has("unexpected HTTP status code"), has("unexpected content-type"):
		return fault.New(code.Code(st.Code()), err, "%s does not look like a gRPC server: %s", c.peer.Name, text) //nolint:gosec // status codes fit both types
	case st.Code() != codes.Unavailable:
		return fault.New(code.Code(st.Code()), err, "call to %s failed: %s", c.peer.Name, text) //nolint:gosec // status codes fit both types
	case has("error reading from server"), has("closing transport due to"), has("transport is closing"), has("keepalive ping failed"):
		return c.peer.Lost(textError{text, err})
	default:
		return c.peer.Unreachable(textError{text, err})
	}
}

// textError shows a message without grpc-go's "rpc error: code = ..." before it.
type textError struct {
	text string
	err  error
}

func (e textError) Error() string { return e.text }
func (e textError) Unwrap() error { return e.err }

// isResponseTooLarge tells our limit on responses from the peer's on requests,
// whose text may be the same when both are grpc-go: the peer's is about one of
// our requests, and then one of them is above the limit that is named.
func (c *Caller) isResponseTooLarge(st *status.Status, call *rpc.Call) bool {
	if st.Code() != codes.ResourceExhausted {
		return false
	}
	text := st.Message()
	named := strings.HasPrefix(text, "grpc: received message larger than max (") && strings.HasSuffix(text, fmt.Sprintf(" vs. %d)", c.maxReceive)) ||
		strings.HasPrefix(text, "grpc: message after decompression larger than max (") && strings.HasSuffix(text, fmt.Sprintf(" vs. %d)", c.maxReceive)) ||
		text == fmt.Sprintf("grpc: received message after decompression larger than max %d", c.maxReceive)
	if !named {
		return false
	}
	for _, request := range call.Requests {
		if len(request) > c.maxReceive {
			return false
		}
	}
	return true
}
