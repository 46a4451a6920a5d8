package connectcall

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/header"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/redact"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// A peer that breaks the promise of one response gets the code that grpc-go
// gives it.
var (
	errNoResponse    = connect.NewError(connect.CodeInternal, errors.New("the server sent no response message"))
	errManyResponses = connect.NewError(connect.CodeInternal, errors.New("the server sent more than one response message"))
)

// trailer splits what connect-go reports into headers and trailers. A gRPC
// response without messages may be trailers only, which connect-go shows as
// both.
func (c *Caller) trailer(head, tail http.Header) *rpc.Trailer {
	if c.protocol != ProtocolConnect && head.Get("Grpc-Status") != "" {
		return &rpc.Trailer{Trailer: header.Decode(head)}
	}
	return &rpc.Trailer{Header: header.Decode(head), Trailer: header.Decode(tail)}
}

// status turns an error of connect-go into the error of a call, without what the
// peer repeats of the headers.
func (c *Caller) status(ctx context.Context, err error, x *exchange) error {
	return redact.Error(c.whole(ctx, err, x), c.header, x.header)
}

// whole is [Caller.status] with all that the peer has said.
func (c *Caller) whole(ctx context.Context, err error, x *exchange) error {
	failure, ok := errors.AsType[*connect.Error](err)
	if !ok {
		failure = connect.NewError(connect.CodeUnknown, err)
	}
	if connect.IsWireError(failure) {
		return &rpc.StatusError{Status: wireStatus(failure)}
	}
	if panicked, ok := firstPanic(x.err, x.readErr); ok {
		return fault.New(code.Code_INTERNAL, panicked, "%s panicked", c.peer.Name)
	}
	if ended := c.peer.Context(ctx); ended != nil {
		return ended
	}
	if isTooLarge(failure, x) {
		return c.peer.ResponseTooLarge(c.maxReceive, failure)
	}
	return c.localStatus(failure, x)
}

// localStatus words a failure that no status of the peer explains.
func (c *Caller) localStatus(failure *connect.Error, x *exchange) error {
	grpcCode := code.Code(failure.Code()) //nolint:gosec // status codes fit both types
	switch {
	case x.err != nil && isReset(x.err):
		return fault.New(grpcCode, x.err, "%s reset the call: %v", c.peer.Name, x.err)
	case x.err != nil && c.answered.Load() && fault.IsHangUp(x.err):
		return c.peer.Lost(x.err)
	case x.err != nil:
		return c.peer.Unreachable(x.err)
	case x.readErr != nil && isReset(x.readErr):
		return fault.New(grpcCode, x.readErr, "%s reset the call: %v", c.peer.Name, x.readErr)
	case x.readErr != nil:
		return c.peer.Lost(x.readErr)
	case x.statusCode != 0 && !c.looksRight(x):
		return c.notRPC(grpcCode, failure, x)
	case grpcCode == code.Code_UNIMPLEMENTED && strings.HasSuffix(failure.Message(), " has zero messages"):
		return fault.New(code.Code_INTERNAL, failure, "call to %s failed: %s", c.peer.Name, errNoResponse.Message())
	case grpcCode == code.Code_UNIMPLEMENTED && strings.HasSuffix(failure.Message(), " has multiple messages"):
		return fault.New(code.Code_INTERNAL, failure, "call to %s failed: %s", c.peer.Name, errManyResponses.Message())
	default:
		return fault.New(grpcCode, failure, "call to %s failed: %s", c.peer.Name, failure.Message())
	}
}

// looksRight reports whether the response was one of the protocol.
func (c *Caller) looksRight(x *exchange) bool {
	prefix := "application/grpc"
	switch c.protocol {
	case ProtocolGRPCWeb:
		prefix = "application/grpc-web"
	case ProtocolConnect:
		prefix = "application/"
	case ProtocolGRPC:
	}
	return x.statusCode == http.StatusOK && strings.HasPrefix(x.contentType, prefix)
}

// notRPC explains a response that is not one of the protocol: another server,
// a proxy's error page, a path that nothing serves.
func (c *Caller) notRPC(grpcCode code.Code, cause error, x *exchange) error {
	begin := string(x.begin)
	if !c.peer.TLS && x.statusCode == http.StatusBadRequest &&
		(strings.Contains(begin, "HTTP request to an HTTPS server") || strings.Contains(begin, "plain HTTP request was sent to HTTPS port")) {
		return c.peer.Unreachable(fmt.Errorf("client sent an HTTP request to an HTTPS server: %w", cause))
	}
	kind := "no content type"
	if mediaType, _, err := mime.ParseMediaType(x.contentType); err == nil {
		kind = mediaType
	}
	switch x.statusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fault.New(grpcCode, cause, "%s, or a proxy before it, answered HTTP %d (%s)", c.url, x.statusCode, http.StatusText(x.statusCode))
	default:
		return fault.New(grpcCode, cause, "%s does not look like a %v server, or does not serve %s: it answered HTTP %d (%s) with %s",
			c.url, c.protocol, x.procedure, x.statusCode, http.StatusText(x.statusCode), kind)
	}
}

// wireStatus returns the status that the peer sent. The gRPC protocols send it
// whole, and connect-go keeps the bytes; of the Connect protocol's details the
// type URL's prefix is not on the wire.
func wireStatus(failure *connect.Error) *status.Status {
	if encoded := failure.Meta().Get("Grpc-Status-Details-Bin"); encoded != "" {
		var whole status.Status
		if raw, err := connect.DecodeBinaryHeader(encoded); err == nil && proto.Unmarshal(raw, &whole) == nil {
			return &whole
		}
	}
	st := &status.Status{Code: int32(failure.Code()), Message: failure.Message()} //nolint:gosec // codes are small
	for _, detail := range failure.Details() {
		st.Details = append(st.Details, &anypb.Any{TypeUrl: "type.googleapis.com/" + detail.Type(), Value: detail.Bytes()})
	}
	return st
}

func isTooLarge(failure *connect.Error, x *exchange) bool {
	return errors.Is(x.readErr, errBodyTooLarge) ||
		failure.Code() == connect.CodeResourceExhausted && strings.Contains(failure.Message(), "larger than configured max")
}

// isReset reports whether the peer ended the stream and not the connection.
// The codes that HTTP/2 has for it have been mapped by connect-go.
func isReset(err error) bool { return strings.Contains(err.Error(), "stream error: stream ID") }

func firstPanic(errs ...error) (*PanicError, bool) {
	for _, err := range errs {
		if panicked, ok := errors.AsType[*PanicError](err); ok {
			return panicked, true
		}
	}
	return nil, false
}
