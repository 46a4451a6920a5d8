package protocol

import (
	"fmt"
	"time"
)

// UpstreamKind is the class of an [UpstreamError]: what a front that has
// statuses of its own maps.
type UpstreamKind int

// The kinds of faults of an upstream.
const (
	// UpstreamUnavailable: it could not be reached, or went away before it
	// had answered.
	UpstreamUnavailable UpstreamKind = iota
	// UpstreamUnauthenticated: it wants credentials, or other ones.
	UpstreamUnauthenticated
	// UpstreamPermissionDenied: it refuses these credentials.
	UpstreamPermissionDenied
	// UpstreamThrottled: it wants fewer requests.
	UpstreamThrottled
	// UpstreamTimeout: it did not answer in the time that was set for it.
	UpstreamTimeout
	// UpstreamMalformed: what it said is not MCP, or no revision of it that
	// this module speaks.
	UpstreamMalformed
	// UpstreamTooLarge: it said more than the limit allows.
	UpstreamTooLarge
	// UpstreamRejected: it refused the request as such, for example by an
	// HTTP status that has no kind of its own.
	UpstreamRejected
)

var upstreamKinds = [...]string{
	UpstreamUnavailable:      "unavailable",
	UpstreamUnauthenticated:  "unauthenticated",
	UpstreamPermissionDenied: "permission denied",
	UpstreamThrottled:        "throttled",
	UpstreamTimeout:          "timeout",
	UpstreamMalformed:        "malformed",
	UpstreamTooLarge:         "too large",
	UpstreamRejected:         "rejected",
}

// String returns the kind in words.
func (k UpstreamKind) String() string {
	if k < 0 || int(k) >= len(upstreamKinds) {
		return fmt.Sprintf("kind %d", int(k))
	}
	return upstreamKinds[k]
}

// UpstreamError says that an upstream could not be asked, or did not answer
// as MCP has it. What the upstream answers in the form of MCP, errors
// included, is no UpstreamError.
//
// It wraps an [*Error], so fronts that know only JSON-RPC show the Message.
type UpstreamError struct {
	// Kind is the class of the fault.
	Kind UpstreamKind
	// Message says in one sentence what happened. It goes to clients, so it
	// names no address and repeats nothing that the peer said.
	Message string
	// HTTPStatus is the status that the upstream answered, or 0.
	HTTPStatus int
	// RetryAfter is how long to wait before another attempt, or 0 where
	// nobody says.
	RetryAfter time.Duration
	// Challenge is the WWW-Authenticate header of the upstream's answer. It
	// is meant for whoever holds credentials for the upstream, which the
	// client in front need not be.
	Challenge string
	// Hint is what an operator can do about the fault, or empty. It may name
	// addresses, so it never goes to clients.
	Hint string
	// Unsent is true where the upstream has certainly not begun to work on
	// the request, so that repeating it is safe.
	Unsent bool
	// Err is what lies beneath, or nil. It is for logs.
	Err error
}

// Error returns the message and what lies beneath.
func (e *UpstreamError) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the error for clients, and what lies beneath.
func (e *UpstreamError) Unwrap() []error {
	rpc := &Error{Code: CodeInternalError, Message: e.Message}
	if e.Err == nil {
		return []error{rpc}
	}
	return []error{rpc, e.Err}
}
