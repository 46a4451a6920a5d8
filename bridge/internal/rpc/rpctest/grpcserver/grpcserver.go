// Package grpcserver serves the backend of package rpctest with grpc-go.
package grpcserver

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/rpctest"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// gzip registers itself when it is imported.
var _ = gzip.Name

// New returns a server with the backend registered.
func New(b *rpctest.Backend, opts ...grpc.ServerOption) *grpc.Server {
	server := grpc.NewServer(append(opts, grpc.ForceServerCodecV2(rawCodec{}))...)
	desc := &grpc.ServiceDesc{ServiceName: rpctest.Service, HandlerType: (*any)(nil)}
	for method, kind := range rpctest.Kinds {
		desc.Streams = append(desc.Streams, grpc.StreamDesc{
			StreamName:    method,
			ClientStreams: kind == rpc.ClientStream || kind == rpc.BidiStream,
			ServerStreams: true,
			Handler: func(_ any, s grpc.ServerStream) error {
				err := b.Serve(method, stream{s})
				if failure, ok := err.(*rpc.StatusError); ok { //nolint:errorlint // Serve returns it unwrapped
					return status.ErrorProto(failure.Status)
				}
				return err
			},
		})
	}
	server.RegisterService(desc, nil)
	return server
}

// Serve serves until the test ends.
func Serve(tb testing.TB, listener net.Listener, server *grpc.Server) {
	tb.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	tb.Cleanup(func() {
		server.Stop()
		<-done
	})
}

// stream is a [rpctest.Stream] of grpc-go.
type stream struct{ grpc.ServerStream }

func (s stream) Context() context.Context { return s.ServerStream.Context() }

func (s stream) Header() http.Header {
	md, _ := metadata.FromIncomingContext(s.Context())
	h := http.Header{}
	for key, values := range md {
		h[http.CanonicalHeaderKey(key)] = values
	}
	return h
}

func (s stream) Receive() ([]byte, error) {
	var message []byte
	err := s.RecvMsg(&message)
	return message, err
}

func (s stream) Send(message []byte) error { return s.SendMsg(&message) }

func (s stream) SetHeader(h http.Header)  { _ = s.ServerStream.SetHeader(toMD(h)) }
func (s stream) SetTrailer(h http.Header) { s.ServerStream.SetTrailer(toMD(h)) }

func toMD(h http.Header) metadata.MD {
	md := metadata.MD{}
	for key, values := range h {
		md[strings.ToLower(key)] = values
	}
	return md
}

type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	message, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("unexpected %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(*message)}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	message, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("unexpected %T", v)
	}
	*message = data.Materialize()
	return nil
}
