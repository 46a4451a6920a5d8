package eraserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eraserver"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// taskOnly calls a tool that can be called as a task only.
func taskOnly(id string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"only_task","arguments":{"id":"` + id + `"},"_meta":{"progressToken":"p"}}}`
}

// To a client that asks for no task, the outcome of a task is that of the call.
func TestFollowedTask(t *testing.T) {
	t.Parallel()
	h := prototest.NewHandler()
	s := newServer(t, h)
	for i, rev := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		session, _, fault := s.Open(t.Context(), initialize(params(rev)), caller, func(*protocol.Notification) {})
		if fault != nil {
			t.Fatal(fault)
		}
		defer session.Close()
		for _, tt := range []struct{ id, want string }{
			{"done", `"result":{"_meta":{"a":1},"content":[{"type":"text","text":"the result"}]}}`},
			{"slow", `"result":{"_meta":{"a":1},"content":[{"type":"text","text":"the result"}]}}`},
			{"wrong", `"result":{"_meta":{"a":1},"content":[{"type":"text","text":"the result"}],"isError":true}}`},
			{"broken", `"error":{"code":-32000,"message":"out of order","data":[1.0]}}`},
			{"unknown", `"error":{"code":-32602,"message":"there is no such task"}}`},
		} {
			body := session.Call(t.Context(), parse(t, taskOnly(fmt.Sprint(tt.id, "-", i))), caller, eraserver.Stream{Notifier: protocol.Discard}).Body
			if want := `{"jsonrpc":"2.0","id":1,` + tt.want; string(body) != want {
				t.Errorf("%s: %s: %s, want %s", rev, tt.id, body, want)
			}
		}
		if rev == "2025-11-25" {
			if listed, _ := ask(t.Context(), t, session, "tasks/list", `{}`); fmt.Sprint(listed["tasks"]) != "[]" {
				t.Errorf("the client has asked for no task, but its tasks are %v", listed)
			}
		}
	}
	for range 4 { // tasks that have ended are not cancelled
		if got := <-h.Started(); !strings.HasPrefix(got, "tasks/cancel unknown-") {
			t.Errorf("the server is asked for %s", got)
		}
	}
	if len(h.Started()) > 0 {
		t.Errorf("the server is asked for %s", <-h.Started())
	}
}

// What a task asks is asked during the call.
func TestFollowedTaskAsks(t *testing.T) {
	t.Parallel()
	h := prototest.NewHandler()
	session, stream, sent := askable(t, newServer(t, h))
	done := make(chan string, 1)
	go func() { done <- string(session.Call(t.Context(), parse(t, taskOnly("asking-1")), caller, stream).Body) }()
	for range 2 {
		request := <-sent
		if strings.Contains(request, "related-task") {
			t.Errorf("the client is told of a task: %s", request)
		}
		result := `{"roots":[]}`
		if strings.Contains(request, "Who?") {
			result = `{"action":"decline"}`
		}
		session.Answered(&jsonrpc.Message{ID: parse(t, request).ID, Result: json.RawMessage(result)})
	}
	if got, want := <-done, `"text":"{\"who\":{\"action\":\"decline\"},\"where\":{\"roots\":[]}}"`; !strings.Contains(got, want) {
		t.Errorf("the call gives %s, want %s", got, want)
	}
	if got := <-h.Started(); got != "tasks/update asking-1" {
		t.Errorf("the server is asked for %s", got)
	}
}

// A task that is waited for no longer is cancelled.
func TestFollowedTaskIsAbandoned(t *testing.T) {
	t.Parallel()
	h := prototest.NewHandler()
	s := newServer(t, h)
	session, _ := open(t, s)
	defer session.Close()

	// The client cannot answer what the task asks.
	body := session.Call(t.Context(), parse(t, taskOnly("asking-2")), caller, eraserver.Stream{Notifier: protocol.Discard}).Body
	if !strings.Contains(string(body), `"requiredCapabilities":{"elicitation":{"form":{}}}`) {
		t.Errorf("the call gives %s", body)
	}
	if got := <-h.Started(); got != "tasks/cancel asking-2" {
		t.Errorf("the server is asked for %s", got)
	}

	// The client leaves, after it has heard what the task says of itself.
	ctx, leave := context.WithCancel(t.Context())
	var progress []string
	body = session.Call(ctx, parse(t, taskOnly("working-2")), caller, eraserver.Stream{
		Notifier: protocol.NotifierFunc(func(_ context.Context, n *protocol.Notification) error {
			progress = append(progress, n.Method+" "+string(n.Params))
			leave()
			return nil
		}),
	}).Body
	if !strings.Contains(string(body), `"error":`) {
		t.Errorf("the call gives %s", body)
	}
	if len(progress) != 1 || progress[0] != `notifications/progress {"progressToken":"p","progress":1,"message":"on it"}` {
		t.Errorf("the client hears %q", progress)
	}
	if got := <-h.Started(); got != "tasks/cancel working-2" {
		t.Errorf("the server is asked for %s", got)
	}
}

// Other refusals stay what they are, and so does a task that nobody has asked
// for.
func TestNotFollowed(t *testing.T) {
	t.Parallel()
	s := newServer(t, prototest.NewHandler())
	session, _ := open(t, s)
	defer session.Close()
	for arguments, want := range map[string]string{
		`{"code":-32021,"message":"m"}`:                                                 `"error":{"code":-32602,"message":"m","data":{"code":-32021}}}`,
		`{"code":-32021,"message":"m","data":[]}`:                                       `"data":{"code":-32021,"data":[]}}}`,
		`{"code":-32021,"message":"m","data":{"requiredCapabilities":{"sampling":{}}}}`: `"data":{"code":-32021,"data":{"requiredCapabilities":{"sampling":{}}}}}}`,
	} {
		body := session.Call(t.Context(), parse(t, prototest.Call("1", "fail", `"arguments":`+arguments)), caller, eraserver.Stream{Notifier: protocol.Discard}).Body
		if !strings.Contains(string(body), want) {
			t.Errorf("%s: %s, want %s", arguments, body, want)
		}
	}
	body := session.Call(t.Context(), parse(t, prototest.Call("1", "task", `"arguments":{"id":"done-1"}`)), caller, eraserver.Stream{Notifier: protocol.Discard}).Body
	if !strings.Contains(string(body), "a client of revision 2025-11-25 cannot be given") {
		t.Errorf("a task that nobody has asked for: %s", body)
	}
}
