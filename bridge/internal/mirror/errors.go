package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/status"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// ClientError is what a client of a service of MCP returns for the error of a
// call: the JSON-RPC error in the details of the status, if there is one, or else
// the nearest.
func ClientError(ctx context.Context, r *protocol.Request, service string, err error, trailer *rpc.Trailer) error {
	failed, ok := errors.AsType[*rpc.StatusError](err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !ok:
		return err // of a Notifier, or read's
	}
	challenge := ""
	if failed.Code() == code.Code_UNAUTHENTICATED && trailer != nil {
		challenge = challengeOf(trailer.Trailer, trailer.Header)
	}
	kind, message := kindOf(failed, service)
	if text := status.RPCError(failed.Status); text != nil {
		fault := jsonrpc.ReadError(text)
		fault.Challenge = challenge
		if fault.Code != protocol.CodeInternalError || challenge != "" || kind == protocol.UpstreamRejected {
			return fault
		}
		message = fault.Message // of a bridge that could not ask what is behind it
	} else if fault := statusFault(r, failed); fault != nil {
		return fault
	}
	return &protocol.UpstreamError{
		Kind: kind, Message: message, Err: err, RetryAfter: retryAfter(failed.Status), Challenge: challenge,
		// Only what never left is sure not to have been begun.
		Unsent: failed.Local && failed.Code() == code.Code_UNAVAILABLE && trailer == nil,
	}
}

func challengeOf(headers ...http.Header) string {
	for _, h := range headers {
		if challenge := h.Get("Www-Authenticate"); challenge != "" {
			return challenge
		}
	}
	return ""
}

// statusFault returns the JSON-RPC error for a status by which a server that
// knows none says what is wrong with the request, or nil.
func statusFault(r *protocol.Request, failed *rpc.StatusError) *protocol.Error {
	if failed.Local {
		return nil
	}
	message := failed.Status.GetMessage()
	switch failed.Code() {
	case code.Code_UNIMPLEMENTED:
		return protocol.MethodNotFound(r.Method)
	case code.Code_INVALID_ARGUMENT, code.Code_OUT_OF_RANGE, code.Code_FAILED_PRECONDITION, code.Code_ALREADY_EXISTS, code.Code_ABORTED:
		return protocol.Errorf(protocol.CodeInvalidParams, "%s", message)
	case code.Code_NOT_FOUND:
		fault := protocol.Errorf(protocol.CodeInvalidParams, "%s", message)
		if uri, ok := jsontok.Lookup(r.Params, "uri"); ok && r.Method == protocol.MethodReadResource {
			fault.Data = append(append(json.RawMessage(`{"uri":`), uri...), '}')
		}
		return fault
	default:
		return nil
	}
}

// kindOf is the kind of fault that a status stands for, and what clients are
// told.
func kindOf(failed *rpc.StatusError, service string) (protocol.UpstreamKind, string) {
	switch failed.Code() {
	case code.Code_UNAUTHENTICATED:
		return protocol.UpstreamUnauthenticated, "the MCP server wants other credentials"
	case code.Code_PERMISSION_DENIED:
		return protocol.UpstreamPermissionDenied, "the MCP server refuses access"
	case code.Code_RESOURCE_EXHAUSTED:
		if failed.Local {
			return protocol.UpstreamTooLarge, "a message is larger than the limit allows"
		}
		return protocol.UpstreamThrottled, "the MCP server wants fewer requests, or smaller ones"
	case code.Code_DEADLINE_EXCEEDED:
		return protocol.UpstreamTimeout, "the MCP server did not answer in time"
	case code.Code_UNAVAILABLE:
		return protocol.UpstreamUnavailable, "the MCP server cannot be reached"
	case code.Code_UNIMPLEMENTED:
		return protocol.UpstreamMalformed, "the server has no " + service
	default:
		return protocol.UpstreamRejected, "the MCP server failed: " + failed.Code().String()
	}
}

// retryAfter is when the server wants to be asked again, or 0.
func retryAfter(st *statuspb.Status) time.Duration {
	for _, detail := range st.GetDetails() {
		info := new(errdetails.RetryInfo)
		if detail.UnmarshalTo(info) == nil {
			return max(0, info.GetRetryDelay().AsDuration())
		}
	}
	return 0
}
