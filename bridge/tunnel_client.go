package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectcall"
	internaltunnel "github.com/mcp-bridge/mcp-bridge/bridge/internal/tunnel"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/tunnel"
)

// TunnelClientConfig configures a TunnelClient. The zero value of every field
// but URL means its default.
type TunnelClientConfig struct {
	// URL is where the server listens: grpc://, grpcs:// and the like, or
	// connect+http:// and connect+https://, which speak HTTP/2 as well.
	URL string
	// Connect says how to get there. Its MaxReceiveBytes and MaxSendBytes bound
	// the messages; the defaults are those of package protocol/tunnel.
	Connect ConnectConfig
	// Logger gets what goes wrong. The default discards.
	Logger *slog.Logger
	// ClientInfo is the Implementation object that the server sees of clients
	// that have none, and of all where it is older than 2026-07-28.
	ClientInfo json.RawMessage
	// Revision is the one to speak with the server. Empty means that of each client,
	// as far as the server speaks it.
	Revision protocol.Revision
}

// TunnelClient is an MCP server behind the RPC Tunnel of mcp.v1.McpService, in
// whichever revision it speaks, as a [protocol.Handler]: another bridge, or a
// server of the official SDK by package tunnel. All callers share one stream,
// which is opened by the first request, and again where it has ended.
type TunnelClient struct {
	client *tunnel.Client
	caller *connectcall.Caller
}

var _ protocol.Handler = (*TunnelClient)(nil)

// NewTunnelClient returns a TunnelClient. Nothing is sent before the first
// request. Close it.
func NewTunnelClient(cfg TunnelClientConfig) (*TunnelClient, error) {
	u, err := upstreamurl.Parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	if u.Protocol == upstreamurl.GRPCWeb {
		return nil, errors.New("gRPC-Web has no streams that go both ways, which a tunnel is: use grpc:// or connect+http://")
	}
	if cfg.ClientInfo == nil {
		cfg.ClientInfo = implementation()
	}
	limit := cmp.Or(cfg.Connect.MaxReceiveBytes, protocol.DefaultClientMaxMessageBytes)
	cfg.Connect.MaxReceiveBytes = limit
	caller, err := connectcall.Dial(u, cfg.Connect.options()...)
	if err != nil {
		return nil, err
	}
	client, err := tunnel.NewClient(tunnel.ClientConfig{
		Dial: func(ctx context.Context) (tunnel.Stream, error) {
			stream, err := internaltunnel.Dial(ctx, caller, nil)
			if err != nil {
				return nil, err
			}
			return tunnelStream{stream}, nil
		},
		Header:       cfg.Connect.Header,
		ClientConfig: protocol.ClientConfig{Logger: cfg.Logger, ClientInfo: cfg.ClientInfo, MaxMessageBytes: limit, Revision: cfg.Revision},
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("bridge: %w", err), caller.Close())
	}
	return &TunnelClient{client: client, caller: caller}, nil
}

// Handle asks the server. Where it cannot be asked, the error is a
// [*protocol.UpstreamError].
func (c *TunnelClient) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	return c.client.Handle(ctx, r, n)
}

// Revisions returns the revisions in which the server has answered, newest first.
func (c *TunnelClient) Revisions() []protocol.Revision { return c.client.Revisions() }

// Restarts returns how often the stream has been opened again after it had ended.
func (c *TunnelClient) Restarts() int { return c.client.Restarts() }

// Close ends the stream and its connection. Requests under way fail.
func (c *TunnelClient) Close() {
	c.client.Close()
	_ = c.caller.Close() // closes what is idle, and cannot fail
}

// tunnelStream is a tunnel that says what it means that a server has none, or
// none for us. Other errors are those of a stream that has broken.
type tunnelStream struct{ *internaltunnel.ClientStream }

// Receive returns the next message of the server.
func (s tunnelStream) Receive() ([]byte, error) {
	message, err := s.ClientStream.Receive()
	failed, ok := errors.AsType[*rpc.StatusError](err)
	if !ok {
		return message, err
	}
	fault := &protocol.UpstreamError{Err: err}
	switch failed.Code() {
	case code.Code_UNIMPLEMENTED:
		fault.Kind, fault.Message = protocol.UpstreamMalformed, "the server has no RPC "+strings.TrimPrefix(internaltunnel.Procedure, "/")
	case code.Code_UNAUTHENTICATED:
		fault.Kind, fault.Message = protocol.UpstreamUnauthenticated, "the MCP server wants other credentials"
	case code.Code_PERMISSION_DENIED:
		fault.Kind, fault.Message = protocol.UpstreamPermissionDenied, "the MCP server refuses access"
	default:
		return nil, err
	}
	return nil, fault
}
