package eraclient

import (
	"encoding/json"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// optionalTask says of a tool that it can be called as a task.
const optionalTask = `{"taskSupport":"optional"}`

// execution remembers whether the server has the tasks extension, and where it
// has, says so of its tools to clients of 2025-11-25: there a tool that says
// nothing must not be called as a task (2025-11-25 basic/utilities/tasks,
// Tool-Level Negotiation), while the extension leaves that to each call.
func (d *modern) execution(r *protocol.Request, res *protocol.Result) {
	switch {
	case r.Method == protocol.MethodDiscover:
		caps, _ := jsontok.Lookup(res.Body, "capabilities")
		d.tasks.Store(protocol.HasExtension(caps, protocol.ExtensionTasks))
	case r.Method == protocol.MethodListTools && r.Meta.Revision == protocol.Revision20251125 && d.tasks.Load():
		res.Body = withExecution(res.Body)
	}
}

// withExecution returns a page of tools that can all be called as tasks, unless
// they say something of it themselves.
func withExecution(page json.RawMessage) json.RawMessage {
	raw, _ := jsontok.Lookup(page, "tools")
	if jsontok.KindOf(raw) != jsontok.KindArray {
		return page
	}
	var tools mcpjson.Array
	err := jsontok.Array(raw, func(_ int, tool []byte) error {
		_, said := jsontok.Lookup(tool, "execution")
		if said || jsontok.KindOf(tool) != jsontok.KindObject {
			tools.Add(tool)
			return nil
		}
		var o mcpjson.Object
		err := jsontok.Object(tool, func(key, value []byte) error {
			o.Add(string(key), value)
			return nil
		})
		o.Add("execution", []byte(optionalTask))
		tools.Add(o.JSON())
		return err
	})
	if err != nil {
		return page // what cannot be read is the client's affair
	}
	return mcpjson.Replace(page, "tools", tools.JSON())
}
