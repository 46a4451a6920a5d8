package googlemcp

import (
	"errors"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/status"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// failure is the status for what stands in the place of a result. The code of a
// JSON-RPC error is in a trailer.
func (c *call) failure(err error) error {
	if _, ok := errors.AsType[*rpc.StatusError](err); ok {
		return err
	}
	// HTTP does not allow a challenge as a trailer, which is where gRPC has the
	// metadata of a status.
	if challenge := status.Challenge(err); challenge != "" {
		c.rpc.ResponseHeader().Set("Www-Authenticate", challenge)
	}
	told := status.OfError(err, true)
	if _, ok := errors.AsType[*protocol.UpstreamError](err); ok {
		return &rpc.StatusError{Status: told}
	}
	switch code.Code(told.GetCode()) {
	case code.Code_CANCELLED, code.Code_DEADLINE_EXCEEDED, code.Code_UNAUTHENTICATED, code.Code_PERMISSION_DENIED:
	default:
		fault := protocol.AsError(err)
		told.Code, told.Message = int32(codeOf(fault.Code)), fault.Message
		c.rpc.ResponseTrailer().Set(headerErrorCode, strconv.Itoa(fault.Code))
	}
	return &rpc.StatusError{Status: told}
}

// codeOf is the code of gRPC for one of JSON-RPC: one of the three that clients
// of the service expect.
func codeOf(n int) code.Code {
	switch n {
	case protocol.CodeMethodNotFound:
		return code.Code_UNIMPLEMENTED
	case protocol.CodeParseError, protocol.CodeInvalidRequest, protocol.CodeInvalidParams, protocol.CodeResourceNotFound,
		protocol.CodeHeaderMismatch, protocol.CodeMissingClientCapability, protocol.CodeUnsupportedProtocolVersion:
		return code.Code_INVALID_ARGUMENT
	default:
		return code.Code_INTERNAL
	}
}
