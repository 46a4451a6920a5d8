package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/config"
	"github.com/mcp-bridge/mcp-bridge/bridge/gateway"
	"github.com/mcp-bridge/mcp-bridge/bridge/mux"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/demo"
)

// The calls that the text of the demo proposes.
const (
	demoTool      = "Library_GetBook"
	demoArguments = `{"name": "shelves/1/books/1"}`
)

func (a *app) demo() *cobra.Command {
	var (
		web    *httpFlags
		output string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Serve a demo backend and the bridge to it, on one port",
		Long: `demo serves library.v1.Library, a small lending library in memory, over gRPC,
gRPC-Web and Connect with server reflection, and the same as MCP tools over
Streamable HTTP at /mcp and by mcp.v1.McpService: all on one port. It prints what
to try next.`,
		Example: `  mcp-bridge demo
  mcp-bridge demo --listen 127.0.0.1:0`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("demo takes no arguments, got %q", args[0]).
					hint("for a service of your own: mcp-bridge serve %s", exampleURL)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			shown, ok := outputs[output]
			if !ok {
				return wrongOutput(output)
			}
			return a.runDemo(cmd.Context(), web, shown.option, asJSON)
		},
	}
	web = addHTTPFlags(cmd)
	cmd.Flags().StringVar(&output, "output", outputAnswers, aboutOutput)
	a.addLogLevel(cmd)
	addJSON(cmd, &asJSON, "the line about where it listens")
	return cmd
}

func (a *app) runDemo(ctx context.Context, web *httpFlags, output bridge.Output, asJSON bool) error {
	log := a.log()
	if err := web.check("/"); err != nil {
		return err
	}
	cfg := &configv1.Config{}
	web.apply(cfg)
	backend := demo.Handler(demo.New())
	g, err := a.open(ctx, cfg, &upstreamFlags{}, gateway.WithHTTP(beside(backend, web)),
		gateway.WithUpstream("library", func(ctx context.Context) (mux.Server, error) { return openDemo(ctx, backend, output, log) }))
	if err != nil {
		return err
	}
	defer g.Close()
	if err := g.Listen(ctx); err != nil {
		return explainListen(err)
	}
	if err := g.Ready(ctx)["library"]; err != nil {
		return err
	}
	s := siteOf(g, config.WithDefaults(cfg))
	a.warnExposed(s)
	var tools []bridge.Tool
	if b, ok := g.Status()[0].Server.(*demoBridge); ok {
		tools = b.Tools()
	}
	upstream := "grpc" + strings.TrimPrefix(s.base, "http")
	if err := a.announceAPI(s, tools, upstream, asJSON); err != nil {
		return err
	}
	if !asJSON {
		if err := a.printf("%s", a.nextSteps(s, upstream)); err != nil {
			return err
		}
	}
	return g.Serve(ctx)
}

// beside serves the backend on every path that is not one of MCP. Server reflection
// is the backend's, so that its URL is that of an API.
func beside(backend http.Handler, web *httpFlags) func(http.Handler) http.Handler {
	return func(mcp http.Handler) http.Handler {
		paths := http.NewServeMux()
		paths.Handle("/", backend)
		for _, path := range []string{web.path, ssePath, healthPath, "/" + bridge.GRPCService + "/", "/" + bridge.GoogleService + "/"} {
			paths.Handle(path, mcp)
		}
		return paths
	}
}

// demoBridge is the bridge of the demo backend, and the caller below it.
type demoBridge struct {
	*bridge.Bridge

	caller bridge.CallCloser
}

// openDemo returns the bridge of the demo backend, which is asked for its
// descriptors by reflection because those have comments.
func openDemo(ctx context.Context, backend http.Handler, output bridge.Output, log *slog.Logger) (*demoBridge, error) {
	caller, err := bridge.InProcessCaller(backend)
	if err != nil {
		return nil, err
	}
	b, err := bridge.New(ctx, []bridge.Upstream{{Caller: caller}}, bridge.WithLogger(log), bridge.WithOutput(output), bridge.WithTitle("Demo library"),
		bridge.WithInstructions("A small lending library: search its books, read about them, check them out."))
	if err != nil {
		return nil, errors.Join(err, caller.Close())
	}
	return &demoBridge{b, caller}, nil
}

// Close ends both.
func (d *demoBridge) Close() {
	d.Bridge.Close()
	_ = d.caller.Close() // the program ends, and nothing is lost with it
}

// nextSteps is what to try with the demo. Every command works when pasted.
func (a *app) nextSteps(s *site, upstream string) string {
	url, host := s.mcpURL(), strings.TrimPrefix(s.base, "http://")
	var b strings.Builder
	heading := func(text string) { fmt.Fprintf(&b, "\n%s\n", a.style.bold(text)) }
	line := func(format string, args ...any) { fmt.Fprintf(&b, "  "+format+"\n", args...) }
	curl := func(format string, args ...any) {
		line("curl -s %s -H 'Content-Type: application/json' \\\n    -d '%s'", url, fmt.Sprintf(format, args...))
	}
	heading("From this program, in another terminal:")
	line("mcp-bridge tools %s", upstream)
	line("mcp-bridge tools %s %s", upstream, demoTool)
	line("mcp-bridge call %s %s '%s'", upstream, demoTool, demoArguments)
	heading("As MCP over HTTP:")
	curl(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	curl(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"%s","arguments":%s}}`, demoTool, demoArguments)
	heading("As MCP by mcp.v1.McpService, over gRPC, gRPC-Web and Connect:")
	line("mcp-bridge tools mcp+%s", upstream)
	line("curl -s %s/%s/CallTool -H 'Content-Type: application/json' \\\n    -d '{\"name\":\"%s\",\"arguments\":%s}'", s.base, bridge.GRPCService, demoTool, demoArguments)
	heading("In an MCP host:")
	rows := []struct{ host, text string }{
		{"Claude Code", "claude mcp add --transport http library " + url},
		{"Cursor", `~/.cursor/mcp.json: {"mcpServers": {"library": {"url": "` + url + `"}}}`},
		{"VS Code", `.vscode/mcp.json: {"servers": {"library": {"type": "http", "url": "` + url + `"}}}`},
		{"any, stdio", `{"mcpServers": {"library": {"command": "mcp-bridge", "args": ["stdio", "` + upstream + `"]}}}`},
	}
	for _, r := range rows {
		line("%-12s %s", r.host, r.text)
	}
	heading("As what it is behind the bridge, on the same port:")
	line("grpcurl -plaintext -d '%s' %s library.v1.Library/GetBook", demoArguments, host)
	line("curl -s %s/library.v1.Library/GetBook -H 'Content-Type: application/json' \\\n    -d '%s'", s.base, demoArguments)
	b.WriteString("\nCtrl-C ends it.\n")
	return b.String()
}
