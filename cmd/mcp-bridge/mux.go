package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// parseAll reads the upstreams from the arguments, and checks the flags for
// them. Nothing is asked yet.
func (f *upstreamFlags) parseAll(cmd *cobra.Command, args []string) ([]*target, error) {
	all, err := targets(cmd, args)
	if err != nil {
		return nil, err
	}
	if len(all) > 1 {
		if err := nameTargets(all); err != nil {
			return nil, err
		}
	}
	return all, f.checkAll(cmd, all)
}

// openAll connects to the upstreams of parseAll. A single one must be there; of
// several, those that are not are tried again and again.
func (f *upstreamFlags) openAll(ctx context.Context, cmd *cobra.Command, all []*target, log *slog.Logger) (*upstream, error) {
	if len(all) == 1 {
		return f.open(ctx, cmd, all[0], log)
	}
	several := *f
	several.mixed = true
	var parts []bridge.MuxUpstream
	for _, t := range all {
		parts = append(parts, bridge.MuxUpstream{Name: t.name, Open: func(ctx context.Context) (protocol.Handler, func(), error) {
			up, err := several.open(ctx, cmd, t, log)
			if err != nil {
				return nil, nil, err
			}
			if err := up.meet(ctx); err != nil {
				up.close()
				return nil, nil, err
			}
			return up, up.close, nil
		}})
	}
	m, err := bridge.NewMux(bridge.MuxConfig{Upstreams: parts, Logger: log})
	if err != nil {
		return nil, err
	}
	return &upstream{Handler: m, mux: m, parts: all, end: m.EndSubscriptions, close: m.Close}, nil
}

// checkAll reports the flags that mean nothing for any of the upstreams.
func (f *upstreamFlags) checkAll(cmd *cobra.Command, all []*target) error {
	problems := []error{f.checkScopes(all), f.checkCommand(all)}
	each := *f
	each.mixed = len(all) > 1
	if each.mixed && !f.tls.IsZero() && !slices.ContainsFunc(all, (*target).secure) {
		problems = append(problems, usagef("--ca, --cert, --key and --insecure-skip-verify are for TLS, which none of the upstreams uses"))
	}
	for _, t := range all {
		var err error
		switch t.kind {
		case kindRPC:
			err = each.check(t.rpc)
		case kindMCPRPC, kindTunnel:
			err = each.checkConnection(t.rpc)
		case kindHTTP, kindSSE, kindCommand:
		}
		if err != nil {
			problems = append(problems, usagef("%w", err))
		}
	}
	switch {
	case slices.ContainsFunc(all, func(t *target) bool { return t.kind == kindRPC }):
	case len(all) == 1:
		problems = append(problems, f.checkMCP(cmd, all[0]))
	default:
		problems = append(problems, f.checkSeveral(cmd, all))
	}
	return errors.Join(problems...)
}

// checkSeveral is checkMCP for several MCP servers: a flag must mean something
// for one of them.
func (f *upstreamFlags) checkSeveral(cmd *cobra.Command, all []*target) error {
	var known []string
	for _, t := range all {
		known = append(known, t.flags()...)
	}
	problems := []error{unfitFlags(cmd, known, "all upstreams are MCP servers")}
	if _, err := f.header(""); err != nil {
		problems = append(problems, usagef("%w", err))
	}
	if f.maxMessage < 0 {
		problems = append(problems, usagef("--max-message-bytes %d is negative", f.maxMessage))
	}
	return errors.Join(problems...)
}

// announceMux is announce for several upstreams.
func (a *app) announceMux(ctx context.Context, s *site, up *upstream, asJSON bool) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	down := up.mux.Ready(ctx)
	type part struct {
		Name        string `json:"name"`
		Upstream    string `json:"upstream"`
		Unavailable string `json:"unavailable,omitempty"`
	}
	parts := make([]part, len(up.parts))
	for i, t := range up.parts {
		parts[i] = part{Name: t.name, Upstream: t.text}
		if err := down[t.name]; err != nil {
			parts[i].Unavailable = err.Error()
		}
	}
	if asJSON {
		return a.printJSON(struct {
			URL       string `json:"url"`
			SSE       string `json:"sse,omitempty"`
			Upstreams []part `json:"upstreams"`
		}{s.mcpURL(), s.sseURL(), parts})
	}
	var rows []row
	for _, p := range parts {
		text := p.Upstream
		if p.Unavailable != "" {
			first, _, _ := strings.Cut(p.Unavailable, "\n")
			text += " is unavailable: " + first
		}
		rows = append(rows, row{p.Name, printable(text)})
	}
	return a.printf("Listening on %s\n%s%s%s", s.mcpURL(), s.sseLine(), s.grpcLine(), a.style.table(rows))
}
