package mirror

import (
	"context"
	"errors"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// urlElicitationRequired is the code of 2025-11-25 for a request that needs the
// user to visit a URL first.
const urlElicitationRequired = -32042

// Failure is the status for what a Handler returns in place of a result. A
// JSON-RPC error is in its details, whole, with arbitrary JSON as text if raw.
func Failure(err error, raw bool) *connect.Error {
	if upstream, ok := errors.AsType[*protocol.UpstreamError](err); ok {
		return upstreamFailure(upstream)
	}
	if _, ok := errors.AsType[*protocol.Error](err); !ok {
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return connect.NewError(connect.CodeDeadlineExceeded, errors.New("the deadline has passed"))
		case errors.Is(err, context.Canceled):
			return connect.NewError(connect.CodeCanceled, errors.New("the call was cancelled"))
		}
	}
	fault := protocol.AsError(err)
	status := connect.NewError(codeOf(fault), errors.New(fault.Message))
	text := jsontok.AppendString([]byte(`{"code":`+strconv.Itoa(fault.Code)+`,"message":`), fault.Message)
	if fault.Data != nil {
		text = append(append(text, `,"data":`...), fault.Data...)
	}
	if m, err := rpcError(append(text, '}'), raw); err == nil {
		addDetail(status, m)
	}
	if fault.Challenge != "" {
		status.Meta().Set("Www-Authenticate", fault.Challenge)
	}
	return status
}

// The codecs of JsonRpcError.
var (
	rpcErrors, errRPCErrors       = newErrorCodec(false)
	rawRPCErrors, errRawRPCErrors = newErrorCodec(true)
)

func newErrorCodec(raw bool) (*transcode.Codec, error) {
	return transcode.New((*mcpv1.JsonRpcError)(nil).ProtoReflect().Descriptor(), nil, transcode.Options{Exact: true, PreferRaw: raw})
}

func rpcError(text []byte, raw bool) (*mcpv1.JsonRpcError, error) {
	codec, err := rpcErrors, errRPCErrors
	if raw {
		codec, err = rawRPCErrors, errRawRPCErrors
	}
	if err != nil {
		return nil, err
	}
	wire, err := codec.AppendWire(nil, text)
	if err != nil {
		return nil, err
	}
	m := new(mcpv1.JsonRpcError)
	return m, proto.Unmarshal(wire, m)
}

func addDetail(status *connect.Error, m proto.Message) {
	if detail, err := connect.NewErrorDetail(m); err == nil {
		status.AddDetail(detail)
	}
}

// codeOf is the code of gRPC for an error of JSON-RPC.
func codeOf(e *protocol.Error) connect.Code {
	if e.Challenge != "" {
		return connect.CodeUnauthenticated
	}
	switch e.Code {
	case protocol.CodeMethodNotFound:
		return connect.CodeUnimplemented
	case protocol.CodeInvalidParams:
		if _, ok := jsontok.Lookup(e.Data, "uri"); ok {
			return connect.CodeNotFound
		}
		return connect.CodeInvalidArgument
	case protocol.CodeResourceNotFound:
		return connect.CodeNotFound
	case protocol.CodeParseError, protocol.CodeInvalidRequest, protocol.CodeInternalError, protocol.CodeHeaderMismatch:
		return connect.CodeInternal
	case protocol.CodeMissingClientCapability, protocol.CodeUnsupportedProtocolVersion, urlElicitationRequired:
		return connect.CodeFailedPrecondition
	default:
		return connect.CodeUnknown
	}
}

// upstreamFailure is the status where the MCP server could not be asked.
func upstreamFailure(e *protocol.UpstreamError) *connect.Error {
	codes := map[protocol.UpstreamKind]connect.Code{
		protocol.UpstreamUnauthenticated:  connect.CodeUnauthenticated,
		protocol.UpstreamPermissionDenied: connect.CodePermissionDenied,
		protocol.UpstreamThrottled:        connect.CodeResourceExhausted,
		protocol.UpstreamTimeout:          connect.CodeDeadlineExceeded,
		protocol.UpstreamMalformed:        connect.CodeInternal,
		protocol.UpstreamTooLarge:         connect.CodeResourceExhausted,
		protocol.UpstreamRejected:         connect.CodeUnknown,
	}
	c, ok := codes[e.Kind]
	if !ok {
		c = connect.CodeUnavailable
	}
	status := connect.NewError(c, errors.New(e.Message))
	if e.RetryAfter > 0 {
		addDetail(status, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter.Round(time.Millisecond))})
	}
	return status
}
