package eraclient

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcptask"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
)

// Limits of the tasks of servers that are known here.
const (
	// maxOwned is how many tasks of one caller are known. The oldest ones are
	// forgotten first.
	maxOwned = 256
	// maxKnown is how many tasks are known at all. Beyond it there are no
	// further ones.
	maxKnown = 10_000
	// taskGrace is how long a task is known after its time.
	taskGrace = 10 * time.Minute
)

// clientTasks are the tasks that calls have become, by the ids under which
// callers know them. Those are made here: the servers' own need not differ
// between sessions, nor be hard to guess. It is used concurrently, and the zero
// value is ready for use.
type clientTasks struct {
	mu     sync.Mutex
	known  map[string]*clientTask
	owners map[string][]*clientTask // by quota, oldest first
	swept  time.Time
}

// add takes a task in. It returns false where there are too many.
func (c *clientTasks) add(t *clientTask) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = make(map[string]*clientTask)
		c.owners = make(map[string][]*clientTask)
	}
	now := time.Now()
	if now.Sub(c.swept) >= time.Minute {
		c.swept = now
		for _, t := range c.known {
			if now.After(t.expiry().Add(taskGrace)) {
				c.drop(t)
			}
		}
	}
	if own := c.owners[t.quota]; len(own) >= maxOwned {
		c.drop(own[0])
	}
	if len(c.known) >= maxKnown {
		return false
	}
	c.known[t.id] = t
	c.owners[t.quota] = append(c.owners[t.quota], t)
	t.session.related.add(t.remote, t)
	return true
}

func (c *clientTasks) remove(t *clientTask) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[t.id] == t {
		c.drop(t)
	}
}

func (c *clientTasks) drop(t *clientTask) {
	delete(c.known, t.id)
	t.session.related.remove(t.remote, t)
	left := slices.DeleteFunc(c.owners[t.quota], func(o *clientTask) bool { return o == t })
	if len(left) == 0 {
		delete(c.owners, t.quota)
		return
	}
	c.owners[t.quota] = left
}

// find returns a task of a principal, or nil.
func (c *clientTasks) find(id, owner string) *clientTask {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.known[id]; t != nil && t.owner == owner {
		return t
	}
	return nil
}

// task answers the requests of the tasks extension.
func (c *legacyClient) task(ctx context.Context, r *peer.Request) (*protocol.Result, error) {
	raw, _ := jsontok.Lookup(r.Params, "taskId")
	id, isString := jsontok.String(raw)
	t := c.tasks.find(id, r.Caller.Key())
	if t == nil {
		s, release, err := c.acquire(ctx, r)
		if err != nil {
			return nil, err
		}
		release()
		if !s.tasks {
			return nil, protocol.MethodNotFound(r.Method)
		}
	}
	switch {
	case !protocol.HasExtension(r.Meta.Capabilities, protocol.ExtensionTasks):
		return nil, mcptask.Missing()
	case !isString:
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.taskId must be the id of a task")
	case t == nil:
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "the task is unknown, forgotten, or another caller's")
	}
	defer t.session.use()()
	switch r.Method {
	case protocol.MethodUpdateTask:
		return t.update(ctx, r)
	case protocol.MethodCancelTask:
		return t.cancel(ctx, r.Header)
	default:
		return t.get(ctx, r.Header)
	}
}
