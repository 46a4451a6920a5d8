package status

import (
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

// BadRequest returns the status for a request in JSON that does not fit its
// type, with a BadRequest that lists all violations.
func BadRequest(err *transcode.ArgumentError) *statuspb.Status {
	st := &statuspb.Status{Code: int32(code.Code_INVALID_ARGUMENT), Message: err.Error()}
	detail := &errdetails.BadRequest{}
	for _, v := range err.Violations {
		path := v.Path
		v.Path = ""
		detail.FieldViolations = append(detail.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: path, Description: v.String()})
	}
	if packed, err := anypb.New(detail); err == nil { // it always packs
		st.Details = append(st.Details, packed)
	}
	return st
}
