package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/mux"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Gateway is a configuration that runs. It is used concurrently. Close it.
type Gateway struct {
	opts  options
	log   *slog.Logger
	mux   *mux.Mux
	calls inFlight
	site  atomic.Pointer[site]
	slots *slots

	ctx        context.Context //nolint:containedctx // ends what runs in the background
	cancel     context.CancelFunc
	background sync.WaitGroup
	failure    chan error // gets why a listener has ended by itself

	apply     sync.Mutex // one configuration at a time; guards the fields below
	settings  *settings
	listeners map[address]*listener
	serving   bool
	closed    bool
}

var _ protocol.Handler = (*Gateway)(nil)

// New returns a Gateway of a Config, which begins to open its upstreams. One that
// is down is tried again and again. The error has everything that is wrong with
// the Config. The context bounds nothing but New.
func New(ctx context.Context, cfg *configv1.Config, opts ...Option) (*Gateway, error) {
	g := &Gateway{
		opts: options{
			log: slog.New(slog.DiscardHandler), upstreams: make(map[string]func(context.Context) (mux.Server, error)),
			typed: make(map[string]bridge.TypedConfig),
		},
		slots: newSlots(), failure: make(chan error, 1), listeners: make(map[address]*listener),
	}
	for _, o := range opts {
		o(&g.opts)
	}
	g.log = g.opts.log
	g.ctx, g.cancel = context.WithCancel(context.Background())
	if err := g.Apply(ctx, cfg); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// Apply replaces the configuration. What did not change is not disturbed: its
// upstreams, their processes, sessions and streams. New addresses are opened
// before those that are gone are closed. Where anything is wrong nothing changes,
// and the error has every fault. What can only be seen while an upstream is asked
// is in [Gateway.Status].
func (g *Gateway) Apply(ctx context.Context, cfg *configv1.Config) error {
	s, err := g.check(cfg)
	if err != nil {
		return err
	}
	g.apply.Lock()
	defer g.apply.Unlock()
	if g.closed {
		return errors.New("gateway: it is closed")
	}
	var opened map[address]*listener
	if g.serving || len(g.listeners) > 0 {
		if opened, err = g.openListeners(ctx, s); err != nil {
			return err
		}
	}
	if err := g.replace(s); err != nil {
		closeListeners(opened)
		return err
	}
	g.settings = s
	if g.serving || len(g.listeners) > 0 {
		g.useListeners(s, opened)
	}
	return nil
}

// replace replaces the Mux's configuration and the site. The caller holds apply.
func (g *Gateway) replace(s *settings) error {
	old := g.site.Load()
	if g.mux == nil {
		m, err := mux.New(s.mux)
		if err != nil {
			return err
		}
		g.mux = m
	} else if err := g.mux.Apply(s.mux); err != nil {
		return err
	}
	if old != nil {
		s.keepAuth(old.settings)
	}
	next, err := g.newSite(s, old)
	if err != nil {
		if old != nil {
			err = errors.Join(err, g.mux.Apply(old.settings.mux)) // which has been good before
		}
		return err
	}
	for name, e := range next.endpoints {
		if err := g.update(e, s, name); err != nil {
			return err
		}
	}
	g.site.Store(next)
	g.serveTyped(next)
	old.closeUnlike(next)
	return nil
}

// Handler returns the fronts, for an HTTP server of one's own: the MCP endpoints
// at their paths, McpService, typed services, reflection and health checks. gRPC
// needs HTTP/2; see [http.Server.Protocols]. Middleware in front that
// authenticates callers sets their [protocol.Principal] by
// [protocol.WithPrincipal].
func (g *Gateway) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.site.Load().routes.ServeHTTP(w, r)
	})
}

// Handle answers one MCP request, as the endpoint of all upstreams does.
func (g *Gateway) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	return g.site.Load().endpoints[""].pipeline.Handle(ctx, r, n)
}

// Ready waits until every upstream has been tried once, which takes 30 seconds at
// most, or until ctx ends, and says of those that are down why, by name.
func (g *Gateway) Ready(ctx context.Context) map[string]error {
	down := g.mux.Ready(ctx)
	for _, t := range g.site.Load().typed {
		if down[t.upstream] == nil {
			select {
			case <-t.tried:
			case <-ctx.Done():
			}
		}
	}
	return down
}

// waitPause is how often Wait looks.
const waitPause = 100 * time.Millisecond

// Wait waits until all upstreams are up, or ctx ends, and then says of those that
// are down why, by name.
func (g *Gateway) Wait(ctx context.Context) map[string]error {
	for {
		down := g.Ready(ctx)
		if len(down) == 0 || ctx.Err() != nil {
			return down
		}
		select {
		case <-ctx.Done():
		case <-time.After(waitPause):
		}
	}
}

// Status returns the state of all upstreams, in the order of their names.
func (g *Gateway) Status() []mux.Status { return g.mux.Status() }

// TypedServices returns the names of the typed services that are served, sorted.
func (g *Gateway) TypedServices() []string {
	g.apply.Lock()
	defer g.apply.Unlock()
	var names []string
	for _, service := range ready(g.site.Load().typed) {
		names = append(names, service.Name())
	}
	slices.Sort(names)
	return names
}

// TypedFaults returns why typed services are not served, by the names of their
// upstreams. They are tried again, as an upstream that is down is.
func (g *Gateway) TypedFaults() map[string]error {
	g.apply.Lock()
	defer g.apply.Unlock()
	faults := make(map[string]error)
	for _, t := range g.site.Load().typed {
		if t.fault != nil {
			faults[t.upstream] = t.fault
		}
	}
	return faults
}

// Drain lets the Gateway end: it tells health checks, ends subscriptions, and waits
// for the calls under way until ctx ends. Close it afterwards.
func (g *Gateway) Drain(ctx context.Context) {
	g.site.Load().grpc.Drain()
	g.mux.EndSubscriptions()
	g.calls.wait(ctx)
}

// Close ends the fronts with their sessions, and closes the upstreams. It does not
// wait for calls; see [Gateway.Drain].
func (g *Gateway) Close() {
	g.cancel()
	g.apply.Lock()
	g.closeFronts()
	g.apply.Unlock()
	g.background.Wait()
	if g.mux != nil { // New has failed otherwise
		g.mux.Close()
	}
}

// closeFronts ends what is served. The caller holds apply.
func (g *Gateway) closeFronts() {
	if g.closed {
		return
	}
	g.closed = true
	closeListeners(g.listeners)
	g.site.Load().closeUnlike(nil)
}
