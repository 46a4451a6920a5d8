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
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Serve a demo backend and the bridge to it, on one port",
		Long: `demo serves library.v1.Library, a small lending library in memory, over gRPC,
gRPC-Web and Connect with server reflection, and the same as MCP tools over
Streamable HTTP at /mcp: all on one port. It prints what to try next.`,
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
			return a.runDemo(cmd.Context(), web, asJSON)
		},
	}
	web = addHTTPFlags(cmd)
	a.addLogLevel(cmd)
	addJSON(cmd, &asJSON, "the line about where it listens")
	return cmd
}

func (a *app) runDemo(ctx context.Context, web *httpFlags, asJSON bool) error {
	log := a.log()
	if err := web.check("/"); err != nil {
		return err
	}
	listener, err := web.bind(ctx)
	if err != nil {
		return err
	}
	defer listener.Close()
	backend := demo.Handler(demo.New())
	b, stop, err := demoBridge(ctx, backend, log)
	if err != nil {
		return err
	}
	defer stop()
	s, err := web.site(ctx, b, b.Close, listener, 0, backend, log)
	if err != nil {
		return err
	}
	a.warnExposed(s)
	upstream := "grpc" + strings.TrimPrefix(s.base, "http")
	if err := a.announce(s, b.Tools(), upstream, asJSON); err != nil {
		return err
	}
	if !asJSON {
		if err := a.printf("%s", a.nextSteps(s, upstream)); err != nil {
			return err
		}
	}
	return s.serve(ctx)
}

// demoBridge returns the bridge of the demo backend, which is asked for its
// descriptors by reflection because those have comments. stop ends both.
func demoBridge(ctx context.Context, backend http.Handler, log *slog.Logger) (_ *bridge.Bridge, stop func(), err error) {
	caller, err := bridge.InProcessCaller(backend)
	if err != nil {
		return nil, nil, err
	}
	b, err := bridge.New(ctx, []bridge.Upstream{{Caller: caller}}, bridge.WithLogger(log), bridge.WithTitle("Demo library"),
		bridge.WithInstructions("A small lending library: search its books, read about them, check them out."))
	if err != nil {
		return nil, nil, errors.Join(err, caller.Close())
	}
	return b, func() {
		b.Close()
		_ = caller.Close() // the program ends, and nothing is lost with it
	}, nil
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
