// Package option holds the options that the callers of all protocols have,
// with their defaults and their checks.
package option

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/header"
)

// The values that hold where no option says otherwise.
const (
	// DefaultMaxReceiveBytes is the largest response message, after
	// decompression. It bounds the memory that a call can take.
	DefaultMaxReceiveBytes = 16 << 20
	// DefaultMaxSendBytes is the largest request message: what gRPC servers
	// accept unless they are configured otherwise.
	DefaultMaxSendBytes = 4 << 20
	// DefaultUserAgent is, or begins, the User-Agent header.
	DefaultUserAgent = "mcp-bridge"
)

// Options are the options of one caller. Problems are collected, so that all
// of them can be reported at once.
type Options struct {
	TLS        *tls.Config
	Authority  string
	UserAgent  string
	Header     http.Header
	MaxReceive int
	MaxSend    int
	Gzip       bool

	problems []error
}

// Defaults returns the Options that nothing has been set of.
func Defaults() Options {
	return Options{
		UserAgent:  DefaultUserAgent,
		Header:     http.Header{},
		MaxReceive: DefaultMaxReceiveBytes,
		MaxSend:    DefaultMaxSendBytes,
	}
}

// Problem records what is wrong with an option.
func (o *Options) Problem(format string, args ...any) {
	o.problems = append(o.problems, fmt.Errorf(format, args...))
}

// Err returns all problems.
func (o *Options) Err() error {
	var fault error
	if err := header.Check(o.Header); err != nil {
		fault = fmt.Errorf("WithHeader: %w", err)
	}
	return errors.Join(append(o.problems, fault)...)
}

// AddHeader is what WithHeader does.
func (o *Options) AddHeader(key string, values []string) {
	canonical := http.CanonicalHeaderKey(key)
	if header.Reserved(canonical) {
		o.Problem("WithHeader: %q belongs to the protocol and cannot be set", key)
		return
	}
	o.Header[canonical] = append(o.Header[canonical], values...)
}

// SetMaxReceive is what WithMaxReceiveBytes does.
func (o *Options) SetMaxReceive(n int) {
	if n <= 0 {
		o.Problem("WithMaxReceiveBytes: %d is not positive", n)
	}
	o.MaxReceive = n
}

// SetMaxSend is what WithMaxSendBytes does.
func (o *Options) SetMaxSend(n int) {
	if n <= 0 {
		o.Problem("WithMaxSendBytes: %d is not positive", n)
	}
	o.MaxSend = n
}
