package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

// session opens a session of 2025-11-25 that can elicit, and returns how to
// make a request of it.
func (b *bridged) session() func(method, body string) *http.Request {
	b.t.Helper()
	url := b.base + "/mcp"
	resp, err := b.web.Do(request(b.t, http.MethodPost, url, strings.Replace(initialize, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1)))
	if err != nil {
		b.t.Fatal(err)
	}
	_ = resp.Body.Close()
	id := resp.Header.Get("Mcp-Session-Id")
	if id == "" {
		b.t.Fatalf("no session: %s", resp.Status)
	}
	with := func(method, body string) *http.Request {
		return request(b.t, method, url, body, "Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-11-25")
	}
	if status, got := do(b.t, b.web, with(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)); status != http.StatusAccepted {
		b.t.Fatalf("status %d %s", status, got)
	}
	return with
}

// TestClientLeavesWhileAsked: where a client goes away, or will not answer,
// while it is asked something, the call that wants to know is cancelled, and
// the server is told.
func TestClientLeavesWhileAsked(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(b *bridged, with func(method, body string) *http.Request, question string, hangUp func()){
		"cancels": func(b *bridged, with func(method, body string) *http.Request, _ string, _ func()) {
			do(b.t, b.web, with(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`))
		},
		"ends the session": func(b *bridged, with func(method, body string) *http.Request, _ string, _ func()) {
			do(b.t, b.web, with(http.MethodDelete, ""))
		},
		"answers with an error": func(b *bridged, with func(method, body string) *http.Request, question string, _ func()) {
			do(b.t, b.web, with(http.MethodPost, `{"jsonrpc":"2.0","id":`+question+`,"error":{"code":-1,"message":"not now"}}`))
		},
		"hangs up and cancels": func(b *bridged, with func(method, body string) *http.Request, _ string, hangUp func()) {
			hangUp()
			do(b.t, b.web, with(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bridgeFake(t, fakeLegacy)
			with := b.session()
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			events := b.open(with(http.MethodPost, legacyCall("ask")).WithContext(ctx))
			var asked struct {
				ID     json.RawMessage
				Method string
			}
			if err := json.Unmarshal([]byte(events.next()), &asked); err != nil || asked.Method != "elicitation/create" {
				t.Fatalf("%v, asked %+v", err, asked)
			}
			leave(b, with, string(asked.ID), hangUp)
			if got := b.must("cancelled"); got != "cancelled" {
				t.Error(got)
			}
		})
	}
}

// TestTunnelEndsWhileAsked is the same for a session in a tunnel, which is over
// once the stream is.
func TestTunnelEndsWhileAsked(t *testing.T) {
	t.Parallel()
	b := bridgeFake(t, fakeLegacy)
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	tunnel, err := b.rpc["gRPC"].Tunnel(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ send, want string }{
		{strings.Replace(initialize, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1), `"protocolVersion":"2025-11-25"`},
		{strings.Replace(legacyCall("ask"), `"id":1`, `"id":2`, 1), `"method":"elicitation/create"`},
	} {
		if err := tunnel.Send(&mcpv1.TunnelRequest{Message: []byte(step.send)}); err != nil {
			t.Fatal(err)
		}
		got, err := tunnel.Receive()
		if err != nil {
			t.Fatal(err)
		}
		contains(t, string(got.GetMessage()), step.want)
	}
	hangUp()
	_ = tunnel.CloseResponse() // it is cancelled
	if got := b.must("cancelled"); got != "cancelled" {
		t.Error(got)
	}
}

// asking is a call of "ask" of a client that can elicit.
func asking(edit ...func(*mcpv1.CallToolRequest)) *mcpv1.CallToolRequest {
	r := &mcpv1.CallToolRequest{
		Name:          "ask",
		ArgumentsForm: &mcpv1.CallToolRequest_ArgumentsJson{ArgumentsJson: []byte(`{"a":1}`)},
		Meta: &mcpv1.RequestMeta{
			ProtocolVersion:    "2026-07-28",
			ClientCapabilities: &mcpv1.ClientCapabilities{Elicitation: &mcpv1.ElicitationCapability{}},
		},
	}
	for _, e := range edit {
		e(r)
	}
	return r
}

// answering makes a call of "ask" the retry that brings the answer.
func answering(asked *mcpv1.InputRequiredResult) func(*mcpv1.CallToolRequest) {
	return func(r *mcpv1.CallToolRequest) {
		r.RequestState = asked.RequestState
		r.InputResponses = make(map[string]*mcpv1.InputResponse)
		for key := range asked.GetInputRequests() {
			r.InputResponses[key] = &mcpv1.InputResponse{Response: &mcpv1.InputResponse_Elicitation{Elicitation: &mcpv1.ElicitResult{Action: mcpv1.ElicitAction_ELICIT_ACTION_ACCEPT}}}
		}
	}
}

// ask makes a call that asks.
func (b *bridged) ask(protocol string) *mcpv1.InputRequiredResult {
	b.t.Helper()
	res, err := b.rpc[protocol].CallTool(b.t.Context(), asking())
	if err != nil || res.GetInputRequired().GetRequestState() == "" || len(res.GetInputRequired().GetInputRequests()) != 1 {
		b.t.Fatalf("%v, %v", res, err)
	}
	return res.GetInputRequired()
}

// notGiven is the error for a state of another call.
const notGiven = "params.requestState was not given to this caller for this request, or has expired: call again without it"

// TestForeignState: the state of a call that waits for input is of use once, to
// whoever was given it, for the same call. Whatever else comes with it has no
// effect at all.
func TestForeignState(t *testing.T) {
	t.Parallel()
	b, other := bridgeFake(t, fakeLegacy), bridgeFake(t, fakeLegacy)
	asked, elsewhere := b.ask("gRPC"), other.ask("gRPC")
	state := asked.GetRequestState()
	swapped := "A"
	if state[len(state)-4:len(state)-3] == swapped {
		swapped = "B"
	}
	with := func(state string) func(*mcpv1.CallToolRequest) {
		return func(r *mcpv1.CallToolRequest) { r.RequestState = &state }
	}
	calls := b.must("calls")
	for name, tt := range map[string]struct {
		protocol, authorization string
		edit                    func(*mcpv1.CallToolRequest)
		want                    string
	}{
		"forged":          {"gRPC", "", with(state[:len(state)-4] + swapped + state[len(state)-3:]), notGiven},
		"cut":             {"gRPC", "", with(state[:len(state)-1]), notGiven},
		"long":            {"gRPC", "", with(state + strings.Repeat("A", 2000)), notGiven},
		"made up":         {"gRPC", "", with("x"), notGiven},
		"empty":           {"gRPC", "", with(""), notGiven},
		"other bridge":    {"gRPC", "", answering(elsewhere), notGiven},
		"other tool":      {"gRPC", "", func(r *mcpv1.CallToolRequest) { r.Name = "pid" }, notGiven},
		"other arguments": {"gRPC", "", func(r *mcpv1.CallToolRequest) { r.ArgumentsForm = nil }, notGiven},
		"other caller":    {"gRPC", "Bearer x", func(*mcpv1.CallToolRequest) {}, notGiven},
	} {
		ctx, info := connect.NewClientContext(t.Context())
		if tt.authorization != "" {
			info.RequestHeader().Set("Authorization", tt.authorization)
		}
		_, err := b.rpc[tt.protocol].CallTool(ctx, asking(answering(asked), tt.edit))
		wantStatus(t, err, connect.CodeInvalidArgument, tt.want)
		if t.Failed() {
			t.Fatal(name)
		}
	}
	_, got := do(t, b.web, modernCall(t, b.base+"/mcp", "ask", `"arguments":{"a":2}`, `"requestState":"`+state+`"`))
	if code, message := rpcError(t, got); code != -32602 || message != notGiven {
		t.Errorf("over HTTP: error %d %s", code, message)
	}
	if again := b.must("calls"); again != calls {
		t.Errorf("the server has seen %s calls, and then %s", calls, again)
	}

	// It is still valid, once, and over any protocol.
	if text, err := textOf(b.rpc["Connect"].CallTool(t.Context(), asking(answering(asked)))); err != nil || text != `{"action":"accept"}` {
		t.Errorf("%s, %v", text, err)
	}
	_, err := b.rpc["gRPC"].CallTool(t.Context(), asking(answering(asked)))
	wantStatus(t, err, connect.CodeInvalidArgument, "requestState has been used already, or has expired")

	// A call that waits ends with its server.
	lost := b.ask("gRPC")
	kill(t, b.pid())
	_, err = b.rpc["gRPC"].CallTool(t.Context(), asking(answering(lost)))
	wantStatus(t, err, connect.CodeUnavailable, "the MCP server has ended: signal: killed")
	b.pid()
}

// TestForeignStateOverHTTP is the same for clients of Streamable HTTP.
func TestForeignStateOverHTTP(t *testing.T) {
	t.Parallel()
	b := bridgeFake(t, fakeLegacy)
	ask := func(tool string, params ...string) string {
		_, got := do(t, b.web, modernCall(t, b.base+"/mcp", tool, params...))
		return got
	}
	var asked struct {
		Result struct {
			InputRequests map[string]json.RawMessage
			RequestState  string
		}
	}
	first := ask("ask")
	if err := json.Unmarshal([]byte(first), &asked); err != nil || len(asked.Result.InputRequests) != 1 {
		t.Fatalf("%v in %s", err, first)
	}
	state, answers := `"requestState":"`+asked.Result.RequestState+`"`, ""
	for key := range asked.Result.InputRequests {
		answers = `"inputResponses":{"` + key + `":{"action":"decline"}}`
	}
	for _, tt := range []struct {
		tool   string
		params []string
		want   string
	}{
		{"pid", []string{state, answers}, notGiven},
		{"ask", []string{state, answers, `"arguments":{}`}, notGiven},
		{"ask", []string{`"requestState":7`, answers}, "params.requestState must be a string"},
		{"ask", []string{`"requestState":"x"`, answers}, notGiven},
	} {
		if code, message := rpcError(t, ask(tt.tool, tt.params...)); code != -32602 || message != tt.want {
			t.Errorf("%s %s: error %d %s", tt.tool, tt.params, code, message)
		}
	}
	if got := b.must("calls"); got != "1" {
		t.Errorf("the server has seen %s calls", got)
	}
	if got := ask("ask", state, answers); !strings.Contains(got, `decline`) {
		t.Error(got)
	}
	if code, message := rpcError(t, ask("ask", state, answers)); code != -32602 || message != "requestState has been used already, or has expired" {
		t.Errorf("again: error %d %s", code, message)
	}
}
