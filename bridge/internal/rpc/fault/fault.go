// Package fault makes the statuses that do not come from a peer, and words
// them for people: what happened, where, what to do. Both implementations of
// rpc.Caller use it, so that the same trouble reads the same.
package fault

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/status"

	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// New returns a local status. The cause may be nil.
func New(c code.Code, cause error, format string, args ...any) *rpc.StatusError {
	return &rpc.StatusError{
		Status: &status.Status{Code: int32(c), Message: fmt.Sprintf(format, args...)},
		Local:  true,
		Cause:  cause,
	}
}

// Context returns the status of a call that ended because its context did, or
// nil if the context has not ended.
func (p Peer) Context(ctx context.Context) *rpc.StatusError {
	err := ctx.Err()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return New(code.Code_DEADLINE_EXCEEDED, err, "the deadline passed before %s finished the call", p.Name)
	default:
		return New(code.Code_CANCELLED, err, "the call to %s was cancelled", p.Name)
	}
}

// ResponseTooLarge returns the status of a call whose response message
// exceeds the limit.
func (p Peer) ResponseTooLarge(limit int, cause error) *rpc.StatusError {
	return New(code.Code_RESOURCE_EXHAUSTED, cause, "a response message is larger than the limit of %d bytes", limit)
}

// CheckRequest reports what no transport could send: a wrong number of
// messages, a message above the limit, metadata that cannot travel, a path
// that is none.
func CheckRequest(c *rpc.Call, limit int) *rpc.StatusError {
	var problems []error
	if len(c.Procedure) < 4 || c.Procedure[0] != '/' {
		problems = append(problems, fmt.Errorf("procedure %q is not of the form /package.Service/Method", c.Procedure))
	}
	if one := c.Kind == rpc.Unary || c.Kind == rpc.ServerStream; one && len(c.Requests) != 1 {
		problems = append(problems, fmt.Errorf("%s takes one request message, got %d", c.Procedure, len(c.Requests)))
	}
	for i, message := range c.Requests {
		if limit > 0 && len(message) > limit {
			err := fmt.Errorf("request message %d has %d bytes, the limit is %d", i+1, len(message), limit)
			return New(code.Code_RESOURCE_EXHAUSTED, err, "%v", err)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return New(code.Code_INTERNAL, err, "%v", err)
	}
	return nil
}
