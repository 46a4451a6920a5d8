package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/gen/mcp/v1/mcpv1connect"
	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
)

// http2 is an HTTP client of one test that speaks HTTP/2 without TLS.
func http2(t *testing.T) *http.Client {
	t.Helper()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestServeMCPServer serves an official MCP server, once and through a second
// bridge, to clients of gRPC and of MCP.
func TestServeMCPServer(t *testing.T) {
	t.Parallel()
	node := nodetools.Node(t)
	everything := nodetools.Module(t, "@modelcontextprotocol/server-everything", "dist/index.js")
	first := startInProcess(t, &bytes.Buffer{}, "serve", "--listen", "127.0.0.1:0", "--log-level", "error", "--", node, everything)
	url, ok := strings.CutPrefix(first, "Listening on ")
	if !ok {
		t.Fatal(first)
	}
	address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")
	urls := []string{url}
	for _, upstream := range []string{"mcp+" + url, "grpc://" + address, "mcp+grpcweb+http://" + address, "connect+http://" + address, "google+grpc://" + address, "tunnel+grpc://" + address} {
		second := startInProcess(t, &bytes.Buffer{}, "serve", "--listen", "127.0.0.1:0", "--log-level", "error", upstream)
		twice, ok := strings.CutPrefix(second, "Listening on ")
		if !ok {
			t.Fatal(second)
		}
		urls = append(urls, twice)
	}
	for _, url := range urls {
		base := strings.TrimSuffix(url, "/mcp")
		c := mcpv1connect.NewMcpServiceClient(http2(t), base, connect.WithGRPC())
		tools, err := c.ListTools(t.Context(), &mcpv1.ListToolsRequest{})
		if err != nil || len(tools.GetTools()) < 5 {
			t.Errorf("tools: %v, %v", tools, err)
		}
		arguments, err := structpb.NewStruct(map[string]any{"a": 1, "b": 2})
		if err != nil {
			t.Fatal(err)
		}
		sum, err := c.CallTool(t.Context(), &mcpv1.CallToolRequest{Name: "get-sum", ArgumentsForm: &mcpv1.CallToolRequest_Arguments{Arguments: arguments}})
		if err != nil || !strings.Contains(sum.GetComplete().GetContent()[0].GetText().GetText(), "is 3") {
			t.Errorf("sum: %v, %v", sum, err)
		}
		text, err := c.ReadResource(t.Context(), &mcpv1.ReadResourceRequest{Uri: "demo://resource/dynamic/text/1"})
		if err != nil || len(text.GetComplete().GetContents()) != 1 {
			t.Errorf("resource: %v, %v", text, err)
		}
		if _, err := c.GetPrompt(t.Context(), &mcpv1.GetPromptRequest{Name: "nothing"}); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("prompt: %v", err)
		}
		status, body := do(t, web(t), request(t, http.MethodPost, url,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"},`+modernMeta+`}}`,
			"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "echo"))
		if status != http.StatusOK || !strings.Contains(body, `"text":"Echo: hi"`) {
			t.Errorf("over MCP: %d %s", status, body)
		}
	}
}

// TestMCPServerTools lists, describes and calls the tools of an MCP server from
// the command line.
func TestMCPServerTools(t *testing.T) {
	t.Parallel()
	node := nodetools.Node(t)
	everything := nodetools.Module(t, "@modelcontextprotocol/server-everything", "dist/index.js")
	for _, tt := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"tools"}, exitOK, "echo"},
		{[]string{"tools", "echo"}, exitOK, `"message"`},
		{[]string{"tools", "--json"}, exitOK, `"inputSchema"`},
		{[]string{"call", "echo", `{"message":"hi"}`}, exitOK, "Echo: hi"},
		{[]string{"call", "--json", "get-sum", `{"a":1,"b":2}`}, exitOK, `"content":[`},
		{[]string{"call", "ecko"}, exitFailure, "did you mean echo?"},
		{[]string{"call", "echo", "{}"}, exitFailure, "message"},
		{[]string{"call"}, exitUsage, "the name of the tool is missing"},
	} {
		args := append([]string{tt.args[0], "--log-level", "error"}, tt.args[1:]...)
		o := mcpBridge(t, append(args, "--", node, everything)...)
		if o.status != tt.status || !strings.Contains(o.stdout+o.stderr, tt.want) {
			t.Errorf("%q: exit status %d, want %d and %q in:\n%s%s", tt.args, o.status, tt.status, tt.want, o.stdout, o.stderr)
		}
	}
}

// TestSaysWhoItIs: a server learns who asks, in every request.
func TestSaysWhoItIs(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // it is gone
		}
		asked <- string(body)
		var m struct{ ID json.RawMessage }
		if err := json.Unmarshal(body, &m); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}}`, m.ID)
	}))
	defer server.Close()
	startInProcess(t, &bytes.Buffer{}, "serve", "--listen", "127.0.0.1:0", "--log-level", "error", server.URL)
	if len(asked) == 0 {
		t.Error("the server was not asked")
	}
	for range len(asked) {
		if body := <-asked; !strings.Contains(body, `"io.modelcontextprotocol/clientInfo":{"name":"mcp-bridge","version":`) {
			t.Errorf("the server was asked %s", body)
		}
	}
}

func TestMCPServerMistakes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"tools", "--", "/no/such/program"}, "mcp-bridge: the MCP server could not be started: fork/exec /no/such/program: no such file"},
		{[]string{"call", "x", "--", "/no/such/program"}, "no such file"},
		{[]string{"tools", "http://127.0.0.1:1/mcp"}, "connection refused"},
		{[]string{"tools", "mcp+grpc://127.0.0.1:1"}, "nothing listens on 127.0.0.1:1"},
		{[]string{"tools", "tunnel+grpc://127.0.0.1:1"}, "nothing listens on 127.0.0.1:1"},
		{[]string{"serve", "tunnel+grpcweb+http://127.0.0.1:1"}, "gRPC-Web has no streams that go both ways"},
		{[]string{"serve", "mcp+ftp://127.0.0.1:1"}, "unknown scheme"},
		{[]string{"serve", "--schema", "full", "mcp+grpc://127.0.0.1:1"}, "--schema is for APIs of gRPC and Connect"},
		{[]string{"serve", "--header", "a: b", "--", "program"}, "--header and --forward-header are for URLs"},
		{[]string{"stdio", "--services", "x"}, "unknown flag"},
		{[]string{"stdio", "http://127.0.0.1:1/mcp", "more"}, `upstream "more" has no scheme`},
	} {
		var stderr bytes.Buffer
		args := append([]string{tt.args[0], "--log-level", "error"}, tt.args[1:]...)
		if tt.args[0] == "serve" {
			args = append([]string{"serve", "--listen", "127.0.0.1:0"}, args[1:]...)
		}
		status := run(context.Background(), args, strings.NewReader(""), &bytes.Buffer{}, &stderr)
		if status == 0 || !strings.Contains(stderr.String(), tt.want) {
			t.Errorf("%q: exit status %d, %s; want %q", args, status, stderr.String(), tt.want)
		}
	}
}

// TestCORS: pages of an allowed origin may call over every protocol that a
// browser speaks, and see the answers.
func TestCORS(t *testing.T) {
	t.Parallel()
	const page = "https://app.example.com"
	first := startInProcess(t, &bytes.Buffer{}, "demo", "--listen", "127.0.0.1:0")
	demo, _ := strings.CutPrefix(first, "Listening on http://")
	demo = strings.TrimSuffix(demo, "/mcp")
	second := startInProcess(t, &bytes.Buffer{}, "serve", "--listen", "127.0.0.1:0", "--allowed-origin", page, "grpc://"+demo)
	url, ok := strings.CutPrefix(second, "Listening on ")
	if !ok {
		t.Fatal(second)
	}
	base := strings.TrimSuffix(url, "/mcp")
	for _, tt := range []struct {
		origin, url, body string
		status            int
		allowed           string
	}{
		{page, url, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, http.StatusOK, page},
		{page, base + mcpv1connect.McpServiceListToolsProcedure, `{}`, http.StatusOK, page},
		{"https://evil.example.com", base + mcpv1connect.McpServiceListToolsProcedure, `{}`, http.StatusForbidden, ""},
		{"https://evil.example.com", url, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, http.StatusForbidden, ""},
	} {
		for _, method := range []string{http.MethodOptions, http.MethodPost} {
			r := request(t, method, tt.url, tt.body, "Origin", tt.origin)
			want := tt.status
			if method == http.MethodOptions {
				r = request(t, method, tt.url, "", "Origin", tt.origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type,mcp-param-x")
				want = http.StatusNoContent
			}
			res, err := web(t).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if got := res.Header.Get("Access-Control-Allow-Origin"); res.StatusCode != want || got != tt.allowed {
				t.Errorf("%s %s from %s: status %d, want %d; allowed %q, want %q", method, tt.url, tt.origin, res.StatusCode, want, got, tt.allowed)
			}
			if method == http.MethodPost && tt.allowed != "" && !strings.Contains(res.Header.Get("Access-Control-Expose-Headers"), "Mcp-Session-Id") {
				t.Errorf("%s: exposed headers %q", tt.url, res.Header.Get("Access-Control-Expose-Headers"))
			}
		}
	}
}
