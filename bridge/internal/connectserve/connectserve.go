// Package connectserve serves RPCs with connect-go: wire bytes in, wire bytes
// out, over gRPC, gRPC-Web and Connect. It is to servers what package
// connectcall is to clients, and knows nothing of what the messages mean.
//
// Clients that send JSON are served too: what they send and get is turned into
// wire bytes and back, by the codecs that a [Method] names.
package connectserve

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/code"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/inflate"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// Method is one RPC to serve.
type Method struct {
	// Procedure is the path of the method: "/package.Service/Method".
	Procedure string
	// Kind says which side streams. [rpc.ClientStream] is not served.
	Kind rpc.Kind
	// NoSideEffects lets clients of the Connect protocol use GET.
	NoSideEffects bool
	// Types returns the codecs of the request and the response, for clients
	// that speak JSON. It is called for their messages only, more than once.
	Types func() (request, response *transcode.Codec, err error)
	// Serve answers one call. An error that is a [*rpc.StatusError] is the
	// status of the call; the end of the context is CANCELLED or
	// DEADLINE_EXCEEDED; any other error is INTERNAL and hides its text.
	Serve func(ctx context.Context, c *Call) error
}

// Options are what all methods of a server have in common.
type Options struct {
	// MaxMessageBytes bounds a request message, compressed or not.
	MaxMessageBytes int
	// Logger gets panics and errors without a status.
	Logger *slog.Logger
}

// Handler returns the handler of a method, for its path.
func Handler(m *Method, o Options) http.Handler {
	opts := []connect.HandlerOption{
		connect.WithCodec(wireCodec{}),
		connect.WithCodec(jsonCodec{name: "json"}),
		connect.WithCodec(jsonCodec{name: "json; charset=utf-8"}),
		connect.WithReadMaxBytes(o.MaxMessageBytes),
		inflate.Handler(o.MaxMessageBytes),
		connect.WithCompressMinBytes(compressMinBytes),
		connect.WithRequestInitializer(func(_ connect.Spec, v any) error {
			if msg, ok := v.(*message); ok {
				msg.method = m
			}
			return nil
		}),
	}
	if m.NoSideEffects {
		opts = append(opts, connect.WithIdempotency(connect.IdempotencyNoSideEffects))
	}
	s := &server{method: m, log: o.Logger}
	switch m.Kind {
	case rpc.ServerStream:
		return remember(connect.NewServerStreamHandler(m.Procedure, s.serverStream, opts...))
	case rpc.BidiStream, rpc.ClientStream:
		return remember(connect.NewBidiStreamHandler(m.Procedure, s.bidiStream, opts...))
	case rpc.Unary:
	}
	return remember(connect.NewUnaryHandler(m.Procedure, s.unary, opts...))
}

// compressMinBytes is the shortest message that is worth compressing.
const compressMinBytes = 1 << 10

// remember keeps what connect-go does not pass on.
func remember(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(r.Context(), httpKey{}, &httpCall{
			control: http.NewResponseController(w), remoteAddr: r.RemoteAddr,
		})
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

type httpKey struct{}

// httpCall is what a call has to do with HTTP.
type httpCall struct {
	control    *http.ResponseController
	remoteAddr string
}

// server calls a method.
type server struct {
	method *Method
	log    *slog.Logger
}

func (s *server) unary(ctx context.Context, r *connect.Request[message]) (*connect.Response[message], error) {
	var response []byte
	c := newCall(ctx, s.method, r.Peer(), r.Header())
	c.receive = once(r.Msg)
	c.send = func(data []byte) error {
		response = data
		return nil
	}
	failure := s.serve(ctx, c)
	// The header goes by itself: with an error, gRPC would make trailers of it.
	if info, ok := connect.CallInfoForHandlerContext(ctx); ok {
		maps.Copy(info.ResponseHeader(), c.header)
	}
	if failure != nil {
		maps.Copy(failure.Meta(), c.trailer)
		return nil, failure
	}
	out := connect.NewResponse(&message{wire: response, method: s.method})
	maps.Copy(out.Trailer(), c.trailer)
	return out, nil
}

func (s *server) serverStream(ctx context.Context, r *connect.Request[message], stream *connect.ServerStream[message]) error {
	c := newCall(ctx, s.method, r.Peer(), r.Header())
	c.receive = once(r.Msg)
	c.send = func(data []byte) error { return stream.Send(c.message(data)) }
	c.header, c.trailer = stream.ResponseHeader(), stream.ResponseTrailer()
	return asError(s.serve(ctx, c))
}

func (s *server) bidiStream(ctx context.Context, stream *connect.BidiStream[message, message]) error {
	c := newCall(ctx, s.method, stream.Peer(), stream.RequestHeader())
	c.receive = func() ([]byte, error) {
		msg, err := stream.Receive()
		if err != nil {
			return nil, err
		}
		return msg.request()
	}
	c.send = func(data []byte) error { return stream.Send(c.message(data)) }
	c.header, c.trailer = stream.ResponseHeader(), stream.ResponseTrailer()
	return asError(s.serve(ctx, c))
}

// once returns a function that returns a request, and then the end.
func once(msg *message) func() ([]byte, error) {
	done := false
	return func() ([]byte, error) {
		if done {
			return nil, errOneRequest
		}
		done = true
		return msg.request()
	}
}

var errOneRequest = errors.New("the call has one request message only")

// asError keeps a nil *connect.Error from becoming an error.
func asError(err *connect.Error) error {
	if err == nil {
		return nil
	}
	return err
}

// serve calls the method and survives it.
func (s *server) serve(ctx context.Context, c *Call) (failure *connect.Error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.ErrorContext(ctx, "panic while serving a call", "procedure", s.method.Procedure, "panic", p, "stack", string(debug.Stack()))
			failure = connect.NewError(connect.CodeInternal, errInternal)
		}
	}()
	return s.status(ctx, s.method.Serve(ctx, c))
}

var errInternal = errors.New("internal error")

// status turns the error of a method into that of connect-go.
func (s *server) status(ctx context.Context, err error) *connect.Error {
	if err == nil {
		return nil
	}
	failed, ok := errors.AsType[*rpc.StatusError](err)
	if !ok && ctx.Err() != nil {
		failed, ok = ended(ctx), true
	}
	if !ok {
		if broken, ok := errors.AsType[*connect.Error](err); ok {
			return broken // of receiving or sending
		}
		s.log.ErrorContext(ctx, "a call failed without a status", "procedure", s.method.Procedure, "error", err)
		return connect.NewError(connect.CodeInternal, errInternal)
	}
	return Error(failed.Status)
}

// Error returns the error by which connect-go sends a status, with its details.
// A code that gRPC does not have, or OK, is UNKNOWN.
func Error(st *statuspb.Status) *connect.Error {
	c := connect.Code(st.GetCode()) //nolint:gosec // checked below
	if st.GetCode() <= 0 || st.GetCode() > int32(code.Code_UNAUTHENTICATED) {
		c = connect.CodeUnknown
	}
	out := connect.NewError(c, errors.New(st.GetMessage()))
	for _, packed := range st.GetDetails() {
		if detail, err := connect.NewErrorDetail(packed); err == nil { // it is packed already
			out.AddDetail(detail)
		}
	}
	return out
}

// ended is the status of a call whose context has ended.
func ended(ctx context.Context) *rpc.StatusError {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault.New(code.Code_DEADLINE_EXCEEDED, ctx.Err(), "the deadline passed before the call ended")
	}
	return fault.New(code.Code_CANCELLED, ctx.Err(), "the call was cancelled")
}
