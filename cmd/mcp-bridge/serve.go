package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) serve() *cobra.Command {
	var (
		flags  *upstreamFlags
		web    *httpFlags
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "serve URL",
		Short: "Serve an upstream's tools as MCP over Streamable HTTP",
		Long: `serve makes the upstream's methods MCP tools, over Streamable HTTP in every
revision of MCP. There is no authentication: listen on a loopback address, which
is the default, or put a proxy that authenticates in front.

On SIGTERM or SIGINT calls under way finish, within --shutdown-timeout. A second
signal ends the program at once.`,
		Example: `  mcp-bridge serve grpc://localhost:50051
  mcp-bridge serve --descriptors api.binpb grpcs://api.example.com
  mcp-bridge serve --proto ./proto connect+http://localhost:8081
  mcp-bridge serve --service 'library.v1.*' --forward-header authorization grpcweb+https://api.example.com`,
		Args: oneURL,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, log := cmd.Context(), a.log()
			if err := web.check(); err != nil {
				return err
			}
			listener, err := web.bind(ctx)
			if err != nil {
				return err
			}
			defer listener.Close()
			up, err := flags.open(ctx, args[0], log)
			if err != nil {
				return err
			}
			defer up.close()
			s, err := web.site(up.Bridge, listener, flags.maxMessage, nil, log)
			if err != nil {
				return err
			}
			a.warnExposed(s)
			if err := a.announce(s, up.url.String(), asJSON); err != nil {
				return err
			}
			up.trim()
			return s.serve(ctx)
		},
	}
	web = addHTTPFlags(cmd)
	flags = a.addUpstreamFlags(cmd)
	addJSON(cmd, &asJSON, "the line about where it listens")
	return cmd
}

// announce says where the site listens, and of what. Its first line is what
// scripts wait for.
func (a *app) announce(s *site, upstream string, asJSON bool) error {
	tools, others := 0, 0
	for _, t := range s.bridge.Tools() {
		if t.NotCallable == "" {
			tools++
		} else {
			others++
		}
	}
	if asJSON {
		return a.printJSON(struct {
			URL         string `json:"url"`
			SSE         string `json:"sse,omitempty"`
			Upstream    string `json:"upstream"`
			Tools       int    `json:"tools"`
			NotCallable int    `json:"notCallable"`
		}{s.mcpURL(), s.sseURL(), upstream, tools, others})
	}
	text := "Listening on " + s.mcpURL() + "\n"
	if s.sse != nil {
		text += "HTTP+SSE of 2024-11-05 on " + s.sseURL() + "\n"
	}
	text += fmt.Sprintf("%s of %s", plural(tools, "tool"), upstream)
	if others > 0 {
		text += fmt.Sprintf("; %s not callable", plural(others, "method"))
	}
	return a.printf("%s\n", text)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
