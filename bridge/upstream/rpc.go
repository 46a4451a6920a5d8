package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/grpcgo"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// openRPC opens an API or an MCP server that is an RPC service. Unless the URL
// says which, reflection does.
func (p *plan) openRPC(ctx context.Context) (Server, error) {
	caller, err := p.dial()
	if err != nil {
		return nil, &ConfigError{err}
	}
	closeCaller := func() { _ = caller.Close() } // nothing is lost with it
	kind := p.recognise(ctx, caller)
	if kind == KindAPI {
		b, err := bridge.New(ctx, []bridge.Upstream{{Caller: caller, Descriptors: p.descriptors(caller), Services: p.spec.GetServices()}}, p.options...)
		if err != nil {
			closeCaller()
			return nil, p.explain(err)
		}
		for _, warning := range b.Warnings() {
			p.log.WarnContext(ctx, warning)
		}
		return &API{bridge: b, address: p.text(), close: closeCaller}, nil
	}
	client, err := bridge.NewGRPCClient(bridge.GRPCClientConfig{
		Caller: caller, Logger: p.log, Service: string(kind), ClientInfo: p.opts.ClientInfo, ForwardHeaders: p.spec.GetForwardHeaders(),
	})
	if err != nil {
		closeCaller()
		return nil, &ConfigError{err}
	}
	return server(p.meet(ctx, kind, client, closeCaller, nil))
}

// descriptors returns where the descriptors of an API come from.
func (p *plan) descriptors(caller rpc.Caller) bridge.Source {
	comments := p.spec.GetComments()
	switch {
	case len(comments) == 0:
		return p.source
	case p.source == nil:
		return bridge.Commented(bridge.Reflection(caller), comments...)
	default:
		return bridge.Commented(p.source, comments...)
	}
}

// recognise returns what an RPC server is.
func (p *plan) recognise(ctx context.Context, caller rpc.Caller) Kind {
	if p.target.Kind != upstreamurl.API || p.source != nil || len(p.spec.GetServices()) > 0 {
		return kinds[p.target.Kind]
	}
	services, err := bridge.Services(ctx, caller)
	if err != nil {
		return KindAPI // reading its descriptors will show what is wrong
	}
	for _, kind := range []Kind{KindMCPService, KindGoogle} {
		if slices.Contains(services, string(kind)) {
			return kind
		}
	}
	return KindAPI
}

// dial returns the caller of a URL: grpc-go for gRPC, connect-go for the others.
func (p *plan) dial() (bridge.CallCloser, error) {
	config, err := p.tlsConfig()
	if err != nil {
		return nil, err
	}
	url := p.target.RPC
	if url.Protocol != upstreamurl.GRPC {
		return bridge.Connect(url.String(), p.connectConfig(config))
	}
	opts := []grpcgo.Option{grpcgo.WithUserAgent(userAgent())}
	if config != nil {
		opts = append(opts, grpcgo.WithTLS(config))
	}
	if authority := p.spec.GetAuthority(); authority != "" {
		opts = append(opts, grpcgo.WithAuthority(authority))
	}
	for key, values := range p.header {
		opts = append(opts, grpcgo.WithHeader(key, values...))
	}
	if p.maxBytes > 0 {
		opts = append(opts, grpcgo.WithMaxReceiveBytes(p.maxBytes), grpcgo.WithMaxSendBytes(p.maxBytes))
	}
	if p.spec.GetGzip() {
		opts = append(opts, grpcgo.WithGzip())
	}
	return grpcgo.Dial(url.String(), opts...)
}

// tlsConfig returns the configuration of TLS, or nil for the default.
func (p *plan) tlsConfig() (*tls.Config, error) {
	if p.tls.IsZero() {
		return nil, nil //nolint:nilnil // nil is the default of all who take one
	}
	return p.tls.Config(p.host())
}

func (p *plan) connectConfig(config *tls.Config) bridge.ConnectConfig {
	return bridge.ConnectConfig{
		TLS: config, Authority: p.spec.GetAuthority(), Header: p.header, UserAgent: userAgent(),
		MaxReceiveBytes: p.maxBytes, MaxSendBytes: p.maxBytes, Gzip: p.spec.GetGzip(),
	}
}

func userAgent() string { return "mcp-bridge/" + bridge.Version() }

// openTunnel opens an MCP server behind the RPC Tunnel.
func (p *plan) openTunnel(ctx context.Context) (Server, error) {
	config, err := p.tlsConfig()
	if err != nil {
		return nil, &ConfigError{err}
	}
	client, err := bridge.NewTunnelClient(bridge.TunnelClientConfig{
		URL: p.target.RPC.String(), Connect: p.connectConfig(config), Logger: p.log, ClientInfo: p.opts.ClientInfo,
		Revision: revisions[p.spec.GetRevision()],
	})
	if err != nil {
		return nil, &ConfigError{err}
	}
	return server(p.meet(ctx, KindTunnel, client, client.Close, func(s *Status) { s.Revisions, s.Restarts = client.Revisions(), client.Restarts() }))
}

// NoReflectionError says that an API tells nobody its descriptors. It may do so
// later, so it is not a [ConfigError].
type NoReflectionError struct {
	// Address is the URL of the API.
	Address string
	// Err is what the API answered.
	Err error
}

// Error says what is missing.
func (e *NoReflectionError) Error() string {
	return fmt.Sprintf("%s offers no server reflection, and neither its descriptors nor its .proto files are given (%v)", e.Address, e.Err)
}

// Unwrap returns what the API answered.
func (e *NoReflectionError) Unwrap() error { return e.Err }

// explain words an error of an RPC upstream that could not be opened.
func (p *plan) explain(err error) error {
	status, ok := errors.AsType[*rpc.StatusError](err)
	if ok && status.Code() == code.Code_UNIMPLEMENTED && p.source == nil && p.target.Kind == upstreamurl.API {
		return &NoReflectionError{Address: p.text(), Err: status}
	}
	return err
}
