package main

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/reflection"
	"google.golang.org/protobuf/proto"

	benchv1 "github.com/mcp-bridge/mcp-bridge/gen/bench/v1"
)

// backend answers at once, by grpc-go.
type backend struct {
	benchv1.UnimplementedBenchServiceServer

	orders []*benchv1.Order
}

// newBackend returns the gRPC server that is called, with reflection.
func newBackend() *grpc.Server {
	s := grpc.NewServer(grpc.ForceServerCodecV2(codec{}))
	benchv1.RegisterBenchServiceServer(s, &backend{orders: orders()})
	reflection.Register(s)
	return s
}

func (*backend) Echo(_ context.Context, in *benchv1.EchoRequest) (*benchv1.EchoResponse, error) {
	return &benchv1.EchoResponse{Name: in.GetName(), Text: in.GetText(), Count: in.GetCount(), Loud: in.GetLoud()}, nil
}

func (*backend) Medium(_ context.Context, in *benchv1.MediumRequest) (*benchv1.MediumResponse, error) {
	return &benchv1.MediumResponse{Order: in.GetOrder()}, nil
}

func (*backend) Large(_ context.Context, in *benchv1.LargeRequest) (*benchv1.LargeResponse, error) {
	return &benchv1.LargeResponse{Orders: in.GetOrders()}, nil
}

func (b *backend) Fetch(context.Context, *benchv1.FetchRequest) (*benchv1.FetchResponse, error) {
	return &benchv1.FetchResponse{Orders: b.orders}, nil
}

// codec writes maps in the order of their keys, so that all responses of one
// kind are the same bytes, which are quickly compared.
type codec struct{}

var _ encoding.CodecV2 = codec{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a message", v)
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	return mem.BufferSlice{mem.SliceBuffer(raw)}, err
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is not a message", v)
	}
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	return proto.Unmarshal(buf.ReadOnlyData(), m)
}
