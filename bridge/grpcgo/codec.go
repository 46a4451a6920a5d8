package grpcgo

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// codec passes *[]byte through as messages in the protobuf wire format.
type codec struct{}

var _ encoding.CodecV2 = codec{}

// Name returns the content subtype of protobuf: peers must not see that
// nothing is marshalled here.
func (codec) Name() string { return "proto" }

// Marshal copies the message into a pooled buffer: grpc-go may still hold what
// is returned here when the call is over, and the message is its caller's.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	message, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("cannot send a %T as wire bytes", v)
	}
	return mem.BufferSlice{mem.Copy(*message, mem.DefaultBufferPool())}, nil
}

// Unmarshal copies the message out: the buffers go back to their pool.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	message, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("cannot receive a %T as wire bytes", v)
	}
	*message = make([]byte, data.Len())
	data.CopyTo(*message)
	return nil
}
