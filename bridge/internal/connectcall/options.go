package connectcall

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/header"
)

// The limits that hold where no option says otherwise. They are those of the
// grpc-go caller.
const (
	// DefaultMaxReceiveBytes is the largest response message, after
	// decompression. It bounds the memory that a call can take.
	DefaultMaxReceiveBytes = 16 << 20
	// DefaultMaxSendBytes is the largest request message: what gRPC servers
	// accept unless they are configured otherwise.
	DefaultMaxSendBytes = 4 << 20
	// DefaultUserAgent is the User-Agent header.
	DefaultUserAgent = "mcp-bridge"
)

// An Option changes how a caller calls.
type Option func(*options)

type options struct {
	tls        *tls.Config
	authority  string
	userAgent  string
	header     http.Header
	maxReceive int
	maxSend    int
	gzip       bool
	problems   []error
}

func newOptions(opts []Option) (*options, error) {
	o := &options{
		userAgent:  DefaultUserAgent,
		header:     http.Header{},
		maxReceive: DefaultMaxReceiveBytes,
		maxSend:    DefaultMaxSendBytes,
	}
	for _, opt := range opts {
		opt(o)
	}
	if err := header.Check(o.header); err != nil {
		o.problem("WithHeader: %w", err)
	}
	return o, errors.Join(o.problems...)
}

func (o *options) problem(format string, args ...any) {
	o.problems = append(o.problems, fmt.Errorf(format, args...))
}

// WithTLS makes [Dial] speak TLS with this configuration, whatever the scheme
// of the URL; [New] has its client's. It must not be changed afterwards.
func WithTLS(config *tls.Config) Option {
	return func(o *options) { o.tls = config }
}

// WithAuthority sends this host (:authority) instead of the URL's. With [Dial]
// the server's certificate is expected to be for it.
func WithAuthority(authority string) Option {
	return func(o *options) { o.authority = authority }
}

// WithHeader sends a header with every call that does not bring its own of
// that key. Values of keys that end in "-bin" are raw bytes.
func WithHeader(key string, values ...string) Option {
	return func(o *options) {
		canonical := http.CanonicalHeaderKey(key)
		if header.Reserved(canonical) {
			o.problem("WithHeader: %q belongs to the protocol and cannot be set", key)
			return
		}
		o.header[canonical] = append(o.header[canonical], values...)
	}
}

// WithUserAgent replaces [DefaultUserAgent].
func WithUserAgent(agent string) Option {
	return func(o *options) { o.userAgent = agent }
}

// WithMaxReceiveBytes replaces [DefaultMaxReceiveBytes].
func WithMaxReceiveBytes(n int) Option {
	return func(o *options) {
		if n <= 0 {
			o.problem("WithMaxReceiveBytes: %d is not positive", n)
		}
		o.maxReceive = n
	}
}

// WithMaxSendBytes replaces [DefaultMaxSendBytes].
func WithMaxSendBytes(n int) Option {
	return func(o *options) {
		if n <= 0 {
			o.problem("WithMaxSendBytes: %d is not positive", n)
		}
		o.maxSend = n
	}
}

// WithGzip compresses requests. Compressed responses are accepted in any case.
func WithGzip() Option {
	return func(o *options) { o.gzip = true }
}
