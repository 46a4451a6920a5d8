package bridge

import (
	"context"
	"encoding/json"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// listen answers subscriptions/listen: it acknowledges the part of the filter
// that there is something to hear of, and then tells of every change of the
// tools and of the tasks asked for until the client cancels or the Bridge is closed
// (basic/patterns/subscriptions).
func (b *Bridge) listen(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	filter, ok := jsontok.Lookup(r.Params, "notifications")
	if !ok || jsontok.KindOf(filter) != jsontok.KindObject {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.notifications must be an object that says what to listen for")
	}
	g := grant{tools: asked(filter, "toolsListChanged")}
	if c := b.catalog.Load(); len(c.resources) > 0 {
		g.resources = asked(filter, "resourcesListChanged")
	}
	if c := b.catalog.Load(); len(c.prompts) > 0 {
		g.prompts = asked(filter, "promptsListChanged")
	}
	watch, err := b.watchTasks(r, filter)
	if err != nil {
		return nil, err
	}
	defer watch.stop()
	updates, err := b.watchResources(r, filter)
	if err != nil {
		return nil, err
	}
	defer updates.stop()
	changed, closed, leave := b.changes.Join()
	defer leave()
	if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationAcknowledged, Params: g.params(watch, updates)}); err != nil {
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
		case <-watch.due():
			if err := watch.poll(ctx, n); err != nil {
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

// params is the part of the filter that is acknowledged.
func (g grant) params(watch *taskWatch, updates *resourceUpdates) json.RawMessage {
	out := []byte(`{"notifications":{`)
	member := func(name string) {
		if out[len(out)-1] != '{' {
			out = append(out, ',')
		}
		out = append(jsontok.AppendString(out, name), ':')
	}
	list := func(name string, values []string) {
		if len(values) == 0 {
			return
		}
		member(name)
		for i, v := range values {
			sep := byte(',')
			if i == 0 {
				sep = '['
			}
			out = jsontok.AppendString(append(out, sep), v)
		}
		out = append(out, ']')
	}
	for _, flag := range []struct {
		name    string
		granted bool
	}{{"toolsListChanged", g.tools}, {"resourcesListChanged", g.resources}, {"promptsListChanged", g.prompts}} {
		if flag.granted {
			member(flag.name)
			out = append(out, "true"...)
		}
	}
	list("resourceSubscriptions", updates.uris())
	ids := make([]string, len(watch.tasks))
	for i, t := range watch.tasks {
		ids[i] = t.id
	}
	list("taskIds", ids)
	return append(out, '}', '}')
}
