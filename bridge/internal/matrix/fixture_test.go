package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// fixture is a server with one of everything.
type fixture struct {
	mu        sync.Mutex
	listeners map[*listener]bool
	joined    chan struct{} // closed and replaced when a listener joins
	polls     map[string]int
	tasks     int

	blocked chan struct{} // the tool "block" waits
	ended   chan error    // why it does no longer
}

type listener struct {
	tools bool
	uris  map[string]bool
	notes chan *protocol.Notification
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return &fixture{
		listeners: make(map[*listener]bool),
		joined:    make(chan struct{}),
		polls:     make(map[string]int),
		blocked:   make(chan struct{}, 1),
		ended:     make(chan error, 1),
	}
}

const (
	resourceURI = "test://notes/1"
	taskTool    = `{"name":"task","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}`
	noTask      = `"execution":{"taskSupport":"forbidden"}` // who says nothing can be a task to clients of 2025-11-25
	arrayTool   = `{"name":"structured","inputSchema":{"type":"object"},"outputSchema":{"type":"array"},` + noTask + `}`
	toolList    = `{"tools":[{"name":"echo","description":"Echoes.","inputSchema":{"type":"object","properties":{"who":{"type":"string"}}},` + noTask + `},` + taskTool + `,` + arrayTool + `],"nextCursor":"2"}`
	restOfTools = `{"tools":[{"name":"last","inputSchema":{"type":"object"}},{"name":"form","inputSchema":{"type":"object"},` + noTask + `}]}`

	strangeBlock  = `{"type":"example.com/t","n":9007199254740993}`
	strangeMember = `"example.com/x":null`
)

// Handle answers in the modern shape.
func (f *fixture) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	switch r.Method {
	case protocol.MethodDiscover:
		return &protocol.Result{Server: json.RawMessage(`{"name":"fixture","version":"1"}`), Body: json.RawMessage(
			`{"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":{` +
				`"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},` +
				`"completions":{},"logging":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`)}, nil
	case protocol.MethodListTools:
		if strings.Contains(string(r.Params), `"cursor":"2"`) {
			return result(restOfTools), nil
		}
		return result(toolList), nil
	case protocol.MethodCallTool:
		return f.call(ctx, r, n)
	case protocol.MethodListResources:
		return result(`{"resources":[{"uri":"` + resourceURI + `","name":"one"}]}`), nil
	case protocol.MethodListTemplates:
		return result(`{"resourceTemplates":[{"uriTemplate":"test://notes/{id}","name":"note"}]}`), nil
	case protocol.MethodReadResource:
		if !strings.Contains(string(r.Params), resourceURI) {
			return nil, &protocol.Error{Code: protocol.CodeInvalidParams, Message: "There is none.", Data: json.RawMessage(`{"uri":"test://none"}`)}
		}
		return result(`{"contents":[{"uri":"` + resourceURI + `","text":"the text"}]}`), nil
	case protocol.MethodListPrompts:
		return result(`{"prompts":[{"name":"greet","arguments":[{"name":"who","required":true}]}]}`), nil
	case protocol.MethodGetPrompt:
		return result(`{"messages":[{"role":"user","content":{"type":"text","text":"Greet them."}}]}`), nil
	case protocol.MethodComplete:
		return result(`{"completion":{"values":["Ann"],"total":1,"hasMore":false}}`), nil
	case protocol.MethodListen:
		return f.listen(ctx, r, n)
	case protocol.MethodGetTask:
		return f.task(r)
	case "example.com/method":
		return result(`{"params":` + string(protocol.WithoutMember(r.Params, "_meta")) + `}`), nil
	}
	return nil, protocol.MethodNotFound(r.Method)
}

func result(body string) *protocol.Result { return &protocol.Result{Body: json.RawMessage(body)} }

func text(s string) *protocol.Result {
	return result(fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, s))
}

func (f *fixture) call(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	var p struct {
		Name      string
		Arguments json.RawMessage
		State     string                     `json:"requestState"`
		Responses map[string]json.RawMessage `json:"inputResponses"`
	}
	if err := json.Unmarshal(r.Params, &p); err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params: %v", err)
	}
	if q, ok := questions[p.Name]; ok {
		return q.ask(r, p.State, p.Responses["q"])
	}
	switch p.Name {
	case "echo":
		return text(string(p.Arguments)), nil
	case "strange":
		if !strings.Contains(string(r.Params), `"example.com/q":[1.0]`) {
			return nil, protocol.Errorf(protocol.CodeInvalidParams, "params are %s", r.Params)
		}
		return &protocol.Result{
			Meta: json.RawMessage(`{"example.com/m":[1.0]}`),
			Body: json.RawMessage(`{"content":[` + strangeBlock + `],` + strangeMember + `}`),
		}, nil
	case "structured":
		return result(`{"content":[],"structuredContent":[1.0,null]}`), nil
	case "progress":
		for i := 1; i <= 2 && r.Meta.ProgressToken != nil; i++ {
			params := fmt.Appendf(nil, `{"progressToken":%s,"progress":%d,"total":2}`, r.Meta.ProgressToken, i)
			if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationProgress, Params: params}); err != nil {
				return nil, err
			}
		}
		return text("done"), nil
	case "log":
		if r.Meta.LogLevel.Wants(protocol.LogInfo) {
			note := &protocol.Notification{Method: protocol.NotificationMessage, Params: json.RawMessage(`{"level":"info","data":"a line"}`)}
			if err := n.Notify(ctx, note); err != nil {
				return nil, err
			}
		}
		return text("logged"), nil
	case "block":
		f.blocked <- struct{}{}
		<-ctx.Done()
		f.ended <- context.Cause(ctx)
		return nil, ctx.Err()
	case "fail":
		return nil, &protocol.Error{Code: 4711, Message: "It does not work.", Data: json.RawMessage(`{"why":[1.0,null]}`)}
	case "task":
		return f.startTask(r)
	}
	return nil, protocol.Errorf(protocol.CodeInvalidParams, "there is no tool %q", clip.Name(p.Name))
}

// question is a request to the client.
type question struct {
	method, params string
	// needs are the members, from the outside in, that the client's
	// capabilities must have.
	needs  []string
	answer string
}

// questions are tools that need an answer of the client.
var questions = map[string]question{
	"form": {
		method: "elicitation/create", needs: []string{"elicitation"},
		params: `{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`,
		answer: `{"action":"accept","content":{"name":"Ann"}}`,
	},
	"url": {
		method: "elicitation/create", needs: []string{"elicitation", "url"},
		params: `{"mode":"url","message":"Sign in.","url":"https://example.com/sign-in"}`,
		answer: `{"action":"accept"}`,
	},
	"sample": {
		method: "sampling/createMessage", needs: []string{"sampling"},
		params: `{"messages":[{"role":"user","content":{"type":"text","text":"Hi!"}}],"maxTokens":10}`,
		answer: `{"role":"assistant","content":{"type":"text","text":"Hello."},"model":"m","stopReason":"endTurn"}`,
	},
	"sample_tools": {
		method: "sampling/createMessage", needs: []string{"sampling", "tools"},
		params: `{"messages":[{"role":"user","content":{"type":"text","text":"Hi!"}}],"maxTokens":10,` +
			`"tools":[{"name":"t","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"auto"}}`,
		answer: `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":{"n":1}}],"model":"m","stopReason":"toolUse"}`,
	},
	"roots": {
		method: "roots/list", needs: []string{"roots"}, params: `{}`,
		answer: `{"roots":[{"uri":"file:///home","name":"home"}]}`,
	},
}

const state = "what the server must know"

// ask asks, or takes the answer.
func (q question) ask(r *protocol.Request, got string, answer json.RawMessage) (*protocol.Result, error) {
	var capabilities any
	_ = json.Unmarshal(r.Meta.Capabilities, &capabilities)
	required := `{}`
	for _, need := range slices.Backward(q.needs) {
		required = fmt.Sprintf(`{%q:%s}`, need, required)
	}
	for _, need := range q.needs {
		object, _ := capabilities.(map[string]any)
		if capabilities = object[need]; capabilities == nil {
			return nil, protocol.MissingCapability(required)
		}
	}
	switch {
	case answer == nil:
		return &protocol.Result{Type: protocol.ResultInputRequired, Body: fmt.Appendf(nil,
			`{"inputRequests":{"q":{"method":%q,"params":%s}},"requestState":%q}`, q.method, q.params, state)}, nil
	case got != state:
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.requestState is %q", got)
	default:
		return text(string(answer)), nil
	}
}

func (f *fixture) listen(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	var p struct {
		Notifications json.RawMessage
	}
	var filter struct {
		ToolsListChanged      bool
		ResourceSubscriptions []string
	}
	if json.Unmarshal(r.Params, &p) != nil || json.Unmarshal(p.Notifications, &filter) != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params: %s", r.Params)
	}
	l := &listener{tools: filter.ToolsListChanged, uris: make(map[string]bool), notes: make(chan *protocol.Notification, 16)}
	for _, uri := range filter.ResourceSubscriptions {
		l.uris[uri] = true
	}
	// What is acknowledged is heard from then on.
	f.mu.Lock()
	f.listeners[l] = true
	close(f.joined)
	f.joined = make(chan struct{})
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.listeners, l)
	}()
	if err := n.Notify(ctx, &protocol.Notification{
		Method: protocol.NotificationAcknowledged,
		Params: fmt.Appendf(nil, `{"notifications":%s}`, p.Notifications),
	}); err != nil {
		return nil, err
	}
	for {
		select {
		case note := <-l.notes:
			if err := n.Notify(ctx, note); err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// tell sends a notification to those who want it, once there is one.
func (f *fixture) tell(ctx context.Context, note *protocol.Notification, wants func(*listener) bool) error {
	for {
		f.mu.Lock()
		told := false
		for l := range f.listeners {
			if wants(l) {
				told = true
				l.notes <- note
			}
		}
		joined := f.joined
		f.mu.Unlock()
		if told {
			return nil
		}
		select {
		case <-joined:
		case <-ctx.Done():
			return fmt.Errorf("nobody listens: %w", context.Cause(ctx))
		}
	}
}

// startTask answers with a task where the client can follow it.
func (f *fixture) startTask(r *protocol.Request) (*protocol.Result, error) {
	var capabilities struct{ Extensions map[string]json.RawMessage }
	_ = json.Unmarshal(r.Meta.Capabilities, &capabilities)
	if capabilities.Extensions[protocol.ExtensionTasks] == nil {
		return text("done at once"), nil
	}
	f.mu.Lock()
	f.tasks++
	id := fmt.Sprintf("task-%d", f.tasks)
	f.mu.Unlock()
	return &protocol.Result{Type: protocol.ResultTask, Body: taskBody(id, "working", "")}, nil
}

func taskBody(id, status, more string) json.RawMessage {
	return fmt.Appendf(nil, `{"taskId":%q,"status":%q,"createdAt":"2026-07-28T00:00:00Z","lastUpdatedAt":"2026-07-28T00:00:00Z","ttlMs":60000,"pollIntervalMs":1%s}`, id, status, more)
}

// task tells of a task that is done when it is asked for the second time.
func (f *fixture) task(r *protocol.Request) (*protocol.Result, error) {
	var p struct{ TaskID string }
	if err := json.Unmarshal(r.Params, &p); err != nil || p.TaskID == "" {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.taskId is missing")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.polls[p.TaskID]++
	if f.polls[p.TaskID] < 2 {
		return &protocol.Result{Body: taskBody(p.TaskID, "working", "")}, nil
	}
	return &protocol.Result{Body: taskBody(p.TaskID, "completed", `,"result":{"content":[{"type":"text","text":"done by a task"}]}`)}, nil
}
