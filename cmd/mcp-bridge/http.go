package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/config"
	"github.com/mcp-bridge/mcp-bridge/bridge/gateway"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
)

// Paths that are served beside the MCP endpoint.
const (
	ssePath    = "/sse"
	healthPath = "/healthz"
)

// httpFlags are the flags of the commands that serve HTTP.
type httpFlags struct {
	listen          []string
	path            string
	origins         []string
	hosts           []string
	sse             bool
	typed           string
	tls             configv1.ServerTls
	allowAll        bool
	shutdownTimeout time.Duration
}

func addHTTPFlags(cmd *cobra.Command) *httpFlags {
	h := &httpFlags{}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVar(&h.listen, "listen", defaults().GetServer().GetListen(), "listen on this `address`, host:port or unix:path; port 0 picks a free one; may be repeated")
	f.Lookup("listen").DefValue = defaultListen()
	f.StringVar(&h.path, "path", defaults().GetServer().GetPath(), "`path` of the MCP endpoint")
	f.StringArrayVar(&h.origins, "allowed-origin", nil, "let web pages of this `origin`, such as https://app.example.com, call; * for all; may be repeated")
	f.StringArrayVar(&h.hosts, "allowed-host", nil, "serve requests to this `host` name; * for all; may be repeated; without it, loopback names on loopback addresses and any name on others")
	f.StringVar(&h.tls.Cert, "tls-cert", "", "serve TLS with the certificate in this PEM `file`")
	f.StringVar(&h.tls.Key, "tls-key", "", "the private key of --tls-cert, a PEM `file`")
	f.StringVar(&h.tls.ClientCa, "tls-client-ca", "", "demand client certificates that an authority in this PEM `file` has signed")
	f.BoolVar(&h.allowAll, "allow-unauthenticated", false, "listen also where other machines can reach it, and let everyone in; a configuration file can say who is let in instead")
	f.BoolVar(&h.sse, "sse", false, "serve HTTP+SSE of revision 2024-11-05 too, at "+ssePath)
	f.DurationVar(&h.shutdownTimeout, "shutdown-timeout", defaults().GetServer().GetShutdownTimeout().AsDuration(), "`time` for calls under way to finish after SIGTERM or SIGINT")
	return h
}

// check reports every mistake in the flags. taken are paths that the command
// serves itself.
func (h *httpFlags) check(taken ...string) error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, address := range h.listen {
		if _, port, err := net.SplitHostPort(address); !strings.HasPrefix(address, "unix:") && (err != nil || port == "") {
			problem("--listen %q is not of the form host:port, such as %s", address, defaultListen())
		}
	}
	taken = append(taken, healthPath)
	if h.sse {
		taken = append(taken, ssePath)
	}
	switch u, err := url.Parse(h.path); {
	case err != nil || !strings.HasPrefix(h.path, "/") || u.Path != h.path || strings.ContainsAny(h.path, "{}?# ") || strings.Contains(h.path, "//"):
		problem("--path %q is no path, such as %s", h.path, defaults().GetServer().GetPath())
	default:
		for _, t := range taken {
			if h.path == t {
				problem("--path %s is taken", t)
			}
		}
	}
	switch {
	case h.tls.GetCert() != "" && h.tls.GetKey() == "":
		problem("--tls-cert needs its private key too: add --tls-key")
	case h.tls.GetCert() == "" && h.tls.GetKey() != "":
		problem("--tls-key needs its certificate too: add --tls-cert")
	case h.tls.GetCert() == "" && h.tls.GetClientCa() != "":
		problem("--tls-client-ca is for TLS: add --tls-cert and --tls-key")
	}
	for _, o := range h.origins {
		if o != "*" && !strings.Contains(o, "://") {
			problem("--allowed-origin %q needs a scheme, such as https://%s", o, o)
		}
	}
	if h.shutdownTimeout < 0 {
		problem("--shutdown-timeout %v is negative", h.shutdownTimeout)
	}
	return usage(problems...)
}

// apply adds what the flags say to a configuration.
func (h *httpFlags) apply(cfg *configv1.Config) {
	if cfg.Server == nil {
		cfg.Server = &configv1.Server{}
	}
	s := cfg.Server
	s.Listen, s.Path, s.Sse, s.Typed = h.listen, h.path, h.sse, h.typed
	s.AllowedOrigins, s.AllowedHosts = h.origins, h.hosts
	s.ShutdownTimeout = durationpb.New(h.shutdownTimeout)
	if h.tls.GetCert() != "" {
		s.Tls = &h.tls
	}
	if h.allowAll {
		cfg.Auth = &configv1.Auth{Anonymous: true}
	}
}

// explainListen adds advice to why an address cannot be listened on.
func explainListen(err error) error {
	fault, ok := errors.AsType[*gateway.ListenError](err)
	switch {
	case !ok:
		return err
	case errors.Is(err, syscall.EADDRINUSE):
		return failf("cannot listen on %s: the port is in use by another program", fault.Address).
			hint("choose another one with --listen, such as --listen 127.0.0.1:8081, or port 0 for any that is free")
	case errors.Is(err, fs.ErrPermission):
		return failf("%w", err).hint("choose a port above 1023 with --listen")
	default:
		return failf("%w", err).hint("choose another address with --listen")
	}
}

// site is where a gateway listens, for people.
type site struct {
	base    string // "http://host:port", of the first address
	path    string
	sse     bool
	typed   []string
	exposed string // an address that is not on this machine only, or ""
}

// siteOf returns where a gateway listens, whose configuration has its defaults.
func siteOf(g *gateway.Gateway, cfg *configv1.Config) *site {
	server := cfg.GetServer()
	s := &site{path: server.GetPath(), sse: server.GetSse(), typed: g.TypedServices()}
	scheme := "http://"
	if server.GetTls() != nil {
		scheme = "https://"
	}
	for i, addr := range g.Addrs() {
		base, exposed := address(scheme, addr)
		if i == 0 {
			s.base = base
		}
		if exposed && s.exposed == "" && server.GetTls().GetClientCa() == "" && !config.Authenticates(cfg.GetAuth()) {
			s.exposed = addr.String()
		}
	}
	return s
}

// mcpURL is the URL of the MCP endpoint.
func (s *site) mcpURL() string { return s.base + s.path }

// sseURL is the URL of the HTTP+SSE endpoint, or "".
func (s *site) sseURL() string {
	if !s.sse {
		return ""
	}
	return s.base + ssePath
}

// address returns the base URL by which a listener is reached from this
// machine, and whether it can be reached from others.
func address(scheme string, addr net.Addr) (base string, exposed bool) {
	if addr.Network() == "unix" {
		return "unix:" + addr.String() + ":", false
	}
	ap, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return scheme + addr.String(), true
	}
	ip := ap.Addr()
	exposed = !ip.IsLoopback()
	if ip.IsUnspecified() {
		// "::" takes IPv4 too, as far as the system allows.
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return scheme + netip.AddrPortFrom(ip, ap.Port()).String(), exposed
}

// warnExposed says on stderr that anybody can call, where that is so.
func (a *app) warnExposed(s *site) {
	if s.exposed != "" {
		report(a.stderr, fmt.Sprintf("warning: %s can be reached from other machines and there is no authentication", s.exposed),
			"say in a configuration file, under auth, who is let in; put a proxy that authenticates in front; or listen on "+defaultListen())
	}
}
