package bridge

import (
	"context"
	"net/http"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/metadata"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// ForwardHeaders returns a function that picks headers of a caller's own request,
// for the field Forward of the clients of MCP servers over HTTP. Names are as for
// [WithForwardedHeaders]: a trailing * stands for any rest, but credentials must
// be written out. The trace context is not among them: it is in the _meta of
// every request.
func ForwardHeaders(names ...string) (func(ctx context.Context, r *protocol.Request) (http.Header, error), error) {
	policy := &metadata.Policy{Forward: names}
	if err := policy.Validate(); err != nil {
		return nil, err
	}
	return func(_ context.Context, r *protocol.Request) (http.Header, error) {
		return policy.Forwarded(r.Caller), nil
	}, nil
}
