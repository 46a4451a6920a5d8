package googlemcp

import (
	"cmp"
	"context"
	"errors"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/mirror"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func codeOfStatus(err error) code.Code {
	if failed, ok := errors.AsType[*rpc.StatusError](err); ok {
		return failed.Code()
	}
	return code.Code_OK
}

// failure is what a Client returns for the error of a call: the JSON-RPC error
// that the server tells by a detail, a trailer or the status, or else why it
// could not be asked.
func (a *asking) failure(ctx context.Context, err error, trailer *rpc.Trailer) error {
	told := mirror.ClientError(ctx, a.request, ServiceName, err, trailer)
	failed, ok := errors.AsType[*rpc.StatusError](err)
	if !ok || trailer == nil || ctx.Err() != nil {
		return told
	}
	n, err := strconv.Atoi(cmp.Or(trailer.Trailer.Get(headerErrorCode), trailer.Header.Get(headerErrorCode)))
	switch {
	case err == nil:
	case failed.Code() == code.Code_INTERNAL && !failed.Local && len(failed.Status.GetDetails()) == 0:
		n = protocol.CodeInternalError // what is neither of the others here
	default:
		return told
	}
	if _, upstream := errors.AsType[*protocol.UpstreamError](told); !upstream && protocol.AsError(told).Code == n {
		return told // with its data
	}
	return &protocol.Error{Code: n, Message: failed.Status.GetMessage()}
}
