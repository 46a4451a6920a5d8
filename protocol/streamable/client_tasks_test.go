package streamable_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// tasked opens sessions of 2025-11-25 with a tool that is a task only, and
// hands on what is about tasks.
func tasked(f fake) fake {
	return func(w http.ResponseWriter, r *http.Request, m message) {
		switch {
		case m.Method == "server/discover":
			http.Error(w, "what?", http.StatusBadRequest)
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "session")
			m.result(w, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"s","version":"1"}}`)
		case m.Method == "tools/list":
			m.result(w, `{"tools":[{"name":"x","execution":{"taskSupport":"required"}}]}`)
		case m.Method == "tools/call":
			m.result(w, `{"task":`+taskOf("working")+`}`)
		case m.Method == "" && m.ID != nil || strings.HasPrefix(m.Method, "notifications/"):
			w.WriteHeader(http.StatusAccepted)
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		case r.Method == http.MethodGet:
			http.Error(w, "no", http.StatusMethodNotAllowed)
		default:
			f(w, r, m)
		}
	}
}

func taskOf(status string) string {
	return fmt.Sprintf(`{"taskId":"t","status":%q,"createdAt":"2025-11-25T00:00:00Z","lastUpdatedAt":"2025-11-25T00:00:00Z","ttl":60000,"pollInterval":1}`, status)
}

// TestTaskFaults: tasks survive answers that go missing, but not their session.
func TestTaskFaults(t *testing.T) {
	t.Parallel()
	const ready = `{"content":[{"type":"text","text":"ready"}]}`
	// once answers the first request of a method by a fault.
	once := func(method string, fault fake) func() fake {
		return func() fake {
			var failed atomic.Bool
			return tasked(func(w http.ResponseWriter, r *http.Request, m message) {
				switch {
				case m.Method == method && failed.CompareAndSwap(false, true):
					fault(w, r, m)
				case m.Method == "tasks/get":
					m.result(w, taskOf("completed"))
				default:
					m.result(w, ready)
				}
			})
		}
	}
	gone := func(w http.ResponseWriter, _ *http.Request, _ message) { http.Error(w, "who?", http.StatusNotFound) }
	broken := func(http.ResponseWriter, *http.Request, message) { panic(http.ErrAbortHandler) }
	busy := func(w http.ResponseWriter, _ *http.Request, _ message) { http.Error(w, "", http.StatusBadGateway) }
	noTask := func(w http.ResponseWriter, _ *http.Request, m message) { m.result(w, `[]`) }
	say := func(res *protocol.Result, err error) string {
		if err != nil {
			return err.Error()
		}
		return string(res.Body)
	}
	const lost = "the MCP server has ended the session in which the task"
	for name, tt := range map[string]struct {
		server func() fake
		// waited is what comes of a call that is waited for, got and again are
		// what comes of tasks/get.
		waited, got, again string
	}{
		"session gone":  {once("tasks/get", gone), lost + " of this call ran", `"status":"failed","ttlMs":60000,"error":{"code":-32603,"message":"` + lost + ` ran"}`, `"status":"failed"`},
		"result gone":   {once("tasks/result", gone), lost + " of this call ran", `"status":"failed","ttlMs":60000,"error":{"code":-32603,"message":"` + lost + ` ran"}`, `"status":"failed"`},
		"get broken":    {once("tasks/get", broken), `"text":"ready"`, "EOF", `"text":"ready"`},
		"result broken": {once("tasks/result", broken), `"text":"ready"`, "EOF", `"text":"ready"`},
		"bad gateway":   {once("tasks/get", busy), `"text":"ready"`, "HTTP 502 Bad Gateway", `"text":"ready"`},
		"no task":       {once("tasks/get", noTask), "the MCP server's answer to tasks/get is no task", "the MCP server's result is no JSON object", `"text":"ready"`},
		"error, not 404": {once("tasks/get", func(w http.ResponseWriter, _ *http.Request, m message) {
			m.fault(w, `{"code":-32602,"message":"gone"}`)
		}), "gone (code -32602)", "gone (code -32602)", "the task is unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startFake(t, tt.server())
			if got := say(c.Handle(t.Context(), toolCall("x"), protocol.Discard)); !strings.Contains(got, tt.waited) {
				t.Errorf("waited for: %s, want %s", got, tt.waited)
			}
			c = startFake(t, tt.server())
			following := func(r *protocol.Request) *protocol.Request {
				r.Meta.Capabilities = json.RawMessage(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
				return r
			}
			res, err := c.Handle(t.Context(), following(toolCall("x")), protocol.Discard)
			if err != nil || res.Type != protocol.ResultTask {
				t.Fatalf("%v, %v; want a task", res, err)
			}
			id, _ := jsontok.Lookup(res.Body, "taskId")
			get := following(&protocol.Request{Method: protocol.MethodGetTask, Params: append(append([]byte(`{"taskId":`), id...), '}'), Caller: &protocol.Caller{Transport: "test"}})
			if got := say(c.Handle(t.Context(), get, protocol.Discard)); !strings.Contains(got, tt.got) {
				t.Errorf("followed: %s, want %s", got, tt.got)
			}
			// Whatever went missing is there when it is asked for again.
			if got := say(c.Handle(t.Context(), get, protocol.Discard)); !strings.Contains(got, tt.again) {
				t.Errorf("asked for again: %s, want %s", got, tt.again)
			}
		})
	}
}

// TestTimeoutOfTask: a call that the server runs as a task may last longer than
// the limit of a request.
func TestTimeoutOfTask(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	c := startFake(t, tasked(func(w http.ResponseWriter, _ *http.Request, m message) {
		if m.Method == "tasks/get" {
			<-time.After(limit + limit/2)
			m.result(w, taskOf("completed"))
			return
		}
		m.result(w, `{"content":[]}`)
	}))
	res, err := protocol.Timeout(limit)(c).Handle(t.Context(), toolCall("x"), protocol.Discard)
	if err != nil || string(res.Body) != `{"content":[]}` {
		t.Errorf("%v, %v", res, err)
	}
}
