package status

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// codeURLElicitationRequired is the code of 2025-11-25 for a request that needs
// the user to visit a URL first.
const codeURLElicitationRequired = -32042

// codes are the statuses of errors of JSON-RPC. [codeOf] has what is not that
// simple.
var codes = map[int]code.Code{
	protocol.CodeParseError:                 code.Code_INTERNAL,
	protocol.CodeInvalidRequest:             code.Code_INTERNAL,
	protocol.CodeInternalError:              code.Code_INTERNAL,
	protocol.CodeHeaderMismatch:             code.Code_INTERNAL,
	protocol.CodeMethodNotFound:             code.Code_UNIMPLEMENTED,
	protocol.CodeInvalidParams:              code.Code_INVALID_ARGUMENT,
	protocol.CodeResourceNotFound:           code.Code_NOT_FOUND,
	protocol.CodeMissingClientCapability:    code.Code_FAILED_PRECONDITION,
	protocol.CodeUnsupportedProtocolVersion: code.Code_FAILED_PRECONDITION,
	codeURLElicitationRequired:              code.Code_FAILED_PRECONDITION,
}

func codeOf(e *protocol.Error) code.Code {
	if e.Challenge != "" {
		return code.Code_UNAUTHENTICATED
	}
	if len(e.Scopes) > 0 {
		return code.Code_PERMISSION_DENIED
	}
	if e.Code == protocol.CodeInvalidParams {
		if _, ok := jsontok.Lookup(e.Data, "uri"); ok {
			return code.Code_NOT_FOUND
		}
	}
	if c, ok := codes[e.Code]; ok {
		return c
	}
	return code.Code_UNKNOWN
}

// kinds are the statuses of upstreams that could not be asked. Others are
// UNAVAILABLE.
var kinds = map[protocol.UpstreamKind]code.Code{
	protocol.UpstreamUnauthenticated:  code.Code_UNAUTHENTICATED,
	protocol.UpstreamPermissionDenied: code.Code_PERMISSION_DENIED,
	protocol.UpstreamThrottled:        code.Code_RESOURCE_EXHAUSTED,
	protocol.UpstreamTimeout:          code.Code_DEADLINE_EXCEEDED,
	protocol.UpstreamMalformed:        code.Code_INTERNAL,
	protocol.UpstreamTooLarge:         code.Code_RESOURCE_EXHAUSTED,
	protocol.UpstreamRejected:         code.Code_UNKNOWN,
}

// OfError returns the status for what a Handler returns in place of a result.
// The error of JSON-RPC that other clients get is a detail of it, a JsonRpcError,
// whole, with arbitrary JSON as text if raw is set. An error without code is
// INTERNAL and hides its text.
func OfError(err error, raw bool) *statuspb.Status {
	if upstream, ok := errors.AsType[*protocol.UpstreamError](err); ok {
		c, ok := kinds[upstream.Kind]
		if !ok {
			c = code.Code_UNAVAILABLE
		}
		st := &statuspb.Status{Code: int32(c), Message: upstream.Message}
		if upstream.RetryAfter > 0 {
			delay := durationpb.New(upstream.RetryAfter.Round(time.Millisecond))
			if packed, err := anypb.New(&errdetails.RetryInfo{RetryDelay: delay}); err == nil { // it always packs
				st.Details = append(st.Details, packed)
			}
		}
		addRPCError(st, protocol.AsError(err), raw)
		return st
	}
	if _, ok := errors.AsType[*protocol.Error](err); !ok {
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return &statuspb.Status{Code: int32(code.Code_DEADLINE_EXCEEDED), Message: "the deadline has passed"}
		case errors.Is(err, context.Canceled):
			return &statuspb.Status{Code: int32(code.Code_CANCELLED), Message: "the call was cancelled"}
		}
	}
	e := protocol.AsError(err)
	st := &statuspb.Status{Code: int32(codeOf(e)), Message: e.Message}
	addRPCError(st, e, raw)
	return st
}

// addRPCError adds an error to the details of a status, but for one that is no
// MCP.
func addRPCError(st *statuspb.Status, e *protocol.Error, raw bool) {
	codec, err := rpcErrors(raw)
	if err != nil {
		return // it always compiles
	}
	if wire, err := codec.AppendWire(nil, appendError(e)); err == nil {
		st.Details = append(st.Details, &anypb.Any{TypeUrl: typeURL + string(rpcErrorType.FullName()), Value: wire})
	}
}

// RPCError returns the error of JSON-RPC that a status of [OfError] has in its
// details, as JSON, or nil.
func RPCError(st *statuspb.Status) json.RawMessage {
	for _, detail := range st.GetDetails() {
		if detail.MessageName() != rpcErrorType.FullName() {
			continue
		}
		codec, err := rpcErrors(false)
		if err != nil {
			return nil
		}
		if text, _, err := codec.AppendJSON(nil, detail.GetValue()); err == nil {
			return text
		}
	}
	return nil
}

// Challenge returns the WWW-Authenticate that goes with the status of an error,
// or "".
func Challenge(err error) string {
	if _, ok := errors.AsType[*protocol.UpstreamError](err); ok {
		return ""
	}
	return protocol.AsError(err).Challenge
}

// appendError returns an error as JSON-RPC has it.
func appendError(e *protocol.Error) []byte {
	var o mcpjson.Object
	o.Add("code", strconv.AppendInt(nil, int64(e.Code), 10))
	o.Add("message", jsontok.AppendString(nil, e.Message))
	if e.Data != nil {
		o.Add("data", e.Data)
	}
	return o.JSON()
}

const typeURL = "type.googleapis.com/"

var rpcErrorType = (*mcpv1.JsonRpcError)(nil).ProtoReflect().Descriptor()

var rpcErrorCodecs = [2]func() (*transcode.Codec, error){newRPCErrors(false), newRPCErrors(true)}

func newRPCErrors(raw bool) func() (*transcode.Codec, error) {
	return sync.OnceValues(func() (*transcode.Codec, error) {
		return transcode.New(rpcErrorType, nil, transcode.Options{Exact: true, PreferRaw: raw})
	})
}

// rpcErrors returns the codec of JsonRpcError.
func rpcErrors(raw bool) (*transcode.Codec, error) {
	if raw {
		return rpcErrorCodecs[1]()
	}
	return rpcErrorCodecs[0]()
}
