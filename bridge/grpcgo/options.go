package grpcgo

import (
	"crypto/tls"
	"time"

	"google.golang.org/grpc"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/option"
)

// The limits and times that hold where no option says otherwise.
const (
	// DefaultMaxReceiveBytes is the largest response message, after
	// decompression. It bounds the memory that a call can take.
	DefaultMaxReceiveBytes = option.DefaultMaxReceiveBytes
	// DefaultMaxSendBytes is the largest request message: what gRPC servers
	// accept unless they are configured otherwise.
	DefaultMaxSendBytes = option.DefaultMaxSendBytes
	// DefaultKeepaliveTime is how long a connection with calls in flight may
	// be silent before it is pinged. Servers refuse clients that ping more
	// often than they allow (ENHANCE_YOUR_CALM), and five minutes is what they
	// allow by default.
	DefaultKeepaliveTime = 5 * time.Minute
	// DefaultKeepaliveTimeout is how long a ping, or data that was sent, may
	// stay unacknowledged before the connection is given up.
	DefaultKeepaliveTimeout = 20 * time.Second
	// DefaultUserAgent begins the user-agent header; grpc-go adds its own name.
	DefaultUserAgent = option.DefaultUserAgent
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
	common option.Options

	keepaliveTime    time.Duration
	keepaliveTimeout time.Duration
	dial             []grpc.DialOption
}

func newOptions(opts []Option) (*options, error) {
	o := &options{
		common:           option.Defaults(),
		keepaliveTime:    DefaultKeepaliveTime,
		keepaliveTimeout: DefaultKeepaliveTimeout,
	}
	for _, opt := range opts {
		opt(o)
	}
	return o, o.common.Err()
}

// WithTLS speaks TLS with this configuration, whatever the scheme of the
// target. The configuration must not be changed afterwards.
func WithTLS(config *tls.Config) Option {
	return func(o *options) { o.common.TLS = config }
}

// WithAuthority sends this :authority instead of the target's host and port,
// and expects the server's certificate to be for it.
func WithAuthority(authority string) Option {
	return func(o *options) { o.common.Authority = authority }
}

// WithHeader sends a header with every call that does not bring its own of
// that key. Values of keys that end in "-bin" are raw bytes.
func WithHeader(key string, values ...string) Option {
	return func(o *options) { o.common.AddHeader(key, values) }
}

// WithUserAgent replaces [DefaultUserAgent].
func WithUserAgent(agent string) Option {
	return func(o *options) { o.common.UserAgent = agent }
}

// WithMaxReceiveBytes replaces [DefaultMaxReceiveBytes].
func WithMaxReceiveBytes(n int) Option {
	return func(o *options) { o.common.SetMaxReceive(n) }
}

// WithMaxSendBytes replaces [DefaultMaxSendBytes].
func WithMaxSendBytes(n int) Option {
	return func(o *options) { o.common.SetMaxSend(n) }
}

// WithGzip compresses requests. Compressed responses are accepted in any case.
func WithGzip() Option {
	return func(o *options) { o.common.Gzip = true }
}

// WithKeepalive replaces [DefaultKeepaliveTime] and [DefaultKeepaliveTimeout].
// A time that is shorter than what the server allows makes it hang up.
func WithKeepalive(after, timeout time.Duration) Option {
	return func(o *options) {
		if after <= 0 || timeout <= 0 {
			o.common.Problem("WithKeepalive: %v and %v must both be positive", after, timeout)
		}
		o.keepaliveTime, o.keepaliveTimeout = after, timeout
	}
}

// WithDialOptions passes options to grpc-go, after those that this package
// sets.
func WithDialOptions(opts ...grpc.DialOption) Option {
	return func(o *options) { o.dial = append(o.dial, opts...) }
}
