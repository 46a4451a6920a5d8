// Command mcp-client lists and calls the tools of an MCP server over gRPC.
//
// It speaks to the mcp.v1.McpService that mcp-bridge puts in front of
// @modelcontextprotocol/server-everything, at http://127.0.0.1:8080 or the URL
// that is its argument.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	mcpv1 "example.com/mcp-client/gen/mcp/v1"
	"example.com/mcp-client/gen/mcp/v1/mcpv1connect"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	url := "http://127.0.0.1:8080"
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	if err := run(ctx, os.Stdout, url); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// meta is sent with each request: who calls, in what revision of MCP, and what
// the server may ask of the caller.
var meta = &mcpv1.RequestMeta{
	ProtocolVersion: "2026-07-28",
	ClientInfo:      &mcpv1.Implementation{Name: "mcp-client", Version: "1.0.0"},
	ClientCapabilities: &mcpv1.ClientCapabilities{
		Elicitation: &mcpv1.ElicitationCapability{Form: &structpb.Struct{}},
	},
}

// client calls the tools of a server and prints what comes of it.
type client struct {
	mcp mcpv1connect.McpServiceClient
	out io.Writer
}

func run(ctx context.Context, out io.Writer, url string) error {
	// gRPC wants HTTP/2, and http:// has it only where that is asked for.
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	protocols.SetHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	c := &client{
		mcp: mcpv1connect.NewMcpServiceClient(&http.Client{Transport: transport}, url, connect.WithGRPC()),
		out: out,
	}
	if err := c.list(ctx); err != nil {
		return fmt.Errorf("list the tools: %w", err)
	}
	for _, tool := range []struct {
		name      string
		arguments map[string]any
		call      func(context.Context, *mcpv1.CallToolRequest) error
	}{
		{"echo", map[string]any{"message": "hello from Go"}, c.call},
		{"trigger-long-running-operation", map[string]any{"duration": 1, "steps": 4}, c.stream},
		{"trigger-elicitation-request", nil, c.call},
	} {
		arguments, err := structpb.NewStruct(tool.arguments)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n%s\n", tool.name)
		if err := tool.call(ctx, &mcpv1.CallToolRequest{
			Name:          tool.name,
			ArgumentsForm: &mcpv1.CallToolRequest_Arguments{Arguments: arguments},
			Meta:          meta,
		}); err != nil {
			return fmt.Errorf("call %s: %w", tool.name, err)
		}
	}
	return nil
}

// list prints the tools, which come in pages.
func (c *client) list(ctx context.Context) error {
	request := &mcpv1.ListToolsRequest{Meta: meta}
	for {
		page, err := c.mcp.ListTools(ctx, request)
		if err != nil {
			return err
		}
		for _, tool := range page.GetTools() {
			fmt.Fprintf(c.out, "%s: %s\n", tool.GetName(), cmp.Or(tool.GetTitle(), tool.GetDescription()))
		}
		if page.NextCursor == nil {
			return nil
		}
		request.Cursor = page.NextCursor
	}
}
