package gateway

import (
	"context"
	"net/http"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mcp-bridge/mcp-bridge/bridge/auth"
	"github.com/mcp-bridge/mcp-bridge/bridge/config"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// checkAuth makes what establishes who calls.
func (g *Gateway) checkAuth(s *settings) error {
	a := s.cfg.GetAuth()
	if !config.Authenticates(a) {
		return nil
	}
	cfg := auth.Config{
		Resource: s.cfg.GetServer().GetPublicUrl(), Path: s.path, Anonymous: a.GetAnonymous(),
		APIKeys: a.GetApiKeys().GetFile(), Certificates: a.GetMtls() != nil, Logger: g.log,
	}
	for _, j := range a.GetJwt() {
		cfg.Issuers = append(cfg.Issuers, auth.Issuer{
			Issuer: j.GetIssuer(), Audiences: j.GetAudiences(), JWKSURL: j.GetJwksUrl(), JWKSFile: j.GetJwksFile(),
			Scopes: j.GetScopes(), ScopeClaims: j.GetScopeClaims(), Leeway: j.GetLeeway().AsDuration(),
		})
	}
	for _, in := range a.GetIntrospection() {
		cfg.Introspections = append(cfg.Introspections, auth.Introspection{
			URL: in.GetUrl(), ClientID: in.GetClientId(), ClientSecret: in.GetClientSecret(), Issuer: in.GetIssuer(),
			Audiences: in.GetAudiences(), Scopes: in.GetScopes(),
		})
	}
	var err error
	s.auth, err = auth.New(cfg)
	return err
}

// keepAuth keeps the Authenticator of other settings that say the same, with the
// tokens and keys that it knows.
func (s *settings) keepAuth(old *settings) {
	if s.auth == nil || old.auth == nil || s.path != old.path ||
		s.cfg.GetServer().GetPublicUrl() != old.cfg.GetServer().GetPublicUrl() || !proto.Equal(s.cfg.GetAuth(), old.cfg.GetAuth()) {
		return
	}
	s.auth.Close()
	s.auth = old.auth
}

// withoutCredential reports whether an RPC is for everyone: health checks come from
// machines that have no credential.
func (s *settings) withoutCredential(path string) bool {
	return strings.HasPrefix(path, "/grpc.health.") ||
		strings.HasPrefix(path, reflectionPath) && s.cfg.GetServer().GetReflection() == configv1.Reflection_REFLECTION_PUBLIC
}

// authenticated returns a Handler that lets requests through to next whose sender
// is established, by middleware in front or by a credential.
func (s *site) authenticated(next http.Handler) http.Handler {
	a := s.settings.auth
	if a == nil {
		return next
	}
	isRPC := func(r *http.Request) bool { return s.grpc.Handler(r.URL.Path) != nil }
	checked := a.Handler(next, isRPC)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := checked
		if protocol.PrincipalFrom(r.Context()) != nil || isRPC(r) && s.settings.withoutCredential(r.URL.Path) {
			h = next
		}
		h.ServeHTTP(w, r)
	})
}

// expire ends subscriptions when the credential of their client expires, and refuses
// requests that come later on a connection that is still open. Calls under way go on.
func expire(next protocol.Handler) protocol.Handler {
	return protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
		if r.Caller == nil || r.Caller.Principal == nil || r.Caller.Principal.Expiry.IsZero() {
			return next.Handle(ctx, r, n)
		}
		expiry := r.Caller.Principal.Expiry
		if !time.Now().Before(expiry) {
			return nil, protocol.Errorf(protocol.CodeInvalidRequest, "the credential has expired; connect again with a new one")
		}
		if r.Method == protocol.MethodListen {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, expiry)
			defer cancel()
		}
		return next.Handle(ctx, r, n)
	})
}

// stdioCaller returns a context that says who is on standard input and output.
func (s *settings) stdioCaller(ctx context.Context) context.Context {
	caller := s.cfg.GetAuth().GetStdio()
	if caller == nil {
		return ctx
	}
	return protocol.WithPrincipal(ctx, protocol.NewPrincipal(protocol.Principal{
		Method: protocol.AuthStdio, Subject: caller.GetSubject(), Scopes: caller.GetScopes(),
	}))
}
