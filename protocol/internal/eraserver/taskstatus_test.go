package eraserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eraserver"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// collected is a notifier that keeps what it gets, as text.
type collected chan string

func (c collected) Notify(_ context.Context, n *protocol.Notification) error {
	c <- n.Method + " " + string(n.Params)
	return nil
}

func (c collected) all() string {
	var list []string
	for len(c) > 0 {
		list = append(list, <-c)
	}
	return strings.Join(list, "\n")
}

// A client that is asked something hears meanwhile that its call goes on, if it
// wants to hear of progress.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	progress := func(ctx context.Context, n protocol.Notifier, value string) error {
		return n.Notify(ctx, &protocol.Notification{Method: "notifications/progress", Params: json.RawMessage(`{"progressToken":"p","progress":` + value + `}`)})
	}
	h := protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
		switch {
		case r.Method == protocol.MethodDiscover:
			return &protocol.Result{Body: json.RawMessage(`{"capabilities":{}}`)}, nil
		case strings.Contains(string(r.Params), "requestState"):
			for _, value := range []string{"5.0009765625", "6"} {
				if err := progress(ctx, n, value); err != nil {
					return nil, err
				}
			}
			return &protocol.Result{Body: json.RawMessage(`{"content":[]}`)}, nil
		}
		if err := progress(ctx, n, "5"); err != nil {
			return nil, err
		}
		return &protocol.Result{Type: protocol.ResultInputRequired, Body: json.RawMessage(`{"inputRequests":` + roots + `,"requestState":"s"}`)}, nil
	})
	for name, tt := range map[string]struct{ meta, want string }{
		"token": {`,"_meta":{"progressToken":"p"}`, strings.Join([]string{
			`notifications/progress {"progressToken":"p","progress":5}`,
			`notifications/progress {"progressToken":"p","progress":5.0009765625}`,
			`notifications/progress {"progressToken":"p","progress":5.001953125}`,
			`notifications/progress {"progressToken":"p","progress":6}`,
		}, "\n")},
		"none": {``, strings.Join([]string{ // the server sends what nobody has asked for
			`notifications/progress {"progressToken":"p","progress":5}`,
			`notifications/progress {"progressToken":"p","progress":5.0009765625}`,
			`notifications/progress {"progressToken":"p","progress":6}`,
		}, "\n")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := newServer(t, h)
				defer server.Close()
				session, stream, sent := askable(t, server)
				defer session.Close()
				notes := make(collected, 100)
				stream.Notifier = notes
				go func() {
					m := parse(t, <-sent)
					time.Sleep(40 * time.Second) //nolint:forbidigo // of the bubble's time
					session.Answered(&jsonrpc.Message{ID: m.ID, Result: json.RawMessage(`{"roots":[]}`)})
				}()
				call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"` + tt.meta + `}}`
				if got := string(session.Call(t.Context(), parse(t, call), caller, stream).Body); !strings.Contains(got, `"result":{"content":[]}`) {
					t.Errorf("the call gives %s", got)
				}
				if got := notes.all(); got != tt.want {
					t.Errorf("the client hears\n%s\nwant\n%s", got, tt.want)
				}
			})
		})
	}
}

// A client that has agreed to open a URL is told once the server has gone on.
func TestElicitationComplete(t *testing.T) {
	t.Parallel()
	session, stream, sent := askable(t, newServer(t, prototest.NewHandler()))
	login := `{"q":{"method":"elicitation/create","params":{"mode":"url","message":"?","url":"https://x"%s}}}`
	for name, tt := range map[string]struct {
		rounds, answer string
		told           bool
	}{
		"accepted": {fmt.Sprintf(login, ""), `{"action":"accept"}`, true},
		"declined": {fmt.Sprintf(login, ""), `{"action":"decline"}`, false},
		// The server's own id is the server's affair.
		"with an id": {fmt.Sprintf(login, `,"elicitationId":"e"`), `{"action":"accept"}`, false},
	} {
		notes := make(collected, 10)
		stream.Notifier = notes
		done := make(chan string, 1)
		go func() {
			done <- string(session.Call(t.Context(), parse(t, rounds(tt.rounds)), caller, stream).Body)
		}()
		m := parse(t, <-sent)
		var asked struct{ ElicitationID string }
		if err := json.Unmarshal(m.Params, &asked); err != nil || asked.ElicitationID == "" {
			t.Errorf("%s: asked %s", name, m.Params)
		}
		session.Answered(&jsonrpc.Message{ID: m.ID, Result: json.RawMessage(tt.answer)})
		if got := <-done; !strings.Contains(got, `"result":`) {
			t.Errorf("%s: %s", name, got)
		}
		want := ""
		if tt.told {
			want = `notifications/elicitation/complete {"elicitationId":"` + asked.ElicitationID + `"}`
		}
		if got := notes.all(); got != want {
			t.Errorf("%s: the client hears %q, want %q", name, got, want)
		}
	}
}

// taskTeller is a server whose every call becomes a task, of which it tells what
// the test says.
type taskTeller struct {
	states   chan string
	grants   bool
	made     int
	listened chan string
	ended    chan struct{}
}

func (h *taskTeller) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	switch r.Method {
	case protocol.MethodDiscover:
		return &protocol.Result{Body: json.RawMessage(`{"capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`)}, nil
	case protocol.MethodCallTool:
		h.made++
		return &protocol.Result{Type: protocol.ResultTask, Body: teller(h.made, "working", "")}, nil
	case protocol.MethodGetTask:
		return &protocol.Result{Body: teller(1, "working", "")}, nil
	case protocol.MethodCancelTask:
		return &protocol.Result{}, nil
	}
	h.listened <- r.Caller.Header.Get("Authorization") + string(r.Params)
	defer func() { h.ended <- struct{}{} }()
	ack := r.Params
	if !h.grants {
		ack = json.RawMessage(`{"notifications":{}}`)
	}
	if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationAcknowledged, Params: ack}); err != nil {
		return nil, err
	}
	for {
		select {
		case state := <-h.states:
			if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationTask, Params: json.RawMessage(state)}); err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func teller(n int, status, more string) json.RawMessage {
	return fmt.Appendf(nil, `{"taskId":"t%d","status":%q,"createdAt":"c","lastUpdatedAt":"u","ttlMs":5%s}`, n, status, more)
}

// A client of 2025-11-25 is told of the changes of tasks that it has asked for.
func TestTaskStatus(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T, h *taskTeller) (*eraserver.Session, <-chan string) {
		h.states, h.listened, h.ended = make(chan string), make(chan string, 100), make(chan struct{}, 100)
		server := newServer(t, h)
		t.Cleanup(server.Close)
		posts := make(chan string, 100)
		session, _, fault := server.Open(t.Context(), initialize(params("2025-11-25")), caller, func(n *protocol.Notification) { posts <- n.Method + " " + string(n.Params) })
		if fault != nil {
			t.Fatal(fault)
		}
		t.Cleanup(session.Close)
		return session, posts
	}
	call := func(t *testing.T, session *eraserver.Session) {
		t.Helper()
		const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","task":{},"_meta":{"progressToken":1}}}`
		if got := string(session.Call(t.Context(), parse(t, text), caller, eraserver.Stream{Notifier: protocol.Discard}).Body); !strings.Contains(got, `"result":{"task":{`) {
			t.Errorf("the call gives %s", got)
		}
	}
	t.Run("changes", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			h := &taskTeller{grants: true}
			session, posts := begin(t, h)
			call(t, session)
			if got := <-h.listened; got != `{"notifications":{"taskIds":["t1"]}}` {
				t.Errorf("listens for %s", got)
			}
			h.states <- string(teller(1, "working", "")) // as it was
			h.states <- string(teller(1, "working", `,"statusMessage":"on it"`))
			h.states <- string(teller(1, "completed", `,"result":{"content":[],"isError":true}`))
			<-h.ended
			var got []string
			for len(posts) > 0 {
				got = append(got, <-posts)
			}
			want := []string{
				`notifications/tasks/status {"taskId":"t1","createdAt":"c","lastUpdatedAt":"u","ttl":5,"statusMessage":"on it","status":"working"}`,
				`notifications/tasks/status {"taskId":"t1","createdAt":"c","lastUpdatedAt":"u","ttl":5,"status":"failed"}`,
			}
			if !slices.Equal(got, want) {
				t.Errorf("the client is told %q, want %q", got, want)
			}
		})
	})
	t.Run("bounded, and ended with the session", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			h := &taskTeller{grants: true}
			session, _ := begin(t, h)
			for range 20 {
				call(t, session)
			}
			synctest.Wait()
			if len(h.listened) != 16 {
				t.Errorf("%d tasks are listened for, want 16", len(h.listened))
			}
			session.Close()
			for range 16 {
				<-h.ended
			}
			call(t, session)
			synctest.Wait()
			if len(h.listened) != 16 {
				t.Error("a session that has ended listens")
			}
		})
	})
	t.Run("not granted", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			h := &taskTeller{}
			session, posts := begin(t, h)
			call(t, session)
			<-h.ended
			if len(posts) > 0 {
				t.Errorf("the client is told %s", <-posts)
			}
		})
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			h := &taskTeller{grants: true}
			session, posts := begin(t, h)
			call(t, session)
			if _, fault := ask(t.Context(), t, session, "tasks/cancel", `{"taskId":"t1"}`); fault != nil {
				t.Error(fault)
			}
			h.states <- string(teller(1, "completed", `,"result":{"content":[]}`))
			<-h.ended
			if len(posts) > 0 {
				t.Errorf("the client is told %s", <-posts)
			}
		})
	})
}
