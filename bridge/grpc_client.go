package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/googlemcp"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/metadata"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/mirror"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// The full names of the services that a [GRPCHandler] serves and a [GRPCClient]
// asks.
const (
	// GRPCService is MCP, without loss.
	GRPCService = mirror.ServiceName
	// GoogleService is the service that Google has published for MCP. It has
	// no notifications, no pages and no tasks.
	GoogleService = googlemcp.ServiceName
)

// GRPCClientConfig configures a GRPCClient. The zero value of every field but
// Caller means its default.
type GRPCClientConfig struct {
	// Caller carries the calls. The GRPCClient does not close it.
	Caller rpc.Caller
	// Logger gets what goes wrong. The default discards.
	Logger *slog.Logger
	// ClientInfo is the Implementation object that the server sees of clients
	// that have none.
	ClientInfo json.RawMessage
	// ForwardHeaders are the headers of a caller's own request that go along, as
	// for [WithForwardedHeaders]. The trace context always does.
	ForwardHeaders []string
	// Service is what the server implements: GRPCService, which is the default,
	// or GoogleService. [Services] tells.
	Service string
	// Base64 is for servers of GoogleService that put the text of base64 into
	// fields of bytes: where a field could be that, it is taken for it.
	Base64 bool
}

// GRPCClient is a backend that implements MCP as an RPC service, as a
// [protocol.Handler]: put it behind any front.
type GRPCClient struct {
	client protocol.Handler
	log    *slog.Logger
}

var _ protocol.Handler = (*GRPCClient)(nil)

// NewGRPCClient returns a GRPCClient. Nothing is asked yet.
func NewGRPCClient(cfg GRPCClientConfig) (*GRPCClient, error) {
	if cfg.Caller == nil {
		return nil, errors.New("bridge: GRPCClientConfig.Caller is nil")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.ClientInfo == nil {
		cfg.ClientInfo = implementation()
	}
	policy := &metadata.Policy{Forward: cfg.ForwardHeaders}
	if err := policy.Validate(); err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	var client protocol.Handler
	var err error
	switch cfg.Service {
	case "", GRPCService:
		client, err = mirror.NewClient(mirror.ClientConfig{Caller: cfg.Caller, Logger: cfg.Logger, ClientInfo: cfg.ClientInfo, Metadata: policy})
	case GoogleService:
		client, err = googlemcp.NewClient(googlemcp.ClientConfig{Caller: cfg.Caller, Logger: cfg.Logger, ClientInfo: cfg.ClientInfo, Metadata: policy, Base64: cfg.Base64})
	default:
		return nil, fmt.Errorf("bridge: GRPCClientConfig.Service is %q; it can be %s or %s", cfg.Service, GRPCService, GoogleService)
	}
	if err != nil {
		return nil, err
	}
	return &GRPCClient{client: client, log: cfg.Logger}, nil
}

// Handle asks the server. Where it cannot be asked, the error is a
// [*protocol.UpstreamError].
func (c *GRPCClient) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	res, err := c.client.Handle(ctx, r, n)
	if fault, ok := errors.AsType[*protocol.UpstreamError](err); ok && ctx.Err() == nil {
		c.log.WarnContext(ctx, "the MCP server could not be asked", "method", r.Method, "kind", fault.Kind.String(), "error", fault)
	}
	return res, err
}

// Services asks a backend by server reflection which services it has, and
// returns their full names, sorted. One that has [GRPCService] or
// [GoogleService] is an MCP server. Services of health and reflection are left out.
func Services(ctx context.Context, c rpc.Caller) ([]string, error) {
	return descriptor.Services(ctx, c)
}
