package engine

import (
	"context"
	"encoding/json"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// listen answers subscriptions/listen: it acknowledges the part of the filter
// that there is something to hear of, and then tells of every change of the
// tools and of the tasks asked for until the client cancels or the engine is closed
// (basic/patterns/subscriptions).
func (e *Engine) listen(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	filter, ok := jsontok.Lookup(r.Params, "notifications")
	if !ok || jsontok.KindOf(filter) != jsontok.KindObject {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.notifications must be an object that says what to listen for")
	}
	g := grant{tools: asked(filter, "toolsListChanged")}
	if c := e.catalog.Load(); len(c.resources) > 0 {
		g.resources = asked(filter, "resourcesListChanged")
	}
	if c := e.catalog.Load(); len(c.prompts) > 0 {
		g.prompts = asked(filter, "promptsListChanged")
	}
	tasks, fault := e.watchTasks(r, filter)
	if fault != nil {
		return nil, fault
	}
	defer tasks.Stop()
	updates, err := e.watchResources(ctx, r, filter)
	if err != nil {
		return nil, err
	}
	defer updates.stop()
	changed, closed, leave := e.changes.Join()
	defer leave()
	if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationAcknowledged, Params: g.params(tasks.IDs(), updates.uris())}); err != nil {
		return nil, err
	}
	for {
		select {
		case <-changed:
			for _, method := range g.changes() {
				if err := n.Notify(ctx, &protocol.Notification{Method: method}); err != nil {
					return nil, err
				}
			}
		case <-updates.wake:
			if err := updates.tell(ctx, n); err != nil {
				return nil, err
			}
		case <-tasks.Due():
			if err := tasks.Look(ctx, n); err != nil {
				return nil, err
			}
		case <-closed:
			return &protocol.Result{}, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// grant is which changes of lists a subscription hears of.
type grant struct{ tools, resources, prompts bool }

// asked reports whether a filter has the member with the value true.
func asked(filter []byte, member string) bool {
	v, ok := jsontok.Lookup(filter, member)
	return ok && string(v) == "true"
}

// changes returns the notifications for a change of the catalog, of which all
// lists may be affected.
func (g grant) changes() []string {
	var methods []string
	for _, list := range []struct {
		granted bool
		method  string
	}{
		{g.tools, protocol.NotificationToolsChanged},
		{g.resources, protocol.NotificationResourcesChanged},
		{g.prompts, protocol.NotificationPromptsChanged},
	} {
		if list.granted {
			methods = append(methods, list.method)
		}
	}
	return methods
}

// params is the part of the filter that is acknowledged, with the resources and
// the tasks that are followed.
func (g grant) params(tasks json.RawMessage, resources []string) json.RawMessage {
	var filter mcpjson.Object
	for _, flag := range []struct {
		name    string
		granted bool
	}{{"toolsListChanged", g.tools}, {"resourcesListChanged", g.resources}, {"promptsListChanged", g.prompts}} {
		if flag.granted {
			filter.Add(flag.name, []byte("true"))
		}
	}
	if len(resources) > 0 {
		var uris mcpjson.Array
		for _, uri := range resources {
			uris.AddString(uri)
		}
		filter.Add("resourceSubscriptions", uris.JSON())
	}
	if tasks != nil {
		filter.Add("taskIds", tasks)
	}
	var params mcpjson.Object
	params.Add("notifications", filter.JSON())
	return params.JSON()
}
