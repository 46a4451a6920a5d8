package stdio

import "strings"

// ExitError is how a program has ended, or that it does not answer, and what it
// has written to its standard error last. It lies beneath the
// [protocol.UpstreamError] of a request that it has failed.
type ExitError struct {
	// Status is how the program has ended, such as "exit status 1", or empty
	// where it runs.
	Status string
	// Stderr are its last lines, at most 20, without control characters.
	Stderr []string

	err error // beneath
}

// Unwrap returns what lies beneath, such as the end of a context.
func (e *ExitError) Unwrap() error { return e.err }

// Error returns the last lines.
func (e *ExitError) Error() string {
	switch len(e.Stderr) {
	case 0:
		return "it wrote nothing to standard error"
	case 1:
		return "it said last: " + e.Stderr[0]
	default:
		return "it said last:\n" + strings.Join(e.Stderr, "\n")
	}
}
