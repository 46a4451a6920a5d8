package googlemcp

import (
	"context"
	"encoding/json"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

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

// list answers a method that has pages with all of them. The function takes a
// page, makes messages of it by to, and returns how long the page can be kept. An
// error is a status.
func list[M any, Page interface {
	*M
	proto.Message
	GetNextCursor() string
}](ctx context.Context, f *Front, to *toGoogle, common *googlepb.RequestFields, method string, take func(*M) *int64) (*googlepb.ResponseFields, *durationpb.Duration, error) {
	c, err := f.begin(ctx, common)
	if err != nil {
		return nil, nil, err
	}
	var (
		first json.RawMessage // the _meta of the first page
		ttl   *int64
		size  int
		asked = make(map[string]bool)
	)
	params := json.RawMessage(`{}`)
	for n := 1; ; n++ {
		page := new(M)
		meta, err := c.ask(ctx, method, params, Page(page))
		if err != nil {
			return nil, nil, c.failure(err)
		}
		if n == 1 {
			first = meta
		}
		if kept := take(page); kept != nil && (ttl == nil || *kept < *ttl) {
			ttl = kept
		}
		cursor := Page(page).GetNextCursor()
		if cursor == "" {
			break
		}
		if asked[cursor] {
			f.cfg.Logger.WarnContext(ctx, "the server repeats a cursor; the list ends here", "method", method)
			break
		}
		asked[cursor] = true
		if size += proto.Size(Page(page)); n == maxPages || size > maxListBytes {
			return nil, nil, c.failure(protocol.Errorf(protocol.CodeInternalError, "the list is too long to be sent without pages"))
		}
		params = append(jsontok.AppendString([]byte(`{"cursor":`), cursor), '}')
	}
	if to.err != nil {
		return nil, nil, c.failure(to.err)
	}
	out, err := c.common(first)
	if err != nil {
		return nil, nil, c.failure(err)
	}
	if text := c.instructions(ctx); text != "" {
		if out == nil {
			out = &googlepb.ResponseFields{}
		}
		out.Instructions = text
	}
	return out, ttlOf(ttl), nil
}

// instructions are what models should know of the server. There is nothing like
// initialize or server/discover, so lists say it.
func (c *call) instructions(ctx context.Context) string {
	said := &mcpv1.DiscoverResponse{}
	if _, err := c.ask(ctx, protocol.MethodDiscover, json.RawMessage(`{}`), said); err != nil {
		c.front.cfg.Logger.DebugContext(ctx, "a list goes without instructions", "error", err)
	}
	return said.GetInstructions()
}
