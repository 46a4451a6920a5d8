package front

import (
	"context"
	"encoding/json"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// CheckModern reports why a request of a modern client cannot be handled: its
// metadata, or a method that its revision does not have.
func CheckModern(meta *protocol.Meta, method string) *protocol.Error {
	if fault := meta.CheckModern(); fault != nil {
		return fault
	}
	if !protocol.MethodIn(method, meta.Revision) {
		return protocol.MethodNotFound(method)
	}
	return nil
}

// Modern answers a checked request of a modern client, which has an ID. What a
// subscriptions/listen request yields is tagged with that id
// (basic/patterns/subscriptions), and server/discover says which revisions the
// front speaks, whatever a server behind the Handler does. Exactly one of the
// results is nil.
func (c *Core) Modern(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, *protocol.Error) {
	switch r.Method {
	case protocol.MethodListen:
		return c.listen(ctx, r, n)
	case protocol.MethodDiscover:
		return c.discover(ctx, r, n)
	default:
		return c.Answer(ctx, r, n)
	}
}

func (c *Core) discover(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, *protocol.Error) {
	res, fault := c.Answer(ctx, r, n)
	if fault != nil {
		return nil, fault
	}
	served := *res
	served.Body = mcpjson.Replace(res.Body, "supportedVersions", protocol.AppendRevisions(nil))
	return &served, nil
}

func (c *Core) listen(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, *protocol.Error) {
	tagged := protocol.NotifierFunc(func(ctx context.Context, note *protocol.Notification) error {
		return n.Notify(ctx, Tag(note, r.ID))
	})
	res, fault := c.Answer(ctx, r, tagged)
	if fault != nil {
		return nil, fault
	}
	if ctx.Err() == nil {
		// The server ends the subscription (basic/patterns/cancellation).
		params := append(append([]byte(`{"requestId":`), r.ID...), '}')
		if err := tagged.Notify(ctx, &protocol.Notification{Method: protocol.NotificationCancelled, Params: params}); err != nil {
			c.Log.DebugContext(ctx, "end of a subscription not delivered", "error", err)
		}
	}
	closing := *res
	o := protocol.WithMeta(nil, res.Meta, protocol.MetaSubscriptionID, r.ID)
	closing.Meta, _ = jsontok.Lookup(o, "_meta")
	return &closing, nil
}

// Tag adds the id of a subscription to a notification.
func Tag(n *protocol.Notification, id json.RawMessage) *protocol.Notification {
	var meta json.RawMessage
	// The params come from a Handler and are valid.
	rest, _ := mcpjson.Split(n.Params, func(key string, value []byte) bool {
		if key == "_meta" {
			meta = value
		}
		return key == "_meta"
	})
	return &protocol.Notification{
		Method: n.Method,
		Params: protocol.WithMeta(rest, meta, protocol.MetaSubscriptionID, id),
	}
}
