package connectcall

import (
	"crypto/tls"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/option"
)

// An Option changes how a caller calls. The limits and the User-Agent that
// hold where no option says otherwise are those of package option.
type Option func(*option.Options)

func newOptions(opts []Option) (*option.Options, error) {
	o := option.Defaults()
	for _, opt := range opts {
		opt(&o)
	}
	return &o, o.Err()
}

// WithTLS makes [Dial] speak TLS with this configuration, whatever the scheme
// of the URL; [New] has its client's. It must not be changed afterwards.
func WithTLS(config *tls.Config) Option {
	return func(o *option.Options) { o.TLS = config }
}

// WithAuthority sends this host (:authority) instead of the URL's. With [Dial]
// the server's certificate is expected to be for it.
func WithAuthority(authority string) Option {
	return func(o *option.Options) { o.Authority = authority }
}

// WithHeader sends a header with every call that does not bring its own of
// that key. Values of keys that end in "-bin" are raw bytes.
func WithHeader(key string, values ...string) Option {
	return func(o *option.Options) { o.AddHeader(key, values) }
}

// WithUserAgent replaces [option.DefaultUserAgent].
func WithUserAgent(agent string) Option {
	return func(o *option.Options) { o.UserAgent = agent }
}

// WithMaxReceiveBytes replaces [option.DefaultMaxReceiveBytes].
func WithMaxReceiveBytes(n int) Option {
	return func(o *option.Options) { o.SetMaxReceive(n) }
}

// WithMaxSendBytes replaces [option.DefaultMaxSendBytes].
func WithMaxSendBytes(n int) Option {
	return func(o *option.Options) { o.SetMaxSend(n) }
}

// WithGzip compresses requests. Compressed responses are accepted in any case.
func WithGzip() Option {
	return func(o *option.Options) { o.Gzip = true }
}
