package grpcgo

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/grpc"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/header"
)

// The limits and times that hold where no option says otherwise.
const (
	// DefaultMaxReceiveBytes is the largest response message, after
	// decompression. It bounds the memory that a call can take.
	DefaultMaxReceiveBytes = 16 << 20
	// DefaultMaxSendBytes is the largest request message: what gRPC servers
	// accept unless they are configured otherwise.
	DefaultMaxSendBytes = 4 << 20
	// DefaultKeepaliveTime is how long a connection with calls in flight may
	// be silent before it is pinged. Servers refuse clients that ping more
	// often than they allow (ENHANCE_YOUR_CALM), and five minutes is what they
	// allow by default.
	DefaultKeepaliveTime = 5 * time.Minute
	// DefaultKeepaliveTimeout is how long a ping, or data that was sent, may
	// stay unacknowledged before the connection is given up.
	DefaultKeepaliveTimeout = 20 * time.Second
	// DefaultUserAgent begins the user-agent header; grpc-go adds its own name.
	DefaultUserAgent = "mcp-bridge"
)

// The pause between attempts to connect to a server that is away grows up to
// maxBackoff, which is short against grpc-go's two minutes: calls fail at once
// during the pause, and somebody waits for the server to come back.
const (
	minBackoff     = 100 * time.Millisecond
	maxBackoff     = 5 * time.Second
	connectTimeout = 10 * time.Second
)

// An Option changes how [Dial] and [Server] call.
type Option func(*options)

type options struct {
	tls              *tls.Config
	authority        string
	userAgent        string
	header           http.Header
	maxReceive       int
	maxSend          int
	gzip             bool
	keepaliveTime    time.Duration
	keepaliveTimeout time.Duration
	dial             []grpc.DialOption
	problems         []error
}

func newOptions(opts []Option) (*options, error) {
	o := &options{
		userAgent:        DefaultUserAgent,
		header:           http.Header{},
		maxReceive:       DefaultMaxReceiveBytes,
		maxSend:          DefaultMaxSendBytes,
		keepaliveTime:    DefaultKeepaliveTime,
		keepaliveTimeout: DefaultKeepaliveTimeout,
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

// WithTLS speaks TLS with this configuration, whatever the scheme of the
// target. The configuration must not be changed afterwards.
func WithTLS(config *tls.Config) Option {
	return func(o *options) { o.tls = config }
}

// WithAuthority sends this :authority instead of the target's host and port,
// and expects the server's certificate to be for it.
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

// WithKeepalive replaces [DefaultKeepaliveTime] and [DefaultKeepaliveTimeout].
// A time that is shorter than what the server allows makes it hang up.
func WithKeepalive(after, timeout time.Duration) Option {
	return func(o *options) {
		if after <= 0 || timeout <= 0 {
			o.problem("WithKeepalive: %v and %v must both be positive", after, timeout)
		}
		o.keepaliveTime, o.keepaliveTimeout = after, timeout
	}
}

// WithDialOptions passes options to grpc-go, after those that this package
// sets.
func WithDialOptions(opts ...grpc.DialOption) Option {
	return func(o *options) { o.dial = append(o.dial, opts...) }
}
