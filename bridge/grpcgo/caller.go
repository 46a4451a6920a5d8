package grpcgo

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/header"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// Caller performs RPCs over grpc-go connections, which it owns. It is made by
// [Dial] or [Server] and used concurrently.
type Caller struct {
	conn       *grpc.ClientConn
	peer       fault.Peer
	header     http.Header
	maxReceive int
	maxSend    int
	// stop ends serving in this process; nil where the server is elsewhere.
	stop func() error

	closeOnce sync.Once
	closeErr  error
}

var (
	_ rpc.Caller = (*Caller)(nil)
	_ io.Closer  = (*Caller)(nil)
)

// Close closes the connections; calls in flight fail. It may be called more
// than once.
func (c *Caller) Close() error {
	c.closeOnce.Do(func() {
		c.closeErr = c.conn.Close()
		if c.stop != nil {
			c.closeErr = errors.Join(c.closeErr, c.stop())
		}
	})
	return c.closeErr
}

// Call performs one RPC; the contract is that of the bridge's Caller. It does
// not wait for a server that is away, and it never sends a call twice that the
// server may have seen. The deadline of ctx travels as grpc-timeout, and its
// end cancels the call at the server. Request messages may be reused when Call
// has returned. The trailer is never nil.
func (c *Caller) Call(ctx context.Context, call *rpc.Call, receive func(message []byte) error) (*rpc.Trailer, error) {
	if err := fault.CheckRequest(call, c.maxSend); err != nil {
		return &rpc.Trailer{}, err
	}
	if err := header.Check(call.Header); err != nil {
		return &rpc.Trailer{}, fault.New(code.Code_INTERNAL, err, "%v", err)
	}
	seen := &observation{}
	outgoing := metadata.NewOutgoingContext(context.WithValue(ctx, observationKey{}, seen), c.outgoing(call.Header))
	trailer, err := c.call(outgoing, call, receive)
	if failure, ok := errors.AsType[*callError](err); ok {
		return trailer, c.status(ctx, call, failure.err, seen)
	}
	return trailer, err
}

// callError sets errors of the RPC apart from those of receive.
type callError struct{ err error }

func (e *callError) Error() string { return e.err.Error() }

func (c *Caller) call(ctx context.Context, call *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
	if call.Kind == rpc.Unary {
		return c.unary(ctx, call, receive)
	}
	// The stream's resources are held until its context ends.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.conn.NewStream(ctx, streams[call.Kind], call.Procedure)
	if err != nil {
		return &rpc.Trailer{}, &callError{err}
	}
	var sendErr error
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		if sendErr = send(stream, call.Requests); sendErr != nil {
			cancel()
		}
	}()
	ended, err := receiveAll(stream, call.Kind, receive)
	trailer := &rpc.Trailer{}
	if ended {
		trailer.Trailer = incoming(stream.Trailer())
	} else {
		cancel()
	}
	<-sent
	// What failed to be sent ended the call by cancelling it.
	if failure, ok := errors.AsType[*callError](err); ok && sendErr != nil && status.Code(failure.err) == codes.Canceled {
		err = &callError{sendErr}
	}
	// The headers are there, or will never come: receiving has returned.
	if md, headerErr := stream.Header(); headerErr == nil {
		trailer.Header = incoming(md)
	}
	return trailer, err
}

func (c *Caller) unary(ctx context.Context, call *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
	var (
		head, tail metadata.MD
		response   []byte
	)
	err := c.conn.Invoke(ctx, call.Procedure, &call.Requests[0], &response, grpc.Header(&head), grpc.Trailer(&tail))
	trailer := &rpc.Trailer{Header: incoming(head), Trailer: incoming(tail)}
	if err != nil {
		return trailer, &callError{err}
	}
	return trailer, receive(response)
}

var streams = map[rpc.Kind]*grpc.StreamDesc{
	rpc.ClientStream: {ClientStreams: true},
	rpc.ServerStream: {ServerStreams: true},
	rpc.BidiStream:   {ClientStreams: true, ServerStreams: true},
}

// send sends all requests and half-closes. It returns nil where the peer ended
// the call before: receiving tells its status.
func send(stream grpc.ClientStream, requests [][]byte) error {
	for i := range requests {
		if err := stream.SendMsg(&requests[i]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
	return stream.CloseSend()
}

// receiveAll receives until the stream ends or receive fails. It reports
// whether the stream has ended.
func receiveAll(stream grpc.ClientStream, kind rpc.Kind, receive func([]byte) error) (ended bool, err error) {
	for {
		var response []byte
		switch err := stream.RecvMsg(&response); {
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return true, &callError{err}
		}
		// Where the server does not stream, grpc-go has seen the end as well.
		ended := kind == rpc.ClientStream
		if err := receive(response); err != nil || ended {
			return ended, err
		}
	}
}

// outgoing joins the configured header with that of a call, which comes first.
func (c *Caller) outgoing(h http.Header) metadata.MD {
	md := make(metadata.MD, len(h)+len(c.header))
	for key, values := range h {
		if key = http.CanonicalHeaderKey(key); !header.Reserved(key) {
			md[strings.ToLower(key)] = values
		}
	}
	for key, values := range c.header {
		key = strings.ToLower(key)
		if _, ok := md[key]; !ok {
			md[key] = values
		}
	}
	return md
}

// incoming returns the application's part of metadata, or nil.
func incoming(md metadata.MD) http.Header {
	var h http.Header
	for key, values := range md {
		if key = http.CanonicalHeaderKey(key); !header.Reserved(key) {
			if h == nil {
				h = make(http.Header, len(md))
			}
			h[key] = values
		}
	}
	return h
}
