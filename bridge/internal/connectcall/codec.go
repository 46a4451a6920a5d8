package connectcall

import (
	"bytes"
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
)

// message is a message in the protobuf wire format.
type message struct{ data []byte }

// bytes returns the message, never nil: connect-go does not unmarshal empty
// ones.
func (m *message) bytes() []byte {
	if m.data == nil {
		return []byte{}
	}
	return m.data
}

// codec passes messages through. It is called "proto", because that is what
// peers are told.
type codec struct{}

var _ connect.Codec = codec{}

// Name returns the name of the protobuf codec.
func (codec) Name() string { return "proto" }

// Marshal copies the message: connect-go keeps what it gets for its buffer
// pool, and the message is its caller's.
func (c codec) Marshal(v any) ([]byte, error) { return c.MarshalAppend(nil, v) }

// MarshalAppend spares connect-go an allocation.
func (codec) MarshalAppend(dst []byte, v any) ([]byte, error) {
	m, ok := v.(*message)
	if !ok {
		return nil, fmt.Errorf("cannot send a %T as wire bytes", v)
	}
	return append(dst, m.data...), nil
}

// Unmarshal copies the message out: the buffer goes back to its pool.
// connect-go also reads the status of the gRPC protocols with the codec called
// "proto", which is the one protobuf message that passes here.
func (codec) Unmarshal(data []byte, v any) error {
	switch v := v.(type) {
	case *message:
		v.data = bytes.Clone(data)
		return nil
	case proto.Message:
		return proto.Unmarshal(data, v)
	default:
		return fmt.Errorf("cannot receive a %T as wire bytes", v)
	}
}
