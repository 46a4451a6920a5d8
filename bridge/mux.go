package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/mux"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// MuxUpstream is one of the servers of a [Mux]. Its Name tells it from the
// others; its Open connects to it, and is called until it succeeds.
type MuxUpstream = mux.Part

// MuxConfig configures a Mux. The zero value of every field but Upstreams means
// its default.
type MuxConfig struct {
	// Upstreams are the servers, in the order in which their tools are listed.
	Upstreams []MuxUpstream
	// Logger gets what goes wrong. The default discards.
	Logger *slog.Logger
	// ServerInfo is the Implementation object of the whole.
	ServerInfo json.RawMessage
}

// Mux is several MCP servers as one [protocol.Handler]: a [Bridge], a
// [GRPCClient], clients of JSON-RPC. Their tools, prompts and resources share
// one name space. Tools and prompts that several of them call the same get the
// name of their upstream and _ as prefix; of a resource, the first upstream's is
// served. A name that was given stays while the Mux lives.
//
// An upstream that is down takes its own part with it only: lists leave it out
// and name it in their _meta, under [MetaUnavailable], and its tools fail. It
// comes back by itself, and clients that listen hear that lists have changed.
// One that does not answer what all are asked together, such as for its tools,
// is waited for ten seconds, and then for a minute only one, each time.
type Mux struct{ mux *mux.Mux }

var _ protocol.Handler = (*Mux)(nil)

// MetaUnavailable is the member of _meta by which lists and server/discover of a
// [Mux] name the upstreams that are down.
const MetaUnavailable = mux.MetaUnavailable

// NewMux returns a Mux, which begins to open its upstreams. Close it.
func NewMux(cfg MuxConfig) (*Mux, error) {
	if cfg.ServerInfo == nil {
		cfg.ServerInfo = implementation(&config{name: serverName, version: Version()})
	}
	m, err := mux.New(mux.Config{Parts: cfg.Upstreams, Logger: cfg.Logger, Server: cfg.ServerInfo})
	if err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	return &Mux{mux: m}, nil
}

// Handle answers one MCP request.
func (m *Mux) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	return m.mux.Handle(ctx, r, n)
}

// Ready waits until every upstream has been tried once, for ten seconds at most
// or until ctx ends, and says of those that are down why, by name.
func (m *Mux) Ready(ctx context.Context) map[string]error { return m.mux.Ready(ctx) }

// EndSubscriptions ends the subscriptions of all clients, so that a server can
// wait for the calls that are under way.
func (m *Mux) EndSubscriptions() { m.mux.EndSubscriptions() }

// Close ends subscriptions and the Mux's own work, and closes the upstreams.
func (m *Mux) Close() { m.mux.Close() }
