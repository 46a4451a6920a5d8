package connectcall

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/inflate"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/header"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/option"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// Caller performs RPCs over an HTTP client. It is made by [Dial], [New] or
// [NewInProcess] and used concurrently.
type Caller struct {
	// bidi is for bidirectional streams, one for everything else. They may be
	// the same.
	one, bidi  *connect.Client[message, message]
	protocol   Protocol
	peer       fault.Peer
	url        string
	header     http.Header // of all calls
	maxReceive int
	maxSend    int
	answered   atomic.Bool
	stop       func() error

	closeOnce sync.Once
	closeErr  error
}

var (
	_ rpc.Caller = (*Caller)(nil)
	_ io.Closer  = (*Caller)(nil)
)

// envelopeSlack is what the framing of a unary response may add to its
// message: envelopes, and the trailers of gRPC-Web.
const envelopeSlack = maxHeaderBytes

func newCaller(one, bidi connect.HTTPClient, base *url.URL, protocol Protocol, peer fault.Peer, o *option.Options) *Caller {
	c := &Caller{protocol: protocol, peer: peer, url: base.String(), header: o.Header, maxReceive: o.MaxReceive, maxSend: o.MaxSend}
	clientOptions := []connect.ClientOption{
		connect.WithCodec(codec{}),
		connect.WithReadMaxBytes(o.MaxReceive),
		inflate.Client(o.MaxReceive),
	}
	switch protocol {
	case ProtocolGRPC:
		clientOptions = append(clientOptions, connect.WithGRPC())
	case ProtocolGRPCWeb:
		clientOptions = append(clientOptions, connect.WithGRPCWeb())
	case ProtocolConnect:
	}
	if o.Gzip {
		clientOptions = append(clientOptions, connect.WithSendGzip())
	}
	encoded := http.Header{}
	header.Encode(encoded, o.Header)
	newClient := func(next connect.HTTPClient) *connect.Client[message, message] {
		return connect.NewClient[message, message](&client{
			next:      next,
			base:      base,
			authority: o.Authority,
			userAgent: o.UserAgent,
			header:    encoded,
			answered:  &c.answered,
		}, c.url, clientOptions...)
	}
	c.one = newClient(one)
	c.bidi = c.one
	if bidi != one {
		c.bidi = newClient(bidi)
	}
	return c
}

// Close closes idle connections of [Dial], and ends the calls of
// [NewInProcess] and waits for their handlers. It may be called more than once.
func (c *Caller) Close() error {
	c.closeOnce.Do(func() {
		if c.stop != nil {
			c.closeErr = c.stop()
		}
	})
	return c.closeErr
}

// Call performs one RPC; the contract is that of [rpc.Caller]. The deadline of
// ctx travels as Grpc-Timeout or Connect-Timeout-Ms, and its end cancels the
// call at the server. Request messages may be reused when Call has returned.
// The trailer is never nil.
func (c *Caller) Call(ctx context.Context, call *rpc.Call, receive func(message []byte) error) (*rpc.Trailer, error) {
	if err := fault.CheckRequest(call, c.maxSend); err != nil {
		return &rpc.Trailer{}, err
	}
	if err := header.Check(call.Header); err != nil {
		return &rpc.Trailer{}, fault.New(code.Code_INTERNAL, err, "%v", err)
	}
	x := &exchange{procedure: call.Procedure, header: call.Header, done: make(chan struct{})}
	callCtx, cancel := context.WithCancel(context.WithValue(ctx, exchangeKey{}, x))
	defer cancel()
	var (
		trailer *rpc.Trailer
		err     error
	)
	switch call.Kind {
	case rpc.ServerStream:
		trailer, err = c.serverStream(callCtx, call, receive)
	case rpc.ClientStream:
		stream := c.one.CallClientStream(callCtx)
		trailer, err = c.clientStream(callCtx, cancel, call, stream, receive)
	case rpc.BidiStream:
		stream := c.bidi.CallBidiStream(callCtx)
		trailer, err = c.clientStream(callCtx, cancel, call, stream, receive)
	case rpc.Unary:
		x.maxBody = int64(c.maxReceive) + envelopeSlack
		trailer, err = c.unary(callCtx, call, receive)
	default:
		return &rpc.Trailer{}, fault.New(code.Code_INTERNAL, nil, "%s has the unknown kind %d", call.Procedure, call.Kind)
	}
	if failure, ok := errors.AsType[*callError](err); ok {
		return trailer, c.status(ctx, failure.err, x)
	}
	return trailer, err
}

// callError sets errors of the RPC apart from those of receive.
type callError struct{ err error }

func (e *callError) Error() string { return e.err.Error() }

func (c *Caller) unary(ctx context.Context, call *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
	ctx, info := connect.NewClientContext(ctx)
	response, err := c.one.CallUnary(ctx, connect.NewRequest(&message{call.Requests[0]}))
	trailer := c.trailer(info.ResponseHeader(), info.ResponseTrailer())
	if err != nil {
		return trailer, &callError{err}
	}
	return trailer, receive(response.Msg.bytes())
}

func (c *Caller) serverStream(ctx context.Context, call *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
	stream, err := c.one.CallServerStream(ctx, connect.NewRequest(&message{call.Requests[0]}))
	if err != nil {
		return &rpc.Trailer{}, &callError{err}
	}
	defer func() { _ = stream.Close() }()
	for err == nil && stream.Receive() {
		err = receive(stream.Msg().bytes())
	}
	if streamErr := stream.Err(); err == nil && streamErr != nil {
		err = &callError{streamErr}
	}
	return c.trailer(stream.ResponseHeader(), stream.ResponseTrailer()), err
}

// clientStream sends and receives at the same time.
func (c *Caller) clientStream(
	ctx context.Context,
	cancel context.CancelFunc,
	call *rpc.Call,
	stream interface {
		Conn() (connect.StreamingClientConn, error)
	},
	receive func([]byte) error,
) (*rpc.Trailer, error) {
	conn, err := stream.Conn()
	if err != nil {
		return &rpc.Trailer{}, &callError{err}
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		send(conn, call.Requests)
	}()
	some, err := receiveAll(conn, call.Kind, receive)
	trailer := &rpc.Trailer{}
	// Before there is a response, its headers may not be looked at: where the
	// context ended first, it may still arrive.
	if some || ctx.Err() == nil {
		trailer = c.trailer(conn.ResponseHeader(), conn.ResponseTrailer())
	}
	if err != nil {
		cancel()
	}
	_ = conn.CloseResponse()
	cancel()
	// A peer that has ended the call reads no further: unblock sending.
	_ = conn.CloseRequest()
	<-sent
	// Sending has started the request, and the request ends with its context.
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		<-x.done
	}
	return trailer, err
}

// send sends all requests and half-closes. It reports no error: where sending
// fails, the call has ended, and receiving tells why.
func send(conn connect.StreamingClientConn, requests [][]byte) {
	defer func() { _ = conn.CloseRequest() }()
	// Headers go first, so that the peer can answer before the first message.
	if conn.Send(nil) != nil {
		return
	}
	for _, request := range requests {
		if conn.Send(&message{request}) != nil {
			return
		}
	}
}

// receiveAll receives until the stream ends or receive fails. It reports
// whether there was a message.
func receiveAll(conn connect.StreamingClientConn, kind rpc.Kind, receive func([]byte) error) (some bool, err error) {
	var last []byte
	for {
		var response message
		switch err := conn.Receive(&response); {
		case errors.Is(err, io.EOF):
			if kind == rpc.BidiStream {
				return some, nil
			}
			if !some {
				return some, &callError{errNoResponse}
			}
			return some, receive(last)
		case err != nil:
			return some, &callError{err}
		case kind == rpc.BidiStream:
			some = true
			if err := receive(response.bytes()); err != nil {
				return some, err
			}
		case some:
			return some, &callError{errManyResponses}
		default:
			some, last = true, response.bytes()
		}
	}
}
