package bridge

import (
	"context"

	"github.com/mcp-bridge/mcp-bridge/internal/printable"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// EndpointHeader is the metadata by which callers of a [GRPCHandler] choose an
// endpoint. HTTP has a path for each.
const EndpointHeader = "Mcp-Endpoint"

// endpoints answers each request by the Handler of the endpoint that it names.
type endpoints struct {
	all    protocol.Handler
	lookup func(name string) (protocol.Handler, bool) // or nil
}

var _ protocol.Handler = endpoints{}

// Handle answers a request. An endpoint that is named in vain is an error, and so
// are two: the caller must not get more than it has asked for.
func (e endpoints) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	names := r.Caller.Header.Values(EndpointHeader)
	switch {
	case len(names) == 0:
		return e.all.Handle(ctx, r, n)
	case len(names) > 1:
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "the metadata %s is there %d times", EndpointHeader, len(names))
	case e.lookup != nil:
		if h, ok := e.lookup(names[0]); ok {
			return h.Handle(ctx, r, n)
		}
	}
	return nil, protocol.Errorf(protocol.CodeInvalidParams, "unknown endpoint %s", printable.Name(names[0]))
}
