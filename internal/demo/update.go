package demo

import (
	"slices"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/reflect/protoreflect"

	libraryv1 "github.com/mcp-bridge/mcp-bridge/gen/library/v1"
)

// outputOnly are the fields of a book that only the library sets.
var outputOnly = []protoreflect.Name{"name", "loans", "create_time", "update_time"}

// fieldsToUpdate returns the fields that an update changes. The error names
// every path of the mask that is wrong.
func fieldsToUpdate(req *libraryv1.UpdateBookRequest) ([]protoreflect.FieldDescriptor, error) {
	book := req.GetBook().ProtoReflect()
	var fields []protoreflect.FieldDescriptor
	paths := req.GetUpdateMask().GetPaths()
	if len(paths) == 0 {
		for fd := range book.Range {
			if !slices.Contains(outputOnly, fd.Name()) {
				fields = append(fields, fd)
			}
		}
		return fields, nil
	}
	var wrong []*errdetails.BadRequest_FieldViolation
	for _, path := range paths {
		fd := book.Descriptor().Fields().ByName(protoreflect.Name(path))
		switch {
		case fd == nil:
			wrong = append(wrong, violation("update_mask", "a book has no field "+path))
		case slices.Contains(outputOnly, fd.Name()):
			wrong = append(wrong, violation("update_mask", path+" cannot be changed"))
		default:
			fields = append(fields, fd)
		}
	}
	if len(wrong) > 0 {
		return nil, badRequest(wrong...)
	}
	return fields, nil
}
