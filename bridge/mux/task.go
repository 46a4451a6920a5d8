package mux

import (
	"encoding/json"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// task answers the methods of tasks. An id that is not the caller's is that of no
// task.
func (v *View) task(a *asker, n protocol.Notifier) (*protocol.Result, error) {
	id, fault := text(a.r.Params, "taskId")
	if fault != nil {
		return nil, fault
	}
	c, ok := v.findTask(a, id)
	switch {
	case ok:
		return v.run(c, n)
	case !protocol.HasExtension(a.r.Meta.Capabilities, protocol.ExtensionTasks):
		// A client that cannot follow tasks hears of that, whatever it names (tasks
		// extension, Capability Negotiation).
		return nil, protocol.MissingCapability(`{"extensions":{"` + protocol.ExtensionTasks + `":{}}}`)
	}
	return nil, noTask(id)
}

// findTask returns the call of a task.
func (v *View) findTask(a *asker, id string) (*call, bool) {
	ref, ok := v.openTask(a, id)
	if !ok {
		return nil, false
	}
	m := a.s.byName[ref.upstream]
	if m == nil || !v.has(m) {
		return nil, false
	}
	shown, ok := m.publicTool(ref.tool)
	if !ok || !v.shows(shown) {
		return nil, false
	}
	c := &call{asker: a, member: m, unknown: func() error { return noTask(id) }}
	c.target = newTarget(m, protocol.TargetTask, listTools, ref.tool)
	c.target.RPC, c.target.Hints = ref.rpc, ref.hints
	c.request = withText(a.r, "taskId", ref.id, id)
	return c, true
}

func noTask(id string) error {
	return protocol.Errorf(protocol.CodeInvalidParams, "there is no task %q", clipped(id))
}

// publicTask returns the object of a task with its public id.
func (v *View) publicTask(c *call, raw json.RawMessage) (json.RawMessage, error) {
	id, fault := text(raw, "taskId")
	if fault != nil {
		return raw, nil //nolint:nilerr // it names no task
	}
	public, err := v.sealTask(c.asker, taskRef{upstream: c.target.Upstream, tool: c.target.Name, rpc: c.target.RPC, hints: c.target.Hints, id: id})
	if err != nil {
		return nil, &protocol.UpstreamError{Kind: protocol.UpstreamTooLarge, Message: "upstream " + c.member.name + ": the id of its task is too long", Err: err}
	}
	return replaceText(raw, "taskId", public), nil
}
