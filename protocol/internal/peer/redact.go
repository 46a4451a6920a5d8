package peer

import (
	"encoding/json"
	"errors"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/secret"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Redact returns an error of a server without values that the server has been
// given and repeats.
func Redact(v *secret.Values, err error) error {
	if err == nil {
		return nil
	}
	if fault, ok := errors.AsType[*protocol.UpstreamError](err); ok {
		if fault.Err == nil || v.Redact(fault.Err.Error()) == fault.Err.Error() {
			return err
		}
		again := *fault
		again.Err = &redactedError{text: v.Redact(fault.Err.Error()), err: fault.Err}
		return &again
	}
	if fault, ok := errors.AsType[*protocol.Error](err); ok {
		message, data := v.Redact(fault.Message), v.Redact(string(fault.Data))
		if message == fault.Message && data == string(fault.Data) {
			return err
		}
		again := *fault
		again.Message = message
		if again.Data != nil {
			again.Data = json.RawMessage(data)
			if jsontok.Valid(again.Data, jsontok.Limits{}) != nil {
				again.Data = nil // the value was a number
			}
		}
		return &again
	}
	if text := v.Redact(err.Error()); text != err.Error() {
		return &redactedError{text: text, err: err}
	}
	return err
}

// redactedError is an error with another text.
type redactedError struct {
	text string
	err  error
}

// Error returns the text without secrets.
func (e *redactedError) Error() string { return e.text }

// Unwrap returns the error, for errors.Is and errors.As.
func (e *redactedError) Unwrap() error { return e.err }
