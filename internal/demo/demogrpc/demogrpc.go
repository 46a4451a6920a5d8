// Package demogrpc serves the library of package demo by grpc-go.
package demogrpc

import (
	"context"
	"errors"

	"buf.build/go/protovalidate"
	"connectrpc.com/connect"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	libraryv1 "github.com/mcp-bridge/mcp-bridge/gen/library/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/demo"
)

// NewServer returns a server of a library, with server reflection, v1 and
// v1alpha. The caller serves and stops it. Interceptors in opts run before the
// one that checks requests.
func NewServer(l *demo.Library, opts ...grpc.ServerOption) *grpc.Server {
	s := grpc.NewServer(append(opts,
		grpc.ChainUnaryInterceptor(unary),
		grpc.ChainStreamInterceptor(stream),
	)...)
	libraryv1.RegisterLibraryServer(s, server{Library: l})
	answers := reflection.ServerOptions{Services: s, DescriptorResolver: demo.Descriptors()}
	reflectionv1.RegisterServerReflectionServer(s, reflection.NewServerV1(answers))
	reflectionv1alpha.RegisterServerReflectionServer(s, reflection.NewServer(answers))
	return s
}

// server gives a library the one method that grpc-go wants differently.
type server struct {
	libraryv1.UnsafeLibraryServer
	*demo.Library
}

var _ libraryv1.LibraryServer = server{}

// WatchBooks streams changes until the caller hangs up.
func (s server) WatchBooks(req *libraryv1.WatchBooksRequest, stream grpc.ServerStreamingServer[libraryv1.WatchBooksResponse]) error {
	// The first change may be a long time away.
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	return s.Watch(stream.Context(), req, stream.Send)
}

// unary checks the request and turns the library's errors into statuses.
func unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := check(req); err != nil {
		return nil, err
	}
	resp, err := handler(ctx, req)
	return resp, toStatus(err)
}

// stream does for streams what unary does for unary calls.
func stream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return toStatus(handler(srv, checkedStream{ss}))
}

// checkedStream checks every message that comes in.
type checkedStream struct{ grpc.ServerStream }

func (s checkedStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return check(m)
}

// check returns INVALID_ARGUMENT with the violated rules if a request breaks
// any.
func check(req any) error {
	m, ok := req.(proto.Message)
	if !ok {
		return status.Errorf(codes.Internal, "the request is a %T, not a protobuf message", req)
	}
	err := protovalidate.Validate(m)
	if err == nil {
		return nil
	}
	invalid, ok := errors.AsType[*protovalidate.ValidationError](err)
	if !ok {
		return status.Errorf(codes.Internal, "check the request: %v", err)
	}
	st := status.New(codes.InvalidArgument, invalid.Error())
	if detailed, err := st.WithDetails(invalid.ToProto()); err == nil {
		st = detailed
	}
	return st.Err()
}

// toStatus translates an error of the library. Connect's codes are gRPC's.
func toStatus(err error) error {
	fault, ok := errors.AsType[*connect.Error](err)
	if !ok {
		return err
	}
	st := &spb.Status{Code: int32(fault.Code()), Message: fault.Message()} //nolint:gosec // codes are small
	for _, detail := range fault.Details() {
		st.Details = append(st.Details, &anypb.Any{
			TypeUrl: "type.googleapis.com/" + detail.Type(),
			Value:   detail.Bytes(),
		})
	}
	return status.ErrorProto(st)
}
