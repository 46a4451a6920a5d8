package mirror

import (
	"errors"
	"net/http"

	"connectrpc.com/connect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/status"
)

// Failure is the status for what a Handler returns in place of a result. A
// JSON-RPC error is in its details, whole, with arbitrary JSON as text if raw.
func Failure(err error, raw bool) *connect.Error {
	st := status.OfError(err, raw)
	out := connect.NewError(connect.Code(st.GetCode()), errors.New(st.GetMessage())) //nolint:gosec // it is a code of gRPC
	for _, packed := range st.GetDetails() {
		if detail, err := connect.NewErrorDetail(packed); err == nil { // it is packed already
			out.AddDetail(detail)
		}
	}
	return out
}

// Challenge adds the challenge of an error, if it has one, to the header of a
// response. HTTP does not allow it as a trailer, which is where gRPC has the
// metadata of a status.
func Challenge(header http.Header, err error) {
	if challenge := status.Challenge(err); challenge != "" {
		header.Set("Www-Authenticate", challenge)
	}
}
