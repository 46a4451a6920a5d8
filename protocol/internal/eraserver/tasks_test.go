package eraserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/mcpschema"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eraserver"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// ask makes a request and returns the result or error, which must be valid.
func ask(ctx context.Context, t *testing.T, s *eraserver.Session, method, params string) (result, fault map[string]any) {
	t.Helper()
	m, err := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`))
	if err != nil {
		t.Fatal(err)
	}
	body := s.Call(ctx, m, caller, eraserver.Stream{Notifier: protocol.Discard}).Body
	if err := mcpschema.Open(t, string(s.Revision)).Check(body, method); err != nil {
		t.Error(err)
	}
	var response struct{ Result, Error map[string]any }
	if err := json.Unmarshal(body, &response); err != nil {
		t.Fatal(err)
	}
	return response.Result, response.Error
}

const asTask = `{"name":"echo","arguments":{"a":1},"task":{}}`

// A server that answers a call at once has no task of it: the session keeps
// the answer, for a time.
func TestAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	mcpschema.Open(t, "2025-11-25") // outside of the bubble
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, prototest.NewHandler())
		session, _ := open(t, s)
		defer session.Close()
		created, _ := ask(t.Context(), t, session, "tools/call", asTask)
		task, _ := created["task"].(map[string]any)
		id, _ := task["taskId"].(string)
		if task["status"] != "working" || len(id) < 26 || task["ttl"] != 3600000.0 {
			t.Errorf("the task is %v", task)
		}
		params := `{"taskId":"` + id + `"}`
		if got, _ := ask(t.Context(), t, session, "tasks/get", params); got["status"] != "completed" || got["createdAt"] != task["createdAt"] {
			t.Errorf("the task is %v", got)
		}
		if got, _ := ask(t.Context(), t, session, "tasks/result", params); fmt.Sprint(got["content"]) != `[map[text:{"a":1} type:text]]` ||
			fmt.Sprint(got["_meta"]) != "map[io.modelcontextprotocol/related-task:map[taskId:"+id+"]]" {
			t.Errorf("the result is %v", got)
		}
		if _, fault := ask(t.Context(), t, session, "tasks/cancel", params); fault["code"] != -32602.0 {
			t.Errorf("cancelled: %v", fault)
		}
		other, _ := open(t, s)
		defer other.Close()
		if _, fault := ask(t.Context(), t, other, "tasks/get", params); fault["code"] != -32602.0 {
			t.Errorf("another session gets %v", fault)
		}
		time.Sleep(time.Hour) //nolint:forbidigo // of the bubble's time
		if _, fault := ask(t.Context(), t, session, "tasks/get", params); fault["code"] != -32602.0 {
			t.Errorf("after an hour: %v", fault)
		}
	})
}

// A session remembers a limited number of tasks, and lists them by pages.
func TestTasksAreBounded(t *testing.T) {
	t.Parallel()
	s := newServer(t, prototest.NewHandler())
	session, _ := open(t, s)
	defer session.Close()
	const made = 300
	for range made {
		ask(t.Context(), t, session, "tools/call", asTask)
	}
	listed := 0
	for cursor, pages := `{}`, 0; cursor != ""; pages++ {
		page, fault := ask(t.Context(), t, session, "tasks/list", cursor)
		if fault != nil || pages > made {
			t.Fatalf("page %d: %v", pages, fault)
		}
		tasks, _ := page["tasks"].([]any)
		listed += len(tasks)
		cursor = ""
		if next, ok := page["nextCursor"].(string); ok {
			cursor = `{"cursor":"` + next + `"}`
		}
	}
	if listed != 256 {
		t.Errorf("%d tasks are listed, want 256", listed)
	}

	// Large results push out older ones, but never themselves.
	large := strings.Repeat("x", 5<<20)
	var ids []string
	for range 2 {
		created, _ := ask(t.Context(), t, session, "tools/call", `{"name":"echo","arguments":{"a":"`+large+`"},"task":{}}`)
		ids = append(ids, created["task"].(map[string]any)["taskId"].(string))
	}
	if _, fault := ask(t.Context(), t, session, "tasks/get", `{"taskId":"`+ids[0]+`"}`); fault["code"] != -32602.0 {
		t.Errorf("the older one: %v", fault)
	}
	if got, fault := ask(t.Context(), t, session, "tasks/get", `{"taskId":"`+ids[1]+`"}`); got["status"] != "completed" {
		t.Errorf("the newer one: %v", fault)
	}
}

// Tasks are for sessions of 2025-11-25 with a server that has them. Elsewhere
// params.task means nothing.
func TestWithoutTasks(t *testing.T) {
	t.Parallel()
	plain := protocol.HandlerFunc(func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		if r.Method == protocol.MethodDiscover {
			return &protocol.Result{Body: json.RawMessage(`{"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":null}}}`)}, nil
		}
		return &protocol.Result{Body: json.RawMessage(`{"content":[]}`)}, nil
	})
	for name, tt := range map[string]struct {
		rev string
		h   protocol.Handler
	}{
		"older":  {"2025-06-18", prototest.NewHandler()},
		"server": {"2025-11-25", plain},
	} {
		s := newServer(t, tt.h)
		session, res, fault := s.Open(t.Context(), initialize(params(tt.rev)), caller, func(*protocol.Notification) {})
		if fault != nil {
			t.Fatal(fault)
		}
		defer session.Close()
		if strings.Contains(string(res.Body), "tasks") {
			t.Errorf("%s: declared %s", name, res.Body)
		}
		if got, _ := ask(t.Context(), t, session, "tools/call", asTask); got["task"] != nil || got["content"] == nil {
			t.Errorf("%s: the call gives %v", name, got)
		}
		for _, method := range []string{"tasks/get", "tasks/result", "tasks/list", "tasks/cancel"} {
			if _, fault := ask(t.Context(), t, session, method, `{"taskId":"done-1"}`); fault["code"] != -32601.0 {
				t.Errorf("%s: %s: %v", name, method, fault)
			}
		}
	}
}

// tasks/result ends with its request, and what is asked before there is a task is
// asked during the call.
func TestTaskResultEnds(t *testing.T) {
	t.Parallel()
	s := newServer(t, prototest.NewHandler())
	session, _ := open(t, s)
	defer session.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	m, err := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":{"taskId":"working-1"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if body := session.Call(ctx, m, caller, eraserver.Stream{Notifier: protocol.Discard}).Body; !strings.Contains(string(body), `"code":-32603`) {
		t.Errorf("got %s", body)
	}
	if got, _ := ask(t.Context(), t, session, "tools/call", `{"name":"echo","arguments":{},"task":null}`); got["content"] == nil {
		t.Errorf("no task: %v", got)
	}
	if got, _ := ask(t.Context(), t, session, "tools/call", `{"name":"input","task":{}}`); got["task"] == nil {
		t.Errorf("after a round: %v", got)
	}
	if _, fault := ask(t.Context(), t, session, "tools/call", `{"name":"fail","arguments":{"code":-5,"message":"m"},"task":{}}`); fault["code"] != -5.0 {
		t.Errorf("error: %v", fault)
	}
}
