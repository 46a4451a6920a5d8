package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/config"
	"github.com/mcp-bridge/mcp-bridge/bridge/gateway"
	"github.com/mcp-bridge/mcp-bridge/bridge/upstream"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/printable"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
)

// minStopTimeout is the least time that the process of an MCP server has to end
// by itself, and again when it is told to.
const minStopTimeout = 100 * time.Millisecond

func (a *app) serve() *cobra.Command {
	var (
		flags        *upstreamFlags
		web          *httpFlags
		asJSON, wait bool
	)
	cmd := &cobra.Command{
		Use:   "serve [NAME=]URL... [-- COMMAND [ARGUMENT...]] | serve --config FILE",
		Short: "Serve an upstream's tools as MCP over Streamable HTTP and gRPC",
		Long: `serve makes the upstream's methods MCP tools, over Streamable HTTP in every
revision of MCP, and over gRPC, gRPC-Web and Connect as mcp.v1.McpService, with
server reflection, on the same port.

The upstream may be an MCP server too: a command behind --, which is started and
spoken to on its standard input and output, or a URL of http or https. mcp+http
is the same as http, and sse+http is HTTP+SSE of 2024-11-05. A server of
mcp.v1.McpService, or of Google's model_context_protocol.Mcp, is recognised by
its reflection; mcp+ or google+ before the scheme says so where it has none, and
tunnel+ is a server behind the RPC Tunnel.

Several upstreams, of any kind, are served as one. The names of their tools and
prompts begin with NAME_. An upstream that is down is tried again until it is
up, and takes only its own tools with it. A flag about upstreams applies to all
that it fits; as NAME=value it applies to one.

A configuration file can do everything that flags can, and more. It is applied
again when it changes and on SIGHUP; what did not change is not disturbed.

With --typed the tools are also a service with an RPC for each of them: that of
the files that export has written, or one that is made on the spot.

Who is let in is said in a configuration file, under auth. Without it, everyone
is, so the program listens only where no other machine can reach it, unless
--allow-unauthenticated is given, for example behind a proxy that authenticates.

On SIGTERM or SIGINT calls under way finish, within --shutdown-timeout. A second
signal ends the program at once.`,
		Example: `  mcp-bridge serve grpc://localhost:50051
  mcp-bridge serve --config mcp-bridge.yaml
  mcp-bridge serve --descriptors api.binpb grpcs://api.example.com
  mcp-bridge serve --proto ./proto connect+http://localhost:8081
  mcp-bridge serve --service 'library.v1.*' --forward-header authorization grpcweb+https://api.example.com
  mcp-bridge serve -- npx -y @modelcontextprotocol/server-everything
  mcp-bridge serve mcp+grpc://localhost:9090
  mcp-bridge serve books=grpc://localhost:50051 https://mcp.example.com/mcp -- npx -y @modelcontextprotocol/server-everything
  mcp-bridge serve --timeout books=5s books=grpc://localhost:50051 docs=https://mcp.example.com/mcp
  mcp-bridge serve --typed proto/ -- npx -y @modelcontextprotocol/server-everything
  mcp-bridge serve --tls-cert cert.pem --tls-key key.pem --tls-client-ca clients.pem --listen :443 grpc://localhost:50051`,
		Args: func(cmd *cobra.Command, args []string) error { return flags.someUpstreams(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runServe(cmd, args, flags, web, wait, asJSON)
		},
	}
	web = addHTTPFlags(cmd)
	cmd.Flags().StringVar(&web.typed, "typed", "", "serve the tools as a typed service too: `how` is the directory of an export, or auto for one without files")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until all upstreams are up before saying that it listens")
	annotate(cmd, groupGeneral, "wait")
	flags = a.addUpstreamFlags(cmd, defaultToolsBytes())
	addJSON(cmd, &asJSON, "the line about where it listens")
	return cmd
}

func (a *app) runServe(cmd *cobra.Command, args []string, flags *upstreamFlags, web *httpFlags, wait, asJSON bool) error {
	ctx := cmd.Context()
	if err := web.check(); err != nil {
		return err
	}
	all, err := targets(cmd, args)
	if err != nil {
		return err
	}
	cfg, err := a.configure(cmd, flags, all)
	if err != nil {
		return err
	}
	if flags.config == "" {
		web.apply(cfg)
	}
	server := config.WithDefaults(cfg).GetServer()
	timeout := server.GetShutdownTimeout().AsDuration()
	flags.stopTimeout = min(stdio.DefaultStopTimeout, max(timeout/2, minStopTimeout))
	g, err := a.open(ctx, cfg, flags)
	if err != nil {
		return err
	}
	defer g.Close()
	if err := g.Listen(ctx); err != nil {
		return explainListen(err)
	}
	var down map[string]error
	if wait {
		down = g.Wait(ctx)
	} else {
		ready, cancel := context.WithTimeout(ctx, serveTimeout)
		down = g.Ready(ready)
		cancel()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for name, fault := range g.TypedFaults() {
		switch {
		case down[name] != nil: // and so it is the upstream's fault
		case server.GetTyped() == "auto": // which is as much as can be had
			report(a.stderr, fmt.Sprintf("warning: there is no typed service of %s: %v", name, fault))
		default:
			return failf("--typed=%s: %w", server.GetTyped(), fault)
		}
	}
	s := siteOf(g, config.WithDefaults(cfg))
	a.warnExposed(s)
	if err := a.announce(g, s, cfg, down, flags, asJSON); err != nil {
		return err
	}
	trim(g)
	if flags.config != "" {
		stop := a.reload(cmd, g, flags)
		defer stop()
	}
	return g.Serve(ctx)
}

// reload applies the configuration file again on SIGHUP, and when it or a file
// that it names has changed, until stop is called.
func (a *app) reload(cmd *cobra.Command, g *gateway.Gateway, flags *upstreamFlags) (stop func()) {
	ctx, cancel := context.WithCancel(cmd.Context())
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	var (
		one     sync.Mutex // one configuration at a time
		running sync.WaitGroup
	)
	apply := func(file *config.File, err error) {
		one.Lock()
		defer one.Unlock()
		a.applyAgain(ctx, cmd, g, file, err)
	}
	running.Go(func() {
		_ = config.Watch(ctx, flags.config, flags.file, config.WatchOptions{}, apply) // ends with ctx
	})
	running.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangups:
				apply(config.Load(flags.config, config.Options{}))
			}
		}
	})
	return func() {
		signal.Stop(hangups)
		cancel()
		running.Wait()
	}
}

// applyAgain applies a configuration that has been read again. A fault changes
// nothing.
func (a *app) applyAgain(ctx context.Context, cmd *cobra.Command, g *gateway.Gateway, file *config.File, err error) {
	if err == nil {
		a.warn(file)
		err = g.Apply(ctx, file.Config)
	}
	if err != nil {
		report(a.stderr, "the configuration is not applied, and the one before stays:\n"+err.Error())
		return
	}
	a.logAsConfigured(cmd, file.Config)
	a.log().InfoContext(ctx, "the configuration has been applied again")
}

// part is an upstream in an announcement.
type part struct {
	Name        string `json:"name"`
	Upstream    string `json:"upstream"`
	Unavailable string `json:"unavailable,omitempty"`
	// Revisions are those of MCP in which a server has answered.
	Revisions []protocol.Revision `json:"revisions,omitempty"`
	// Restarts is how often the process of a command has been started again.
	Restarts int `json:"restarts,omitempty"`
}

// spoken is the revisions for people, or "".
func (p *part) spoken() string {
	if len(p.Revisions) == 0 || p.Unavailable != "" {
		return ""
	}
	names := make([]string, len(p.Revisions))
	for i, r := range p.Revisions {
		names[i] = string(r)
	}
	return " (MCP " + strings.Join(names, ", ") + ")"
}

// announce says where the gateway listens, and of what. Its first line is what
// scripts wait for.
func (a *app) announce(g *gateway.Gateway, s *site, cfg *configv1.Config, down map[string]error, flags *upstreamFlags, asJSON bool) error {
	var parts []part
	for _, status := range g.Status() {
		p := part{Name: status.Name, Upstream: shownUpstream(cfg.GetUpstreams()[status.Name])}
		if err := down[status.Name]; err != nil {
			p.Unavailable = flags.explain(err).Error()
		}
		if server, ok := status.Server.(upstream.Server); ok {
			is := server.Status()
			p.Revisions, p.Restarts = is.Revisions, is.Restarts
		}
		parts = append(parts, p)
	}
	switch {
	case len(parts) > 1:
		return a.announceSeveral(s, parts, asJSON)
	case apiOf(g) != nil && parts[0].Unavailable == "":
		return a.announceAPI(s, apiOf(g).Tools(), parts[0].Upstream, asJSON)
	default:
		return a.announceMCP(g, s, parts[0], asJSON)
	}
}

// shownUpstream is an upstream for people.
func shownUpstream(u *configv1.Upstream) string {
	if command := u.GetCommand(); len(command) > 0 {
		return strings.Join(command, " ")
	}
	url, err := upstream.ParseURL(u.GetUrl())
	if err != nil {
		return "" // it has been checked
	}
	return url.String()
}

// announcement is what all announcements in JSON have.
type announcement struct {
	URL   string `json:"url"`
	SSE   string `json:"sse,omitempty"`
	Typed string `json:"typed,omitempty"`
}

func (s *site) announcement() announcement {
	return announcement{URL: s.mcpURL(), SSE: s.sseURL(), Typed: strings.Join(s.typed, " ")}
}

func (a *app) announceSeveral(s *site, parts []part, asJSON bool) error {
	if asJSON {
		return a.printJSON(struct {
			announcement

			Upstreams []part `json:"upstreams"`
		}{s.announcement(), parts})
	}
	var rows []row
	for _, p := range parts {
		text := p.Upstream + p.spoken()
		if p.Unavailable != "" {
			text += " is unavailable: " + summary(p.Unavailable)
		}
		rows = append(rows, row{p.Name, text})
	}
	return a.printf("Listening on %s\n%s%s%s", s.mcpURL(), s.sseLine(), s.grpcLine(), a.style.table(rows))
}

func (a *app) announceAPI(s *site, all []bridge.Tool, upstream string, asJSON bool) error {
	tools, others := 0, 0
	for _, t := range all {
		if t.NotCallable == "" {
			tools++
		} else {
			others++
		}
	}
	if asJSON {
		return a.printJSON(struct {
			announcement

			Upstream    string `json:"upstream"`
			Tools       int    `json:"tools"`
			NotCallable int    `json:"notCallable"`
		}{s.announcement(), upstream, tools, others})
	}
	text := "Listening on " + s.mcpURL() + "\n" + s.sseLine()
	text += fmt.Sprintf("%s of %s", plural(tools, "tool"), upstream)
	if others > 0 {
		text += fmt.Sprintf("; %s not callable", plural(others, "method"))
	}
	return a.printf("%s\n%s", text, s.grpcLine())
}

// announceMCP is for one MCP server, and for one upstream that is down.
func (a *app) announceMCP(g *gateway.Gateway, s *site, p part, asJSON bool) error {
	server := ""
	if m := single(g); m != nil && p.Unavailable == "" {
		server = implementationName(m.Status().Server)
	}
	if asJSON {
		return a.printJSON(struct {
			announcement

			Upstream    string `json:"upstream"`
			Server      string `json:"server,omitempty"`
			Unavailable string `json:"unavailable,omitempty"`

			Revisions []protocol.Revision `json:"revisions,omitempty"`
			Restarts  int                 `json:"restarts,omitempty"`
		}{s.announcement(), p.Upstream, server, p.Unavailable, p.Revisions, p.Restarts})
	}
	if p.Unavailable != "" {
		return a.printf("Listening on %s\n%s%s%s is unavailable: %s\n", s.mcpURL(), s.sseLine(), s.grpcLine(), p.Upstream, printable.Line(summary(p.Unavailable)))
	}
	return a.printf("Listening on %s\n%s%s, by %s\n%s", s.mcpURL(), s.sseLine(), printable.Line(server), p.Upstream+p.spoken(), s.grpcLine())
}

// implementationName is the name and version of an Implementation object.
func implementationName(raw json.RawMessage) string {
	var server struct{ Name, Version string }
	if json.Unmarshal(raw, &server) != nil || server.Name == "" {
		return "an MCP server"
	}
	return strings.TrimSpace(server.Name + " " + server.Version)
}

// sseLine says where HTTP+SSE is served, if it is.
func (s *site) sseLine() string {
	if !s.sse {
		return ""
	}
	return "HTTP+SSE of 2024-11-05 on " + s.sseURL() + "\n"
}

// grpcLine says where McpService and typed services are served.
func (s *site) grpcLine() string {
	var text strings.Builder
	for _, name := range append([]string{"mcp.v1.McpService"}, s.typed...) {
		text.WriteString(name + " on " + s.base + "\n")
	}
	return text.String()
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
