package prototest

import (
	"encoding/json"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// task returns the state of a task of the tasks extension, as far as the id
// goes: what it begins with says what becomes of the task.
//
//   - working: it never ends.
//   - slow: it is completed when it is asked for the second time.
//   - done: it is completed.
//   - wrong: it is completed, with isError.
//   - broken: it failed.
//   - asking: it wants input, and is completed with what tasks/update brings.
//   - anything else: there is no such task.
func (h *Handler) task(id string) (json.RawMessage, error) {
	h.mu.Lock()
	h.asked[id]++
	asked := h.asked[id]
	answers := h.answers[id]
	h.mu.Unlock()
	const result = `,"result":{"resultType":"complete","_meta":{"a":1},"content":[{"type":"text","text":"the result"}]`
	status, more := "completed", result+"}"
	switch kind, _, _ := strings.Cut(id, "-"); kind {
	case "working":
		status, more = "working", `,"statusMessage":"on it"`
	case "slow":
		if asked == 1 {
			status, more = "working", ""
		}
	case "done":
	case "wrong":
		more = result + `,"isError":true}`
	case "broken":
		status, more = "failed", `,"error":{"code":-32000,"message":"out of order","data":[1.0]}`
	case "asking":
		status, more = "input_required", `,"inputRequests":{"who":{"method":"elicitation/create","params":{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{}}}},"where":{"method":"roots/list"}}`
		if answers != nil {
			status, more = "completed", `,"result":{"content":[{"type":"text","text":`+quote(string(answers))+`}]}`
		}
	default:
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "there is no such task")
	}
	return json.RawMessage(`{"taskId":` + quote(id) + `,"status":"` + status + `","createdAt":"2026-07-28T00:00:00.000Z",` +
		`"lastUpdatedAt":"2026-07-28T00:00:01.000Z","ttlMs":null,"pollIntervalMs":100` + more + `}`), nil
}

// needsTasks refuses clients that cannot follow tasks.
func needsTasks(r *protocol.Request) *protocol.Error {
	if strings.Contains(string(r.Meta.Capabilities), `"`+protocol.ExtensionTasks+`":{}`) {
		return nil
	}
	return protocol.MissingCapability(`{"extensions":{"` + protocol.ExtensionTasks + `":{}}}`)
}

// tasks answers the requests of the tasks extension.
func (h *Handler) tasks(r *protocol.Request) (*protocol.Result, error) {
	if fault := needsTasks(r); fault != nil {
		return nil, fault
	}
	var p struct {
		TaskID         string          `json:"taskId"`
		InputResponses json.RawMessage `json:"inputResponses"`
	}
	if err := json.Unmarshal(r.Params, &p); err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params: %v", err)
	}
	if r.Method != protocol.MethodGetTask {
		if r.Method == protocol.MethodUpdateTask {
			h.mu.Lock()
			h.answers[p.TaskID] = p.InputResponses
			h.mu.Unlock()
		}
		h.started <- r.Method + " " + p.TaskID
		return &protocol.Result{Body: json.RawMessage(`{}`)}, nil
	}
	body, err := h.task(p.TaskID)
	if err != nil {
		return nil, err
	}
	return &protocol.Result{Body: body, Server: server}, nil
}
