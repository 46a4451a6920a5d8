package googlemcp

import (
	"context"
	"encoding/json"

	"google.golang.org/protobuf/proto"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	// maxPages is how many pages a list may have, and maxListBytes how large
	// they may be together, as messages of mcp.v1.
	maxPages     = 1000
	maxListBytes = 64 << 20
)

// list answers a method that has pages with all of them. The list can be kept as
// long as that page which can be kept the shortest time.
func (c *call) list(ctx context.Context) (proto.Message, error) {
	var (
		all    = c.method.result.New()
		fields = all.Descriptor().Fields()
		cursor = fields.ByName("next_cursor")
		ttl    = fields.ByName("ttl_ms")
		asked  = make(map[string]bool)
		size   int
		first  json.RawMessage // the _meta of the first page
	)
	params := json.RawMessage(`{}`)
	for n := 1; ; n++ {
		page := c.method.result.New()
		_, meta, err := c.ask(ctx, c.method.name, params, page.Interface())
		if err != nil {
			return nil, err
		}
		if n == 1 {
			first = meta
		}
		if all.Has(ttl) && (!page.Has(ttl) || all.Get(ttl).Int() < page.Get(ttl).Int()) {
			page.Set(ttl, all.Get(ttl))
		}
		proto.Merge(all.Interface(), page.Interface())
		next := page.Get(cursor).String()
		if next == "" {
			break
		}
		if asked[next] {
			c.front.core.Log.WarnContext(ctx, "the server repeats a cursor; the list ends here", "method", c.method.name)
			break
		}
		asked[next] = true
		if size += proto.Size(page.Interface()); n == maxPages || size > maxListBytes {
			return nil, protocol.Errorf(protocol.CodeInternalError, "the list is too long to be sent without pages")
		}
		params = object("cursor", jsontok.AppendString(nil, next))
	}
	common, err := c.common(first)
	if err != nil {
		return nil, err
	}
	if text := c.instructions(ctx); text != "" {
		if common == nil {
			common = &googlepb.ResponseFields{}
		}
		common.Instructions = text
	}
	return c.respond(all.Interface(), common)
}

// instructions are what models should know of the server. There is nothing like
// initialize or server/discover, so lists say it.
func (c *call) instructions(ctx context.Context) string {
	said := &mcpv1.DiscoverResponse{}
	if _, _, err := c.ask(ctx, protocol.MethodDiscover, json.RawMessage(`{}`), said); err != nil {
		c.front.core.Log.DebugContext(ctx, "a list goes without instructions", "error", err)
	}
	return said.GetInstructions()
}
