// Package operation follows long-running operations: messages of type
// google.longrunning.Operation, and the google.longrunning.Operations service
// that tells how they get on.
//
// It reads the wire form itself, so that no generated code is linked for it.
package operation

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/genproto/googleapis/rpc/code"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// The names of the message and of the service.
const (
	MessageName protoreflect.FullName = "google.longrunning.Operation"
	ServiceName protoreflect.FullName = "google.longrunning.Operations"
)

// Fields of google.longrunning.Operation and google.protobuf.Any.
const (
	fieldName     = 1
	fieldMetadata = 2
	fieldDone     = 3
	fieldError    = 4
	fieldResponse = 5

	anyURL   = 1
	anyValue = 2
)

// Operation is a google.longrunning.Operation. It is immutable.
type Operation struct {
	// Wire is the message that the rest was read from.
	Wire []byte
	// Name is what the Operations service knows the operation by. It may be
	// empty in one that was done at once.
	Name string
	// Metadata is what the service says of the progress, or nil.
	Metadata *Any
	// Done is true once there is a result: Error, Response or neither.
	Done bool
	// Error is why the operation failed, or nil.
	Error *statuspb.Status
	// Response is the result, or nil.
	Response *Any
}

// Any is a google.protobuf.Any.
type Any struct {
	URL   string
	Value []byte
}

// Parse reads an Operation. The Operation keeps wire.
func Parse(wire []byte) (*Operation, error) {
	op := &Operation{Wire: wire}
	// What is there twice is merged, and to concatenate the two encodings is
	// to merge them. Of a oneof the last member counts.
	var metadata, failure, response []byte
	err := eachField(wire, func(num protowire.Number, typ protowire.Type, v uint64, data []byte) {
		switch {
		case num == fieldName && typ == protowire.BytesType:
			op.Name = string(data)
		case num == fieldMetadata && typ == protowire.BytesType:
			metadata = join(metadata, data)
		case num == fieldDone && typ == protowire.VarintType:
			op.Done = v != 0
		case num == fieldError && typ == protowire.BytesType:
			failure, response = join(failure, data), nil
		case num == fieldResponse && typ == protowire.BytesType:
			response, failure = join(response, data), nil
		}
	})
	if err != nil {
		return nil, fmt.Errorf("operation: the message is no valid %s: %w", MessageName, err)
	}
	if metadata != nil {
		if op.Metadata, err = parseAny(metadata); err != nil {
			return nil, fmt.Errorf("operation: metadata: %w", err)
		}
	}
	if response != nil {
		if op.Response, err = parseAny(response); err != nil {
			return nil, fmt.Errorf("operation: response: %w", err)
		}
	}
	if failure != nil {
		op.Error = &statuspb.Status{}
		if err := proto.Unmarshal(failure, op.Error); err != nil {
			return nil, fmt.Errorf("operation: error is no valid google.rpc.Status: %w", err)
		}
	}
	return op, nil
}

// Result returns the response of an operation that is done, which is nil where
// the service gave none. That it failed is a [*rpc.StatusError].
func (o *Operation) Result() (*Any, error) {
	if o.Error == nil {
		return o.Response, nil
	}
	st := o.Error
	if st.GetCode() == int32(code.Code_OK) { // an error that says it is none
		st = proto.CloneOf(st)
		st.Code = int32(code.Code_UNKNOWN)
	}
	return nil, &rpc.StatusError{Status: st}
}

// Cancelled reports whether the operation ended because it was cancelled.
func (o *Operation) Cancelled() bool {
	return o.Done && o.Error.GetCode() == int32(code.Code_CANCELLED)
}

func parseAny(wire []byte) (*Any, error) {
	a := &Any{}
	err := eachField(wire, func(num protowire.Number, typ protowire.Type, _ uint64, data []byte) {
		switch {
		case num == anyURL && typ == protowire.BytesType:
			a.URL = string(data)
		case num == anyValue && typ == protowire.BytesType:
			a.Value = data
		}
	})
	if err != nil {
		return nil, fmt.Errorf("no valid google.protobuf.Any: %w", err)
	}
	return a, nil
}

// join appends data, and is not nil where data is there and empty.
func join(dst, data []byte) []byte {
	if dst == nil {
		return slices.Clip(data)
	}
	return append(dst, data...)
}

var errMalformed = errors.New("the encoding is malformed")

// eachField calls f for the fields of an encoded message: v is set for
// varints, data for length-delimited fields.
func eachField(b []byte, f func(num protowire.Number, typ protowire.Type, v uint64, data []byte)) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
		var (
			v    uint64
			data []byte
		)
		switch typ {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			data, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return errMalformed
		}
		f(num, typ, v, data)
		b = b[n:]
	}
	return nil
}
