package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
)

// hostedStopTimeout is how long the process of an MCP server has to end by
// itself, and again once it is told to, below a host. The official SDKs give a
// server two seconds, and two more, before they kill it, and what is killed
// leaves its own server behind.
const hostedStopTimeout = 800 * time.Millisecond

func (a *app) stdio() *cobra.Command {
	var flags *upstreamFlags
	cmd := &cobra.Command{
		Use:   "stdio [NAME=]URL... [-- COMMAND [ARGUMENT...]]",
		Short: "Serve an upstream's tools as MCP over standard input and output",
		Long: `stdio is what an MCP host starts: it speaks MCP on standard input and output,
one JSON-RPC message a line, until the input ends. Standard output is the
protocol's alone; logs go to standard error.

The upstream may be an MCP server too, as for serve: a host that speaks only
standard input and output reaches one behind a URL, and an old host a new one.
Several upstreams are served as one.`,
		Example: `  mcp-bridge stdio grpc://localhost:50051
  mcp-bridge stdio https://mcp.example.com/mcp
  claude mcp add library -- mcp-bridge stdio grpc://localhost:50051

  As an entry of mcpServers in a host's configuration file:
  {"mcpServers": {"library": {"command": "mcp-bridge", "args": ["stdio", "grpc://localhost:50051"]}}}`,
		Args: someUpstreams,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, log := cmd.Context(), a.log()
			flags.stopTimeout = hostedStopTimeout
			all, err := flags.parseAll(cmd, args)
			if err != nil {
				return err
			}
			up, err := flags.openAll(ctx, cmd, all, log)
			if err != nil {
				return err
			}
			defer up.close()
			up.trim()
			err = stdio.Serve(ctx, a.stdin, a.stdout, stdio.Config{
				Handler:         up,
				Logger:          log,
				MaxMessageBytes: flags.maxMessage,
			})
			if ctx.Err() != nil && errors.Is(err, context.Canceled) {
				return nil // told to end
			}
			return err
		},
	}
	flags = a.addUpstreamFlags(cmd)
	return cmd
}
