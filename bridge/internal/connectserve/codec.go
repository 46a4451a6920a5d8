package connectserve

import (
	"bytes"
	"errors"
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/proto"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/status"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// message is a message in the protobuf wire format, of one of the types of a
// method.
type message struct {
	wire   []byte
	method *Method
	fault  error // why there are no wire bytes
}

// request returns the wire bytes of a request.
func (m *message) request() ([]byte, error) { return m.wire, m.fault }

// wireCodec passes messages through. It is called "proto", because that is
// what clients ask for.
type wireCodec struct{}

var _ connect.Codec = wireCodec{}

// Name returns the name of the protobuf codec.
func (wireCodec) Name() string { return "proto" }

// Marshal copies the message: connect-go keeps what it gets for its buffer
// pool.
func (c wireCodec) Marshal(v any) ([]byte, error) { return c.MarshalAppend(nil, v) }

// MarshalAppend spares connect-go an allocation. The status of the gRPC
// protocols passes here too.
func (wireCodec) MarshalAppend(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case *message:
		return append(dst, v.wire...), nil
	case proto.Message:
		return proto.MarshalOptions{}.MarshalAppend(dst, v)
	default:
		return nil, fmt.Errorf("cannot send a %T as wire bytes", v)
	}
}

// Unmarshal copies the message out: the buffer goes back to its pool.
func (wireCodec) Unmarshal(data []byte, v any) error {
	m, ok := v.(*message)
	if !ok {
		return fmt.Errorf("cannot receive a %T as wire bytes", v)
	}
	m.wire = bytes.Clone(data)
	return nil
}

// jsonCodec converts what clients send and get as JSON.
type jsonCodec struct{ name string }

var _ connect.Codec = jsonCodec{}

// Name returns the name of the codec.
func (c jsonCodec) Name() string { return c.name }

// Marshal returns a message as JSON.
func (c jsonCodec) Marshal(v any) ([]byte, error) { return c.MarshalAppend(nil, v) }

// MarshalAppend spares connect-go an allocation.
func (jsonCodec) MarshalAppend(dst []byte, v any) ([]byte, error) {
	m, ok := v.(*message)
	if !ok || m.method == nil {
		return nil, fmt.Errorf("cannot send a %T as JSON", v)
	}
	_, response, err := m.method.Types()
	if err != nil {
		return nil, err
	}
	dst, _, err = response.AppendJSON(dst, m.wire)
	return dst, err
}

// Unmarshal reads a request. What does not fit is the message's fault, so that
// the client hears all of it, and so is a method without codecs.
func (jsonCodec) Unmarshal(data []byte, v any) error {
	m, ok := v.(*message)
	if !ok || m.method == nil {
		return fmt.Errorf("cannot receive a %T as JSON", v)
	}
	request, _, err := m.method.Types()
	if err != nil {
		m.fault = err
		return nil //nolint:nilerr // Receive returns it
	}
	m.wire, err = request.AppendWire([]byte{}, data)
	if err != nil {
		m.wire, m.fault = nil, badRequest(err)
	}
	return nil
}

// badRequest is the status for a request that cannot be read.
func badRequest(err error) error {
	if bad, ok := errors.AsType[*transcode.ArgumentError](err); ok {
		return &rpc.StatusError{Status: status.BadRequest(bad)}
	}
	return fault.New(code.Code_INVALID_ARGUMENT, err, "the request cannot be read: %v", err)
}
