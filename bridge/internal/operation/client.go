package operation

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// Polling. WaitOperation would save some polls, but few services have it, and
// those that do say nothing of the metadata while it waits.
const (
	// FirstDelay is the time from the start of an operation to the first poll.
	FirstDelay = 200 * time.Millisecond
	// MaxDelay is the longest time between two polls. Until it is reached,
	// every delay is half as long again as the one before.
	MaxDelay = 5 * time.Second
	// MaxUnavailable is how many polls in a row may fail for a reason that
	// passes.
	MaxUnavailable = 5
)

// Client asks the Operations service of one backend. It is used concurrently.
type Client struct {
	// Caller carries the calls.
	Caller rpc.Caller
	// Header is sent with every call, and should be that of the call that
	// started the operation: the same caller, the same rights.
	Header http.Header
}

// Get returns the present state of an operation. The error is a
// [*rpc.StatusError] where the backend answers with a status: UNIMPLEMENTED
// where it has no Operations service.
func (c *Client) Get(ctx context.Context, name string) (*Operation, error) {
	response, err := c.call(ctx, "GetOperation", name)
	if err != nil {
		return nil, err
	}
	op, err := Parse(response)
	if err != nil {
		return nil, err
	}
	if op.Name == "" {
		op.Name = name
	}
	return op, nil
}

// Cancel asks the backend to cancel an operation. Whether and when it does
// shows in the operation's state: one that was cancelled is done with the error
// CANCELLED.
func (c *Client) Cancel(ctx context.Context, name string) error {
	_, err := c.call(ctx, "CancelOperation", name)
	return err
}

// call calls a method whose request has the operation's name as field 1.
func (c *Client) call(ctx context.Context, method, name string) ([]byte, error) {
	request := protowire.AppendTag(nil, 1, protowire.BytesType)
	request = protowire.AppendString(request, name)
	var response []byte
	_, err := c.Caller.Call(ctx, &rpc.Call{
		Procedure: "/" + string(ServiceName) + "/" + method,
		Requests:  [][]byte{request},
		Header:    c.Header.Clone(),
	}, func(message []byte) error {
		response = message
		return nil
	})
	return response, err
}

// Wait polls until the operation is done, and returns its last known state,
// never nil. The error is nil where it is done. Otherwise it says why Wait gave
// up: ctx's error, changed's error, or why the state cannot be read.
//
// Changed hears of every poll that found other metadata than the one before,
// beginning with that of op, if it has any. It may be nil.
func (c *Client) Wait(ctx context.Context, op *Operation, changed func(*Operation) error) (*Operation, error) {
	tell := func(before *Any, now *Operation) error {
		if changed == nil || now.Metadata == nil || now.Done || before != nil && before.equal(now.Metadata) {
			return nil
		}
		return changed(now)
	}
	if err := tell(nil, op); err != nil {
		return op, err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	failed := 0
	for delay := FirstDelay; !op.Done; delay = min(delay*3/2, MaxDelay) {
		timer.Reset(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return op, ctx.Err()
		}
		next, err := c.Get(ctx, op.Name)
		switch {
		case err == nil:
			failed = 0
		case ctx.Err() != nil:
			return op, ctx.Err()
		case Passing(err) && failed < MaxUnavailable:
			failed++
			continue
		default:
			return op, err
		}
		before := op.Metadata
		op = next
		if err := tell(before, op); err != nil {
			return op, err
		}
	}
	return op, nil
}

// Passing reports whether err is a status of the kind that passes: the same
// call may well succeed soon.
func Passing(err error) bool {
	e, ok := errors.AsType[*rpc.StatusError](err)
	if !ok {
		return false
	}
	switch e.Code() {
	case code.Code_UNAVAILABLE, code.Code_DEADLINE_EXCEEDED, code.Code_RESOURCE_EXHAUSTED, code.Code_ABORTED:
		return true
	default:
		return false
	}
}

func (a *Any) equal(b *Any) bool { return a.URL == b.URL && bytes.Equal(a.Value, b.Value) }
