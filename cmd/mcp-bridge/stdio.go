package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
)

// hostedStopTimeout is how long the process of an MCP server has to end by
// itself, and again once it is told to, below a host. The official SDKs give a
// server two seconds, and two more, before they kill it, and what is killed
// leaves its own server behind.
const hostedStopTimeout = 800 * time.Millisecond

func (a *app) stdio() *cobra.Command {
	var (
		flags *upstreamFlags
		wait  bool
	)
	cmd := &cobra.Command{
		Use:   "stdio [NAME=]URL... [-- COMMAND [ARGUMENT...]] | stdio --config FILE",
		Short: "Serve an upstream's tools as MCP over standard input and output",
		Long: `stdio is what an MCP host starts: it speaks MCP on standard input and output,
one JSON-RPC message a line, until the input ends. Standard output is the
protocol's alone; logs go to standard error.

The upstream may be an MCP server too, as for serve: a host that speaks only
standard input and output reaches one behind a URL, and an old host a new one.
Several upstreams are served as one, as for serve. One that is down is tried
again; with --wait, nothing is answered before all are up.`,
		Example: `  mcp-bridge stdio grpc://localhost:50051
  mcp-bridge stdio https://mcp.example.com/mcp
  mcp-bridge stdio --config mcp-bridge.yaml
  claude mcp add library -- mcp-bridge stdio grpc://localhost:50051

  As an entry of mcpServers in a host's configuration file:
  {"mcpServers": {"library": {"command": "mcp-bridge", "args": ["stdio", "grpc://localhost:50051"]}}}`,
		Args: func(cmd *cobra.Command, args []string) error { return flags.someUpstreams(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			flags.stopTimeout = hostedStopTimeout
			all, err := targets(cmd, args)
			if err != nil {
				return err
			}
			cfg, err := a.configure(cmd, flags, all)
			if err != nil {
				return err
			}
			g, err := a.open(ctx, cfg, flags)
			if err != nil {
				return err
			}
			defer g.Close()
			if wait {
				if g.Wait(ctx); ctx.Err() != nil {
					return nil // told to end
				}
			}
			if flags.config != "" {
				stop := a.reload(cmd, g, flags)
				defer stop()
			}
			err = g.ServeStdio(ctx, a.stdin, a.stdout)
			if ctx.Err() != nil && errors.Is(err, context.Canceled) {
				return nil // told to end
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until all upstreams are up before the first answer")
	annotate(cmd, groupGeneral, "wait")
	flags = a.addUpstreamFlags(cmd, defaultToolsBytes())
	return cmd
}
