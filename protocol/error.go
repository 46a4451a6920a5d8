package protocol

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
)

// JSON-RPC error codes, and those that MCP adds (basic/index, Error Codes).
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternalError  = -32603

	// CodeResourceNotFound is what legacy revisions use for a missing
	// resource. 2026-07-28 uses CodeInvalidParams.
	CodeResourceNotFound = -32002

	CodeHeaderMismatch             = -32020
	CodeMissingClientCapability    = -32021
	CodeUnsupportedProtocolVersion = -32022
)

// Error is a JSON-RPC error: the request did not reach what it was meant
// for. What goes wrong inside a tool is no Error but a result with isError.
type Error struct {
	// Code is one of the codes above, or a code that the peer chose.
	Code int
	// Message is one sentence for a person, without secrets.
	Message string
	// Data is further raw JSON, or nil.
	Data json.RawMessage
	// Challenge, where it is not empty, is a WWW-Authenticate value: HTTP
	// fronts answer 401 with it.
	Challenge string
	// Scopes, where there are any, are what the credential of the caller lacks:
	// everything else about the request was in order.
	Scopes []string
}

// Error returns the message and the code.
func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// Errorf returns an Error with a formatted message.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// AsError returns the [*Error] in err's chain. Where there is none it returns
// an internal error that does not show err's text to the client.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: CodeInternalError, Message: "internal error"}
}

// MissingCapability returns the error for a request that needs capabilities
// which its client has not declared, a ClientCapabilities object
// (basic/versioning, Missing Required Capabilities).
func MissingCapability(required string) *Error {
	return &Error{
		Code:    CodeMissingClientCapability,
		Message: "the client has not declared a capability that this request needs",
		Data:    json.RawMessage(`{"requiredCapabilities":` + required + `}`),
	}
}

// UnsupportedVersion returns the error for a request that names a revision
// nobody here speaks (basic/versioning, Protocol Version Negotiation).
func UnsupportedVersion(requested string) *Error {
	requested = clip.Name(requested)
	data, err := json.Marshal(struct {
		Supported []Revision `json:"supported"`
		Requested string     `json:"requested"`
	}{revisions, requested})
	if err != nil { // strings always marshal
		data = nil
	}
	return &Error{
		Code:    CodeUnsupportedProtocolVersion,
		Message: fmt.Sprintf("unsupported protocol version %q", requested),
		Data:    data,
	}
}
