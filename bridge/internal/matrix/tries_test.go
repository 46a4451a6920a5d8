package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

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

// holds returns that it works where a result holds a text.
func holds(res *protocol.Result, err error, text string) (outcome, error) {
	switch {
	case err != nil:
		return refusalOf(err)
	case !strings.Contains(string(res.Body), text):
		return "", fmt.Errorf("%s result %s, want %s in it", res.Type, res.Body, text)
	default:
		return works, nil
	}
}

// refusalOf names errors that are answers.
func refusalOf(err error) (outcome, error) {
	fault, ok := errors.AsType[*protocol.Error](err)
	if !ok {
		return "", err
	}
	var original struct{ Code int }
	_ = json.Unmarshal(fault.Data, &original) // data of another shape is no original
	switch {
	case fault.Code == protocol.CodeMissingClientCapability:
		return refused, nil
	case fault.Code == protocol.CodeInvalidParams && original.Code == protocol.CodeMissingClientCapability:
		return refusedOlder, nil
	case strings.Contains(fault.Message, "the client does not support ") &&
		(fault.Code == protocol.CodeMethodNotFound || fault.Code == protocol.CodeInvalidParams):
		return refusedAsked, nil
	case fault.Code == protocol.CodeMethodNotFound:
		return unknown, nil
	}
	return "", fmt.Errorf("%w, data %s", err, fault.Data)
}

// asks wants a text in the result of a request.
func asks(method, params, text string) attempt {
	return func(ctx context.Context, c protocol.Handler, _ *fixture) (outcome, error) {
		res, err := c.Handle(ctx, request(method, params), protocol.Discard)
		return holds(res, err, text)
	}
}

// all returns the first outcome of several attempts that do not work.
func all(attempts ...attempt) attempt {
	return func(ctx context.Context, c protocol.Handler, f *fixture) (outcome, error) {
		for _, try := range attempts {
			if got, err := try(ctx, c, f); err != nil || got != works {
				return got, err
			}
		}
		return works, nil
	}
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

func tryProgress(ctx context.Context, c protocol.Handler, _ *fixture) (outcome, error) {
	h := make(heard, 16)
	r := request(protocol.MethodCallTool, `{"_meta":{"progressToken":"tok\u0065n"},"name":"progress"}`)
	r.Meta.ProgressToken = json.RawMessage(`"tok\u0065n"`)
	res, err := c.Handle(ctx, r, h)
	for i := 1; i <= 2 && err == nil; i++ {
		err = h.expect(ctx, protocol.NotificationProgress, fmt.Sprintf(`{"progressToken":"token","progress":%d,"total":2}`, i))
	}
	return holds(res, err, `"text":"done"`)
}

// tryLog calls until it hears a log message. While a call that another client
// has left is still being cancelled, nobody can tell whose a log message is that
// comes from a server which has one session for all.
func tryLog(ctx context.Context, c protocol.Handler, _ *fixture) (outcome, error) {
	h := make(heard, 16)
	r := request(protocol.MethodCallTool, `{"name":"log"}`)
	r.Meta.LogLevel = protocol.LogInfo
	for {
		res, err := c.Handle(ctx, r, h)
		if err == nil && len(h) == 0 {
			continue
		}
		if err == nil {
			err = h.expect(ctx, protocol.NotificationMessage, `{"level":"info","data":"a line"}`)
		}
		return holds(res, err, `"text":"logged"`)
	}
}

func tryCancel(ctx context.Context, c protocol.Handler, f *fixture) (outcome, error) {
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

func tryError(ctx context.Context, c protocol.Handler, _ *fixture) (outcome, error) {
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

// tryMissing reads what is not there. Revisions before 2026-07-28 have a code of
// its own for that.
func tryMissing(ctx context.Context, c protocol.Handler, _ *fixture) (outcome, error) {
	_, err := c.Handle(ctx, request(protocol.MethodReadResource, `{"uri":"test://none"}`), protocol.Discard)
	fault, ok := errors.AsType[*protocol.Error](err)
	if !ok || fault.Code != protocol.CodeInvalidParams || string(fault.Data) != `{"uri":"test://none"}` {
		return "", fmt.Errorf("the error for a missing resource is %w", err)
	}
	return works, nil
}

// tryStrange calls with what no revision defines.
func tryStrange(ctx context.Context, c protocol.Handler, _ *fixture) (outcome, error) {
	res, err := c.Handle(ctx, request(protocol.MethodCallTool, `{"_meta":{"example.com/q":[1.0]},"name":"strange"}`), protocol.Discard)
	if err == nil && !strings.Contains(string(res.Meta), `"example.com/m":[1.0]`) {
		return "", fmt.Errorf("_meta of the result: %s", res.Meta)
	}
	return all(
		func(context.Context, protocol.Handler, *fixture) (outcome, error) {
			return holds(res, err, strangeBlock)
		},
		func(context.Context, protocol.Handler, *fixture) (outcome, error) {
			return holds(res, err, strangeMember)
		},
	)(ctx, c, nil)
}

// tryStructured wants data that is no object, or a text in its place.
func tryStructured(ctx context.Context, c protocol.Handler, _ *fixture) (outcome, error) {
	list, err := c.Handle(ctx, request(protocol.MethodListTools, `{}`), protocol.Discard)
	if err != nil {
		return "", err
	}
	res, err := c.Handle(ctx, request(protocol.MethodCallTool, `{"name":"structured"}`), protocol.Discard)
	if err != nil {
		return "", err
	}
	schema := strings.Contains(string(list.Body), `"outputSchema"`)
	switch body := string(res.Body); {
	case schema && strings.Contains(body, `"structuredContent":[1.0,null]`):
		return works, nil
	case !schema && body == `{"content":[{"type":"text","text":"[1.0,null]"}]}`:
		return asText, nil
	default:
		return "", fmt.Errorf("schema: %t, result %s", schema, res.Body)
	}
}

// tryUnasked calls a tool that asks, as a client that cannot be asked.
func tryUnasked(ctx context.Context, c protocol.Handler, _ *fixture) (outcome, error) {
	r := request(protocol.MethodCallTool, `{"name":"form"}`)
	r.Meta.Capabilities = json.RawMessage(`{}`)
	res, err := c.Handle(ctx, r, protocol.Discard)
	if err == nil {
		return "", fmt.Errorf("%s result %s", res.Type, res.Body)
	}
	return refusalOf(err)
}

// tryQuestion answers what a server asks.
func tryQuestion(name string) attempt {
	return func(ctx context.Context, c protocol.Handler, _ *fixture) (outcome, error) {
		q := questions[name]
		res, err := c.Handle(ctx, request(protocol.MethodCallTool, `{"name":"`+name+`"}`), protocol.Discard)
		if err != nil {
			return refusalOf(err)
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
			return refusalOf(err)
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
func tryListen(filter, method, params string, wants func(*listener) bool) attempt {
	return func(ctx context.Context, c protocol.Handler, f *fixture) (outcome, error) {
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
			return refusalOf(err)
		}
		return works, nil
	}
}

func tryTask(ctx context.Context, c protocol.Handler, _ *fixture) (outcome, error) {
	res, err := c.Handle(ctx, request(protocol.MethodCallTool, `{"name":"task"}`), protocol.Discard)
	if err != nil || res.Type != protocol.ResultTask {
		if got, err := holds(res, err, `"text":"done at once"`); err != nil || got != works {
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
			return refusalOf(err)
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
