package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/httpsse"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// mcpServer is an MCP server that we are a client of.
type mcpServer interface {
	protocol.Handler

	Close()
}

// isMCP reports whether arguments name an MCP server: by a URL, or by a command
// behind "--".
func isMCP(cmd *cobra.Command, args []string) bool {
	if cmd.ArgsLenAtDash() == 0 {
		return true
	}
	_, _, ok := mcpURL(args)
	return ok
}

// mcpURL returns the URL of an MCP server, and whether it speaks HTTP+SSE only.
// A scheme of http is MCP, which mcp+http says in full.
func mcpURL(args []string) (url string, sse, ok bool) {
	if len(args) == 0 {
		return "", false, false
	}
	scheme, _, found := strings.Cut(args[0], "://")
	switch prefix, rest, plus := strings.Cut(scheme, "+"); {
	case !found:
		return "", false, false
	case !plus:
		return args[0], false, scheme == "http" || scheme == "https"
	case (prefix == "mcp" || prefix == "sse") && (rest == "http" || rest == "https"):
		return strings.TrimPrefix(args[0], prefix+"+"), prefix == "sse", true
	default:
		return "", false, false
	}
}

// upstreamArgs accepts an upstream's URL, or the command of an MCP server.
func upstreamArgs(cmd *cobra.Command, args []string) error {
	if cmd.ArgsLenAtDash() == 0 && len(args) > 0 {
		return nil
	}
	return oneURL(cmd, args)
}

// mcpFlags are the flags that mean something for an MCP server.
var mcpFlags = []string{
	"header", "max-message-bytes", "log-level", "json",
	"listen", "path", "allowed-origin", "allowed-host", "sse", "shutdown-timeout",
}

// openMCP returns the client of the MCP server that arguments name.
func (f *upstreamFlags) openMCP(cmd *cobra.Command, args []string, log *slog.Logger) (mcpServer, error) {
	var problems []error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(mcpFlags, flag.Name) {
			problems = append(problems, usagef("--%s is for APIs of gRPC and Connect, and %q is an MCP server", flag.Name, args[0]))
		}
	})
	header, err := f.header()
	if err != nil {
		problems = append(problems, err)
	}
	url, sse, ok := mcpURL(args)
	if !ok && len(header) > 0 {
		problems = append(problems, usagef("--header is for URLs; a command gets its settings by arguments and the environment"))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	var server mcpServer
	switch {
	case !ok:
		server, err = stdio.NewClient(stdio.ClientConfig{Command: args[0], Args: args[1:], Logger: log, MaxMessageBytes: f.maxMessage})
	case sse:
		server, err = httpsse.NewClient(httpsse.ClientConfig{URL: url, Header: header, Logger: log, MaxMessageBytes: f.maxMessage})
	default:
		server, err = streamable.NewClient(streamable.ClientConfig{URL: url, Header: header, Logger: log, MaxMessageBytes: f.maxMessage})
	}
	if err != nil {
		return nil, usagef("%w", err)
	}
	return server, nil
}

// mcpUpstream is an MCP server whose subscriptions can be ended before its
// calls.
type mcpUpstream struct {
	mcpServer

	ctx  context.Context //nolint:containedctx // ends the subscriptions
	end  context.CancelFunc
	name string // of the server and its version
}

// meetMCP asks a server who it is, so that what cannot be used is reported at
// the start.
func meetMCP(ctx context.Context, server mcpServer) (*mcpUpstream, error) {
	u := &mcpUpstream{mcpServer: server}
	u.ctx, u.end = context.WithCancel(context.WithoutCancel(ctx))
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	res, err := server.Handle(ctx, &protocol.Request{
		Method: protocol.MethodDiscover,
		Meta:   protocol.Meta{Revision: protocol.Revision20260728, Capabilities: []byte(`{}`)},
		Caller: &protocol.Caller{Transport: "start"},
	}, protocol.Discard)
	if err != nil {
		u.end()
		return nil, failf("the MCP server cannot be used: %w", err)
	}
	u.name = implementationName(res.Server)
	return u, nil
}

// implementationName is the name and version of an Implementation object.
func implementationName(raw json.RawMessage) string {
	var server struct{ Name, Version string }
	if json.Unmarshal(raw, &server) != nil || server.Name == "" {
		return "an MCP server"
	}
	return strings.TrimSpace(server.Name + " " + server.Version)
}

// Handle asks the server. Subscriptions end with u.end.
func (u *mcpUpstream) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	if r.Method != protocol.MethodListen {
		return u.mcpServer.Handle(ctx, r, n)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(u.ctx, cancel)()
	res, err := u.mcpServer.Handle(ctx, r, n)
	if u.ctx.Err() != nil {
		return &protocol.Result{}, nil // it is over because we end
	}
	return res, err
}
