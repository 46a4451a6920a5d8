package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/grpcgo"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// startTimeout bounds what is asked of an upstream at the start.
const startTimeout = 30 * time.Second

// upstream is what a target turned out to be, and the connections below it.
type upstream struct {
	protocol.Handler

	text   string         // the URL or the command, for people
	bridge *bridge.Bridge // of an API, or nil
	mux    *bridge.Mux    // of several upstreams, or nil
	parts  []*target      // of mux
	server string         // the name of the MCP server, once it has been met
	end    func()         // ends the subscriptions
	close  func()         // ends everything
}

// isMCP reports whether it is one MCP server.
func (u *upstream) isMCP() bool { return u.bridge == nil && u.mux == nil }

// tools returns the tools of an API.
func (u *upstream) tools() []bridge.Tool {
	if u.bridge == nil {
		return nil
	}
	return u.bridge.Tools()
}

// open connects to a target. Close what it returns.
func (f *upstreamFlags) open(ctx context.Context, cmd *cobra.Command, t *target, log *slog.Logger) (*upstream, error) {
	if !f.mixed {
		if err := errors.Join(f.checkScopes([]*target{t}), f.checkCommand([]*target{t})); err != nil {
			return nil, err
		}
	}
	if t.kind != kindRPC && t.kind != kindMCPRPC {
		return f.openMCP(cmd, t, log)
	}
	check := f.check
	if f.onlyMCP || t.kind == kindMCPRPC {
		check = f.checkConnection
	}
	if err := check(t.rpc); err != nil {
		return nil, usagef("%w", err)
	}
	var opts []bridge.Option
	if !f.onlyMCP {
		var err error
		if opts, err = f.options(t.name, log); err != nil {
			return nil, err
		}
	}
	caller, err := f.dial(t)
	if err != nil {
		return nil, err
	}
	up, err := f.openRPC(ctx, cmd, t, caller, opts, log)
	if err != nil {
		return nil, errors.Join(f.explain(err, t.rpc), caller.Close())
	}
	return up, nil
}

// openRPC finds out whether an RPC server is an MCP server or an API.
func (f *upstreamFlags) openRPC(ctx context.Context, cmd *cobra.Command, t *target, caller bridge.CallCloser, opts []bridge.Option, log *slog.Logger) (*upstream, error) {
	service := t.service
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if t.kind == kindRPC && f.source() == nil && len(f.services) == 0 {
		// What is wrong, if anything is, shows below as well.
		services, err := bridge.Services(ctx, caller)
		for _, known := range []string{bridge.GoogleService, bridge.GRPCService} {
			if err == nil && slices.Contains(services, known) {
				service = known
			}
		}
	}
	if service != "" {
		return f.openMCPService(cmd, t, caller, service, log)
	}
	if f.onlyMCP {
		return nil, usagef("%s is an API and no MCP server: its .proto files are what you want", t.text)
	}
	b, err := f.bridge(ctx, caller, opts, log)
	if err != nil {
		return nil, err
	}
	return &upstream{
		Handler: b, bridge: b, text: t.rpc.String(), end: b.Close,
		close: func() {
			b.Close()
			_ = caller.Close() // the program ends, and nothing is lost with it
		},
	}, nil
}

// manyTools is from how many tools on the start leaves enough behind to be
// worth giving back.
const manyTools = 200

// trim gives memory that was needed only for the start back to the system. It
// is for programs that go on running, once they have said that they are ready.
func (u *upstream) trim() {
	if len(u.tools()) >= manyTools {
		debug.FreeOSMemory()
	}
}

func (f *upstreamFlags) bridge(ctx context.Context, caller bridge.Caller, opts []bridge.Option, log *slog.Logger) (*bridge.Bridge, error) {
	b, err := bridge.New(ctx, []bridge.Upstream{{
		Caller:      caller,
		Descriptors: f.source(),
		Services:    f.services,
	}}, opts...)
	if err != nil {
		return nil, err
	}
	for _, warning := range b.Warnings() {
		log.WarnContext(ctx, warning)
	}
	return b, nil
}

// options returns the options of the bridge of an API that is called name, or
// "".
func (f *upstreamFlags) options(name string, log *slog.Logger) ([]bridge.Option, error) {
	opts, err := f.operations.options()
	if err != nil {
		return nil, err
	}
	if f.optionsFile != "" {
		yaml, err := os.ReadFile(f.optionsFile)
		if err != nil {
			return nil, usagef("--options: %w", err)
		}
		opts = append(opts, bridge.WithOptions(yaml))
	}
	opts = append(opts,
		bridge.WithLogger(log),
		bridge.WithTimeout(f.timeout),
		bridge.WithRefresh(f.refresh),
		bridge.WithStreamLimits(f.stream.messages, f.stream.bytes, f.stream.time),
		bridge.WithForwardedHeaders(f.forwarded(name)...),
		bridge.WithReturnedHeaders(f.returned...),
	)
	profile := bridge.PortableSchemas
	if f.schema == schemaFull {
		profile = bridge.FullSchemas
	}
	opts = append(opts, bridge.WithSchemas(profile, f.schemaBytes))
	if f.noConfirm {
		opts = append(opts, bridge.WithoutConfirmation())
	}
	if f.noValidate {
		opts = append(opts, bridge.WithoutValidation())
	}
	if f.toolList == listSearch {
		opts = append(opts, bridge.WithToolSearch(f.toolThreshold))
	}
	return opts, nil
}

// dial returns the caller for a URL: grpc-go for gRPC, connect-go for the
// others.
func (f *upstreamFlags) dial(t *target) (bridge.CallCloser, error) {
	url := t.rpc
	header, err := f.header(t.name)
	if err != nil {
		return nil, err
	}
	config, err := f.connectConfig(url, header)
	if err != nil {
		return nil, err
	}
	var caller bridge.CallCloser
	if url.Protocol == bridge.ProtocolGRPC {
		opts := []grpcgo.Option{grpcgo.WithUserAgent(userAgent())}
		if config.TLS != nil {
			opts = append(opts, grpcgo.WithTLS(config.TLS))
		}
		if f.authority != "" {
			opts = append(opts, grpcgo.WithAuthority(f.authority))
		}
		for key, values := range header {
			opts = append(opts, grpcgo.WithHeader(key, values...))
		}
		if f.maxMessage > 0 {
			opts = append(opts, grpcgo.WithMaxReceiveBytes(f.maxMessage), grpcgo.WithMaxSendBytes(f.maxMessage))
		}
		if f.gzip {
			opts = append(opts, grpcgo.WithGzip())
		}
		caller, err = grpcgo.Dial(url.String(), opts...)
	} else {
		caller, err = bridge.Connect(url.String(), config)
	}
	if err != nil {
		return nil, usagef("%s", flagNames.Replace(err.Error()))
	}
	return caller, nil
}

// connectConfig is how connect-go reaches an upstream.
func (f *upstreamFlags) connectConfig(url bridge.URL, header http.Header) (bridge.ConnectConfig, error) {
	config := bridge.ConnectConfig{
		Authority: f.authority, Header: header, UserAgent: userAgent(),
		MaxReceiveBytes: f.maxMessage, MaxSendBytes: f.maxMessage, Gzip: f.gzip,
	}
	if f.tls.IsZero() || !url.TLS {
		return config, nil
	}
	var err error
	config.TLS, err = f.tls.Config()
	return config, err
}

// flagNames turns the names of options in errors into those of flags.
var flagNames = strings.NewReplacer(
	"WithHeader", "--header",
	"WithAuthority", "--authority",
)

func userAgent() string { return "mcp-bridge/" + bridge.Version() }

// explain words an error of the start, and adds what the command line can do
// about it.
func (f *upstreamFlags) explain(err error, url bridge.URL) error {
	if inner := errors.Unwrap(err); inner != nil && strings.HasPrefix(err.Error(), "bridge: ") {
		err = inner // who says so needs no saying here
	}
	status, ok := errors.AsType[statusError](err)
	switch {
	case !ok:
		return err
	case status.Code() == code.Code_UNAVAILABLE:
		// The message says what is wrong, and where.
		return failf("%s", strings.TrimPrefix(status.Error(), code.Code_UNAVAILABLE.String()+": "))
	case status.Code() == code.Code_UNIMPLEMENTED && f.source() == nil:
		return failf("%s offers no server reflection (%s)", url, status.Error()).
			hint("give its descriptors with --descriptors api.binpb (made by: buf build -o api.binpb)").
			hint("or its sources with --proto ./proto")
	case status.Code() == code.Code_RESOURCE_EXHAUSTED && f.source() == nil:
		return failf("%w", err).
			hint("descriptors count too: where the limit is this program's, raise it with --max-message-bytes")
	default:
		return err
	}
}

// statusError is a status other than OK.
type statusError interface {
	error
	Code() code.Code
}
