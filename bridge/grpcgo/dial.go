package grpcgo

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
)

// serviceConfig spreads calls over all addresses of a name. It is the only
// service config: one that comes with a name's DNS records could switch on
// retries, and a call that was perhaps executed is not sent twice.
const serviceConfig = `{"loadBalancingConfig":[{"round_robin":{}}]}`

// inProcessBuffer is the size of the pipe to a server in this process, in each
// direction: about two of grpc-go's writes.
const inProcessBuffer = 64 << 10

// Dial returns a caller of the server at a target: grpc://host:port,
// grpcs://host[:port], dns:///host:port, or a unix socket as unix:///path. It
// does not connect; the first call does. The name is resolved again when
// connections fail, and calls are spread over all of its addresses.
//
// All problems of the target and the options are reported at once.
func Dial(target string, opts ...Option) (*Caller, error) {
	o, err := newOptions(opts)
	u, urlErr := upstreamurl.Parse(target)
	if urlErr == nil && u.Protocol != upstreamurl.GRPC {
		urlErr = fmt.Errorf("upstream %q speaks %v: grpcgo only speaks gRPC (grpc://, grpcs://, dns:///, unix:)", target, u.Protocol)
	}
	if err := errors.Join(urlErr, err); err != nil {
		return nil, err
	}
	if o.common.TLS != nil {
		u.TLS = true
	} else if u.TLS {
		o.common.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	dialOptions := append(o.dialOptions(), grpc.WithDefaultServiceConfig(serviceConfig))
	return o.caller(u.Target(), fault.PeerOf(u), dialOptions)
}

// Server returns a caller of a server in this process, without a network hop:
// it serves a pipe in memory beside whatever else it serves. Services and
// reflection must have been registered before, because grpc-go does not allow
// it later. Close stops serving the pipe and leaves the server alone.
//
// A server with transport credentials ([grpc.Creds]) wants them on the pipe as
// well: see [WithTLS].
func Server(server *grpc.Server, opts ...Option) (*Caller, error) {
	o, err := newOptions(opts)
	switch {
	case server == nil:
		err = errors.Join(errors.New("the server is nil"), err)
	case len(server.GetServiceInfo()) == 0:
		err = errors.Join(errors.New("the server has no services: register them before it is bridged"), err)
	}
	if err != nil {
		return nil, err
	}
	listener := bufconn.Listen(inProcessBuffer)
	dialOptions := append(o.dialOptions(), grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		return listener.DialContext(ctx)
	}))
	peer := fault.Peer{Name: "the in-process server", TLS: o.common.TLS != nil}
	caller, err := o.caller("passthrough:///in-process", peer, dialOptions)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		// The error says that the listener was closed or that the server was
		// stopped; calls report the latter.
		_ = server.Serve(listener)
	}()
	caller.stop = func() error {
		err := listener.Close()
		<-served
		return err
	}
	return caller, nil
}

// Services returns the full names of the services registered with a server,
// sorted.
func Services(server *grpc.Server) []string {
	var names []string
	for name := range server.GetServiceInfo() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (o *options) caller(target string, peer fault.Peer, dialOptions []grpc.DialOption) (*Caller, error) {
	conn, err := grpc.NewClient(target, append(dialOptions, o.dial...)...)
	if err != nil {
		return nil, fmt.Errorf("upstream %s: %w", peer.Name, err)
	}
	return &Caller{conn: conn, peer: peer, header: o.common.Header, maxReceive: o.common.MaxReceive, maxSend: o.common.MaxSend}, nil
}

func (o *options) dialOptions() []grpc.DialOption {
	calls := []grpc.CallOption{
		grpc.ForceCodecV2(codec{}),
		grpc.MaxCallRecvMsgSize(o.common.MaxReceive),
		grpc.MaxCallSendMsgSize(o.common.MaxSend),
	}
	if o.common.Gzip {
		calls = append(calls, grpc.UseCompressor(gzip.Name))
	}
	creds := insecure.NewCredentials()
	if o.common.TLS != nil {
		creds = credentials.NewTLS(o.common.TLS)
	}
	backoffConfig := backoff.DefaultConfig
	backoffConfig.BaseDelay, backoffConfig.MaxDelay = minBackoff, maxBackoff
	dial := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(calls...),
		grpc.WithUserAgent(o.common.UserAgent),
		grpc.WithStatsHandler(observer{}),
		grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoffConfig, MinConnectTimeout: connectTimeout}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: o.keepaliveTime, Timeout: o.keepaliveTimeout}),
	}
	if o.common.Authority != "" {
		dial = append(dial, grpc.WithAuthority(o.common.Authority))
	}
	return dial
}
