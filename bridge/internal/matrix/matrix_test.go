// Package matrix puts the bridge between clients and servers of every revision
// over every transport, and tries everything that MCP has.
package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcp-bridge/mcp-bridge/internal/ways"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience ends what hangs.
const patience = 30 * time.Second

// What comes of a feature.
const (
	works   = "yes"
	refused = "refused" // with an error for a missing capability
	atOnce  = "at once" // the result of what could have been a task
)

// feature is something that client and server do with each other.
type feature struct {
	name string
	// since is the first revision that has it, on either side.
	since protocol.Revision
	// without is what comes of it where a side does not have it.
	without string
	try     func(ctx context.Context, c protocol.Handler, f *fixture) (string, error)
}

var features = []feature{
	{name: "list", try: asks(protocol.MethodListTools, `{}`, `"name":"echo"`)},
	{name: "call", try: asks(protocol.MethodCallTool, `{"name":"echo","arguments":{"text":"hé"}}`, `"text":"hé"`)},
	{name: "progress", try: tryProgress},
	{name: "log", try: tryLog},
	{name: "cancel", try: tryCancel},
	{name: "error", try: tryError},
	{name: "elicitation, form", since: protocol.Revision20250618, without: refused, try: tryQuestion("form")},
	{name: "elicitation, url", since: protocol.Revision20251125, without: refused, try: tryQuestion("url")},
	{name: "sampling with tools", since: protocol.Revision20251125, without: refused, try: tryQuestion("sample")},
	{name: "roots", try: tryQuestion("roots")},
	{name: "resources", try: tryResources},
	{name: "resource subscription", try: tryListen(
		`{"resourceSubscriptions":["`+resourceURI+`"]}`, protocol.NotificationResourceUpdated, `{"uri":"`+resourceURI+`"}`,
		func(l *listener) bool { return l.uris[resourceURI] })},
	{name: "list_changed", try: tryListen(
		`{"toolsListChanged":true}`, protocol.NotificationToolsChanged, ``, func(l *listener) bool { return l.tools })},
	{name: "prompts", try: tryPrompts},
	{name: "completion", since: "2024-11-05", try: asks(protocol.MethodComplete,
		`{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"A"}}`, `"values":["Ann"]`)},
	{name: "task", since: protocol.Revision20251125, without: atOnce, try: tryTask},
}

// everything is what a client can declare.
const everything = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

func request(method, params string) *protocol.Request {
	return &protocol.Request{
		Method: method,
		Params: json.RawMessage(params),
		Caller: &protocol.Caller{Transport: "test"},
		Meta: protocol.Meta{
			Revision:     protocol.Revision20260728,
			Capabilities: json.RawMessage(everything),
			ClientInfo:   json.RawMessage(`{"name":"matrix","version":"1"}`),
		},
	}
}

// want returns what works where a result holds a text.
func want(res *protocol.Result, err error, text string) (string, error) {
	switch {
	case err != nil:
		return outcome(err)
	case !strings.Contains(string(res.Body), text):
		return "", fmt.Errorf("%s result %s, want %s in it", res.Type, res.Body, text)
	default:
		return works, nil
	}
}

// outcome names errors that are answers.
func outcome(err error) (string, error) {
	if fault, ok := errors.AsType[*protocol.Error](err); ok {
		// Legacy revisions have no code for it: the original is in data.
		var original struct{ Code int }
		_ = json.Unmarshal(fault.Data, &original) // data of another shape is no original
		if protocol.CodeMissingClientCapability == fault.Code || protocol.CodeMissingClientCapability == original.Code {
			return refused, nil
		}
		// A legacy server over stdio has one session for all clients. It asks,
		// and hears that the client cannot answer.
		if strings.Contains(fault.Message, "the client does not support ") {
			return refused, nil
		}
		return "", fmt.Errorf("%w, data %s", err, fault.Data)
	}
	return "", err
}

func asks(method, params, text string) func(context.Context, protocol.Handler, *fixture) (string, error) {
	return func(ctx context.Context, c protocol.Handler, _ *fixture) (string, error) {
		res, err := c.Handle(ctx, request(method, params), protocol.Discard)
		return want(res, err, text)
	}
}

// all returns the first outcome that is not "yes".
func all(ctx context.Context, c protocol.Handler, f *fixture, tries ...func(context.Context, protocol.Handler, *fixture) (string, error)) (string, error) {
	for _, try := range tries {
		if got, err := try(ctx, c, f); err != nil || got != works {
			return got, err
		}
	}
	return works, nil
}

func tryResources(ctx context.Context, c protocol.Handler, f *fixture) (string, error) {
	return all(ctx, c, f,
		asks(protocol.MethodListResources, `{}`, `"uri":"`+resourceURI+`"`),
		asks(protocol.MethodListTemplates, `{}`, `"uriTemplate":"test://notes/{id}"`),
		asks(protocol.MethodReadResource, `{"uri":"`+resourceURI+`"}`, `"text":"the text"`))
}

func tryPrompts(ctx context.Context, c protocol.Handler, f *fixture) (string, error) {
	return all(ctx, c, f,
		asks(protocol.MethodListPrompts, `{}`, `"name":"greet"`),
		asks(protocol.MethodGetPrompt, `{"name":"greet","arguments":{"who":"Ann"}}`, `"text":"Greet them."`))
}

// heard collects notifications.
type heard chan *protocol.Notification

func (h heard) Notify(ctx context.Context, n *protocol.Notification) error {
	select {
	case h <- n:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// next returns the next notification, without its _meta.
func (h heard) next(ctx context.Context) (method, params string, err error) {
	select {
	case n := <-h:
		if n.Params == nil {
			return n.Method, "", nil
		}
		return n.Method, string(protocol.WithoutMember(n.Params, "_meta")), nil
	case <-ctx.Done():
		return "", "", fmt.Errorf("no notification: %w", context.Cause(ctx))
	}
}

// expect fails where the next notification is another one.
func (h heard) expect(ctx context.Context, method, params string) error {
	gotMethod, gotParams, err := h.next(ctx)
	if err != nil {
		return err
	}
	if gotMethod != method || !sameJSON(gotParams, params) {
		return fmt.Errorf("notification %s %s, want %s %s", gotMethod, gotParams, method, params)
	}
	return nil
}

func sameJSON(a, b string) bool {
	var x, y any
	if a == "" || a == "{}" {
		return b == "" || b == "{}"
	}
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return string(p) == string(q)
}

func tryProgress(ctx context.Context, c protocol.Handler, _ *fixture) (string, error) {
	h := make(heard, 16)
	r := request(protocol.MethodCallTool, `{"_meta":{"progressToken":"tok\u0065n"},"name":"progress"}`)
	r.Meta.ProgressToken = json.RawMessage(`"tok\u0065n"`)
	res, err := c.Handle(ctx, r, h)
	for i := 1; i <= 2 && err == nil; i++ {
		err = h.expect(ctx, protocol.NotificationProgress, fmt.Sprintf(`{"progressToken":"token","progress":%d,"total":2}`, i))
	}
	return want(res, err, `"text":"done"`)
}

func tryLog(ctx context.Context, c protocol.Handler, _ *fixture) (string, error) {
	h := make(heard, 16)
	r := request(protocol.MethodCallTool, `{"name":"log"}`)
	r.Meta.LogLevel = protocol.LogInfo
	res, err := c.Handle(ctx, r, h)
	if err == nil {
		err = h.expect(ctx, protocol.NotificationMessage, `{"level":"info","data":"a line"}`)
	}
	return want(res, err, `"text":"logged"`)
}

func tryCancel(ctx context.Context, c protocol.Handler, f *fixture) (string, error) {
	why := errors.New("changed my mind")
	call, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() {
		_, err := c.Handle(call, request(protocol.MethodCallTool, `{"name":"block"}`), protocol.Discard)
		done <- err
	}()
	select {
	case <-f.blocked:
		cancel(why)
	case err := <-done:
		return "", fmt.Errorf("the call ended: %w", err)
	}
	if err := <-done; err == nil {
		return "", errors.New("the call came to an end")
	}
	select {
	case <-f.ended:
		return works, nil
	case <-ctx.Done():
		return "", errors.New("the server goes on")
	}
}

func tryError(ctx context.Context, c protocol.Handler, _ *fixture) (string, error) {
	_, err := c.Handle(ctx, request(protocol.MethodCallTool, `{"name":"fail"}`), protocol.Discard)
	fault, ok := errors.AsType[*protocol.Error](err)
	if !ok {
		return "", fmt.Errorf("no error of JSON-RPC: %w", err)
	}
	if fault.Code != 4711 || fault.Message != "It does not work." || string(fault.Data) != `{"why":[1.0,null]}` {
		return "", fmt.Errorf("%w, data %s", fault, fault.Data)
	}
	return works, nil
}

// tryQuestion answers what a server asks.
func tryQuestion(name string) func(context.Context, protocol.Handler, *fixture) (string, error) {
	return func(ctx context.Context, c protocol.Handler, _ *fixture) (string, error) {
		q := questions[name]
		res, err := c.Handle(ctx, request(protocol.MethodCallTool, `{"name":"`+name+`"}`), protocol.Discard)
		if err != nil {
			return outcome(err)
		}
		var in struct {
			InputRequests map[string]struct {
				Method string
				Params json.RawMessage
			}
			RequestState string
		}
		if res.Type != protocol.ResultInputRequired || json.Unmarshal(res.Body, &in) != nil || len(in.InputRequests) != 1 {
			return "", fmt.Errorf("%s result %s, want a question", res.Type, res.Body)
		}
		for key, asked := range in.InputRequests {
			if asked.Method != q.method || !asksFor(asked.Params, q.params) {
				return "", fmt.Errorf("asked for %s %s", asked.Method, asked.Params)
			}
			res, err = c.Handle(ctx, request(protocol.MethodCallTool,
				fmt.Sprintf(`{"name":%q,"inputResponses":{%q:%s},"requestState":%q}`, name, key, q.answer, in.RequestState)), protocol.Discard)
		}
		if err != nil {
			return outcome(err)
		}
		var got struct{ Content []struct{ Text string } }
		if json.Unmarshal(res.Body, &got) != nil || len(got.Content) != 1 || !sameJSON(got.Content[0].Text, q.answer) {
			return "", fmt.Errorf("%s result %s, want the answer %s", res.Type, res.Body, q.answer)
		}
		return works, nil
	}
}

// asksFor reports whether params have all members of want, but for the mode,
// which the first revision with elicitation does not have.
func asksFor(params json.RawMessage, want string) bool {
	var got, wanted map[string]json.RawMessage
	if json.Unmarshal(params, &got) != nil || json.Unmarshal([]byte(want), &wanted) != nil {
		return false
	}
	for name, value := range wanted {
		if name != "mode" && !sameJSON(string(got[name]), string(value)) {
			return false
		}
	}
	return true
}

// tryListen listens for one notification.
func tryListen(filter, method, params string, wants func(*listener) bool) func(context.Context, protocol.Handler, *fixture) (string, error) {
	return func(ctx context.Context, c protocol.Handler, f *fixture) (string, error) {
		h := make(heard, 16)
		listening, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() {
			_, err := c.Handle(listening, request(protocol.MethodListen, `{"notifications":`+filter+`}`), h)
			done <- err
		}()
		err := func() error {
			select {
			case err := <-done:
				done <- nil
				return fmt.Errorf("the stream ended: %w", err)
			case n := <-h:
				if n.Method != protocol.NotificationAcknowledged || !sameJSON(string(protocol.WithoutMember(n.Params, "_meta")), `{"notifications":`+filter+`}`) {
					return fmt.Errorf("acknowledged by %s %s", n.Method, n.Params)
				}
			}
			note := &protocol.Notification{Method: method}
			if params != "" {
				note.Params = json.RawMessage(params)
			}
			if err := f.tell(ctx, note, wants); err != nil {
				return err
			}
			return h.expect(ctx, method, params)
		}()
		stop()
		<-done
		if err != nil {
			return outcome(err)
		}
		return works, nil
	}
}

func tryTask(ctx context.Context, c protocol.Handler, _ *fixture) (string, error) {
	res, err := c.Handle(ctx, request(protocol.MethodCallTool, `{"name":"task"}`), protocol.Discard)
	if err != nil || res.Type != protocol.ResultTask {
		if got, err := want(res, err, `"text":"done at once"`); err != nil || got != works {
			return got, err
		}
		return atOnce, nil
	}
	var task struct {
		TaskID, Status string
		Result         json.RawMessage
	}
	for task.Status != "completed" {
		if err := json.Unmarshal(res.Body, &task); err != nil || task.TaskID == "" {
			return "", fmt.Errorf("task %s", res.Body)
		}
		if res, err = c.Handle(ctx, request(protocol.MethodGetTask, fmt.Sprintf(`{"taskId":%q}`, task.TaskID)), protocol.Discard); err != nil {
			return outcome(err)
		}
		if err := json.Unmarshal(res.Body, &task); err != nil {
			return "", err
		}
	}
	if !strings.Contains(string(task.Result), "done by a task") {
		return "", fmt.Errorf("result %s", res.Body)
	}
	return works, nil
}

// expected is what comes of a feature between two revisions.
func (f feature) expected(client, server ways.Way) string {
	if min(client.Revision, server.Revision) < string(f.since) {
		return f.without
	}
	return works
}

// TestMatrix tries every feature of every client with every server. Clients of
// one server come one after the other, as to a bridge that goes on running.
func TestMatrix(t *testing.T) {
	t.Parallel()
	for _, server := range allWays() {
		t.Run("to "+server.String(), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			end := newNode(t, f)
			middle := newNode(t, end.connect(t, server))
			for _, client := range allWays() {
				t.Run("from "+client.String(), func(t *testing.T) {
					c := middle.connect(t, client)
					defer middle.seen(t, client)
					defer end.seen(t, server)
					for _, feature := range features {
						ctx, cancel := context.WithTimeout(t.Context(), patience)
						got, err := feature.try(ctx, c, f)
						cancel()
						if expected := feature.expected(client, server); err != nil {
							t.Errorf("%s: %v, want %q", feature.name, err, expected)
						} else if got != expected {
							t.Errorf("%s: %q, want %q", feature.name, got, expected)
						}
					}
				})
			}
		})
	}
}
