package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/httpsse"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

const (
	defaultListen          = "127.0.0.1:8080"
	defaultPath            = "/mcp"
	ssePath                = "/sse"
	healthPath             = "/healthz"
	defaultShutdownTimeout = 10 * time.Second
)

// Limits of the HTTP server. There is no limit on the time of a response,
// because streams last; what a client does not read is given up by the
// endpoints themselves.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// httpFlags are the flags of the commands that serve HTTP.
type httpFlags struct {
	listen          string
	path            string
	origins         []string
	hosts           []string
	sse             bool
	typed           string
	shutdownTimeout time.Duration
}

func addHTTPFlags(cmd *cobra.Command) *httpFlags {
	h := &httpFlags{}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&h.listen, "listen", defaultListen, "listen on this `address`; port 0 picks a free one")
	f.StringVar(&h.path, "path", defaultPath, "`path` of the MCP endpoint")
	f.StringArrayVar(&h.origins, "allowed-origin", nil, "let web pages of this `origin`, such as https://app.example.com, call; * for all; may be repeated")
	f.StringArrayVar(&h.hosts, "allowed-host", nil, "serve requests to this `host` name; * for all; may be repeated; without it, loopback names on loopback addresses and any name on others")
	f.BoolVar(&h.sse, "sse", false, "serve HTTP+SSE of revision 2024-11-05 too, at "+ssePath)
	f.DurationVar(&h.shutdownTimeout, "shutdown-timeout", defaultShutdownTimeout, "`time` for calls under way to finish after SIGTERM or SIGINT")
	return h
}

// check reports every mistake in the flags. taken are paths that the command
// serves itself.
func (h *httpFlags) check(taken ...string) error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if _, port, err := net.SplitHostPort(h.listen); err != nil || port == "" {
		problem("--listen %q is not of the form host:port, such as %s", h.listen, defaultListen)
	}
	taken = append(taken, healthPath)
	if h.sse {
		taken = append(taken, ssePath)
	}
	switch u, err := url.Parse(h.path); {
	case err != nil || !strings.HasPrefix(h.path, "/") || u.Path != h.path || strings.ContainsAny(h.path, "{}?# ") || strings.Contains(h.path, "//"):
		problem("--path %q is no path, such as %s", h.path, defaultPath)
	default:
		for _, t := range taken {
			if h.path == t {
				problem("--path %s is taken", t)
			}
		}
	}
	if h.shutdownTimeout < 0 {
		problem("--shutdown-timeout %v is negative", h.shutdownTimeout)
	}
	if err := errors.Join(problems...); err != nil {
		return usagef("%w", err)
	}
	return nil
}

// bind opens the listener.
func (h *httpFlags) bind(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", h.listen)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, failf("cannot listen on %s: the port is in use by another program", h.listen).
			hint("choose another one with --listen, such as --listen 127.0.0.1:8081, or port 0 for any that is free")
	case errors.Is(err, fs.ErrPermission):
		return nil, failf("cannot listen on %s: permission denied", h.listen).
			hint("choose a port above 1023 with --listen")
	default:
		return nil, failf("cannot listen on %s: %w", h.listen, err).hint("choose another address with --listen")
	}
}

// site is an upstream on an HTTP server.
type site struct {
	end      func() // the subscriptions
	server   *http.Server
	mcp      *streamable.Handler
	sse      *httpsse.Handler     // or nil
	grpc     *bridge.GRPCHandler  // or nil
	typed    *bridge.TypedService // or nil
	calls    inFlight
	timeout  time.Duration
	log      *slog.Logger
	base     string // "http://host:port"
	path     string
	exposed  bool // not on a loopback address only
	listener net.Listener
}

// site builds the server of an upstream, whose subscriptions end ends. What is
// not for the endpoints goes to rest; where that is nil, McpService is served
// too. The site owns the listener. The context bounds what is asked of the
// upstream meanwhile.
func (h *httpFlags) site(ctx context.Context, up protocol.Handler, end func(), l net.Listener, maxMessage int, rest http.Handler, log *slog.Logger) (*site, error) {
	s := &site{end: end, timeout: h.shutdownTimeout, log: log, path: h.path, listener: l}
	s.base, s.exposed = address(l.Addr())
	s.calls.next = up
	mux := http.NewServeMux()
	var err error
	s.mcp, err = streamable.New(streamable.Config{
		Handler:         &s.calls,
		Logger:          log,
		AllowedOrigins:  h.origins,
		AllowedHosts:    h.hosts,
		MaxMessageBytes: int64(maxMessage),
	})
	if err != nil {
		return nil, usagef("%w", err)
	}
	mux.Handle(h.path, s.mcp)
	if h.sse {
		s.sse, err = httpsse.New(httpsse.Config{
			Handler:         &s.calls,
			Logger:          log,
			AllowedOrigins:  h.origins,
			AllowedHosts:    h.hosts,
			MaxMessageBytes: int64(maxMessage),
		})
		if err != nil {
			return nil, usagef("%w", err)
		}
		mux.Handle(ssePath, s.sse)
	}
	mux.HandleFunc("GET "+healthPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n")) // the prober is gone
	})
	if rest == nil {
		if err := h.openTyped(ctx, s, maxMessage); err != nil {
			return nil, err
		}
		s.grpc, err = bridge.NewGRPCHandler(bridge.GRPCConfig{
			Handler:         &s.calls,
			Logger:          log,
			MaxMessageBytes: maxMessage,
			AllowedOrigins:  h.origins,
			AllowedHosts:    h.hosts,
			Typed:           s.typed,
		})
		if err != nil {
			if s.typed != nil {
				s.typed.Close()
			}
			return nil, err
		}
		s.grpc.Mount(mux)
		rest = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "nothing is here; the MCP endpoint is "+h.path, http.StatusNotFound)
		})
	}
	mux.Handle("/", rest)
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s.server = &http.Server{
		Handler:           withCORS(h.origins, mux),
		Protocols:         &protocols,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	return s, nil
}

// mcpURL is the URL of the MCP endpoint.
func (s *site) mcpURL() string { return s.base + s.path }

// sseURL is the URL of the HTTP+SSE endpoint, or "".
func (s *site) sseURL() string {
	if s.sse == nil {
		return ""
	}
	return s.base + ssePath
}

// serve serves until ctx ends, and then lets calls under way finish.
func (s *site) serve(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(s.listener) }()
	select {
	case err := <-served:
		s.end()
		s.closeEndpoints()
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		s.drain(ctx)
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	}
}

// drain ends the server: it stops accepting, tells health checks, ends subscriptions, waits for
// calls under way as long as the timeout allows, and then ends sessions and
// with them the streams that would not end by themselves.
func (s *site) drain(ctx context.Context) {
	s.log.InfoContext(ctx, "shutting down", "calls", s.calls.count())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	defer cancel()
	// What is still there when the time is up loses its connection, and then
	// nothing below waits any longer.
	stop := context.AfterFunc(ctx, func() {
		s.log.WarnContext(ctx, "calls are cut off: the shutdown timeout has passed", "calls", s.calls.count())
		_ = s.server.Close() // there is nobody to tell
	})
	defer stop()
	shut := make(chan struct{})
	go func() {
		defer close(shut)
		_ = s.server.Shutdown(ctx) // fails with ctx, which is reported above
	}()
	if s.grpc != nil {
		s.grpc.Drain()
	}
	s.end()
	s.calls.wait(ctx)
	s.closeEndpoints()
	<-shut
}

func (s *site) closeEndpoints() {
	if s.typed != nil {
		s.typed.Close()
	}
	if s.grpc != nil {
		s.grpc.Close()
	}
	if s.sse != nil {
		s.sse.Close()
	}
	s.mcp.Close()
}

// address returns the base URL by which a listener is reached from this
// machine, and whether it can be reached from others.
func address(addr net.Addr) (base string, exposed bool) {
	ap, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return "http://" + addr.String(), true
	}
	ip := ap.Addr()
	exposed = !ip.IsLoopback()
	if ip.IsUnspecified() {
		// "::" takes IPv4 too, as far as the system allows.
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return "http://" + netip.AddrPortFrom(ip, ap.Port()).String(), exposed
}

// warnExposed says on stderr that anybody can call, where that is so.
func (a *app) warnExposed(s *site) {
	if s.exposed {
		report(a.stderr, fmt.Sprintf("warning: %s can be reached from other machines and there is no authentication", s.listener.Addr()),
			"put a proxy that authenticates in front, or listen on "+defaultListen)
	}
}
