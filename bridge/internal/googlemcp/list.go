package googlemcp

import (
	"context"
	"encoding/json"

	"google.golang.org/protobuf/proto"

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
// page and returns how long that can be kept.
func list[M any, Page interface {
	*M
	proto.Message
	GetNextCursor() string
}](ctx context.Context, f *Front, common *googlepb.RequestFields, method string, take func(*M) *int64, to *toGoogle) (*googlepb.ResponseFields, *int64, error) {
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
	out := to.common(first)
	if to.err != nil {
		return nil, nil, c.failure(to.err)
	}
	return out, ttl, nil
}
