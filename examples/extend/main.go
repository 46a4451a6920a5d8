// Command extend puts parts of its own into a bridge: it carries RPCs in its own
// way, changes descriptors, brings an MCP server and decides who may call what. It
// is a module of its own, and so uses what any other module can.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/mux"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// greeter is an rpc.Caller that answers RPCs itself. Another one could send them
// over a message queue.
type greeter struct{}

func (greeter) Call(_ context.Context, c *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
	name := "nobody"
	if _, _, n := protowire.ConsumeTag(c.Requests[0]); n > 0 {
		name, _ = protowire.ConsumeString(c.Requests[0][n:])
	}
	response := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "Hello "+name)
	return &rpc.Trailer{}, receive(response)
}

// counter wraps an rpc.Caller.
type counter struct {
	rpc.Caller

	calls atomic.Int64
}

func (c *counter) Call(ctx context.Context, call *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
	c.calls.Add(1)
	return c.Caller.Call(ctx, call, receive)
}

// withoutDebug wraps a bridge.Source: it leaves out methods that begin with Debug.
func withoutDebug(source bridge.Source) bridge.Source {
	return bridge.SourceFunc(func(ctx context.Context) (*bridge.Descriptors, error) {
		loaded, err := source.Load(ctx)
		if err != nil {
			return nil, err
		}
		files := loaded.Files()
		for _, file := range files.GetFile() {
			for _, service := range file.GetService() {
				service.Method = slices.DeleteFunc(service.GetMethod(), func(m *descriptorpb.MethodDescriptorProto) bool {
					return strings.HasPrefix(m.GetName(), "Debug")
				})
			}
		}
		return bridge.NewDescriptors(files, loaded.Services()...)
	})
}

// clock is an MCP server in this process.
type clock struct{}

func (clock) Close() {}

func (clock) Handle(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
	switch r.Method {
	case protocol.MethodDiscover:
		body := protocol.AppendRevisions([]byte(`{"supportedVersions":`))
		return &protocol.Result{Body: append(body, `,"capabilities":{"tools":{}}}`...)}, nil
	case protocol.MethodListTools:
		return &protocol.Result{Body: json.RawMessage(`{"tools":[{"name":"now","inputSchema":{"type":"object"}}]}`)}, nil
	case protocol.MethodCallTool:
		return &protocol.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":"It is noon."}]}`)}, nil
	default:
		return nil, protocol.MethodNotFound(r.Method)
	}
}

// cautious is a protocol.Guard: it allows what only reads, and nobody called Mallory.
type cautious struct{}

func (cautious) Decide(_ context.Context, a *protocol.Access) protocol.Decision {
	arguments, err := a.Arguments()
	return protocol.Decision{Allow: err == nil && allowed(a.Target) && !strings.Contains(string(arguments), `"fullName":"Mallory"`)}
}

func (cautious) Visible(_ context.Context, _ *protocol.Principal, targets []*protocol.Target) []bool {
	shown := make([]bool, len(targets))
	for i, t := range targets {
		shown[i] = allowed(t)
	}
	return shown
}

func allowed(t *protocol.Target) bool { return t.Hints.ReadOnly || t.Upstream == "clock" }

func run(ctx context.Context, out io.Writer) error {
	calls := &counter{Caller: greeter{}}
	open := func(ctx context.Context) (mux.Server, error) {
		return bridge.New(ctx, []bridge.Upstream{{
			Caller:      calls,
			Descriptors: withoutDebug(bridge.ProtoFiles([]string{"greet.proto"}, nil)),
		}})
	}
	m, err := mux.New(mux.Config{
		Guard: cautious{},
		Upstreams: []mux.Upstream{
			{Name: "greeter", Open: open},
			{Name: "clock", Open: func(context.Context) (mux.Server, error) { return clock{}, nil }},
		},
	})
	if err != nil {
		return err
	}
	defer m.Close()
	for name, err := range m.Ready(ctx) {
		return fmt.Errorf("upstream %s: %w", name, err)
	}
	for _, r := range []struct{ method, params string }{
		{protocol.MethodListTools, `{}`},
		{protocol.MethodCallTool, `{"name":"clock_now"}`},
		{protocol.MethodCallTool, `{"name":"greeter_Greeter_Greet","arguments":{"full_name":"Ada"}}`},
		{protocol.MethodCallTool, `{"name":"greeter_Greeter_Greet","arguments":{"full_name":"Mall\u006fry"}}`},
		{protocol.MethodCallTool, `{"name":"greeter_Greeter_\u0052eset"}`},
	} {
		fmt.Fprintln(out, r.method, r.params)
		res, err := m.Handle(ctx, &protocol.Request{
			Method: r.method, Params: json.RawMessage(r.params),
			Meta:   protocol.Meta{Revision: protocol.Revision20260728, Capabilities: json.RawMessage(`{}`)},
			Caller: &protocol.Caller{Transport: "example"},
		}, protocol.Discard)
		if err != nil {
			fmt.Fprintln(out, "  error:", err)
			continue
		}
		show(out, res.Body)
	}
	fmt.Fprintln(out, calls.calls.Load(), "RPC")
	return nil
}

// show prints the names of tools, or the text of a result.
func show(out io.Writer, body json.RawMessage) {
	var result struct {
		Tools   []struct{ Name string }
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(body, &result); err != nil {
		fmt.Fprintln(out, "  error:", err)
	}
	for _, tool := range result.Tools {
		fmt.Fprintln(out, "  tool", tool.Name)
	}
	for _, content := range result.Content {
		fmt.Fprintln(out, " ", content.Text)
	}
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
