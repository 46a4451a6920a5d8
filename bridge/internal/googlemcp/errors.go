package googlemcp

import (
	"errors"
	"strconv"

	"connectrpc.com/connect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/mirror"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// failure is the status for what stands in the place of a result. The code of a
// JSON-RPC error is in a trailer.
func (c *call) failure(err error) error {
	mirror.Challenge(c.info.ResponseHeader(), err)
	status := mirror.Failure(err, true)
	if _, ok := errors.AsType[*protocol.UpstreamError](err); ok {
		return status
	}
	switch status.Code() {
	case connect.CodeCanceled, connect.CodeDeadlineExceeded, connect.CodeUnauthenticated:
		return status
	default:
	}
	fault := protocol.AsError(err)
	out := connect.NewError(codeOf(fault.Code), errors.New(fault.Message))
	for _, detail := range status.Details() {
		out.AddDetail(detail)
	}
	c.info.ResponseTrailer().Set(headerErrorCode, strconv.Itoa(fault.Code))
	return out
}

// codeOf is the code of gRPC for one of JSON-RPC: one of the three that clients
// of the service expect.
func codeOf(code int) connect.Code {
	switch code {
	case protocol.CodeMethodNotFound:
		return connect.CodeUnimplemented
	case protocol.CodeParseError, protocol.CodeInvalidRequest, protocol.CodeInvalidParams, protocol.CodeResourceNotFound,
		protocol.CodeHeaderMismatch, protocol.CodeMissingClientCapability, protocol.CodeUnsupportedProtocolVersion:
		return connect.CodeInvalidArgument
	default:
		return connect.CodeInternal
	}
}
