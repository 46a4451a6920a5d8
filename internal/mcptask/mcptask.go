// Package mcptask reads and writes tasks, in the two forms that MCP has for
// them: the core feature of revision 2025-11-25 (basic/utilities/tasks), and the
// tasks extension of later ones.
package mcptask

import (
	"encoding/json"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// The statuses of tasks, in both forms.
const (
	Working       = "working"
	InputRequired = "input_required"
	Completed     = "completed"
	Failed        = "failed"
	Cancelled     = "cancelled"
)

// A task is asked for at its own interval, within these bounds.
const (
	MinPoll     = 100 * time.Millisecond
	DefaultPoll = time.Second
	MaxPoll     = 5 * time.Second
)

// Terminal reports whether a task in a status has ended.
func Terminal(status string) bool {
	return status == Completed || status == Failed || status == Cancelled
}

// Params returns the params of a request about a task.
func Params(id string) json.RawMessage {
	return append(jsontok.AppendString([]byte(`{"taskId":`), id), '}')
}

// Missing returns the error for a client that has not declared the tasks
// extension.
func Missing() *protocol.Error {
	return protocol.MissingCapability(`{"extensions":{"` + protocol.ExtensionTasks + `":{}}}`)
}

// Relation returns the task that a message of 2025-11-25 is related to, or "",
// and its params without saying so.
func Relation(params json.RawMessage) (task string, rest json.RawMessage) {
	meta, ok := jsontok.Lookup(params, "_meta")
	if !ok || jsontok.KindOf(meta) != jsontok.KindObject {
		return "", params
	}
	raw, ok := jsontok.Lookup(meta, protocol.MetaRelatedTask)
	if !ok || jsontok.KindOf(raw) != jsontok.KindObject {
		return "", params
	}
	id, _ := jsontok.Lookup(raw, "taskId")
	task, _ = jsontok.String(id)
	if meta = Unrelated(meta); meta == nil {
		return task, protocol.WithoutMember(params, "_meta")
	}
	return task, mcpjson.Replace(params, "_meta", meta)
}

// Relate returns an object, which may be nil, with a _meta that relates it to a
// task.
func Relate(object json.RawMessage, task string) json.RawMessage {
	meta, _ := jsontok.Lookup(object, "_meta")
	if jsontok.KindOf(meta) != jsontok.KindObject {
		meta = nil
	}
	return protocol.WithMeta(protocol.WithoutMember(object, "_meta"), meta, protocol.MetaRelatedTask, Params(task))
}

// Unrelated returns a _meta object without the task that it relates to, or nil
// where nothing else is in it.
func Unrelated(meta json.RawMessage) json.RawMessage {
	if _, ok := jsontok.Lookup(meta, protocol.MetaRelatedTask); !ok {
		return meta
	}
	if meta = protocol.WithoutMember(meta, protocol.MetaRelatedTask); string(meta) == "{}" {
		return nil
	}
	return meta
}
