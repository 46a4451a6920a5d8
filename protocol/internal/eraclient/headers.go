package eraclient

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
)

const (
	// maxIdentities bounds for how many callers tools are remembered.
	maxIdentities = 256
	// maxTools bounds how many tools are remembered for each.
	maxTools = 10_000
)

// headers remembers which parameters of which tools go into headers. What one
// caller sees of a tool says nothing about what another one sees.
type headers struct {
	log *slog.Logger

	mu      sync.Mutex
	callers map[string]*toolPlans
}

type toolPlans struct {
	complete bool // the whole list has been read
	tools    map[string]mcpjson.ParamHeaders
}

// plan returns the plan of a tool, and false where it might have one that is
// not known.
func (h *headers) plan(identity, tool string) (mcpjson.ParamHeaders, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.callers[identity]
	if c == nil {
		return nil, false
	}
	plan, ok := c.tools[tool]
	return plan, ok || c.complete
}

func (h *headers) forget(identity string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.callers, identity)
}

func (h *headers) listed(identity string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of(identity).complete = true
}

func (h *headers) of(identity string) *toolPlans {
	c := h.callers[identity]
	if c == nil {
		if h.callers == nil || len(h.callers) >= maxIdentities {
			h.callers = make(map[string]*toolPlans)
		}
		c = &toolPlans{tools: make(map[string]mcpjson.ParamHeaders)}
		h.callers[identity] = c
	}
	return c
}

// learn reads the result of a tools/list, and returns it without the tools
// whose x-mcp-header is against the rules: clients must not show them
// (basic/transports/streamable-http, Schema Extension).
func (h *headers) learn(ctx context.Context, identity string, body json.RawMessage) (json.RawMessage, error) {
	tools, ok := jsontok.Lookup(body, "tools")
	if !ok {
		return body, nil
	}
	var (
		kept    mcpjson.Array
		removed bool
		plans   = make(map[string]mcpjson.ParamHeaders)
	)
	err := jsontok.Array(tools, func(_ int, tool []byte) error {
		name, plan, err := mcpjson.ReadParamHeaders(tool)
		if err != nil {
			h.log.WarnContext(ctx, "a tool was left out because of its x-mcp-header", "tool", name, "error", err)
			removed = true
			return nil
		}
		kept.Add(tool)
		plans[name] = plan
		return nil
	})
	if err != nil {
		return nil, peer.Malformed(err, "the MCP server's list of tools cannot be read")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.of(identity)
	for name, plan := range plans {
		if len(c.tools) < maxTools {
			c.tools[name] = plan
		}
	}
	if removed {
		body = mcpjson.Replace(body, "tools", kept.JSON())
	}
	return body, nil
}
