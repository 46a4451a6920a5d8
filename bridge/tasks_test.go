package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpschema"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// follower is a request of a client that can follow tasks.
func follower(method, params string) *protocol.Request {
	r := request(method, params)
	r.Meta.Capabilities = json.RawMessage(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
	return r
}

// object handles a request and returns its result as a client reads it.
func object(t *testing.T, h protocol.Handler, r *protocol.Request) map[string]any {
	t.Helper()
	res, err := h.Handle(t.Context(), r, protocol.Discard)
	if err != nil {
		t.Fatalf("%s %s: %v", r.Method, r.Params, err)
	}
	var out map[string]any
	if err := json.Unmarshal(protocol.AppendResult(nil, res, protocol.Revision20260728), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

const bake = `{"name":"Jobs_Bake","arguments":{"flavour":"plum"}}`

// bakeTask starts a task and returns the params that name it.
func bakeTask(t *testing.T, h protocol.Handler) (taskID string) {
	t.Helper()
	created := object(t, h, follower(protocol.MethodCallTool, bake))
	id, _ := created["taskId"].(string)
	if created["resultType"] != "task" || created["status"] != "working" || id == "" {
		t.Fatalf("the result of the call is %v", created)
	}
	return `{"taskId":"` + id + `"}`
}

// A client that has declared the extension gets a task, which is working until
// the operation is done, and then has the result.
func TestTask(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, status string
		wire         []byte
		result       string // part of it
	}{
		{"response", "completed", baked("jobs.v1.Cake", "plum"), `"structuredContent":{"flavour":"plum","slices":"0"}`},
		{"error", "completed", failed("operations/1", code.Code_NOT_FOUND, "no plums"), `no plums`},
		{"cancelled", "cancelled", failed("operations/1", code.Code_CANCELLED, "enough"), ``},
		{"unreadable", "failed", finished("jobs.v1.Cake", []byte{0xff}), ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			backend := startBakery(t)
			b := start(t, backend.Backend)
			params := bakeTask(t, b)
			got := object(t, b, follower(protocol.MethodGetTask, params))
			for key, want := range map[string]any{
				"resultType": "complete", "status": "working", "ttlMs": 86400000.0, "pollIntervalMs": 1000.0, "statusMessage": `{"step":"mix"}`,
			} {
				if got[key] != want {
					t.Errorf("%s is %v, want %v", key, got[key], want)
				}
			}
			for _, key := range []string{"createdAt", "lastUpdatedAt"} {
				if _, err := time.Parse(time.RFC3339, fmt.Sprint(got[key])); err != nil {
					t.Error(err)
				}
			}
			backend.set("operations/1", tt.wire)
			got = object(t, b, follower(protocol.MethodGetTask, params))
			result, err := json.Marshal(got["result"])
			if err != nil {
				t.Fatal(err)
			}
			if got["status"] != tt.status || !strings.Contains(string(result), tt.result) || (got["result"] != nil) != (tt.status == "completed") || (got["error"] != nil) != (tt.status == "failed") {
				t.Errorf("the task is %v", got)
			}
		})
	}
}

// tasks/cancel cancels the operation. It is no error that there is nothing left
// to cancel, or nobody who can.
func TestTaskCancel(t *testing.T) {
	t.Parallel()
	backend := startBakery(t)
	b := start(t, backend.Backend)
	params := bakeTask(t, b)
	for range 2 {
		if got := object(t, b, follower(protocol.MethodCancelTask, params)); len(got) != 2 || got["resultType"] != "complete" {
			t.Errorf("cancelled: %v", got)
		}
		if got := object(t, b, follower(protocol.MethodGetTask, params)); got["status"] != "cancelled" {
			t.Errorf("the task is %v", got)
		}
	}
	if len(backend.cancelled) != 2 || backend.cancelled[0] != "operations/1" {
		t.Errorf("cancelled %q", backend.cancelled)
	}

	backend = startBakery(t, "CancelOperation")
	b = start(t, backend.Backend)
	params = bakeTask(t, b)
	object(t, b, follower(protocol.MethodCancelTask, params))
	if got := object(t, b, follower(protocol.MethodGetTask, params)); got["status"] != "working" {
		t.Errorf("the task is %v", got)
	}
	object(t, b, follower(protocol.MethodUpdateTask, strings.TrimSuffix(params, "}")+`,"inputResponses":{"x":{}}}`))
}

// When there is a task and when the result comes at once.
func TestTaskOrResult(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		state   []byte
		without []string
		tool    string
		want    string // part of the result
	}{
		{"no operation", nil, nil, "Jobs_Look", `"structuredContent":{"slices":"0"}`},
		{"done at once", baked("jobs.v1.Cake", "nut"), nil, "Jobs_Bake", `"structuredContent":{"flavour":"nut","slices":"0"}`},
		{"no Operations service", nil, []string{"GetOperation"}, "Jobs_Bake", `"_operation":{"name":"operations/1"`},
		{"a name too long", running(strings.Repeat("o", 3000), 0, "mix"), nil, "Jobs_Bake", `"_operation":{"name":"ooo`},
		{"a name that is missing", running("", 0, "mix"), nil, "Jobs_Bake", `"_operation":{"metadata"`},
	} {
		backend := startBakery(t, tt.without...)
		if tt.state != nil {
			backend.state["operations/1"] = tt.state
			backend.state[strings.Repeat("o", 3000)] = tt.state
		}
		b := start(t, backend.Backend, bridge.WithOperationWait(time.Millisecond))
		res, err := b.Handle(t.Context(), follower(protocol.MethodCallTool, `{"name":"`+tt.tool+`"}`), protocol.Discard)
		if err != nil || res.Type == protocol.ResultTask || !strings.Contains(string(res.Body), tt.want) {
			t.Errorf("%s: %+v %v", tt.name, res, err)
		}
	}
}

func TestTaskErrors(t *testing.T) {
	t.Parallel()
	backend := startBakery(t)
	b := start(t, backend.Backend)
	params := bakeTask(t, b)
	fails := func(r *protocol.Request, code int, text string) {
		t.Helper()
		_, err := b.Handle(t.Context(), r, protocol.Discard)
		if fault, ok := errors.AsType[*protocol.Error](err); !ok || fault.Code != code || !strings.Contains(fault.Message, text) {
			t.Errorf("%s %s: %v, want %d and %q", r.Method, r.Params, err, code, text)
		}
	}
	for _, method := range []string{protocol.MethodGetTask, protocol.MethodUpdateTask, protocol.MethodCancelTask} {
		fails(request(method, params), protocol.CodeMissingClientCapability, "capability")
		fails(follower(method, `{}`), protocol.CodeInvalidParams, "taskId")
		fails(follower(method, `{"taskId":1}`), protocol.CodeInvalidParams, "taskId")
		fails(follower(method, `{"taskId":"operations/1"}`), protocol.CodeInvalidParams, "there is no such task")
		theirs := follower(method, params)
		theirs.Caller.Principal = protocol.AnonymousPrincipal("", "Bearer theirs")
		fails(theirs, protocol.CodeInvalidParams, "there is no such task")
	}
	fails(follower(protocol.MethodUpdateTask, params), protocol.CodeInvalidParams, "inputResponses")
	for refused, want := range map[codes.Code]string{codes.PermissionDenied: "PERMISSION_DENIED", codes.Internal: "INTERNAL"} {
		backend.refuse = status.Error(refused, "s3cret")
		fails(follower(protocol.MethodGetTask, params), protocol.CodeInternalError, want)
	}
	backend.refuse = status.Error(codes.Unavailable, "restarting")
	if got := object(t, b, follower(protocol.MethodGetTask, params)); got["status"] != "working" {
		t.Errorf("while the backend is away the task is %v", got)
	}
	backend.refuse = status.Error(codes.NotFound, "gone")
	fails(follower(protocol.MethodGetTask, params), protocol.CodeInvalidParams, "does not know the operation any more")

	// A Bridge without operations has no tasks, and one with another key does
	// not know those of others.
	b = start(t, dynbackend.Start(t, map[string]string{"ping.proto": pingProto}, nil))
	fails(follower(protocol.MethodGetTask, params), protocol.CodeMethodNotFound, "tasks/get")
	other := start(t, startBakery(t).Backend)
	_, err := other.Handle(t.Context(), follower(protocol.MethodGetTask, params), protocol.Discard)
	if fault, ok := errors.AsType[*protocol.Error](err); !ok || fault.Code != protocol.CodeInvalidParams {
		t.Errorf("another Bridge: %v", err)
	}
}

// Bridges with the same keys share tasks, which belong to a principal: a
// refreshed token loses none, another principal with the same token has none.
func TestTaskKeysAndOwner(t *testing.T) {
	t.Parallel()
	backend := startBakery(t)
	old, current := bytes.Repeat([]byte("o"), 32), bytes.Repeat([]byte("k"), 32)
	forward := bridge.WithForwardedHeaders("authorization")
	first, second := start(t, backend.Backend, bridge.WithKeys(old), forward), start(t, backend.Backend, bridge.WithKeys(current, old), forward)
	as := func(user, token, method, params string) *protocol.Request {
		r := follower(method, params)
		r.Caller.Principal = protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthJWT, Subject: user})
		r.Caller.Header = http.Header{"Authorization": {token}}
		return r
	}
	created := object(t, first, as("ann", "Bearer old", protocol.MethodCallTool, bake))
	params := `{"taskId":"` + created["taskId"].(string) + `"}`
	if got := object(t, second, as("ann", "Bearer new", protocol.MethodGetTask, params)); got["status"] != "working" {
		t.Errorf("the task is %v", got)
	}
	if _, err := second.Handle(t.Context(), as("bob", "Bearer new", protocol.MethodGetTask, params), protocol.Discard); err == nil {
		t.Error("somebody else has the task")
	}
	// The backend is asked with the caller's own token, and its refusal is one
	// of the token.
	if want := "[Bearer old] [Bearer new]"; strings.Join(backend.tokens, " ") != want {
		t.Errorf("asked with %q", backend.tokens)
	}
	backend.refuse = status.Error(codes.Unauthenticated, "expired")
	_, err := first.Handle(t.Context(), as("ann", "Bearer new", protocol.MethodGetTask, params), protocol.Discard)
	if fault, ok := errors.AsType[*protocol.Error](err); !ok || fault.Challenge == "" {
		t.Errorf("a refused token: %v", err)
	}
}

func TestTaskOptions(t *testing.T) {
	t.Parallel()
	_, err := bridge.New(t.Context(), []bridge.Upstream{{}}, bridge.WithOperationWait(-1), bridge.WithTaskTTL(0), bridge.WithKeys([]byte("short")))
	for _, want := range []string{"wait for operations", "time to live", "key 0 has 5 bytes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not mention the %s", err, want)
		}
	}
}

// The extension is declared where there are operations.
func TestTasksDeclared(t *testing.T) {
	t.Parallel()
	b := start(t, startBakery(t).Backend)
	got := object(t, b, request(protocol.MethodDiscover, `{}`))
	if want := "map[extensions:map[io.modelcontextprotocol/tasks:map[]] logging:map[] tools:map[listChanged:true]]"; fmt.Sprint(got["capabilities"]) != want {
		t.Errorf("capabilities are %v, want %s", got["capabilities"], want)
	}
	for _, rev := range protocol.Revisions() {
		r := request(protocol.MethodListTools, `{}`)
		r.Meta.Revision = rev
		res, err := b.Handle(t.Context(), r, protocol.Discard)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		if rev == protocol.Revision20251125 {
			want = 2
		}
		if n := strings.Count(string(res.Body), `,"execution":{"taskSupport":"optional"}}`); n != want {
			t.Errorf("%s: %d tools say that they can be tasks, want %d", rev, n, want)
		}
	}
}

// Both eras of tasks over both transports: every message is valid, and what
// the operation is asked to do happens.
func TestTasksOnTheWire(t *testing.T) {
	t.Parallel()
	for transport, dial := range map[string]func(*testing.T, *bridge.Bridge) wire{"http": overHTTP, "stdio": overStdio} {
		for _, rev := range []protocol.Revision{protocol.Revision20251125, protocol.Revision20260728} {
			t.Run(transport+" "+string(rev), func(t *testing.T) {
				t.Parallel()
				backend := startBakery(t)
				validator := mcpschema.Open(t, string(rev))
				exchange := dial(t, start(t, backend.Backend))
				ask := func(method, params string) map[string]any {
					t.Helper()
					if rev.Modern() {
						params = strings.TrimSuffix(params, "}") + `,"_meta":{"` + protocol.MetaProtocolVersion + `":"` + string(rev) + `","` +
							protocol.MetaClientCapabilities + `":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}`
					}
					response := exchange(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`)
					if err := validator.Check(response, method); err != nil {
						t.Error(err)
					}
					var m struct{ Result, Error map[string]any }
					if err := json.Unmarshal(response, &m); err != nil {
						t.Fatal(err)
					}
					if m.Error != nil {
						return m.Error
					}
					return m.Result
				}
				call := bake
				if rev.Modern() {
					if got := ask("tools/list", `{"x":1}`); strings.Contains(fmt.Sprint(got), "taskSupport") {
						t.Errorf("the tools are %v", got)
					}
				} else {
					call = strings.TrimSuffix(bake, "}") + `,"task":{"ttl":1}}`
					ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
					exchange(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
					ask("tools/list", `{}`)
					if got := ask("tools/call", `{"name":"Jobs_Look","task":{}}`); got["code"] != -32601.0 {
						t.Errorf("a tool that has no tasks: %v", got)
					}
				}
				begin := func() string {
					t.Helper()
					created := ask("tools/call", call)
					if task, ok := created["task"].(map[string]any); ok && !rev.Modern() {
						created = task
					}
					if created["status"] != "working" {
						t.Fatalf("the call gives %v", created)
					}
					return `{"taskId":"` + created["taskId"].(string) + `"}`
				}
				id := begin()
				if got := ask("tasks/get", id); got["status"] != "working" {
					t.Errorf("the task is %v", got)
				}
				backend.set("operations/1", baked("jobs.v1.Cake", "plum"))
				got := ask("tasks/get", id)
				if got["status"] != "completed" {
					t.Errorf("the task is %v", got)
				}
				result, _ := got["result"].(map[string]any)
				if !rev.Modern() {
					result = ask("tasks/result", id)
				}
				if want := "map[flavour:plum slices:0]"; fmt.Sprint(result["structuredContent"]) != want {
					t.Errorf("the result is %v", result)
				}
				id = begin()
				ask("tasks/cancel", id)
				if got := ask("tasks/get", id); got["status"] != "cancelled" {
					t.Errorf("the task is %v", got)
				}
				if len(backend.cancelled) != 1 || backend.cancelled[0] != "operations/2" {
					t.Errorf("cancelled %q", backend.cancelled)
				}
				if !rev.Modern() {
					if tasks, _ := ask("tasks/list", `{}`)["tasks"].([]any); len(tasks) != 2 {
						t.Errorf("the tasks are %v", tasks)
					}
					backend.set("operations/3", failed("operations/3", code.Code_ABORTED, "the oven is off"))
					id = begin()
					if got := ask("tasks/get", id); got["status"] != "failed" || !strings.Contains(fmt.Sprint(got["statusMessage"]), "the oven is off") {
						t.Errorf("the task is %v", got)
					}
					if got := ask("tasks/result", id); got["isError"] != true {
						t.Errorf("the result is %v", got)
					}
				}
			})
		}
	}
}

// A client that listens hears of the tasks that it names and has, of each
// change once, until they end.
func TestTaskNotifications(t *testing.T) {
	t.Parallel()
	backend := startBakery(t)
	b := start(t, backend.Backend)
	var first, second struct{ TaskID string }
	for _, into := range []any{&first, &second} {
		if err := json.Unmarshal([]byte(bakeTask(t, b)), into); err != nil {
			t.Fatal(err)
		}
	}
	listen := `{"notifications":{"toolsListChanged":true,"taskIds":["` + first.TaskID + `","none","` + first.TaskID + `","` + second.TaskID + `"]}}`
	heard := newRecorder()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := b.Handle(ctx, follower(protocol.MethodListen, listen), heard)
		ended <- err
	}()
	all := heard.wait(t, 3)
	if want := `{"notifications":{"toolsListChanged":true,"taskIds":["` + first.TaskID + `","` + second.TaskID + `"]}}`; string(all[0].Params) != want {
		t.Errorf("acknowledged %s, want %s", all[0].Params, want)
	}
	backend.set("operations/1", baked("jobs.v1.Cake", "nut"))
	heard.wait(t, 4)
	backend.set("operations/2", running("operations/2", 50, "oven"))
	heard.wait(t, 5)
	backend.set("operations/2", failed("operations/2", code.Code_CANCELLED, "x"))
	all = heard.wait(t, 6)
	for i, want := range []struct{ id, status, text string }{
		{first.TaskID, "working", `mix`}, {second.TaskID, "working", `mix`},
		{first.TaskID, "completed", `"structuredContent":{"flavour":"nut","slices":"0"}`},
		{second.TaskID, "working", `oven`}, {second.TaskID, "cancelled", ``},
	} {
		var got struct{ TaskID, Status string }
		n := all[i+1]
		if err := json.Unmarshal(n.Params, &got); err != nil {
			t.Fatal(err)
		}
		if n.Method != protocol.NotificationTask || got.TaskID != want.id || got.Status != want.status || !strings.Contains(string(n.Params), want.text) {
			t.Errorf("notification %d is %s %s, want %+v", i, n.Method, n.Params, want)
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("listen ended with %v", err)
	}

	for _, tt := range []struct {
		r    *protocol.Request
		code int
	}{
		{request(protocol.MethodListen, listen), protocol.CodeMissingClientCapability},
		{follower(protocol.MethodListen, `{"notifications":{"taskIds":[1]}}`), protocol.CodeInvalidParams},
		{follower(protocol.MethodListen, `{"notifications":{"taskIds":{}}}`), protocol.CodeInvalidParams},
	} {
		_, err := b.Handle(t.Context(), tt.r, protocol.Discard)
		if fault, ok := errors.AsType[*protocol.Error](err); !ok || fault.Code != tt.code {
			t.Errorf("%s: %v, want code %d", tt.r.Params, err, tt.code)
		}
	}
}
