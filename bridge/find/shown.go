package find

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Shown is what one caller is shown.
type Shown struct {
	Tools Tools
	// Unknown returns the error for a call of a tool that is not among them. It must be
	// the one of the Handler, also for a tool that there is and that is hidden.
	Unknown func(name string) error
}

// Tools are tools that are shown. They are immutable and used concurrently. The
// middleware keeps what it has made of them while they compare equal by ==, so they
// should be the same pointer as long as they are the same tools.
type Tools interface {
	// Len returns how many there are.
	Len() int
	// Tool returns one as tools/list shows it. Each has a name of its own.
	Tool(i int) json.RawMessage
}

// pager reads the list of a Handler.
type pager struct {
	next protocol.Handler

	mu    sync.Mutex
	lists []*pages // the last used one is last
}

// pages is a list that has been read.
type pages struct {
	bodies []json.RawMessage // as the Handler has them
	tools  []json.RawMessage
}

var _ Tools = (*pages)(nil)

// Len returns how many tools there are.
func (p *pages) Len() int { return len(p.tools) }

// Tool returns a tool.
func (p *pages) Tool(i int) json.RawMessage { return p.tools[i] }

// shown reads what the sender of a request is shown.
func (p *pager) shown(ctx context.Context, r *protocol.Request) (Shown, error) {
	var bodies []json.RawMessage
	err := mcpjson.EachPage(func(params json.RawMessage) (json.RawMessage, error) {
		res, err := p.next.Handle(ctx, listRequest(r, params), protocol.Discard)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, res.Body)
		return res.Body, nil
	})
	if err != nil {
		return Shown{}, err
	}
	list, err := p.read(bodies)
	return Shown{Tools: list, Unknown: unknown}, err
}

// unknown is the error of Handlers without a guard.
func unknown(name string) error {
	return protocol.Errorf(protocol.CodeInvalidParams, "there is no tool %q; tools/list names those there are", clip.Text(name, maxSummary))
}

// listRequest returns a request for the tools that the sender of r is shown.
func listRequest(r *protocol.Request, params json.RawMessage) *protocol.Request {
	own := *r
	own.Method, own.Params = protocol.MethodListTools, params
	own.Meta.ProgressToken, own.Meta.LogLevel = nil, protocol.LogNone
	return &own
}

// read returns the list of pages, which is the one from before if they are the same.
func (p *pager) read(bodies []json.RawMessage) (*pages, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, list := range slices.Backward(p.lists) {
		if slices.EqualFunc(list.bodies, bodies, sameBytes) {
			p.lists = append(slices.Delete(p.lists, i, i+1), list)
			return list, nil
		}
	}
	list, seen := &pages{bodies: bodies}, make(map[string]bool)
	for _, body := range bodies {
		tools, _ := jsontok.Lookup(body, "tools")
		if jsontok.KindOf(tools) != jsontok.KindArray {
			continue
		}
		err := jsontok.Array(tools, func(_ int, raw []byte) error {
			if name := stringIn(raw, "name"); name != "" && !seen[name] {
				seen[name] = true
				list.tools = append(list.tools, raw)
			}
			return nil
		})
		if err != nil {
			return nil, &protocol.UpstreamError{Kind: protocol.UpstreamMalformed, Message: "the list of tools cannot be read", Err: err}
		}
	}
	if len(p.lists) >= maxCatalogs {
		p.lists = slices.Delete(p.lists, 0, 1)
	}
	p.lists = append(p.lists, list)
	return list, nil
}

// sameBytes compares pages. Handlers share one body between results, so that it is
// seldom needed to look inside.
func sameBytes(a, b json.RawMessage) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || bytes.Equal(a, b))
}
