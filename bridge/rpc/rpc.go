// Package rpc is the seam between the bridge and whatever carries an RPC: wire
// bytes in, wire bytes out. It knows neither gRPC nor Connect. Implement [Caller]
// to carry RPCs in another way, or wrap one to see every RPC that the bridge
// makes.
package rpc

import (
	"context"
	"fmt"
	"net/http"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/status"
)

// Caller performs RPCs. It is used concurrently.
type Caller interface {
	// Call performs one RPC and hands every response message to receive, in
	// order. The slice passed to receive is the callee's to keep. An error of
	// receive ends the RPC and is returned.
	//
	// A status other than OK is returned as a [*StatusError]. So is a failure
	// to reach the peer, as UNAVAILABLE. Trailer is filled in both cases,
	// as far as the peer sent anything.
	Call(ctx context.Context, c *Call, receive func(message []byte) error) (*Trailer, error)
}

// CallerFunc adapts a function to [Caller].
type CallerFunc func(ctx context.Context, c *Call, receive func([]byte) error) (*Trailer, error)

// Call calls f.
func (f CallerFunc) Call(ctx context.Context, c *Call, receive func([]byte) error) (*Trailer, error) {
	return f(ctx, c, receive)
}

// Call is one RPC to perform.
type Call struct {
	// Procedure is the path of the method: "/package.Service/Method".
	Procedure string
	// Kind says which side streams.
	Kind Kind
	// Requests are the encoded request messages; exactly one unless the
	// client streams. Sending and receiving are concurrent, so a peer that
	// answers before it has read everything does not deadlock.
	Requests [][]byte
	// Header is sent as request metadata. Keys are in canonical HTTP form
	// and values of "-Bin" keys are raw bytes.
	Header http.Header
}

// Kind is the kind of a method.
type Kind int

// The kinds of methods.
const (
	Unary Kind = iota
	ClientStream
	ServerStream
	BidiStream
)

// Trailer is what a peer said beside its messages. Keys are in canonical
// HTTP form and values of "-Bin" keys are raw bytes.
type Trailer struct {
	Header  http.Header
	Trailer http.Header
}

// StatusError is a status other than OK.
type StatusError struct {
	Status *status.Status
	// Local is true where the status was not sent by the peer but made here:
	// nothing listens, the deadline passed, the message was too large.
	Local bool
	// Cause is the underlying error of a Local one, or nil.
	Cause error
}

// Error returns the code and the message.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: %s", e.Code(), e.Status.GetMessage())
}

// Unwrap returns the cause.
func (e *StatusError) Unwrap() error { return e.Cause }

// Code returns the status code.
func (e *StatusError) Code() code.Code { return code.Code(e.Status.GetCode()) }
