package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/mux"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Option configures a [Gateway] beyond its Config.
type Option func(*options)

type options struct {
	log         *slog.Logger
	guard       protocol.Guard
	middleware  []protocol.Middleware
	upstreams   map[string]func(context.Context) (mux.Server, error)
	typed       map[string]bridge.TypedConfig
	web         func(http.Handler) http.Handler
	stopTimeout time.Duration
}

// WithLogger sets where the Gateway logs to. The default discards.
func WithLogger(log *slog.Logger) Option { return func(o *options) { o.log = log } }

// WithGuard sets who decides which principal may call what. The default allows
// everything.
func WithGuard(g protocol.Guard) Option { return func(o *options) { o.guard = g } }

// WithMiddleware adds middleware that sees every request of every front once,
// before tool search, names and the guard. The first one sees it first.
func WithMiddleware(m ...protocol.Middleware) Option {
	return func(o *options) { o.middleware = append(o.middleware, m...) }
}

// WithHTTP puts middleware before everything that [Gateway.Serve] serves over HTTP,
// such as authentication, which sets the [protocol.Principal] of a request by
// [protocol.WithPrincipal]. It may answer other paths itself.
func WithHTTP(middleware func(http.Handler) http.Handler) Option {
	return func(o *options) { o.web = middleware }
}

// WithUpstream adds an upstream that no Config can describe, such as an API in
// this process. Open is called until it succeeds; what it returns is closed with
// the Gateway. The upstream stays when another Config is applied, which must not
// have one of that name.
func WithUpstream(name string, open func(ctx context.Context) (mux.Server, error)) Option {
	return func(o *options) { o.upstreams[name] = open }
}

// WithTyped serves the tools of an upstream as a typed service, too. Handler,
// Logger and MaxMessageBytes of cfg are set by the Gateway. The service is there
// once the upstream is.
func WithTyped(upstream string, cfg bridge.TypedConfig) Option {
	return func(o *options) { o.typed[upstream] = cfg }
}

// WithStopTimeout sets how long the process of a command has to end once its input
// is closed, and again once it is told to. The default is that of package
// protocol/stdio.
func WithStopTimeout(d time.Duration) Option { return func(o *options) { o.stopTimeout = d } }
