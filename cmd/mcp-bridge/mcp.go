package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/httpsse"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// mcpServer is an MCP server that we are a client of.
type mcpServer interface {
	protocol.Handler

	Close()
}

// stopTimeout is how long the process of an MCP server has to end by itself
// where a command asks it one thing only and nothing is lost.
const stopTimeout = time.Second

// The upstream flags that mean something for an MCP server that is a command, has
// a URL, or is reached by an RPC protocol.
var (
	mcpCommandFlags = []string{"env", "max-message-bytes", "log-level"}
	mcpURLFlags     = []string{"ca", "cert", "key", "insecure-skip-verify", "header", "env", "forward-header", "max-message-bytes", "log-level"}
	mcpRPCFlags     = append([]string{"authority", "gzip"}, mcpURLFlags...)
)

// checkMCP reports the flags that mean nothing for an MCP server.
func (f *upstreamFlags) checkMCP(cmd *cobra.Command, t *target) error {
	if f.mixed {
		return nil // they have been checked, and are for the others
	}
	known := slices.Concat(t.flags(), []string{"header", "forward-header"}) // which are below
	if t.kind == kindTunnel {
		known = t.flags()
	}
	problems := []error{unfitFlags(cmd, known, fmt.Sprintf("%q is an MCP server", t.text))}
	if (t.kind == kindHTTP || t.kind == kindSSE) && !f.tls.IsZero() && !t.secure() {
		problems = append(problems, usagef("--ca, --cert, --key and --insecure-skip-verify are for TLS, which %s does not use", t.text))
	}
	if _, err := f.header(t.name); err != nil {
		problems = append(problems, usagef("%w", err))
	}
	if t.kind == kindCommand && len(f.headers)+len(f.forward) > 0 {
		problems = append(problems, usagef("--header and --forward-header are for URLs; a command gets its settings by arguments and --env"))
	}
	if f.maxMessage < 0 {
		problems = append(problems, usagef("--max-message-bytes %d is negative", f.maxMessage))
	}
	return errors.Join(problems...)
}

// flags are the upstream flags that mean something for an MCP server.
func (t *target) flags() []string {
	switch t.kind {
	case kindRPC, kindMCPRPC:
		return mcpRPCFlags
	case kindTunnel:
		return slices.DeleteFunc(slices.Clone(mcpRPCFlags), func(flag string) bool { return flag == "forward-header" })
	case kindHTTP, kindSSE:
		return mcpURLFlags
	case kindCommand:
	}
	return mcpCommandFlags
}

// unfitFlags reports the upstream flags that are given and not known.
func unfitFlags(cmd *cobra.Command, known []string, why string) error {
	var problems []error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		group := flag.Annotations[groupKey]
		if !slices.Contains(known, flag.Name) && (slices.Contains(group, groupUpstream) || slices.Contains(group, groupAPI) || slices.Contains(group, groupDescriptor)) {
			problems = append(problems, usagef("--%s is for APIs of gRPC and Connect, and %s", flag.Name, why))
		}
	})
	return errors.Join(problems...)
}

// connectMCP returns the client of an MCP server that speaks JSON-RPC.
func (f *upstreamFlags) connectMCP(t *target, log *slog.Logger) (mcpServer, error) {
	header, err := f.header(t.name)
	if err != nil {
		return nil, usagef("%w", err)
	}
	forward, err := bridge.ForwardHeaders(f.forwarded(t.name)...)
	if err != nil {
		return nil, usagef("--forward-header: %w", err)
	}
	var server mcpServer
	switch t.kind {
	case kindCommand:
		var env []string
		if env, err = f.environment(); err != nil {
			break
		}
		server, err = stdio.NewClient(stdio.ClientConfig{
			Command: t.command[0], Args: t.command[1:], Env: env, Logger: log, ClientInfo: clientInfo(),
			MaxMessageBytes: f.maxMessage, StopTimeout: f.stopTimeout,
		})
	case kindSSE, kindHTTP:
		server, err = f.connectHTTP(t, header, forward, log)
	case kindTunnel:
		var config bridge.ConnectConfig
		if config, err = f.connectConfig(t.rpc, header); err == nil {
			server, err = bridge.NewTunnelClient(bridge.TunnelClientConfig{URL: t.rpc.String(), Connect: config, Logger: log, ClientInfo: clientInfo()})
		}
	case kindRPC, kindMCPRPC:
		err = errors.New("not an MCP server over JSON-RPC")
	}
	if err != nil {
		return nil, usagef("%w", err)
	}
	return server, nil
}

// forwarder picks headers of a caller's own request.
type forwarder = func(ctx context.Context, r *protocol.Request) (http.Header, error)

// connectHTTP returns the client of an MCP server over HTTP.
func (f *upstreamFlags) connectHTTP(t *target, header http.Header, forward forwarder, log *slog.Logger) (mcpServer, error) {
	var client *http.Client // nil is one of its own
	if !f.tls.IsZero() && t.secure() {
		config, err := f.tls.Config()
		if err != nil {
			return nil, err
		}
		client = &http.Client{Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true,
			MaxIdleConnsPerHost: idlePerHost, IdleConnTimeout: idleTimeout,
		}}
	}
	var server mcpServer
	var err error
	if t.kind == kindSSE {
		server, err = httpsse.NewClient(httpsse.ClientConfig{
			URL: t.url, HTTPClient: client, Header: header, Forward: forward, Logger: log, ClientInfo: clientInfo(), MaxMessageBytes: f.maxMessage,
		})
	} else {
		server, err = streamable.NewClient(streamable.ClientConfig{
			URL: t.url, HTTPClient: client, Header: header, Forward: forward, Logger: log, ClientInfo: clientInfo(), MaxMessageBytes: f.maxMessage,
		})
	}
	if err != nil || client == nil {
		return server, err
	}
	return &tlsServer{server, client}, nil
}

// idlePerHost is how many connections wait for the next request.
const idlePerHost = 32

// tlsServer is an MCP server whose HTTP client is ours.
type tlsServer struct {
	mcpServer

	client *http.Client
}

// Close ends the sessions and then the connections.
func (s *tlsServer) Close() {
	s.mcpServer.Close()
	s.client.CloseIdleConnections()
}

// openMCP returns the upstream of an MCP server.
func (f *upstreamFlags) openMCP(cmd *cobra.Command, t *target, log *slog.Logger) (*upstream, error) {
	if err := f.checkMCP(cmd, t); err != nil {
		return nil, err
	}
	if t.kind == kindTunnel {
		if err := f.checkConnection(t.rpc); err != nil {
			return nil, usagef("%w", err)
		}
	}
	server, err := f.connectMCP(t, log)
	if err != nil {
		return nil, err
	}
	return newMCPUpstream(server, t.text, server.Close), nil
}

// openMCPService returns the upstream of a server of McpService, or Google's
// service.
func (f *upstreamFlags) openMCPService(cmd *cobra.Command, t *target, caller bridge.CallCloser, service string, log *slog.Logger) (*upstream, error) {
	if err := f.checkMCP(cmd, t); err != nil {
		return nil, err
	}
	server, err := bridge.NewGRPCClient(bridge.GRPCClientConfig{Caller: caller, Logger: log, Service: service, ForwardHeaders: f.forwarded(t.name)})
	if err != nil {
		return nil, err
	}
	return newMCPUpstream(server, t.text, func() { _ = caller.Close() }), nil // nothing is lost with it
}

// newMCPUpstream returns the upstream of an MCP server, whose subscriptions can
// be ended before its calls.
func newMCPUpstream(server protocol.Handler, text string, closeServer func()) *upstream {
	ctx, end := context.WithCancel(context.Background())
	return &upstream{
		Handler: &ending{next: server, ctx: ctx},
		text:    text, end: end,
		close: func() {
			end()
			closeServer()
		},
	}
}

// meet asks an MCP server who it is, so that one which cannot be used is
// reported at the start. Of an API, that has shown before.
func (u *upstream) meet(ctx context.Context) error {
	if !u.isMCP() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	res, err := u.Handle(ctx, &protocol.Request{
		Method: protocol.MethodDiscover,
		Meta:   protocol.Meta{Revision: protocol.Revision20260728, Capabilities: []byte(`{}`)},
		Caller: &protocol.Caller{Transport: "start"},
	}, protocol.Discard)
	if err != nil {
		return failf("the MCP server cannot be used: %w", err)
	}
	u.server = implementationName(res.Server)
	return nil
}

// implementationName is the name and version of an Implementation object.
func implementationName(raw json.RawMessage) string {
	var server struct{ Name, Version string }
	if json.Unmarshal(raw, &server) != nil || server.Name == "" {
		return "an MCP server"
	}
	return strings.TrimSpace(server.Name + " " + server.Version)
}

// ending is a Handler whose subscriptions end with a context of its own.
type ending struct {
	next protocol.Handler
	ctx  context.Context //nolint:containedctx // ends the subscriptions
}

// Handle passes the request on.
func (e *ending) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	if r.Method != protocol.MethodListen {
		return e.next.Handle(ctx, r, n)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	res, err := e.next.Handle(ctx, r, n)
	if e.ctx.Err() != nil {
		return &protocol.Result{}, nil // it is over because we end
	}
	return res, err
}
