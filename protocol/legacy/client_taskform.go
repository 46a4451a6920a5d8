package legacy

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// The statuses of tasks, in 2025-11-25 and in the extension.
const (
	statusWorking   = "working"
	statusInput     = "input_required"
	statusCompleted = "completed"
	statusFailed    = "failed"
	statusCancelled = "cancelled"
)

// serverTask is a Task object of 2025-11-25.
type serverTask struct {
	id, status, message string
	created             json.RawMessage // createdAt
	ttl                 json.RawMessage // a number, null, or nil
	poll                time.Duration
	// rest are the members that the extension has as they are.
	rest mcpjson.Object
}

// readServerTask reads a Task object. It returns false of anything else.
func readServerTask(raw json.RawMessage) (*serverTask, bool) {
	if jsontok.KindOf(raw) != jsontok.KindObject {
		return nil, false
	}
	t := &serverTask{poll: defaultTaskPoll}
	err := jsontok.Object(raw, func(key, value []byte) error {
		switch name := string(key); name {
		case "taskId":
			t.id, _ = jsontok.String(value)
		case "status":
			t.status, _ = jsontok.String(value)
		case "ttl":
			t.ttl = value
		case "pollInterval":
			t.rest.Add("pollIntervalMs", value)
			if d, ok := millis(value); ok {
				t.poll = d
			}
		case "_meta", "resultType", "ttlMs", "pollIntervalMs", "result", "error", "inputRequests":
			// They are the extension's, and said below.
		default:
			switch name {
			case "createdAt":
				t.created = value
			case "statusMessage":
				t.message, _ = jsontok.String(value)
			}
			t.rest.Add(name, value)
		}
		return nil
	})
	return t, err == nil && t.id != "" && t.status != ""
}

// millis reads a number of milliseconds.
func millis(raw json.RawMessage) (time.Duration, bool) {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n < 0 || n > float64(maxTaskKept/time.Millisecond) {
		return 0, false
	}
	return time.Duration(n * float64(time.Millisecond)), true
}

// lifetime is how long the server keeps the task, or the longest time that it
// is kept here.
func (t *serverTask) lifetime() time.Duration {
	if d, ok := millis(t.ttl); ok {
		return d
	}
	return maxTaskKept
}

func (t *serverTask) terminal() bool {
	return t.status == statusCompleted || t.status == statusFailed || t.status == statusCancelled
}

// extension returns the task as the extension has it, under the id by which it
// is known here. It may be called once.
func (t *serverTask) extension(id string, more ...func(*mcpjson.Object)) json.RawMessage {
	o := &t.rest
	o.Add("taskId", jsontok.AppendString(nil, id))
	o.Add("status", jsontok.AppendString(nil, t.status))
	ttl := t.ttl
	if ttl == nil {
		ttl = json.RawMessage("null")
	}
	o.Add("ttlMs", ttl)
	for _, add := range more {
		add(o)
	}
	return o.JSON()
}

// withError makes a task one that has failed.
func withError(fault json.RawMessage) func(*mcpjson.Object) {
	return func(o *mcpjson.Object) { o.Add("error", fault) }
}

func withResult(res *protocol.Result) func(*mcpjson.Object) {
	return func(o *mcpjson.Object) {
		o.Add("result", protocol.AppendResult(nil, res, protocol.Revision20260728))
	}
}

func withRequests(questions []*question) func(*mcpjson.Object) {
	return func(o *mcpjson.Object) {
		var requests mcpjson.Object
		for _, q := range questions {
			requests.Add(q.key, inputRequest(q.method, q.params))
		}
		o.Add("inputRequests", requests.JSON())
	}
}
