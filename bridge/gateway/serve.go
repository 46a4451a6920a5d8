package gateway

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
)

// Serve listens on the addresses of the Config and serves them until ctx ends.
// Then it stops accepting, drains, and lets calls under way finish as long as the
// Config allows. It returns nil after that, and an error if an address cannot be
// listened on. A Gateway serves once.
func (g *Gateway) Serve(ctx context.Context) error {
	if err := g.Listen(ctx); err != nil {
		return err
	}
	g.apply.Lock()
	if g.closed || g.serving {
		g.apply.Unlock()
		return errors.New("gateway: it is closed, or serves already")
	}
	g.serving = true
	for _, l := range g.listeners {
		g.start(l)
	}
	g.apply.Unlock()
	select {
	case err := <-g.failure:
		g.shutDown(ctx)
		return err
	case <-ctx.Done():
		g.shutDown(ctx)
		return nil
	case <-g.ctx.Done():
		return errors.New("gateway: it is closed")
	}
}

// failed notes that a listener has ended by itself.
func (g *Gateway) failed(err error) {
	select {
	case g.failure <- err:
	default: // one failure ends everything
	}
}

func (g *Gateway) shutdownTimeout() time.Duration {
	return g.site.Load().settings.cfg.GetServer().GetShutdownTimeout().AsDuration()
}

// shutDown ends the servers: they stop accepting, health checks and subscribers
// hear of it, calls under way finish as long as the timeout allows, and then
// sessions end, and with them the streams that would not end by themselves.
func (g *Gateway) shutDown(ctx context.Context) {
	g.apply.Lock()
	all := slices.Collect(maps.Values(g.listeners))
	g.apply.Unlock()
	g.log.InfoContext(ctx, "shutting down", "calls", g.calls.underWay())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.shutdownTimeout())
	defer cancel()
	// What is still there when the time is up loses its connection, and then
	// nothing below waits any longer.
	stop := context.AfterFunc(ctx, func() {
		g.log.WarnContext(ctx, "calls are cut off: the shutdown timeout has passed", "calls", g.calls.underWay())
		for _, l := range all {
			_ = l.server.Close() // there is nobody to tell
		}
	})
	defer stop()
	var shut sync.WaitGroup
	for _, l := range all {
		shut.Go(func() { _ = l.server.Shutdown(ctx) }) // fails with ctx, which is reported above
	}
	g.Drain(ctx)
	g.apply.Lock()
	g.closeFronts()
	g.apply.Unlock()
	shut.Wait()
}

// ServeStdio serves one client on in and out, one JSON-RPC message a line, until in
// ends or ctx does. The client sees the endpoint of all upstreams.
func (g *Gateway) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	s := g.site.Load().settings
	return stdio.Serve(s.stdioCaller(ctx), in, out, stdio.Config{Handler: g, Logger: g.log, MaxMessageBytes: s.maxBytes})
}
