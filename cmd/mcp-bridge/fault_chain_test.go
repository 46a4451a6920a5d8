package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

// TestFaultsThroughTwoBridges: what goes wrong behind a second bridge looks to
// clients of the first as if there were one.
func TestFaultsThroughTwoBridges(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"grpc", "mcp+grpcweb+http", "mcp+connect+http", "mcp+http", "sse+http"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			_, command := fakeCommand(t, fakeLegacy)
			back := bridgeTo(t, append([]string{"--sse"}, command...)...)
			address := scheme + "://" + strings.TrimPrefix(back.base, "http://")
			code := connect.CodeUnavailable
			switch scheme {
			case "mcp+http":
				address += "/mcp"
				code = connect.CodeInternal // all that JSON-RPC says
			case "sse+http":
				address += "/sse"
				code = connect.CodeInternal
			}
			b := bridgeTo(t, address)

			// Killed in a call.
			const ended = "the MCP server has ended: signal: killed"
			pid := b.pid()
			calls, err := b.rpc["gRPC"].StreamCallTool(t.Context(), &mcpv1.StreamCallToolRequest{Request: &mcpv1.CallToolRequest{Name: "hang"}})
			if err != nil {
				t.Fatal(err)
			}
			if !calls.Receive() || calls.Msg().GetProgress() == nil {
				t.Fatalf("no progress but %v, %v", calls.Msg(), calls.Err())
			}
			kill(t, pid)
			if calls.Receive() {
				t.Errorf("after the end, %v", calls.Msg())
			}
			wantStatus(t, calls.Err(), code, ended)
			_ = calls.Close() // says the same

			// Hung, until the client's deadline.
			b.pid()
			b.hang(b.rpc["gRPC"], func() string { return b.must("calls") })
			if got := b.must("cancelled"); got != "cancelled" {
				t.Error(got)
			}

			// A state that was made up.
			_, got := do(t, b.web, modernCall(t, b.base+"/mcp", "ask", `"requestState":"x"`))
			if code, message := rpcError(t, got); code != -32602 || message != "params.requestState was not given to this caller for this request, or has expired: call again without it" {
				t.Errorf("error %d %s", code, message)
			}
			res, err := b.rpc["gRPC"].CallTool(t.Context(), asking())
			if err != nil {
				t.Fatal(err)
			}
			if text, err := textOf(b.rpc["gRPC"].CallTool(t.Context(), asking(answering(res.GetInputRequired())))); err != nil || text != `{"action":"accept"}` {
				t.Errorf("%s, %v", text, err)
			}
		})
	}
}

// TestSecondBridgeGoesAway: a backend of McpService that is not there is said
// not to be, and is asked again once it is.
func TestSecondBridgeGoesAway(t *testing.T) {
	t.Parallel()
	_, command := fakeCommand(t, fakeLegacy)
	serve := func(listen string) (*process, string) {
		p := start(t, append([]string{"serve", "--log-level", "error", "--listen", listen}, command...)...)
		return p, strings.TrimPrefix(p.line(), "Listening on http://")
	}
	back, url := serve("127.0.0.1:0")
	address := strings.TrimSuffix(url, "/mcp")
	b := bridgeTo(t, "grpc://"+address)
	b.pid()
	back.signal(syscall.SIGTERM)
	back.ended()
	for _, client := range b.rpc {
		_, err := client.CallTool(t.Context(), &mcpv1.CallToolRequest{Name: "pid"})
		wantStatus(t, err, connect.CodeUnavailable, "the MCP server cannot be reached")
	}
	_, got := do(t, b.web, request(t, http.MethodPost, b.base+"/mcp", legacyCall("pid")))
	if code, message := rpcError(t, got); code != -32603 || message != "the MCP server cannot be reached" {
		t.Errorf("error %d %s", code, message)
	}
	again, _ := serve(address)
	for b.eventually("pid") == "" { // it waits for its turn, or for the next attempt to connect
		continue
	}
	again.signal(syscall.SIGTERM)
	again.ended()
}
