package prototest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Handler is a scripted protocol.Handler. Its tools do one thing each:
//
//   - echo: returns its arguments as text, byte for byte.
//   - progress: sends {"count": n} progress notifications.
//   - block: waits until its context ends.
//   - wait: sends one progress notification, and waits for [Handler.Release] or
//     until its context ends.
//   - panic: panics.
//   - fail: returns the error {"code": n, "message": s, "data": any}.
//   - plain: returns an error that is no *protocol.Error.
//   - nothing: returns neither a result nor an error.
//   - log: sends a log message of {"level": s}, if the caller wants it.
//   - whoami: returns the caller's Authorization header.
//   - meta: returns what the request says about itself.
//   - login: returns an error with a challenge.
//   - late: keeps its Notifier for [Handler.NotifyLate].
//   - input: wants the input of each of {"rounds": [inputRequests]} in turn,
//     null for a retry alone, and then returns the inputResponses. Without
//     rounds it wants one retry.
//   - object: returns structured content.
//   - task: returns a task with the id {"id": s}, which says what becomes of it.
//   - only_task: the same, for clients that can follow tasks.
type Handler struct {
	started  chan string
	causes   chan error
	released chan struct{}

	mu        sync.Mutex
	listeners map[chan *protocol.Notification][]string // with the resources they follow
	listening chan struct{}                            // closed and replaced whenever listeners changes
	endListen chan struct{}
	late      []lateNotifier
	listCalls int
	asked     map[string]int             // how often for each task
	answers   map[string]json.RawMessage // that each task has got
}

type lateNotifier struct {
	ctx context.Context //nolint:containedctx // kept to be misused
	n   protocol.Notifier
}

var _ protocol.Handler = (*Handler)(nil)

// NewHandler returns a Handler.
func NewHandler() *Handler {
	return &Handler{
		started:   make(chan string, 1024),
		causes:    make(chan error, 1024),
		released:  make(chan struct{}),
		listeners: make(map[chan *protocol.Notification][]string),
		listening: make(chan struct{}),
		endListen: make(chan struct{}),
		asked:     make(map[string]int),
		answers:   make(map[string]json.RawMessage),
	}
}

// Started yields the name of a tool each time that block or wait begin, and the
// method and id of every change that a task is asked for.
func (h *Handler) Started() <-chan string { return h.started }

// Causes yields why each context of block, wait or subscriptions/listen ended.
func (h *Handler) Causes() <-chan error { return h.causes }

// Release lets one call of wait go on.
func (h *Handler) Release() { h.released <- struct{}{} }

// Trigger sends a change notification to all who listen. It waits for one who
// does.
func (h *Handler) Trigger(method string) {
	for {
		h.mu.Lock()
		n := len(h.listeners)
		changed := h.listening
		for c := range h.listeners {
			c <- &protocol.Notification{Method: method}
		}
		h.mu.Unlock()
		if n > 0 {
			return
		}
		<-changed
	}
}

// Update sends a notification that a resource has changed to all who follow it.
func (h *Handler) Update(uri string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c, uris := range h.listeners {
		if slices.Contains(uris, uri) {
			c <- &protocol.Notification{Method: protocol.NotificationResourceUpdated, Params: object("uri", json.RawMessage(quote(uri)))}
		}
	}
}

// Followed returns the resources that each open subscriptions/listen request
// asks for.
func (h *Handler) Followed() [][]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all [][]string
	for _, uris := range h.listeners {
		if len(uris) > 0 {
			all = append(all, uris)
		}
	}
	return all
}

// Listeners returns how many subscriptions/listen requests are open, and a
// channel that is closed once that changes.
func (h *Handler) Listeners() (int, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.listeners), h.listening
}

// ListenCalls returns how many subscriptions/listen requests there have been.
func (h *Handler) ListenCalls() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.listCalls
}

// EndListen ends one subscriptions/listen request from the server's side.
func (h *Handler) EndListen() { h.endListen <- struct{}{} }

// NotifyLate sends a progress notification on behalf of a call of late, which
// is long over, and returns the Notifier's error.
func (h *Handler) NotifyLate(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for _, l := range h.late {
		note := &protocol.Notification{Method: protocol.NotificationProgress, Params: json.RawMessage(`{"progressToken":"late","progress":1}`)}
		errs = append(errs, l.n.Notify(l.ctx, note), l.n.Notify(ctx, note))
	}
	return errors.Join(errs...)
}

// Implementation objects and the like, as fronts pass them on.
var (
	server  = json.RawMessage(`{"name":"prototest","version":"1"}`)
	private = &protocol.Cache{Private: true}
)

// Handle answers the methods that the transcripts use.
func (h *Handler) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	switch r.Method {
	case protocol.MethodDiscover:
		return &protocol.Result{Server: server, Cache: private, Body: json.RawMessage(
			`{"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],` +
				`"capabilities":{"tools":{"listChanged":true},"logging":{},"extensions":{"io.modelcontextprotocol/tasks":{}}},` +
				`"instructions":"Ask \"me\"."}`)}, nil
	case protocol.MethodListTools:
		return &protocol.Result{Server: server, Cache: private, Body: json.RawMessage(
			"{ \"tools\": [\n{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"}} ] }")}, nil
	case protocol.MethodCallTool:
		return h.call(ctx, r, n)
	case protocol.MethodListen:
		return h.listen(ctx, r, n)
	case protocol.MethodReadResource:
		return &protocol.Result{Cache: private, Body: json.RawMessage(`{"contents":[]}`)}, nil
	case protocol.MethodGetPrompt:
		return &protocol.Result{Body: json.RawMessage(`{"messages":[]}`)}, nil
	case protocol.MethodGetTask, protocol.MethodUpdateTask, protocol.MethodCancelTask:
		return h.tasks(r)
	case "example/echo":
		return &protocol.Result{Body: object("params", r.Params)}, nil
	}
	return nil, protocol.MethodNotFound(r.Method)
}

// listen forwards what Trigger and Update send. Of the resources that it is to
// follow it leaves out those whose URIs begin with "missing:".
func (h *Handler) listen(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	var p struct {
		Notifications map[string]json.RawMessage `json:"notifications"`
	}
	if err := json.Unmarshal(r.Params, &p); err != nil || p.Notifications == nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.notifications is missing")
	}
	var uris []string
	if list, ok := p.Notifications["resourceSubscriptions"]; ok {
		if err := json.Unmarshal(list, &uris); err != nil {
			return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.notifications.resourceSubscriptions: %v", err)
		}
		uris = slices.DeleteFunc(uris, func(uri string) bool { return strings.HasPrefix(uri, "missing:") })
		list, err := json.Marshal(uris)
		if err != nil {
			return nil, err
		}
		p.Notifications["resourceSubscriptions"] = list
	}
	granted, err := json.Marshal(p.Notifications)
	if err != nil {
		return nil, err
	}
	changes := make(chan *protocol.Notification, 1024)
	h.setListener(changes, uris, true)
	defer h.setListener(changes, nil, false)
	note := &protocol.Notification{Method: protocol.NotificationAcknowledged, Params: object("notifications", granted)}
	for {
		if err := n.Notify(ctx, note); err != nil {
			return nil, err
		}
		select {
		case note = <-changes:
		case <-h.endListen:
			return &protocol.Result{}, nil
		case <-ctx.Done():
			h.causes <- context.Cause(ctx)
			return nil, ctx.Err()
		}
	}
}

func (h *Handler) setListener(c chan *protocol.Notification, uris []string, on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if on {
		h.listCalls++
		h.listeners[c] = uris
	} else {
		delete(h.listeners, c)
	}
	close(h.listening)
	h.listening = make(chan struct{})
}

func (h *Handler) call(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	var p struct {
		Name           string          `json:"name"`
		Arguments      json.RawMessage `json:"arguments"`
		RequestState   string          `json:"requestState"`
		InputResponses json.RawMessage `json:"inputResponses"`
	}
	if err := json.Unmarshal(r.Params, &p); err != nil || p.Name == "" {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.name is missing")
	}
	var args struct {
		Count   int             `json:"count"`
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
		Level   string          `json:"level"`
		ID      string          `json:"id"`

		Rounds []json.RawMessage `json:"rounds"`
	}
	if p.Arguments != nil {
		if err := json.Unmarshal(p.Arguments, &args); err != nil {
			return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.arguments: %v", err)
		}
	}
	switch p.Name {
	case "echo":
		return text(string(p.Arguments)), nil
	case "progress":
		for i := range args.Count {
			if r.Meta.ProgressToken == nil {
				break
			}
			params := fmt.Appendf(nil, `{"progressToken":%s,"progress":%d,"total":%d}`, r.Meta.ProgressToken, i+1, args.Count)
			if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationProgress, Params: params}); err != nil {
				return nil, err
			}
		}
		return text("done"), nil
	case "block":
		h.started <- p.Name
		<-ctx.Done()
		h.causes <- context.Cause(ctx)
		return nil, ctx.Err()
	case "wait":
		if r.Meta.ProgressToken != nil {
			params := fmt.Appendf(nil, `{"progressToken":%s,"progress":0}`, r.Meta.ProgressToken)
			if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationProgress, Params: params}); err != nil {
				return nil, err
			}
		}
		h.started <- p.Name
		select {
		case <-h.released:
			return text("released"), nil
		case <-ctx.Done():
			h.causes <- context.Cause(ctx)
			return nil, ctx.Err()
		}
	case "panic":
		panic("the tool panics")
	case "fail":
		return nil, fmt.Errorf("wrapped: %w", &protocol.Error{Code: args.Code, Message: args.Message, Data: args.Data})
	case "plain":
		return nil, errors.New("secret")
	case "nothing":
		return nil, nil //nolint:nilnil // the fault to survive
	case "log":
		level, _ := protocol.ParseLogLevel(args.Level)
		if r.Meta.LogLevel.Wants(level) {
			params := fmt.Appendf(nil, `{"level":%q,"data":"a line"}`, args.Level)
			if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationMessage, Params: params}); err != nil {
				return nil, err
			}
		}
		return text("logged"), nil
	case "whoami":
		return text(r.Caller.Transport + " " + r.Caller.Header.Get("Authorization")), nil
	case "meta":
		return text(fmt.Sprintf("revision %s, capabilities %s, client %s, level %q, token %s, trace %q",
			r.Meta.Revision, r.Meta.Capabilities, r.Meta.ClientInfo, r.Meta.LogLevel, r.Meta.ProgressToken, r.Meta.TraceParent)), nil
	case "login":
		return nil, &protocol.Error{Code: -32001, Message: "who are you?", Challenge: `Bearer realm="r"`}
	case "late":
		h.mu.Lock()
		defer h.mu.Unlock()
		h.late = append(h.late, lateNotifier{ctx, n})
		return text("to be continued"), nil
	case "input":
		return input(args.Rounds, p.RequestState, p.InputResponses)
	case "only_task":
		if fault := needsTasks(r); fault != nil {
			return nil, fault
		}
		fallthrough
	case "task":
		body, err := h.task("working-" + args.ID)
		if err != nil {
			return nil, err
		}
		body = protocol.WithoutMember(body, "taskId")
		body = append([]byte(`{"taskId":`+quote(args.ID)+`,`), body[1:]...)
		return &protocol.Result{Type: protocol.ResultTask, Body: body, Server: server}, nil
	case "object":
		return &protocol.Result{Server: server, Meta: json.RawMessage(`{"example.com/a":[1.0]}`), Body: json.RawMessage(
			`{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1},"isError":false,"example.com/unknown":null}`)}, nil
	}
	return nil, protocol.Errorf(protocol.CodeInvalidParams, "there is no tool %q", p.Name)
}

// input returns what comes after the rounds that state knows of: it is the list
// of their responses.
func input(rounds []json.RawMessage, state string, responses json.RawMessage) (*protocol.Result, error) {
	if len(rounds) == 0 && state == "" {
		return &protocol.Result{Type: protocol.ResultInputRequired, Body: json.RawMessage(`{"requestState":"state"}`)}, nil
	}
	heard := []json.RawMessage{}
	if len(rounds) == 0 {
		return text(state), nil
	}
	if state != "" {
		if err := json.Unmarshal([]byte(state), &heard); err != nil {
			return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.requestState: %v", err)
		}
		if responses == nil {
			responses = json.RawMessage("null")
		}
		heard = append(heard, responses)
	}
	said, err := json.Marshal(heard)
	if err != nil {
		return nil, err
	}
	if len(heard) >= len(rounds) {
		return text(string(said)), nil
	}
	body := `{"requestState":` + quote(string(said))
	if next := rounds[len(heard)]; string(next) != "null" {
		body += `,"inputRequests":` + string(next)
	}
	return &protocol.Result{Type: protocol.ResultInputRequired, Body: json.RawMessage(body + `}`)}, nil
}

func text(s string) *protocol.Result {
	return &protocol.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":` + quote(s) + `}]}`)}
}

func object(key string, value json.RawMessage) json.RawMessage {
	if value == nil {
		value = json.RawMessage("null")
	}
	return json.RawMessage(`{` + strconv.Quote(key) + `:` + string(value) + `}`)
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil { // strings always marshal
		panic(err)
	}
	return string(b)
}
