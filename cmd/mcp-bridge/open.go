package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/config"
	"github.com/mcp-bridge/mcp-bridge/bridge/gateway"
	"github.com/mcp-bridge/mcp-bridge/bridge/upstream"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
)

// How long an upstream has at the start: serveTimeout until a server listens without
// it, and reachTimeout, which is longer than any attempt to open one, where the command
// is of no use without it.
const (
	serveTimeout = 10 * time.Second
	reachTimeout = 40 * time.Second
)

// warn reports what is odd about a configuration file.
func (a *app) warn(file *config.File) {
	for _, w := range file.Warnings {
		report(a.stderr, "warning: "+w.String())
	}
}

// logAsConfigured makes the log as the configuration says, unless a flag does.
func (a *app) logAsConfigured(cmd *cobra.Command, cfg *configv1.Config) {
	if cmd.Flags().Changed("log-level") {
		return
	}
	level := slog.LevelWarn
	switch cfg.GetTelemetry().GetLog().GetLevel() {
	case configv1.LogLevel_LOG_LEVEL_DEBUG:
		level = slog.LevelDebug
	case configv1.LogLevel_LOG_LEVEL_INFO:
		level = slog.LevelInfo
	case configv1.LogLevel_LOG_LEVEL_ERROR:
		level = slog.LevelError
	default:
	}
	a.logLevel.Set(level)
}

// configure returns the configuration of the upstreams in the arguments, or of
// --config. Any number of them is allowed.
func (a *app) configure(cmd *cobra.Command, f *upstreamFlags, all []*target) (*configv1.Config, error) {
	if f.config == "" {
		return f.upstreamConfig(all)
	}
	if err := f.besideConfig(cmd); err != nil {
		return nil, err
	}
	file, err := config.Load(f.config, config.Options{})
	if err != nil {
		return nil, usagef("%w", err)
	}
	a.warn(file)
	a.logAsConfigured(cmd, file.Config)
	f.file = file
	return file.Config, nil
}

// open returns a gateway of a configuration.
func (a *app) open(ctx context.Context, cfg *configv1.Config, f *upstreamFlags, opts ...gateway.Option) (*gateway.Gateway, error) {
	opts = append(opts, gateway.WithLogger(a.log()), gateway.WithStopTimeout(f.stopTimeout))
	g, err := gateway.New(ctx, cfg, opts...)
	if err != nil {
		text := f.faults(err, cfg)
		if strings.HasPrefix(text, "--header: ") {
			return nil, usagef("%s", text)
		}
		return nil, failf("%s", text)
	}
	return g, nil
}

// keyFlags are the flags of the keys that a fault may begin with.
var keyFlags = map[string]string{
	"descriptors": "--descriptors", "proto": "--proto", "protoPath": "--proto-path", "comments": "--comments", "optionsFile": "--options",
	"headers": "--header", "forwardHeaders": "--forward-header", "returnHeaders": "--return-header", "tls": "--ca, --cert or --key",
	"authority": "--authority", "services": "--service", "keys[0]": "--task-key-file",
	"server.tls": "--tls-cert, --tls-key or --tls-client-ca", "server.listen": "--listen", "server.path": "--path",
}

// faults words the faults of a configuration for those who have written flags.
func (f *upstreamFlags) faults(err error, cfg *configv1.Config) string {
	if f.config != "" {
		return err.Error()
	}
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		prefix := ""
		for name := range cfg.GetUpstreams() {
			rest, ok := strings.CutPrefix(line, "upstreams."+name)
			if !ok || rest == "" || rest[0] != '.' && rest[0] != ':' {
				continue
			}
			if line = strings.TrimLeft(rest, ".: "); len(cfg.GetUpstreams()) > 1 {
				prefix = name + ": "
			}
			break
		}
		line = strings.Replace(line, "WithHeader: ", "headers: ", 1) // as callers call it
		line = strings.Replace(line, "WithAuthority: ", "authority: ", 1)
		line = strings.Replace(line, "set auth, or let everyone in by auth.anonymous: true",
			"say who is let in by auth in a configuration file, or let everyone in by --allow-unauthenticated", 1)
		lines = append(lines, prefix+flagged(line))
	}
	return strings.Join(lines, "\n")
}

// flagged names the flag of a fault in place of its key. What follows the key in
// a path stays, but not a number.
func flagged(fault string) string {
	path, problem, ok := strings.Cut(fault, ": ")
	if !ok {
		return fault
	}
	for key, flag := range keyFlags {
		rest, ok := strings.CutPrefix(path, key)
		switch {
		case !ok:
		case rest == "" || strings.HasSuffix(rest, "]") && !strings.Contains(rest, `"`) && rest[0] == '[':
			return flag + ": " + problem
		case rest[0] == '.' || rest[0] == '[':
			return flag + ": " + strings.Trim(rest, `.[]"`) + ": " + problem
		}
	}
	return fault
}

// single is the only upstream of a gateway, or nil.
func single(g *gateway.Gateway) upstream.Server {
	all := g.Status()
	if len(all) != 1 {
		return nil
	}
	server, _ := all[0].Server.(upstream.Server)
	return server
}

// apiOf returns the only upstream of a gateway where that is an API, or nil.
func apiOf(g *gateway.Gateway) *upstream.API {
	api, _ := single(g).(*upstream.API)
	return api
}

// toolsOf returns the tools of the only upstream, where that is an API.
func toolsOf(g *gateway.Gateway) []bridge.Tool {
	if api := apiOf(g); api != nil {
		return api.Tools()
	}
	return nil
}

// reach waits until every upstream has been tried, and, with wait, until all are
// up. For a command that asks one thing, an upstream that is down is an error,
// unless there are others.
func (a *app) reach(ctx context.Context, g *gateway.Gateway, f *upstreamFlags) error {
	down := g.Ready(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(down) == len(g.Status()) {
		var problems []error
		for _, name := range slices.Sorted(maps.Keys(down)) {
			err := f.explain(down[name])
			if len(down) > 1 {
				err = failf("%s: %w", name, err)
			}
			problems = append(problems, err)
		}
		if len(problems) == 1 {
			return problems[0]
		}
		return failf("%w", errors.Join(problems...))
	}
	for _, name := range slices.Sorted(maps.Keys(down)) {
		report(a.stderr, "warning: "+name+" is unavailable: "+f.explain(down[name]).Error())
	}
	return nil
}

// explain words why an upstream is down, and adds what the command line can do
// about it.
func (f *upstreamFlags) explain(err error) error {
	if inner := errors.Unwrap(err); inner != nil && strings.HasPrefix(err.Error(), "bridge: ") {
		err = inner // who says so needs no saying here
	}
	if missing, ok := errors.AsType[*upstream.NoReflectionError](err); ok {
		return failf("%s offers no server reflection (%w)", missing.Address, missing.Err).
			hint("give its descriptors with --descriptors api.binpb (made by: buf build -o api.binpb)").
			hint("or its sources with --proto ./proto")
	}
	status, ok := errors.AsType[statusError](err)
	switch {
	case !ok:
		return err
	case status.Code() == code.Code_UNAVAILABLE:
		// The message says what is wrong, and where.
		return failf("%s", strings.TrimPrefix(status.Error(), code.Code_UNAVAILABLE.String()+": "))
	case status.Code() == code.Code_RESOURCE_EXHAUSTED && len(f.descriptors.given)+len(f.protos.given) == 0:
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

// manyTools is from how many tools on the start leaves enough behind to be
// worth giving back.
const manyTools = 200

// trim gives memory that was needed only for the start back to the system. It
// is for programs that go on running, once they have said that they are ready.
func trim(g *gateway.Gateway) {
	tools := 0
	for _, s := range g.Status() {
		tools += s.Tools
	}
	if tools >= manyTools {
		debug.FreeOSMemory()
	}
}

// openOne returns a gateway of the upstream in the arguments of a command that has
// others too, or of --config, once the upstream has been reached. It returns the
// other arguments.
func (a *app) openOne(cmd *cobra.Command, f *upstreamFlags, args []string) (*gateway.Gateway, []string, error) {
	var (
		all  []*target
		rest = args
	)
	if f.config == "" {
		t, others, err := oneTarget(cmd, args)
		if err != nil {
			return nil, nil, err
		}
		all, rest = []*target{t}, others
		f.shown = t.text
		if t.command != nil {
			f.shown = "-- " + t.text
		}
	} else {
		f.shown = "--config " + f.config
	}
	cfg, err := a.configure(cmd, f, all)
	if err != nil {
		return nil, nil, err
	}
	g, err := a.open(cmd.Context(), cfg, f)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), reachTimeout)
	defer cancel()
	if err := a.reach(ctx, g, f); err != nil {
		g.Close()
		return nil, nil, err
	}
	return g, rest, nil
}
