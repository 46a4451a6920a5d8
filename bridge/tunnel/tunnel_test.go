package tunnel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcp-bridge/mcp-bridge/bridge/tunnel"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newServer returns a server with a tool that asks its caller.
func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "greet", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if token := r.Params.GetProgressToken(); token != nil {
				if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1}); err != nil {
					return nil, err
				}
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "hello " + string(r.Params.Arguments)}}}, nil
		})
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
			if err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(res.Content["name"])}}}, nil
		})
	return s
}

// serve serves a handler until the test ends and returns its address.
func serve(t *testing.T, path string, h http.Handler) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	mux := http.NewServeMux()
	mux.Handle(path, h)
	server := &http.Server{Handler: mux, Protocols: &protocols}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // fails when it is closed
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return listener.Addr().String()
}

func start(t *testing.T) string {
	t.Helper()
	path, h, err := tunnel.NewHandler(tunnel.ServerConfig{Server: func(h http.Header) *mcp.Server {
		if h.Get("X-Refuse") != "" {
			return nil
		}
		return newServer()
	}})
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, path, h)
}

func text(t *testing.T, res *mcp.CallToolResult) string {
	t.Helper()
	if len(res.Content) != 1 {
		t.Fatalf("content %v", res.Content)
	}
	block, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("content %T", res.Content[0])
	}
	return block.Text
}

// TestSDK runs the SDK's client against its server, over every protocol that
// has streams that go both ways, in every revision.
func TestSDK(t *testing.T) {
	t.Parallel()
	address := start(t)
	for _, scheme := range []string{"grpc://", "connect+http://"} {
		for _, revision := range protocol.Revisions() {
			t.Run(scheme+" "+string(revision), func(t *testing.T) {
				t.Parallel()
				progress := make(chan float64, 1)
				client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
					ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
					},
					ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
						progress <- r.Params.Progress
					},
				})
				session, err := client.Connect(t.Context(), &tunnel.ClientTransport{URL: scheme + address}, &mcp.ClientSessionOptions{ProtocolVersion: string(revision)})
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				if got := session.InitializeResult().ProtocolVersion; got != string(revision) {
					t.Errorf("revision %s, want %s", got, revision)
				}
				params := &mcp.CallToolParams{Name: "greet", Arguments: json.RawMessage(`{"n":1}`)}
				params.SetProgressToken("p")
				res, err := session.CallTool(t.Context(), params)
				if err != nil {
					t.Fatal(err)
				}
				if got := text(t, res); got != `hello {"n":1}` {
					t.Errorf("greet: %s", got)
				}
				select {
				case n := <-progress:
					if n != 1 {
						t.Errorf("progress %v", n)
					}
				case <-t.Context().Done():
				}
				if revision < protocol.Revision20250618 || revision.Modern() {
					return // nothing to ask with, or no requests from servers
				}
				res, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask"})
				if err != nil {
					t.Fatal(err)
				}
				if got := text(t, res); got != "Ann" {
					t.Errorf("ask: %s", got)
				}
			})
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	address := start(t)
	client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
	for name, tt := range map[string]struct {
		transport *tunnel.ClientTransport
		want      string
	}{
		"by the server": {&tunnel.ClientTransport{URL: "grpc://" + address, Header: http.Header{"X-Refuse": {"1"}}}, "there is no MCP server for this client"},
		"gRPC-Web":      {&tunnel.ClientTransport{URL: "grpcweb+http://" + address}, "gRPC-Web has no streams that go both ways"},
		"no server":     {&tunnel.ClientTransport{URL: "grpc://127.0.0.1:1"}, "nothing listens on 127.0.0.1:1"},
		"no URL":        {&tunnel.ClientTransport{URL: "::"}, "tunnel: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session, err := client.Connect(t.Context(), tt.transport, nil)
			if err == nil {
				_ = session.Close()
				t.Fatal("connected")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}
