package eraclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcp-bridge/mcp-bridge/internal/mcptask"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
)

// watchTasks returns a watch on those tasks of a filter that the caller has.
func (c *legacyClient) watchTasks(r *peer.Request, filter json.RawMessage) (*mcptask.Watch, *protocol.Error) {
	return mcptask.NewWatch(r.Request, filter, func(id string) (mcptask.Subject, bool) {
		t := c.tasks.find(id, r.Caller.Key())
		if t == nil {
			return mcptask.Subject{}, false
		}
		return mcptask.Subject{Attach: t.watch, Look: func(ctx context.Context) (json.RawMessage, error) {
			res, err := t.get(ctx, r.Header)
			if _, away := errors.AsType[*protocol.UpstreamError](err); away {
				// The server is there again later, or its session is over.
				return nil, fmt.Errorf("%w: %w", mcptask.ErrAway, err)
			}
			if err != nil {
				c.log.DebugContext(ctx, "a task could not be looked at", "error", err)
				return nil, err
			}
			return res.Body, nil
		}}, true
	})
}

// taskWatcher is told when a task may have changed.
type taskWatcher struct{ wake func() }

// watch has wake called when the task may have changed, until detach is called.
func (t *clientTask) watch(wake func()) (detach func()) {
	w := &taskWatcher{wake}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.watchers == nil {
		t.watchers = make(map[*taskWatcher]struct{})
	}
	t.watchers[w] = struct{}{}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.watchers, w)
	}
}
