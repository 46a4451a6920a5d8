package rpctest

import (
	"context"
	"fmt"
	"maps"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/header"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// raw is a message of any type.
type raw struct{ data []byte }

type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) ([]byte, error) {
	switch v := v.(type) {
	case *raw:
		return append([]byte(nil), v.data...), nil
	case proto.Message:
		return proto.Marshal(v)
	default:
		return nil, fmt.Errorf("unexpected %T", v)
	}
}

func (rawCodec) Unmarshal(data []byte, v any) error {
	m, ok := v.(*raw)
	if !ok {
		return fmt.Errorf("unexpected %T", v)
	}
	m.data = append([]byte(nil), data...)
	return nil
}

// Handler serves the backend with connect-go, in its three protocols.
func (b *Backend) Handler() http.Handler {
	mux := http.NewServeMux()
	for method, kind := range Kinds {
		mux.Handle(Procedure(method), b.handler(method, kind))
	}
	return mux
}

func (b *Backend) handler(method string, kind rpc.Kind) http.Handler {
	codec := connect.WithCodec(rawCodec{})
	switch kind {
	case rpc.Unary:
		return connect.NewUnaryHandler(Procedure(method), func(ctx context.Context, r *connect.Request[raw]) (*connect.Response[raw], error) {
			response := connect.NewResponse(&raw{})
			s := &connectStream{
				ctx:     ctx,
				header:  r.Header(),
				receive: func() ([]byte, error) { return r.Msg.data, nil },
				send:    func(message []byte) error { response.Msg.data = message; return nil },
				head:    response.Header(),
				tail:    response.Trailer(),
				unary:   true,
			}
			return response, s.error(b.Serve(method, s))
		}, codec)
	case rpc.ClientStream:
		return connect.NewClientStreamHandler(Procedure(method), func(ctx context.Context, r *connect.ClientStream[raw]) (*connect.Response[raw], error) {
			response := connect.NewResponse(&raw{})
			s := &connectStream{
				ctx:     ctx,
				header:  r.RequestHeader(),
				receive: func() ([]byte, error) { var m raw; err := r.Conn().Receive(&m); return m.data, err },
				send:    func(message []byte) error { response.Msg.data = message; return nil },
				head:    response.Header(),
				tail:    response.Trailer(),
				unary:   true,
			}
			return response, s.error(b.Serve(method, s))
		}, codec)
	case rpc.ServerStream:
		return connect.NewServerStreamHandler(Procedure(method), func(ctx context.Context, r *connect.Request[raw], stream *connect.ServerStream[raw]) error {
			s := &connectStream{
				ctx:     ctx,
				header:  r.Header(),
				receive: func() ([]byte, error) { return r.Msg.data, nil },
				send:    func(message []byte) error { return stream.Send(&raw{message}) },
				head:    stream.ResponseHeader(),
				tail:    stream.ResponseTrailer(),
			}
			return s.error(b.Serve(method, s))
		}, codec)
	default:
		return connect.NewBidiStreamHandler(Procedure(method), func(ctx context.Context, stream *connect.BidiStream[raw, raw]) error {
			s := &connectStream{
				ctx:     ctx,
				header:  stream.RequestHeader(),
				receive: func() ([]byte, error) { m, err := stream.Receive(); return dataOf(m), err },
				send:    func(message []byte) error { return stream.Send(&raw{message}) },
				head:    stream.ResponseHeader(),
				tail:    stream.ResponseTrailer(),
			}
			return s.error(b.Serve(method, s))
		}, codec)
	}
}

func dataOf(m *raw) []byte {
	if m == nil {
		return nil
	}
	return m.data
}

// connectStream is a [Stream] of connect-go.
type connectStream struct {
	ctx        context.Context //nolint:containedctx // as in grpc-go's streams
	header     http.Header
	receive    func() ([]byte, error)
	send       func([]byte) error
	head, tail http.Header
	unary      bool
}

func (s *connectStream) Context() context.Context  { return s.ctx }
func (s *connectStream) Header() http.Header       { return header.Decode(s.header) }
func (s *connectStream) Receive() ([]byte, error)  { return s.receive() }
func (s *connectStream) Send(message []byte) error { return s.send(message) }
func (s *connectStream) SetHeader(h http.Header)   { header.Encode(s.head, h) }
func (s *connectStream) SetTrailer(h http.Header)  { header.Encode(s.tail, h) }

// error turns a status into an error of connect-go, which carries the
// trailers of a unary call.
func (s *connectStream) error(err error) error {
	failure, ok := err.(*rpc.StatusError) //nolint:errorlint // Serve returns it unwrapped
	if !ok {
		return err
	}
	out := connect.NewError(connect.Code(failure.Code()), fmt.Errorf("%s", failure.Status.GetMessage()))
	for _, detail := range failure.Status.GetDetails() {
		if d, err := connect.NewErrorDetail(detail); err == nil {
			out.AddDetail(d)
		}
	}
	if s.unary {
		// Streams send their trailers with every end.
		maps.Copy(out.Meta(), s.tail)
	}
	return out
}
