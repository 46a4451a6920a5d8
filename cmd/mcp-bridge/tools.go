package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-bridge/mcp-bridge/bridge/find"
	"github.com/mcp-bridge/mcp-bridge/bridge/gateway"
	"github.com/mcp-bridge/mcp-bridge/internal/printable"
)

func (a *app) tools() *cobra.Command {
	var (
		flags  *upstreamFlags
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "tools URL [NAME] | tools [NAME] -- COMMAND [ARGUMENT...] | tools --config FILE [NAME]",
		Short: "List the tools of an upstream, or describe one",
		Long: `tools lists the tools that MCP clients see of an upstream, and the methods that
are not callable yet. With the name of a tool it prints its input and output
schema. The upstream may be an MCP server, as for serve.`,
		Example: `  mcp-bridge tools grpc://localhost:50051
  mcp-bridge tools grpc://localhost:50051 Library_GetBook
  mcp-bridge tools connect+https://api.example.com --header "authorization: Bearer $TOKEN" --json
  mcp-bridge tools https://mcp.example.com/mcp
  mcp-bridge tools --config mcp-bridge.yaml
  mcp-bridge tools echo -- npx -y @modelcontextprotocol/server-everything`,
		Args: func(cmd *cobra.Command, args []string) error { return flags.upstreamAnd(0, 1, "")(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error {
			g, rest, err := a.openOne(cmd, flags, args)
			if err != nil {
				return err
			}
			defer g.Close()
			if len(rest) > 0 {
				return a.describeTool(cmd.Context(), g, flags, rest[0], asJSON)
			}
			return a.listTools(cmd.Context(), g, asJSON)
		},
	}
	flags = a.addUpstreamFlags(cmd, 0)
	a.logErrorsOnly(cmd)
	flags.stopTimeout = stopTimeout
	addJSON(cmd, &asJSON, "the tools as tools/list has them")
	return cmd
}

// stopTimeout is how long the process of an MCP server has to end by itself
// where a command asks it one thing only and nothing is lost.
const stopTimeout = time.Second

// notCallable is a method that cannot be a tool.
type notCallable struct {
	Method string `json:"method"`
	Reason string `json:"reason"`
}

// notCallableOf returns the methods of an API that are no tools.
func notCallableOf(g *gateway.Gateway) []notCallable {
	methods := []notCallable{}
	for _, t := range toolsOf(g) {
		if t.NotCallable != "" {
			methods = append(methods, notCallable{Method: t.Method, Reason: t.NotCallable})
		}
	}
	return methods
}

func (a *app) listTools(ctx context.Context, g *gateway.Gateway, asJSON bool) error {
	tools, err := client{g}.listTools(ctx)
	if err != nil {
		return err
	}
	others := notCallableOf(g)
	if asJSON {
		raw := make([]json.RawMessage, len(tools))
		for i, t := range tools {
			raw[i] = t.raw
		}
		return a.printJSON(map[string]any{"tools": raw, "notCallable": others})
	}
	var b strings.Builder
	if len(tools) == 0 {
		b.WriteString("There are no tools.\n")
	}
	var rows []row
	for _, t := range tools {
		rows = append(rows, row{t.Name, summary(t.Description)})
	}
	b.WriteString(a.style.table(rows))
	if len(others) > 0 {
		b.WriteString("\n" + a.style.bold("Not callable:") + "\n")
		rows = nil
		for _, m := range others {
			rows = append(rows, row{m.Method, m.Reason})
		}
		b.WriteString(a.style.table(rows))
	}
	return a.printf("%s", b.String())
}

func (a *app) describeTool(ctx context.Context, g *gateway.Gateway, flags *upstreamFlags, name string, asJSON bool) error {
	tools, err := client{g}.listTools(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(tools, func(t mcpTool) bool { return t.Name == name })
	if i < 0 && slices.ContainsFunc(tools, func(t mcpTool) bool { return t.Name == find.DescribeTool }) {
		found, err := client{g}.describe(ctx, name)
		if err != nil {
			return err
		}
		if found != nil {
			i, tools = 0, []mcpTool{*found}
		}
	}
	if i < 0 {
		return noTool(toolsOf(g), tools, flags.shown, name)
	}
	tool := tools[i]
	if asJSON {
		return a.printJSON(tool.raw)
	}
	var b strings.Builder
	b.WriteString(a.style.bold(printable.Name(tool.Name)))
	if tool.Title != "" {
		b.WriteString("  " + printable.Line(tool.Title))
	}
	b.WriteByte('\n')
	for _, t := range toolsOf(g) {
		if t.Name == name {
			b.WriteString(t.Method + "\n")
		}
	}
	if tool.Description != "" {
		b.WriteString("\n" + strings.Join(wrap(printable.Text(tool.Description), a.style.width), "\n") + "\n")
	}
	for _, schema := range []struct {
		heading string
		raw     json.RawMessage
	}{{"Input:", tool.InputSchema}, {"Output:", tool.OutputSchema}} {
		if schema.raw == nil {
			continue // content has no schema
		}
		text, err := indent(schema.raw)
		if err != nil {
			return err
		}
		b.WriteString("\n" + a.style.bold(schema.heading) + "\n" + string(printable.JSON([]byte(text))) + "\n")
	}
	return a.printf("%s", b.String())
}

// indent lays JSON out for people. Members keep their order and numbers their
// digits.
func indent(raw json.RawMessage) (string, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return "", fmt.Errorf("print: %w", err)
	}
	return b.String(), nil
}
