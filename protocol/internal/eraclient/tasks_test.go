package eraclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/ways"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
)

const follows = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// taskServer is a server of 2025-11-25 whose tools are tasks. What a tool does
// is in its name:
//
//   - soon: it is completed when it is asked for the second time.
//   - never: it works until it is cancelled.
//   - wrong: it fails, with a result that has isError.
//   - broken: it fails, with an error.
//   - ask: it wants input when it has been asked for once, and is completed with
//     the answer.
//   - early: it wants input before it says that it is a task.
//   - over: it is forgotten.
//   - instant: there is no task in spite of params.task.
type taskServer struct {
	t *testing.T

	mu      sync.Mutex
	made    int
	polls   map[string]int
	waiting map[string]json.RawMessage // ids of tasks/result requests, by task
	answers map[string]string
	seen    []string
	say     func(string)
	in      io.Closer
}

const taskServerTools = `{"tools":[{"name":"plain"},{"name":"soon","execution":{"taskSupport":"optional"}},` +
	`{"name":"must-soon","execution":{"taskSupport":"required"}},{"name":"must-ask","execution":{"taskSupport":"required"}},` +
	`{"name":"must-never","execution":{"taskSupport":"required"}},` +
	`{"name":"never","execution":{"taskSupport":"optional"}},{"name":"wrong","execution":{"taskSupport":"optional"}},` +
	`{"name":"broken","execution":{"taskSupport":"optional"}},{"name":"ask","execution":{"taskSupport":"optional"}},` +
	`{"name":"early","execution":{"taskSupport":"optional"}},{"name":"over","execution":{"taskSupport":"optional"}},` +
	`{"name":"instant","execution":{"taskSupport":"optional"}}]}`

func newTaskServer(t *testing.T) (*taskServer, *stdio.Client) {
	s := &taskServer{t: t, polls: make(map[string]int), waiting: make(map[string]json.RawMessage), answers: make(map[string]string)}
	c, err := stdio.NewClient(stdio.ClientConfig{Dial: func(context.Context) (io.ReadWriteCloser, error) {
		d := ways.Dial(script(s.serve), ways.All)
		s.in = d
		return d, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func (s *taskServer) serve(say func(string), id json.RawMessage, method, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say = say
	var m struct {
		Params struct {
			Name   string
			TaskID string
			Task   json.RawMessage
		}
		Result json.RawMessage
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		s.t.Error(err)
	}
	p := m.Params
	switch method {
	case "server/discover":
		say(unknown(id))
	case "initialize":
		say(result(id, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"s","version":"1"}}`))
	case "tools/list":
		say(result(id, taskServerTools))
	case "tools/call":
		s.seen = append(s.seen, "call "+p.Name+" "+string(p.Task))
		s.call(id, p.Name, p.Task)
	case "tasks/get":
		if body := s.state(p.TaskID); body != "" {
			say(result(id, body))
			return
		}
		say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such task"}}`, id))
	case "tasks/result":
		s.waiting[p.TaskID] = id
		if s.kind(p.TaskID) == "ask" && s.answers[p.TaskID] == "" {
			s.ask(p.TaskID)
		}
		s.settle(p.TaskID)
	case "tasks/cancel":
		s.seen = append(s.seen, "cancel "+p.TaskID)
		if s.kind(p.TaskID) != "never" {
			say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"ended already"}}`, id))
			return
		}
		s.answers[p.TaskID] = "cancelled"
		say(result(id, s.state(p.TaskID)))
		s.settle(p.TaskID)
	case "notifications/cancelled":
		s.seen = append(s.seen, "cancelled")
	case "": // an answer
		var name string
		if err := json.Unmarshal(id, &name); err != nil {
			s.t.Error(err)
		}
		s.answers[name] = line
		s.settle(name)
	}
}

func (s *taskServer) kind(task string) string {
	name, _, _ := strings.Cut(task, ".")
	return strings.TrimPrefix(name, "must-")
}

func (s *taskServer) call(id json.RawMessage, name string, task json.RawMessage) {
	if task == nil || name == "instant" {
		s.say(result(id, `{"content":[],"direct":true}`))
		return
	}
	s.made++
	taskID := fmt.Sprintf("%s.%d", name, s.made)
	if name == "early" {
		s.ask(taskID)
	}
	body := fmt.Sprintf(`{"taskId":%q,"status":"working","createdAt":"2025-11-25T00:00:00Z","lastUpdatedAt":"2025-11-25T00:00:00Z","ttl":60000,"pollInterval":500,"x":[1.0]}`, taskID)
	s.say(result(id, `{"task":`+body+`,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"x"},"a":1}}`))
}

func (s *taskServer) ask(task string) {
	s.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"elicitation/create","params":{"message":"?","_meta":{"io.modelcontextprotocol/related-task":{"taskId":%q}}}}`, task, task))
}

// state returns a Task object, or nothing.
func (s *taskServer) state(task string) string {
	s.polls[task]++
	status, message, ttl := "working", "poll "+fmt.Sprint(s.polls[task]), "60000"
	switch s.kind(task) {
	case "soon":
		if s.polls[task] > 1 {
			status = "completed"
		}
		ttl = "null"
	case "never":
		if s.answers[task] != "" {
			status = "cancelled"
		}
	case "wrong", "broken":
		status = "failed"
	case "ask", "early":
		switch {
		case s.answers[task] != "":
			status = "completed"
		case s.polls[task] > 1:
			status = "input_required"
		}
	default:
		return ""
	}
	return fmt.Sprintf(`{"taskId":%q,"status":%q,"statusMessage":%q,"createdAt":"2025-11-25T00:00:00Z","lastUpdatedAt":"2025-11-25T00:00:00Z","ttl":%s}`, task, status, message, ttl)
}

// settle answers tasks/result of a task that has ended.
func (s *taskServer) settle(task string) {
	id, ok := s.waiting[task]
	if !ok || (s.kind(task) == "ask" || s.kind(task) == "never") && s.answers[task] == "" {
		return
	}
	delete(s.waiting, task)
	const related = `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"x"}}`
	switch s.kind(task) {
	case "broken":
		s.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-5,"message":"out of order","data":[1.0]}}`, id))
	case "wrong":
		s.say(result(id, `{"content":[],"isError":true,`+related+`}`))
	case "ask":
		s.say(result(id, fmt.Sprintf(`{"content":[{"type":"text","text":%q}],%s}`, s.answers[task], related)))
	default:
		s.say(result(id, `{"content":[{"type":"text","text":"ready"}],`+related+`}`))
	}
}

func (s *taskServer) log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// taskOf calls a tool and returns the task that comes of it.
func taskOf(t *testing.T, c ways.Client, tool string, edit ...func(*protocol.Meta)) string {
	t.Helper()
	edit = append([]func(*protocol.Meta){capabilities(follows)}, edit...)
	res, err := c.Handle(t.Context(), request("tools/call", `{"name":"`+tool+`"}`, edit...), protocol.Discard)
	if err != nil || res.Type != protocol.ResultTask {
		t.Fatalf("%v, %v; want a task", res, err)
	}
	var task struct{ TaskID string }
	if err := json.Unmarshal(res.Body, &task); err != nil {
		t.Fatal(err)
	}
	return task.TaskID
}

func byID(id string) string { return `{"taskId":"` + id + `"}` }

// inBubble runs a test with a server of tasks.
func inBubble(t *testing.T, f func(t *testing.T, s *taskServer, c *stdio.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, c := newTaskServer(t)
		defer c.Close()
		f(t, s, c)
	})
}

const taskMembers = `"createdAt":"2025-11-25T00:00:00Z","lastUpdatedAt":"2025-11-25T00:00:00Z"`

// TestTaskEnds: what becomes of tasks.
func TestTaskEnds(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string][]string{
		"soon": {
			`complete {"statusMessage":"poll 1",` + taskMembers + `,"taskId":"ID","status":"working","ttlMs":null}`,
			`complete {"statusMessage":"poll 2",` + taskMembers + `,"taskId":"ID","status":"completed","ttlMs":null,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}},"content":[{"type":"text","text":"ready"}]}}`,
		},
		"wrong": {
			`complete {"statusMessage":"poll 1",` + taskMembers + `,"taskId":"ID","status":"completed","ttlMs":60000,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}},"content":[],"isError":true}}`,
		},
		"broken": {
			`complete {"statusMessage":"poll 1",` + taskMembers + `,"taskId":"ID","status":"failed","ttlMs":60000,"error":{"code":-5,"message":"out of order","data":[1.0]}}`,
			`complete {"statusMessage":"poll 2",` + taskMembers + `,"taskId":"ID","status":"failed","ttlMs":60000,"error":{"code":-5,"message":"out of order","data":[1.0]}}`,
		},
		"over": {
			`error: no such task (code -32602)`,
			`error: the task is unknown, forgotten, or another caller's (code -32602)`,
		},
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, _ *taskServer, c *stdio.Client) {
				res, err := c.Handle(t.Context(), request("tools/call", `{"name":"`+tool+`"}`, capabilities(follows)), protocol.Discard)
				if err != nil || res.Type != protocol.ResultTask || string(res.Meta) != `{"a":1}` {
					t.Fatalf("%v, %v; want a task", res, err)
				}
				var task struct{ TaskID string }
				if err := json.Unmarshal(res.Body, &task); err != nil || len(task.TaskID) < 26 {
					t.Errorf("task %s, %v", res.Body, err)
				}
				if got := strings.Replace(string(res.Body), task.TaskID, "ID", 1); got != `{`+taskMembers+`,"pollIntervalMs":500,"x":[1.0],"taskId":"ID","status":"working","ttlMs":60000}` {
					t.Errorf("created %s", got)
				}
				for _, want := range want {
					got, _ := ask(t, c, request("tasks/get", byID(task.TaskID), capabilities(follows)))
					if got = strings.Replace(got, task.TaskID, "ID", 1); got != want {
						t.Errorf("got  %s\nwant %s", got, want)
					}
				}
			})
		})
	}
}

// TestTaskMode: which calls become tasks.
func TestTaskMode(t *testing.T) {
	t.Parallel()
	legacy := func(m *protocol.Meta) { m.Revision = protocol.Revision20251125 }
	for name, tt := range map[string]struct {
		params     string
		edit       []func(*protocol.Meta)
		want, seen string
	}{
		"optional, followed":           {`{"name":"soon"}`, []func(*protocol.Meta){capabilities(follows)}, `task {`, `call soon {}`},
		"optional, not followed":       {`{"name":"soon"}`, nil, `complete {"content":[],"direct":true}`, `call soon `},
		"optional, with a ttl":         {`{"task":{"ttl":5},"name":"soon"}`, []func(*protocol.Meta){capabilities(follows), legacy}, `task {`, `call soon {"ttl":5}`},
		"optional, in words of before": {`{"name":"soon","task":{}}`, nil, `complete {"content":[],"direct":true}`, `call soon `},
		"required, followed":           {`{"name":"must-soon"}`, []func(*protocol.Meta){capabilities(follows)}, `task {`, `call must-soon {}`},
		"required, not followed":       {`{"name":"must-soon"}`, nil, `complete {"content":[{"type":"text","text":"ready"}]}`, `call must-soon {}`},
		"none":                         {`{"name":"plain"}`, []func(*protocol.Meta){capabilities(follows)}, `complete {"content":[],"direct":true}`, `call plain `},
		"none, asked for": {
			`{"name":"plain","task":{}}`, []func(*protocol.Meta){capabilities(follows), legacy},
			`error: the tool "plain" cannot be called as a task; call it without params.task (code -32601)`, ``,
		},
		"unknown tool":     {`{"name":"x"}`, []func(*protocol.Meta){capabilities(follows)}, `complete {"content":[],"direct":true}`, `call x `},
		"answered at once": {`{"name":"instant"}`, []func(*protocol.Meta){capabilities(follows)}, `complete {"content":[],"direct":true}`, `call instant {}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, s *taskServer, c *stdio.Client) {
				got, _ := ask(t, c, request("tools/call", tt.params, tt.edit...))
				if seen := strings.Join(s.log(), ","); !strings.HasPrefix(got, tt.want) || seen != tt.seen {
					t.Errorf("got %s, the server has seen %q", got, seen)
				}
			})
		})
	}
	t.Run("discover", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(t *testing.T, _ *taskServer, c *stdio.Client) {
			got, _ := ask(t, c, request("server/discover", ""))
			if !strings.Contains(got, `"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`) {
				t.Error(got)
			}
		})
	})
}

// TestTaskWaitedFor: a caller that cannot follow tasks is told of progress, and
// asked.
func TestTaskWaitedFor(t *testing.T) {
	t.Parallel()
	token := func(m *protocol.Meta) { m.ProgressToken = json.RawMessage(`"p"`) }
	inBubble(t, func(t *testing.T, s *taskServer, c *stdio.Client) {
		got, progress := ask(t, c, request("tools/call", `{"name":"must-soon"}`, token))
		if got != `complete {"content":[{"type":"text","text":"ready"}]}` || progress != `notifications/progress {"progressToken":"p","progress":1,"message":"poll 1"}`+"\n"+
			`notifications/progress {"progressToken":"p","progress":2,"message":"poll 2"}`+"\n" {
			t.Errorf("%s, %s", got, progress)
		}
		elicits := capabilities(`{"elicitation":{}}`)
		in, key := wantInput(t, c, request("tools/call", `{"name":"must-ask"}`, elicits), protocol.Discard)
		if q := in.Requests[key]; q.Method != "elicitation/create" || string(q.Params) != `{"message":"?"}` {
			t.Errorf("asked for %s %s", q.Method, q.Params)
		}
		got, _ = ask(t, c, request("tools/call", retry("must-ask", in.State, key, `{"action":"accept","_meta":{"a":1}}`), elicits))
		if !strings.Contains(got, `\"result\":{\"_meta\":{\"a\":1,\"io.modelcontextprotocol/related-task\":{\"taskId\":\"must-ask.2\"}},\"action\":\"accept\"}`) {
			t.Errorf("the server has heard %s", got)
		}

		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if res, err := c.Handle(ctx, request("tools/call", `{"name":"must-never"}`), protocol.Discard); err == nil {
			t.Errorf("got %v", res)
		}
		synctest.Wait()
		if seen := s.log(); seen[len(seen)-1] != "cancel must-never.3" {
			t.Errorf("the server has seen %q", seen)
		}
	})
}

// TestTaskAsks: what a task asks comes by tasks/get, and goes by tasks/update.
func TestTaskAsks(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"ask", "early"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, s *taskServer, c *stdio.Client) {
				all := capabilities(follows)
				id := taskOf(t, c, tool)
				get := func() string {
					got, _ := ask(t, c, request("tasks/get", byID(id), all))
					return got
				}
				if tool == "ask" {
					if got := get(); !strings.Contains(got, `"status":"working"`) {
						t.Errorf("at first %s", got)
					}
				}
				for range 2 {
					if got := get(); !strings.Contains(got, `"status":"input_required","ttlMs":60000,"inputRequests":{"request1":{"method":"elicitation/create","params":{"message":"?"}}}`) {
						t.Errorf("then %s", got)
					}
				}
				update := func(responses string) string {
					got, _ := ask(t, c, request("tasks/update", `{"taskId":"`+id+`","inputResponses":`+responses+`}`, all))
					return got
				}
				for responses, want := range map[string]string{
					`{"other":{}}`:   `complete `,
					`1`:              `error: params.inputResponses must be an object (code -32602)`,
					`{"request1":1}`: `error: params.inputResponses: the response to "request1" must be an object (code -32602)`,
				} {
					if got := update(responses); got != want {
						t.Errorf("%s: %s", responses, got)
					}
				}
				if got := get(); !strings.Contains(got, `"request1"`) {
					t.Errorf("not answered: %s", got)
				}
				for range 2 {
					if got := update(`{"request1":{"action":"accept"}}`); got != `complete ` {
						t.Errorf("update: %s", got)
					}
				}
				synctest.Wait()
				if got := get(); !strings.Contains(got, `"status":"completed"`) {
					t.Errorf("at last %s", got)
				}
				s.mu.Lock()
				defer s.mu.Unlock()
				if got := s.answers[tool+".1"]; !strings.Contains(got, `"result":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"`+tool+`.1"}},"action":"accept"}`) {
					t.Errorf("the server has heard %s", got)
				}
			})
		})
	}
	t.Run("who cannot be asked", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(t *testing.T, s *taskServer, c *stdio.Client) {
			id := taskOf(t, c, "early", capabilities(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`))
			synctest.Wait()
			if got, _ := ask(t, c, request("tasks/get", byID(id), capabilities(follows))); !strings.Contains(got, `"status":"completed"`) {
				t.Error(got)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if got := s.answers["early.1"]; !strings.Contains(got, "the client does not support elicitation/create") {
				t.Errorf("the server has heard %s", got)
			}
		})
	})
}

// TestForeignTask: tasks are for those who have made them, and who know them.
func TestForeignTask(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, _ *taskServer, c *stdio.Client) {
		id := taskOf(t, c, "never")
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			params := `{"taskId":"` + id + `","inputResponses":{}}`
			r := request(method, params, capabilities(follows))
			r.Caller = protocol.NewCaller(t.Context(), "test", http.Header{"Authorization": {"Bearer other"}}, "")
			if got, _ := ask(t, c, r); got != `error: the task is unknown, forgotten, or another caller's (code -32602)` {
				t.Errorf("%s of another one: %s", method, got)
			}
			if got, _ := ask(t, c, request(method, params)); !strings.HasSuffix(got, `(code -32021)`) {
				t.Errorf("%s without the extension: %s", method, got)
			}
			if got, _ := ask(t, c, request(method, `{"taskId":1}`, capabilities(follows))); got != `error: params.taskId must be the id of a task (code -32602)` {
				t.Errorf("%s of a number: %s", method, got)
			}
			if got, _ := ask(t, c, request(method, byID("never.1"), capabilities(follows))); got != `error: the task is unknown, forgotten, or another caller's (code -32602)` {
				t.Errorf("%s by the server's id: %s", method, got)
			}
		}
	})
}

// TestTaskCancelled: tasks are cancelled by tasks/cancel alone.
func TestTaskCancelled(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *taskServer, c *stdio.Client) {
		all := capabilities(follows)
		never, wrong, over := taskOf(t, c, "never"), taskOf(t, c, "wrong"), taskOf(t, c, "over")
		for id, want := range map[string]string{
			never: `complete `,
			wrong: `complete `, // it has ended
			over:  `error: no such task (code -32602)`,
		} {
			if got, _ := ask(t, c, request("tasks/cancel", byID(id), all)); got != want {
				t.Errorf("cancelled: %s, want %s", got, want)
			}
		}
		if got, _ := ask(t, c, request("tasks/get", byID(never), all)); !strings.Contains(got, `"status":"cancelled"`) || strings.Contains(got, "result") {
			t.Errorf("then %s", got)
		}
		if seen := s.log(); !slices.Contains(seen, "cancel never.1") || slices.Contains(seen, "cancelled") {
			t.Errorf("the server has seen %q", seen)
		}
	})
}

// TestTaskLost: nobody knows what has become of a task whose server is gone.
func TestTaskLost(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *taskServer, c *stdio.Client) {
		id := taskOf(t, c, "never")
		done := make(chan string)
		go func() {
			got, _ := ask(t, c, request("tools/call", `{"name":"must-never"}`))
			done <- got
		}()
		synctest.Wait()
		if err := s.in.Close(); err != nil {
			t.Fatal(err)
		}
		if got := <-done; !strings.HasPrefix(got, `error: the MCP server has ended`) {
			t.Errorf("waited for: %s", got)
		}
		for _, method := range []string{"tasks/update", "tasks/cancel"} {
			if got, _ := ask(t, c, request(method, `{"taskId":"`+id+`","inputResponses":{"request1":{}}}`, capabilities(follows))); got != `complete ` {
				t.Errorf("%s: %s", method, got)
			}
		}
		got, _ := ask(t, c, request("tasks/get", byID(id), capabilities(follows)))
		if !strings.Contains(got, `"status":"failed","ttlMs":60000,"error":{"code":-32603,"message":"the MCP server has ended the session in which the task ran"}`) {
			t.Errorf("then %s", got)
		}
	})
}

// TestTaskWatched: changes of tasks come on listen streams, whether or not the
// server tells of them.
func TestTaskWatched(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *taskServer, c *stdio.Client) {
		all := capabilities(follows)
		soon, never := taskOf(t, c, "soon"), taskOf(t, c, "never")
		ctx, cancel := context.WithCancel(t.Context())
		n, done := make(notes, 10), make(chan struct{})
		go func() {
			defer close(done)
			params := `{"notifications":{"taskIds":["` + soon + `","x","` + never + `"]}}`
			if _, err := c.Handle(ctx, request("subscriptions/listen", params, all), n); err == nil {
				t.Error("the subscription ended well")
			}
		}()
		next := func() string {
			note := <-n
			text := note.Method + " " + string(note.Params)
			return strings.ReplaceAll(strings.ReplaceAll(text, soon, "SOON"), never, "NEVER")
		}
		if got := next(); got != `notifications/subscriptions/acknowledged {"notifications":{"taskIds":["SOON","NEVER"]}}` {
			t.Error(got)
		}
		begin := time.Now()
		for _, want := range []string{`"SOON","status":"working"`, `"NEVER","status":"working"`} {
			if got := next(); !strings.Contains(got, want) || !strings.HasPrefix(got, `notifications/tasks {`) {
				t.Errorf("%s, want %s", got, want)
			}
		}
		if time.Since(begin) != 0 {
			t.Errorf("told after %v", time.Since(begin))
		}
		s.mu.Lock()
		s.answers["never.2"] = "cancelled"
		s.say(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"never.2","status":"cancelled"}}`)
		s.mu.Unlock()
		if got := next(); !strings.Contains(got, `"NEVER","status":"cancelled"`) || time.Since(begin) != 0 {
			t.Errorf("%s after %v", got, time.Since(begin))
		}
		if got := next(); !strings.Contains(got, `"SOON","status":"completed","ttlMs":null,"result":{`) || time.Since(begin) != time.Second {
			t.Errorf("%s after %v", got, time.Since(begin))
		}
		cancel()
		<-done

		for params, want := range map[string]string{
			`{"notifications":{"taskIds":1}}`:   `error: params.notifications.taskIds must be a list of strings (code -32602)`,
			`{"notifications":{"taskIds":[1]}}`: `error: params.notifications.taskIds must be a list of strings (code -32602)`,
		} {
			if got, _ := ask(t, c, request("subscriptions/listen", params, all)); got != want {
				t.Errorf("%s: %s", params, got)
			}
		}
		if got, _ := ask(t, c, request("subscriptions/listen", `{"notifications":{"taskIds":[]}}`)); !strings.HasSuffix(got, `(code -32021)`) {
			t.Error(got)
		}
	})
}

// TestElicitationComplete: that a URL has been dealt with is told to callers
// whose revision has words for it.
func TestElicitationComplete(t *testing.T) {
	t.Parallel()
	for rev, want := range map[protocol.Revision]string{
		protocol.Revision20251125: "notifications/elicitation/complete {\"elicitationId\":\"e\"}\n",
		protocol.Revision20260728: "",
	} {
		synctest.Test(t, func(t *testing.T) {
			serve := script(func(say func(string), id json.RawMessage, method, _ string) {
				switch method {
				case "server/discover":
					say(unknown(id))
				case "initialize":
					say(result(id, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`))
				case "tools/call":
					say(`{"jsonrpc":"2.0","id":` + string(id) + `0,"method":"elicitation/create","params":{"mode":"url","message":"?","url":"https://x","elicitationId":"e"}}`)
				case "": // the answer
					for _, e := range []string{"other", "e"} {
						say(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"` + e + `"}}`)
					}
					say(result(id[:len(id)-1], `{"content":[]}`))
				}
			})
			c, err := stdio.NewClient(stdio.ClientConfig{Dial: func(context.Context) (io.ReadWriteCloser, error) { return ways.Dial(serve, ways.All), nil }})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			edit := []func(*protocol.Meta){capabilities(`{"elicitation":{"url":{}}}`), func(m *protocol.Meta) { m.Revision = rev }}
			in, key := wantInput(t, c, request("tools/call", `{"name":"x"}`, edit...), protocol.Discard)
			got, notes := ask(t, c, request("tools/call", retry("x", in.State, key, `{"action":"accept"}`), edit...))
			if got != `complete {"content":[]}` || notes != want {
				t.Errorf("%s: %s, %q", rev, got, notes)
			}
		})
	}
}

// TestExecution: tools of a modern server that has tasks say so to clients that
// have to be told.
func TestExecution(t *testing.T) {
	t.Parallel()
	const tools = `{"tools":[{"name":"a"},{"name":"b","execution":{"taskSupport":"forbidden"}},1],"x":1.0}`
	for _, tt := range []struct{ capabilities, revision, want string }{
		{follows, "2025-11-25", `{"tools":[{"name":"a","execution":{"taskSupport":"optional"}},{"name":"b","execution":{"taskSupport":"forbidden"}},1],"x":1.0}`},
		{follows, "2025-06-18", tools},
		{follows, "2026-07-28", tools},
		{`{}`, "2025-11-25", tools},
	} {
		serve := script(func(say func(string), id json.RawMessage, method, _ string) {
			if method == "server/discover" {
				say(result(id, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":`+tt.capabilities+`}`))
				return
			}
			say(result(id, tools))
		})
		c, err := stdio.NewClient(stdio.ClientConfig{Dial: func(context.Context) (io.ReadWriteCloser, error) { return ways.Dial(serve, ways.All), nil }})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		rev := func(m *protocol.Meta) { m.Revision = protocol.Revision(tt.revision) }
		ask(t, c, request("server/discover", "", rev))
		if got, _ := ask(t, c, request("tools/list", "", rev)); got != "complete "+tt.want {
			t.Errorf("%s: %s, want %s", tt.revision, got, tt.want)
		}
	}
}
