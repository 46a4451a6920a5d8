package gateway

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/auth"
	"github.com/mcp-bridge/mcp-bridge/bridge/config"
	"github.com/mcp-bridge/mcp-bridge/bridge/mux"
	"github.com/mcp-bridge/mcp-bridge/bridge/upstream"
	optionsv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/options/v1"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/guard"
)

// Paths that are served beside the endpoints.
const (
	ssePath    = "/sse"
	healthPath = "/healthz"
)

// settings are a Config that has been checked, with its defaults: everything that
// follows from it before anything is opened.
type settings struct {
	cfg       *configv1.Config
	mux       mux.Config
	policy    guard.Policy
	proxies   []netip.Prefix
	forwarded []string // names of headers that any upstream gets
	listeners []address
	tls       *tls.Config // nil is none
	path      string
	maxBytes  int
	auth      *auth.Authenticator // nil lets everyone in
}

// check reads a Config. The error has everything that is wrong with it or, where
// it keeps the rules, with the files that it names.
func (g *Gateway) check(cfg *configv1.Config) (*settings, error) {
	own := slices.Sorted(maps.Keys(g.opts.upstreams))
	if err := config.Validate(cfg, own...); err != nil {
		return nil, err
	}
	cfg = config.WithDefaults(cfg, own...)
	server := cfg.GetServer()
	s := &settings{
		cfg: cfg, path: server.GetPath(), maxBytes: int(server.GetMaxMessageBytes()),
		policy: guard.Policy{Origins: server.GetAllowedOrigins(), Hosts: server.GetAllowedHosts()},
	}
	faults := []error{s.policy.Validate()}
	faults = append(faults, g.checkUpstreams(s), s.checkServer(), g.checkAuth(s))
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return s, nil
}

// checkUpstreams makes the configuration of the Mux.
func (g *Gateway) checkUpstreams(s *settings) error {
	cfg := s.cfg
	var faults []error
	keys, err := readKeys(cfg.GetKeys())
	faults = append(faults, err)
	shared := upstream.Options{Logger: g.log, Keys: keys, StopTimeout: g.opts.stopTimeout}
	sole := len(cfg.GetUpstreams())+len(g.opts.upstreams) == 1
	s.mux = mux.Config{
		Prefix: prefixOf(cfg.GetDefaults().GetPrefix()), Guard: g.opts.guard, Keys: keys, Logger: g.log, Server: implementation(),
	}
	if sole {
		s.mux.Prefix = mux.PrefixDefault // a default is about several
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.GetUpstreams())) {
		spec := cfg.GetUpstreams()[name]
		u := mux.Upstream{
			Name: name, Required: spec.GetRequired(), Probe: spec.GetProbe().AsDuration(), Prefix: prefixOf(spec.GetPrefix()),
			Resources: spec.GetResources(), TrustAnnotations: spec.GetTrustAnnotations(), Tools: toolsOf(spec.GetTools()),
		}
		if u.Probe == 0 {
			u.Probe = -1 // never
		}
		s.mux.Upstreams = append(s.mux.Upstreams, u)
		s.forwarded = append(s.forwarded, spec.GetForwardHeaders()...)
	}
	for _, name := range slices.Sorted(maps.Keys(g.opts.upstreams)) {
		s.mux.Upstreams = append(s.mux.Upstreams, mux.Upstream{Name: name, Version: "program", Required: sole, Open: g.opts.upstreams[name]})
	}
	for i := range s.mux.Upstreams {
		u := &s.mux.Upstreams[i]
		name, spec := u.Name, cfg.GetUpstreams()[u.Name]
		if spec == nil {
			continue // of the program
		}
		opts := shared
		opts.ToolPrefix = s.mux.ToolPrefix(u) // which depends on how many upstreams there are
		if err := upstream.Check(name, spec, opts); err != nil {
			faults = append(faults, prefixed("upstreams."+name, err))
			continue
		}
		u.Version = upstream.Version(name, spec, opts)
		u.Open = func(ctx context.Context) (mux.Server, error) { return upstream.Open(ctx, name, spec, opts) }
	}
	slices.Sort(s.forwarded)
	s.forwarded = slices.Compact(s.forwarded)
	return errors.Join(faults...)
}

// prefixed puts the place of a fault before each line of it.
func prefixed(place string, err error) error {
	if faulty, ok := errors.AsType[*upstream.ConfigError](err); ok {
		err = faulty.Err
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var faults []error
		for _, e := range several.Unwrap() {
			faults = append(faults, prefixed(place, e))
		}
		return errors.Join(faults...)
	}
	return fmt.Errorf("%s: %w", place, err)
}

// implementation is how several upstreams together present themselves.
func implementation() json.RawMessage {
	info, err := json.Marshal(map[string]string{"name": "mcp-bridge", "version": bridge.Version()})
	if err != nil {
		return nil // strings always are JSON
	}
	return info
}

func prefixOf(p configv1.Prefix) mux.Prefix {
	switch p {
	case configv1.Prefix_PREFIX_ALWAYS:
		return mux.PrefixAlways
	case configv1.Prefix_PREFIX_NEVER:
		return mux.PrefixNever
	default:
		return mux.PrefixDefault
	}
}

func toolsOf(t *configv1.Tools) mux.Tools {
	tools := mux.Tools{Include: t.GetInclude(), Exclude: t.GetExclude(), Rename: t.GetRename()}
	for name, o := range t.GetOverride() {
		override := mux.Override{Title: o.GetTitle(), Description: o.GetDescription(), Annotations: annotationsOf(o.GetAnnotations())}
		for member, value := range o.GetSet().AsMap() {
			raw, err := json.Marshal(value)
			if err != nil {
				continue // a Struct holds JSON values only
			}
			if override.Set == nil {
				override.Set = make(map[string]json.RawMessage)
			}
			override.Set[member] = raw
		}
		if tools.Override == nil {
			tools.Override = make(map[string]mux.Override)
		}
		tools.Override[name] = override
	}
	return tools
}

// annotationsOf returns the hints that are set, as ToolAnnotations have them.
func annotationsOf(a *optionsv1.Annotations) json.RawMessage {
	if a == nil {
		return nil
	}
	hints := make(map[string]bool)
	for name, hint := range map[string]*bool{
		"readOnlyHint": a.ReadOnly, "destructiveHint": a.Destructive, "idempotentHint": a.Idempotent, "openWorldHint": a.OpenWorld,
	} {
		if hint != nil {
			hints[name] = *hint
		}
	}
	raw, err := json.Marshal(hints)
	if err != nil {
		return nil // names and truths always are JSON
	}
	return raw
}

// readKeys reads the files of keys.
func readKeys(keys []*configv1.Key) ([][]byte, error) {
	const least = 32
	var (
		all    [][]byte
		faults []error
	)
	for i, k := range keys {
		key, err := os.ReadFile(k.GetFile())
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("keys[%d]: %w", i, err))
		case len(key) < least:
			faults = append(faults, fmt.Errorf("keys[%d]: %s has %d bytes; a key needs %d", i, k.GetFile(), len(key), least))
		}
		all = append(all, key)
	}
	return all, errors.Join(faults...)
}
