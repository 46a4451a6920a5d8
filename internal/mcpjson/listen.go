package mcpjson

import (
	"encoding/json"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// ListFilter is a member of a notification filter that is about changes of a
// list (basic/patterns/subscriptions).
type ListFilter struct {
	// Member is its name in the filter.
	Member string
	// Capability is the server's capability whose listChanged offers it.
	Capability string
	// Method is the notification.
	Method string
}

// ListFilters are the filters of all lists.
var ListFilters = []ListFilter{
	{"toolsListChanged", "tools", protocol.NotificationToolsChanged},
	{"promptsListChanged", "prompts", protocol.NotificationPromptsChanged},
	{"resourcesListChanged", "resources", protocol.NotificationResourcesChanged},
}

// Acknowledged returns the notifications by which a client hears that
// everything which the params of an acknowledgement grant may have changed.
func Acknowledged(params json.RawMessage) []*protocol.Notification {
	granted, _ := jsontok.Lookup(params, "notifications")
	var notes []*protocol.Notification
	for _, f := range ListFilters {
		if v, _ := jsontok.Lookup(granted, f.Member); string(v) == "true" {
			notes = append(notes, &protocol.Notification{Method: f.Method})
		}
	}
	raw, _ := jsontok.Lookup(granted, "resourceSubscriptions")
	if jsontok.KindOf(raw) != jsontok.KindArray {
		return notes
	}
	_ = jsontok.Array(raw, func(_ int, uri []byte) error { // valid, as it comes from a Handler
		var o Object
		o.Add("uri", uri)
		notes = append(notes, &protocol.Notification{Method: protocol.NotificationResourceUpdated, Params: o.JSON()})
		return nil
	})
	return notes
}
