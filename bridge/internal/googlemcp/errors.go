package googlemcp

import (
	"errors"
	"strconv"

	"connectrpc.com/connect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectserve"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/status"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// failure is the status for what stands in the place of a result. The code of a
// JSON-RPC error is in a trailer.
func (c *call) failure(err error) error {
	// HTTP does not allow a challenge as a trailer, which is where gRPC has the
	// metadata of a status.
	if challenge := status.Challenge(err); challenge != "" {
		c.info.ResponseHeader().Set("Www-Authenticate", challenge)
	}
	told := connectserve.Error(status.OfError(err, true))
	if _, ok := errors.AsType[*protocol.UpstreamError](err); ok {
		return told
	}
	switch told.Code() {
	case connect.CodeCanceled, connect.CodeDeadlineExceeded, connect.CodeUnauthenticated:
		return told
	default:
	}
	fault := protocol.AsError(err)
	out := connect.NewError(codeOf(fault.Code), errors.New(fault.Message))
	for _, detail := range told.Details() {
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
