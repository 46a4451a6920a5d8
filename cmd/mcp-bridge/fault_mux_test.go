package main

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

// TestOneOfSeveralFails: where one of several servers fails, the other one goes
// on, clients hear that the list has changed, and what was missing comes back
// by itself.
func TestOneOfSeveralFails(t *testing.T) {
	t.Parallel()
	f := startFakeHTTP(t, false)
	_, command := fakeCommand(t, fakeLegacy)
	b := bridgeTo(t, append([]string{"web=" + f.url()}, command...)...)
	list := func() string {
		_, got := do(t, b.web, request(t, http.MethodPost, b.base+"/mcp", listTools))
		return got
	}
	const fine, command001 = "web_fine", "001_" // the command is named by its last argument
	pidOf := func() int {
		t.Helper()
		pid, err := strconv.Atoi(b.must(command001 + "pid"))
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	contains(t, list(), `"name":"web_fine"`, `"name":"001_pid"`)
	client := b.rpc["gRPC"]
	listening, err := client.Listen(t.Context(), &mcpv1.ListenRequest{Notifications: &mcpv1.SubscriptionFilter{ToolsListChanged: new(true)}})
	if err != nil {
		t.Fatal(err)
	}
	defer listening.Close()
	if !listening.Receive() {
		t.Fatal(listening.Err())
	}
	// changed waits until the tools have changed to what it wants.
	changed := func(want string, there bool) {
		t.Helper()
		for strings.Contains(list(), want) != there {
			if !listening.Receive() {
				t.Fatal(listening.Err())
			}
			if listening.Msg().GetToolsListChanged() == nil {
				t.Errorf("heard %v", listening.Msg())
			}
		}
	}

	// The process is killed in the middle of a call.
	pid := pidOf()
	calls, err := client.StreamCallTool(t.Context(), &mcpv1.StreamCallToolRequest{Request: &mcpv1.CallToolRequest{Name: command001 + "hang"}})
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
	wantStatus(t, calls.Err(), connect.CodeUnavailable, "the MCP server has ended: signal: killed")
	_ = calls.Close() // says the same
	b.must(fine)
	if pidOf() == pid {
		t.Errorf("process %d goes on", pid)
	}
	changed(`"001_pid"`, true)

	// The other one goes away for a while.
	f.down()
	_, err = b.call(t.Context(), fine)
	wantStatus(t, err, connect.CodeUnavailable, "the MCP server could not be reached")
	changed(`"web_fine"`, false)
	contains(t, list(), `"name":"001_pid"`, `"io.github.mcp-bridge/unavailable":["web"]`)
	pidOf()
	_, err = b.call(t.Context(), fine)
	wantStatus(t, err, connect.CodeUnavailable, "the MCP server could not be reached")
	f.up(t)
	changed(`"web_fine"`, true)
	b.must(fine)
	if got := list(); strings.Contains(got, "unavailable") {
		t.Error(got)
	}
}

// TestStateOfOneOfSeveral: the state that one of several servers has given is
// of no use with another one.
func TestStateOfOneOfSeveral(t *testing.T) {
	t.Parallel()
	one, two := bridgeFake(t, fakeLegacy), bridgeFake(t, fakeLegacy)
	b := bridgeTo(t, "one="+one.base+"/mcp", "two="+two.base+"/mcp")
	client := b.rpc["gRPC"]
	named := func(name string) func(*mcpv1.CallToolRequest) {
		return func(r *mcpv1.CallToolRequest) { r.Name = name }
	}
	asked, err := client.CallTool(t.Context(), asking(named("one_ask")))
	if err != nil || asked.GetInputRequired() == nil {
		t.Fatalf("%v, %v", asked, err)
	}
	answer := answering(asked.GetInputRequired())
	_, err = client.CallTool(t.Context(), asking(named("two_ask"), answer))
	wantStatus(t, err, connect.CodeInvalidArgument, "params.requestState was not given to this caller for this request, or has expired: call again without it")
	if got := two.must("calls"); got != "0" {
		t.Errorf("the other server has seen %s calls", got)
	}
	if text, err := textOf(client.CallTool(t.Context(), asking(named("one_ask"), answer))); err != nil || text != `{"action":"accept"}` {
		t.Errorf("%s, %v", text, err)
	}
}
