package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-bridge/mcp-bridge/bridge"
)

// typedAuto is the value of the key typed for services without files.
const typedAuto = "auto"

// Between attempts to make a typed service of an upstream that is down.
const (
	typedMinPause = 500 * time.Millisecond
	typedMaxPause = 30 * time.Second
)

// typedService is the typed service of one upstream, which is there once the
// upstream has been.
type typedService struct {
	upstream string
	version  string // of everything that it depends on
	cancel   context.CancelFunc
	done     chan struct{}
	tried    chan struct{} // closed after the first attempt

	service *bridge.TypedService // set under apply; nil until it is there
	fault   error                // set under apply; why it is not served, so far
}

// ready returns the services that are served.
func ready(all []*typedService) []*bridge.TypedService {
	var services []*bridge.TypedService
	for _, t := range all {
		if t.service != nil && t.fault == nil {
			services = append(services, t.service)
		}
	}
	return services
}

// serveTyped serves the typed services of a site that are there. A name that two of
// them have is served by neither: which one came first must not matter. Streams that
// are open stay open. The caller holds apply.
func (g *Gateway) serveTyped(s *site) {
	upstreams := make(map[string][]string)
	for _, t := range s.typed {
		if t.service != nil {
			upstreams[t.service.Name()] = append(upstreams[t.service.Name()], t.upstream)
		}
	}
	for _, t := range s.typed {
		if t.service == nil {
			continue
		}
		before := t.fault
		t.fault = nil
		if name := t.service.Name(); len(upstreams[name]) > 1 {
			t.fault = fmt.Errorf("the upstreams %s have the same typed service %s, so it is not served; export one of them with another --name", strings.Join(upstreams[name], " and "), name)
			if before == nil {
				g.log.Warn("a typed service is not served", "upstream", t.upstream, "error", t.fault)
			}
		}
	}
	if err := s.grpc.SetTyped(ready(s.typed)...); err != nil {
		g.log.Error("the typed services are not served", "error", err)
	}
}

// typedServices returns the typed services of a configuration, those of old that
// stay the same among them. The caller holds apply.
func (g *Gateway) typedServices(s *settings, old *site) []*typedService {
	var all []*typedService
	configs := g.typedConfigs(s)
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		cfg := configs[name]
		version := ""
		for _, u := range s.mux.Upstreams {
			if u.Name == name {
				version = u.Version
			}
		}
		version += "\x00" + cfg.Dir + "\x00" + cfg.Package + "\x00" + cfg.Name
		if old != nil {
			if i := slices.IndexFunc(old.typed, func(t *typedService) bool { return t.upstream == name && t.version == version }); i >= 0 {
				all = append(all, old.typed[i])
				continue
			}
		}
		all = append(all, g.openTyped(name, version, cfg, s.maxBytes))
	}
	return all
}

// typedConfigs returns which upstreams have a typed service.
func (g *Gateway) typedConfigs(s *settings) map[string]bridge.TypedConfig {
	configs := maps.Clone(g.opts.typed)
	how := s.cfg.GetServer().GetTyped()
	if how == "" {
		return configs
	}
	several := len(s.mux.Upstreams) > 1
	for _, u := range s.mux.Upstreams {
		if _, ok := configs[u.Name]; ok {
			continue
		}
		var cfg bridge.TypedConfig
		if several {
			cfg.Name = u.Name
		}
		if how != typedAuto {
			cfg.Name, cfg.Dir = "", how
			if several {
				cfg.Dir = filepath.Join(how, u.Name)
				if _, err := os.Stat(cfg.Dir); errors.Is(err, fs.ErrNotExist) {
					continue
				}
			}
		}
		configs[u.Name] = cfg
	}
	return configs
}

// openTyped begins to make the typed service of an upstream.
func (g *Gateway) openTyped(name, version string, cfg bridge.TypedConfig, maxBytes int) *typedService {
	ctx, cancel := context.WithCancel(g.ctx)
	t := &typedService{upstream: name, version: version, cancel: cancel, done: make(chan struct{}), tried: make(chan struct{})}
	cfg.Handler, cfg.Logger, cfg.MaxMessageBytes = g.chain(g.mux.OwnNames(name)), g.log, maxBytes
	g.background.Go(func() {
		defer close(t.done)
		for pause := typedMinPause; ; pause = min(2*pause, typedMaxPause) {
			service, err := bridge.NewTypedService(ctx, cfg)
			g.addTyped(t, service, err)
			if pause == typedMinPause {
				close(t.tried)
			}
			if err == nil || ctx.Err() != nil {
				return
			}
			g.log.WarnContext(ctx, "the typed service of an upstream cannot be made yet", "upstream", name, "error", err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
	})
	return t
}

// addTyped begins to serve a typed service, or notes why there is none.
func (g *Gateway) addTyped(t *typedService, service *bridge.TypedService, fault error) {
	g.apply.Lock()
	defer g.apply.Unlock()
	if t.fault = fault; fault != nil {
		return
	}
	s := g.site.Load()
	if s == nil || !slices.Contains(s.typed, t) {
		service.Close()
		return
	}
	t.service = service
	g.serveTyped(s)
}

// close ends the service. The caller holds apply or nobody else does.
func (t *typedService) close() {
	t.cancel()
	if t.service != nil {
		t.service.Close()
	}
}
