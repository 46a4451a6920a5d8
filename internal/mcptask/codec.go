package mcptask

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// MaxKept is how long a task is known whose server sets no limit, or a longer
// one.
const MaxKept = 24 * time.Hour

// maxStatusMessage bounds what a failed task says of its error, in bytes.
const maxStatusMessage = 500

// Task is the state of a task, read from either form and written in the other.
// Its slices point into what was read. Status and what the extension alone has
// may be changed before it is written.
type Task struct {
	ID, Status, Message string
	// Created is createdAt, and TTL a number of milliseconds, null, or nil.
	Created, TTL json.RawMessage
	// Poll is how often the server wants to be asked.
	Poll time.Duration
	// Result and Error are how the call of a task has ended, and Requests are the
	// inputRequests. Only the extension has them.
	Result, Error, Requests json.RawMessage

	// members are those that both forms have, by their names in 2025-11-25 and in
	// their order. status is not among them.
	members []member
}

type member struct {
	name  string
	value json.RawMessage
}

// ReadLegacy reads a Task object of 2025-11-25. It returns false for anything
// else.
func ReadLegacy(raw json.RawMessage) (*Task, bool) {
	t, err := read(raw, func(name string) (string, bool) {
		switch name {
		case "ttlMs", "pollIntervalMs", "result", "error", "inputRequests":
			return "", false // the extension's
		}
		return name, true
	})
	return t, err == nil && t.ID != "" && t.Status != ""
}

// ReadExtension reads a task of the extension, which is valid JSON.
func ReadExtension(raw json.RawMessage) *Task {
	t, _ := read(raw, func(name string) (string, bool) {
		switch name {
		case "ttlMs":
			return "ttl", true
		case "pollIntervalMs":
			return "pollInterval", true
		case "ttl", "pollInterval":
			return "", false // of 2025-11-25
		}
		return name, true
	})
	return t
}

// read reads a task. rename gives a member its name in 2025-11-25, or drops it.
func read(raw json.RawMessage, rename func(name string) (string, bool)) (*Task, error) {
	t := &Task{Poll: DefaultPoll}
	if jsontok.KindOf(raw) != jsontok.KindObject {
		return t, nil
	}
	return t, jsontok.Object(raw, func(key, value []byte) error {
		name, ok := rename(string(key))
		if !ok {
			return nil
		}
		switch name {
		case "status":
			t.Status, _ = jsontok.String(value)
			return nil
		case "_meta", "resultType":
			return nil
		case "result":
			t.Result = value
			return nil
		case "error":
			t.Error = value
			return nil
		case "inputRequests":
			t.Requests = value
			return nil
		case "taskId":
			t.ID, _ = jsontok.String(value)
		case "statusMessage":
			t.Message, _ = jsontok.String(value)
		case "createdAt":
			t.Created = value
		case "ttl":
			t.TTL = value
		case "pollInterval":
			if d, ok := millis(value); ok {
				t.Poll = d
			}
		}
		t.members = append(t.members, member{name, value})
		return nil
	})
}

// New returns a task that no server has described.
func New(status string, ttl json.RawMessage) *Task {
	return &Task{Status: status, TTL: ttl, Poll: DefaultPoll}
}

// Add adds a member that both forms have under one name.
func (t *Task) Add(name string, value json.RawMessage) {
	t.members = append(t.members, member{name, value})
}

// millis reads a number of milliseconds.
func millis(raw json.RawMessage) (time.Duration, bool) {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n < 0 || n > float64(MaxKept/time.Millisecond) {
		return 0, false
	}
	return time.Duration(n * float64(time.Millisecond)), true
}

// Interval is the time after which the task is to be asked for again.
func (t *Task) Interval() time.Duration { return min(max(t.Poll, MinPoll), MaxPoll) }

// Lifetime is how long the server keeps the task, at most [MaxKept].
func (t *Task) Lifetime() time.Duration {
	if d, ok := millis(t.TTL); ok {
		return d
	}
	return MaxKept
}

// Terminal reports whether the task has ended.
func (t *Task) Terminal() bool { return Terminal(t.Status) }

// Extension returns the task as the extension has it, under the id by which it
// is known here.
func (t *Task) Extension(id string) json.RawMessage {
	var o mcpjson.Object
	for _, m := range t.members {
		switch m.name {
		case "taskId", "ttl":
		case "pollInterval":
			o.Add("pollIntervalMs", m.value)
		default:
			o.Add(m.name, m.value)
		}
	}
	o.Add("taskId", jsontok.AppendString(nil, id))
	o.Add("status", jsontok.AppendString(nil, t.Status))
	ttl := t.TTL
	if ttl == nil {
		ttl = json.RawMessage("null")
	}
	o.Add("ttlMs", ttl)
	for _, m := range []member{{"error", t.Error}, {"result", t.Result}, {"inputRequests", t.Requests}} {
		if m.value != nil {
			o.Add(m.name, m.value)
		}
	}
	return o.JSON()
}

// Legacy returns the Task object of 2025-11-25, and the status in it: a call that
// ended with isError has completed in the extension, and failed there.
func (t *Task) Legacy() (object json.RawMessage, status string) {
	status = t.Status
	why := ""
	if raw, ok := jsontok.Lookup(t.Result, "isError"); ok && string(raw) == "true" && status == Completed {
		status, why = Failed, firstText(t.Result)
	} else if fault := t.Fault(); fault != nil {
		why = fault.Message
	}
	var o mcpjson.Object
	message := false
	for _, m := range t.members {
		message = message || m.name == "statusMessage"
		o.Add(m.name, m.value)
	}
	if why != "" && !message {
		o.Add("statusMessage", jsontok.AppendString(nil, why))
	}
	o.Add("status", jsontok.AppendString(nil, status))
	return o.JSON(), status
}

// Fault returns the error that the call has ended with, or nil.
func (t *Task) Fault() *protocol.Error {
	if t.Error == nil {
		return nil
	}
	var e struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(t.Error, &e); err != nil {
		return protocol.AsError(nil)
	}
	return &protocol.Error{Code: e.Code, Message: e.Message, Data: e.Data}
}

// firstText returns the first text in the content of a CallToolResult, cut.
func firstText(result json.RawMessage) string {
	content, ok := jsontok.Lookup(result, "content")
	if !ok || jsontok.KindOf(content) != jsontok.KindArray {
		return ""
	}
	text := ""
	_ = jsontok.Array(content, func(_ int, block []byte) error { // valid, as it comes from a Handler
		if raw, ok := jsontok.Lookup(block, "text"); ok && text == "" {
			text, _ = jsontok.String(raw)
		}
		return nil
	})
	if len(text) > maxStatusMessage {
		text = strings.ToValidUTF8(text[:maxStatusMessage], "") + "..."
	}
	return text
}
