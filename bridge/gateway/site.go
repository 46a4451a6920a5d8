package gateway

import (
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/auth"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/protocol/httpsse"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// site is what is served over HTTP. It is immutable; another configuration has
// another site, which takes over the fronts that stay the same.
type site struct {
	settings  *settings
	endpoints map[string]*endpoint // "" is the one of all upstreams
	grpc      *bridge.GRPCHandler
	typed     []*typedService
	routes    http.Handler
}

// endpoint is a view of the upstreams with the fronts whose clients have sessions.
type endpoint struct {
	pipeline *pipeline
	made     bool
	is       []byte // what the pipeline is made of
	maxBytes int
	web      *streamable.Handler
	sse      *httpsse.Handler // or nil
}

// reflectionPath is the beginning of the paths of server reflection.
const reflectionPath = "/grpc.reflection."

// anywhere lets fronts serve every request, because the edge has decided before.
var anywhere = []string{"*"}

// newSite builds the site of a configuration and takes over what it can from old,
// which may be nil. The caller holds apply.
func (g *Gateway) newSite(s *settings, old *site) (*site, error) {
	next := &site{settings: s, endpoints: make(map[string]*endpoint)}
	names := append([]string{""}, slices.Sorted(maps.Keys(s.cfg.GetEndpoints()))...)
	for _, name := range names {
		e := &endpoint{pipeline: &pipeline{}, maxBytes: s.maxBytes}
		if old != nil && old.endpoints[name] != nil {
			*e = *old.endpoints[name]
		}
		if err := g.openFronts(e, s, name == "" && s.cfg.GetServer().GetSse()); err != nil {
			next.closeUnlike(old)
			return nil, err
		}
		next.endpoints[name] = e
	}
	next.typed = g.typedServices(s, old)
	var err error
	if old != nil && old.settings.maxBytes == s.maxBytes {
		next.grpc = old.grpc
	} else if next.grpc, err = g.newGRPC(s); err != nil {
		next.closeUnlike(old)
		return nil, err
	}
	next.routes = next.route()
	return next, nil
}

// openFronts opens the fronts that an endpoint lacks, or that have another limit.
func (g *Gateway) openFronts(e *endpoint, s *settings, sse bool) error {
	var err error
	if e.web == nil || e.maxBytes != s.maxBytes {
		e.web, err = streamable.New(streamable.Config{
			Handler: e.pipeline, Logger: g.log, AllowedOrigins: anywhere, AllowedHosts: anywhere, MaxMessageBytes: int64(s.maxBytes),
		})
		if err != nil {
			return err
		}
	}
	switch {
	case !sse:
		e.sse = nil
	case e.sse == nil || e.maxBytes != s.maxBytes:
		e.sse, err = httpsse.New(httpsse.Config{
			Handler: e.pipeline, Logger: g.log, AllowedOrigins: anywhere, AllowedHosts: anywhere, MaxMessageBytes: int64(s.maxBytes),
		})
	}
	e.maxBytes = s.maxBytes
	return err
}

func (g *Gateway) newGRPC(s *settings) (*bridge.GRPCHandler, error) {
	return bridge.NewGRPCHandler(bridge.GRPCConfig{
		Handler: g, Endpoint: g.endpoint, Logger: g.log, MaxMessageBytes: s.maxBytes,
		AllowedOrigins: anywhere, AllowedHosts: anywhere,
	})
}

// route builds the routes.
func (s *site) route() http.Handler {
	path := s.settings.path
	mcp := http.NewServeMux()
	for name, e := range s.endpoints {
		at := path
		if name != "" {
			at += "/" + name
		}
		mcp.Handle(at, e.web)
		if e.sse != nil {
			mcp.Handle(ssePath, e.sse)
		}
	}
	mcp.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "nothing is here; the MCP endpoint is "+path, http.StatusNotFound)
	})
	reflection := s.settings.cfg.GetServer().GetReflection() != configv1.Reflection_REFLECTION_OFF
	serve := s.authenticated(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := s.grpc.Handler(r.URL.Path)
		if h == nil {
			h = mcp
		}
		h.ServeHTTP(w, s.settings.identify(r))
	}))
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isRPC := s.grpc.Handler(r.URL.Path) != nil
		if isRPC && !reflection && strings.HasPrefix(r.URL.Path, reflectionPath) {
			http.Error(w, "server reflection is off", http.StatusNotFound) // UNIMPLEMENTED to gRPC
			return
		}
		// No page can speak gRPC itself, so that may name any host.
		if !isRPC || !isGRPC(r) || r.Header.Get("Origin") != "" {
			if reason := s.settings.policy.Refuse(r); reason != "" {
				http.Error(w, reason, http.StatusForbidden)
				return
			}
		}
		serve.ServeHTTP(w, r)
	})
	routes := http.NewServeMux()
	routes.HandleFunc("GET "+healthPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n")) // the prober is gone
	})
	if s.settings.auth != nil {
		routes.Handle("GET "+auth.MetadataPath, s.settings.auth.Metadata())
		routes.Handle("GET "+auth.MetadataPath+"/", s.settings.auth.Metadata())
	}
	routes.Handle("/", guarded)
	return withCORS(s.settings.policy.Origins, routes)
}

// isGRPC reports whether a request is one of gRPC, not gRPC-Web.
func isGRPC(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && r.ProtoMajor >= 2 && (kind == "application/grpc" || kind == "application/grpc+proto")
}

// closeUnlike closes the fronts that another site does not share.
func (s *site) closeUnlike(other *site) {
	if s == nil {
		return
	}
	if s.settings.auth != nil && (other == nil || other.settings.auth != s.settings.auth) {
		s.settings.auth.Close()
	}
	if s.grpc != nil && (other == nil || other.grpc != s.grpc) {
		s.grpc.Close()
	}
	for name, e := range s.endpoints {
		kept := &endpoint{}
		if other != nil && other.endpoints[name] != nil {
			kept = other.endpoints[name]
		}
		if e.sse != nil && e.sse != kept.sse {
			e.sse.Close()
		}
		if e.web != nil && e.web != kept.web {
			e.web.Close()
		}
	}
	for _, t := range s.typed {
		if other == nil || !slices.Contains(other.typed, t) {
			t.close()
		}
	}
}
