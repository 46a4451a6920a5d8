package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
)

// Resource types, as errors name them.
const (
	bookType  = "library.v1/Book"
	shelfType = "library.v1/Shelf"
)

// fault returns an error with details.
func fault(code connect.Code, message string, details ...proto.Message) *connect.Error {
	err := connect.NewError(code, errors.New(message))
	for _, detail := range details {
		d, encodeErr := connect.NewErrorDetail(detail)
		if encodeErr != nil {
			return connect.NewError(connect.CodeInternal, fmt.Errorf("encode a detail of %q: %w", message, encodeErr))
		}
		err.AddDetail(d)
	}
	return err
}

// contextFault says why the context of a call ended.
func contextFault(ctx context.Context) *connect.Error {
	code := connect.CodeCanceled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code = connect.CodeDeadlineExceeded
	}
	return connect.NewError(code, ctx.Err())
}

// badRequest returns INVALID_ARGUMENT with every violation, also in the text.
func badRequest(violations ...*errdetails.BadRequest_FieldViolation) *connect.Error {
	lines := make([]string, len(violations))
	for i, v := range violations {
		lines[i] = v.GetField() + ": " + v.GetDescription()
	}
	return fault(connect.CodeInvalidArgument, strings.Join(lines, "; "), &errdetails.BadRequest{FieldViolations: violations})
}

func violation(field, description string) *errdetails.BadRequest_FieldViolation {
	return &errdetails.BadRequest_FieldViolation{Field: field, Description: description}
}

func precondition(kind, subject, description string) *errdetails.PreconditionFailure {
	return &errdetails.PreconditionFailure{Violations: []*errdetails.PreconditionFailure_Violation{
		{Type: kind, Subject: subject, Description: description},
	}}
}

func bookInfo(name, description string) *errdetails.ResourceInfo {
	return &errdetails.ResourceInfo{ResourceType: bookType, ResourceName: name, Description: description}
}

func noShelf(name string) *connect.Error {
	return fault(connect.CodeNotFound,
		fmt.Sprintf("there is no shelf %q; the shelves are %s to %s", name, shelves[0], shelves[len(shelves)-1]),
		&errdetails.ResourceInfo{ResourceType: shelfType, ResourceName: name, Description: "There is no such shelf."})
}
