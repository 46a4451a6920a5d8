package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
)

// minStopTimeout is the least time that the process of an MCP server has to end
// by itself, and again when it is told to.
const minStopTimeout = 100 * time.Millisecond

func (a *app) serve() *cobra.Command {
	var (
		flags  *upstreamFlags
		web    *httpFlags
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "serve [NAME=]URL... [-- COMMAND [ARGUMENT...]]",
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

Several upstreams, of any kind, are served as one. Tools and prompts that they
call the same get NAME_ before their names, and one that is down takes only its
own part with it, until it is back.

With --typed the tools are also a service with an RPC for each of them: that of
the files that export has written, or one that is made on the spot.

There is no authentication: listen on a loopback address, which
is the default, or put a proxy that authenticates in front.

On SIGTERM or SIGINT calls under way finish, within --shutdown-timeout. A second
signal ends the program at once.`,
		Example: `  mcp-bridge serve grpc://localhost:50051
  mcp-bridge serve --descriptors api.binpb grpcs://api.example.com
  mcp-bridge serve --proto ./proto connect+http://localhost:8081
  mcp-bridge serve --service 'library.v1.*' --forward-header authorization grpcweb+https://api.example.com
  mcp-bridge serve -- npx -y @modelcontextprotocol/server-everything
  mcp-bridge serve mcp+grpc://localhost:9090
  mcp-bridge serve books=grpc://localhost:50051 https://mcp.example.com/mcp -- npx -y @modelcontextprotocol/server-everything
  mcp-bridge serve --typed proto/ -- npx -y @modelcontextprotocol/server-everything
  mcp-bridge serve --header 'authorization: Bearer TOKEN' https://mcp.example.com/mcp`,
		Args: someUpstreams,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, log := cmd.Context(), a.log()
			if err := web.check(); err != nil {
				return err
			}
			flags.stopTimeout = min(stdio.DefaultStopTimeout, max(web.shutdownTimeout/2, minStopTimeout))
			all, err := flags.parseAll(cmd, args)
			if err != nil {
				return err
			}
			listener, err := web.bind(ctx)
			if err != nil {
				return err
			}
			defer listener.Close()
			up, err := flags.openAll(ctx, cmd, all, log)
			if err != nil {
				return err
			}
			defer up.close()
			if err := up.meet(ctx); err != nil {
				return err
			}
			s, err := web.site(ctx, up, up.end, listener, flags.maxMessage, nil, log)
			if err != nil {
				return err
			}
			a.warnExposed(s)
			switch {
			case up.mux != nil:
				err = a.announceMux(ctx, s, up, asJSON)
			case up.isMCP():
				err = a.announceMCP(s, up, asJSON)
			default:
				err = a.announce(s, up.tools(), up.text, asJSON)
			}
			if err != nil {
				return err
			}
			up.trim()
			return s.serve(ctx)
		},
	}
	web = addHTTPFlags(cmd)
	web.addTyped(cmd)
	flags = a.addUpstreamFlags(cmd)
	addJSON(cmd, &asJSON, "the line about where it listens")
	return cmd
}

// announce says where the site listens, and of what. Its first line is what
// scripts wait for.
func (a *app) announce(s *site, all []bridge.Tool, upstream string, asJSON bool) error {
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
			URL         string `json:"url"`
			SSE         string `json:"sse,omitempty"`
			Typed       string `json:"typed,omitempty"`
			Upstream    string `json:"upstream"`
			Tools       int    `json:"tools"`
			NotCallable int    `json:"notCallable"`
		}{s.mcpURL(), s.sseURL(), s.typedName(), upstream, tools, others})
	}
	text := "Listening on " + s.mcpURL() + "\n"
	text += s.sseLine()
	text += fmt.Sprintf("%s of %s", plural(tools, "tool"), upstream)
	if others > 0 {
		text += fmt.Sprintf("; %s not callable", plural(others, "method"))
	}
	return a.printf("%s\n%s", text, s.grpcLine())
}

// sseLine says where HTTP+SSE is served, if it is.
func (s *site) sseLine() string {
	if s.sse == nil {
		return ""
	}
	return "HTTP+SSE of 2024-11-05 on " + s.sseURL() + "\n"
}

// grpcLine says where McpService and the typed service are served, if they are.
func (s *site) grpcLine() string {
	if s.grpc == nil {
		return ""
	}
	text := "mcp.v1.McpService on " + s.base + "\n"
	if s.typed != nil {
		text += s.typed.Name() + " on " + s.base + "\n"
	}
	return text
}

// announceMCP is announce for an MCP server.
func (a *app) announceMCP(s *site, up *upstream, asJSON bool) error {
	if asJSON {
		return a.printJSON(struct {
			URL      string `json:"url"`
			SSE      string `json:"sse,omitempty"`
			Typed    string `json:"typed,omitempty"`
			Upstream string `json:"upstream"`
			Server   string `json:"server"`
		}{s.mcpURL(), s.sseURL(), s.typedName(), up.text, up.server})
	}
	return a.printf("Listening on %s\n%s%s, by %s\n%s", s.mcpURL(), s.sseLine(), printable(up.server), printable(up.text), s.grpcLine())
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
