package connectserve

import (
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/code"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
)

// refusals writes errors in the protocol of a request.
var refusals = connect.NewErrorWriter()

// Refuse answers a request of Connect, gRPC or gRPC-Web before a Handler has seen
// it. Headers that w has already are sent too: clients of gRPC find them in the
// header metadata. It returns false, and does nothing, for any other request.
func Refuse(w http.ResponseWriter, r *http.Request, c code.Code, message string) bool {
	if !refusals.IsSupported(r) {
		return false
	}
	_ = refusals.Write(w, r, Error(&statuspb.Status{Code: int32(c), Message: message})) // fails if the client is gone
	return true
}
