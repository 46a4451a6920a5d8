package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/mirror"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// GRPCService is the full name of the service that a [GRPCHandler] serves and
// a [GRPCClient] asks.
const GRPCService = mirror.ServiceName

// GRPCClientConfig configures a GRPCClient. The zero value of every field but
// Caller means its default.
type GRPCClientConfig struct {
	// Caller carries the calls. The GRPCClient does not close it.
	Caller Caller
	// Logger gets what goes wrong. The default discards.
	Logger *slog.Logger
	// ClientInfo is the Implementation object that the server sees of clients
	// that have none.
	ClientInfo json.RawMessage
}

// GRPCClient is a backend that implements mcp.v1.McpService, as a
// [protocol.Handler]: put it behind any front.
type GRPCClient struct{ client *mirror.Client }

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
		cfg.ClientInfo = implementation(&config{name: serverName, version: Version()})
	}
	client, err := mirror.NewClient(mirror.ClientConfig(cfg))
	if err != nil {
		return nil, err
	}
	return &GRPCClient{client: client}, nil
}

// Handle asks the server. Where it cannot be asked, the error is a
// [*protocol.UpstreamError].
func (c *GRPCClient) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	return c.client.Handle(ctx, r, n)
}

// Services asks a backend by server reflection which services it has, and
// returns their full names, sorted. One that has [GRPCService] is an MCP
// server. Services of health and reflection are left out.
func Services(ctx context.Context, c Caller) ([]string, error) { return descriptor.Services(ctx, c) }
