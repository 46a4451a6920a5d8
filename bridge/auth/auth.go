package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/watched"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Config says who is let in. Where nothing in it is set, nobody is.
type Config struct {
	// Resource is the resource identifier (RFC 8707): the URL by which clients
	// reach the MCP endpoint, without a trailing slash. Where it is empty, it is
	// made of the Host and the path of each request, and then tokens need
	// audiences of their own, because the Host says nothing that can be trusted.
	Resource string
	// Path is where this server serves the resource, if a proxy in front changes
	// the path. The default is the path of Resource. What is below it is a
	// resource of its own: tokens for one are not for the other.
	Path string
	// Anonymous lets requests without any credential in. One that has a
	// credential must have a good one nevertheless.
	Anonymous bool
	// Issuers are the authorization servers whose JSON Web Tokens count.
	Issuers []Issuer
	// Introspections are the authorization servers that are asked about other
	// tokens (RFC 7662), in order, until one knows the token.
	Introspections []Introspection
	// APIKeys is a file of API keys: lines of NAME:sha256:HEX, where HEX is the
	// SHA-256 of the key, and optionally :SCOPE,SCOPE. Empty lines and those that
	// begin with # do not count. It is read again when it changes.
	APIKeys string
	// Certificates lets callers in by a client certificate that the TLS server
	// has verified.
	Certificates bool
	// Client fetches metadata and keys and asks for introspection. The default
	// has limits for what it fetches, and goes through the proxy that the
	// environment names.
	Client *http.Client
	// Logger gets a line for each credential that is refused, without the
	// credential. The default discards.
	Logger *slog.Logger
}

// Authenticator establishes who calls. It is used concurrently. Close it.
type Authenticator struct {
	cfg     Config
	log     *slog.Logger
	issuers map[string]*issuer
	asked   []*introspector
	keys    *watched.Value[apiKeys] // or nil
	cache   cache

	ctx        context.Context //nolint:containedctx // ends what runs in the background
	cancel     context.CancelFunc
	mu         sync.Mutex // orders what begins in the background, and Close
	background sync.WaitGroup
}

// New returns an Authenticator. It reads files, and asks no server. The error has
// everything that is wrong with the Config.
func New(cfg Config) (*Authenticator, error) {
	cfg.Resource = strings.TrimSuffix(cfg.Resource, "/")
	if u, err := url.Parse(cfg.Resource); err == nil && cfg.Path == "" {
		cfg.Path = u.Path
	}
	a := &Authenticator{cfg: cfg, log: cfg.Logger, issuers: make(map[string]*issuer)}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if cfg.Client == nil {
		cfg.Client = newClient()
	}
	var faults []error
	if cfg.Resource != "" {
		if err := checkURL(cfg.Resource); err != nil {
			faults = append(faults, fmt.Errorf("the resource identifier %w", err))
		}
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	for i := range cfg.Issuers {
		is, err := a.newIssuer(cfg.Issuers[i], cfg.Client)
		faults = append(faults, err)
		if _, twice := a.issuers[is.Issuer.Issuer]; twice {
			faults = append(faults, fmt.Errorf("the issuer %s is listed twice; list its audiences together", is.Issuer.Issuer))
		}
		a.issuers[is.Issuer.Issuer] = is
	}
	for _, in := range cfg.Introspections {
		asked, err := newIntrospector(in, cfg.Client)
		faults = append(faults, err)
		a.asked = append(a.asked, asked)
	}
	if cfg.APIKeys != "" {
		var err error
		a.keys, err = watched.New(readAPIKeys, cfg.APIKeys)
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// Close ends what runs in the background. Requests that wait for it are refused.
func (a *Authenticator) Close() {
	a.mu.Lock()
	a.cancel()
	a.mu.Unlock()
	a.background.Wait()
}

// start runs f in the background. It returns false after Close.
func (a *Authenticator) start(f func()) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ctx.Err() != nil {
		return false
	}
	a.background.Go(f)
	return true
}

// Handler lets requests through whose sender it can establish, with the
// [protocol.Principal] in their context, and refuses others in the form of the
// protocol that they speak: isRPC, which may be nil, tells which requests are of
// Connect, gRPC or gRPC-Web. A request without a credential, where that is allowed,
// passes as it is. Streams of events, which are GET requests, end when the credential
// does.
func (a *Authenticator) Handler(next http.Handler, isRPC func(*http.Request) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, refusal := a.Authenticate(r)
		if refusal != nil {
			if r.Context().Err() == nil {
				a.log.WarnContext(r.Context(), "a request was refused", "reason", refusal.Reason, "status", refusal.Status,
					"client", r.RemoteAddr, "path", clip.Name(r.URL.Path))
			}
			a.refuse(w, r, refusal, isRPC != nil && isRPC(r))
			return
		}
		if p != nil {
			ctx := protocol.WithPrincipal(r.Context(), p)
			if r.Method == http.MethodGet && !p.Expiry.IsZero() {
				var cancel context.CancelFunc
				ctx, cancel = context.WithDeadlineCause(ctx, p.Expiry, errExpired)
				defer cancel()
			}
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}

var errExpired = errors.New("the credential has expired")

// Authenticate returns who has sent a request. It returns nil and no refusal for a
// request without a credential, where such requests are let in.
func (a *Authenticator) Authenticate(r *http.Request) (*protocol.Principal, *Refusal) {
	token, refusal := bearer(r)
	switch {
	case refusal != nil:
		return nil, refusal
	case token != "":
		return a.verify(r, token)
	}
	if a.cfg.Certificates {
		if p := certified(r); p != nil {
			return p, nil
		}
	}
	if a.cfg.Anonymous {
		return nil, nil //nolint:nilnil // as documented: nobody in particular
	}
	return nil, &Refusal{Status: http.StatusUnauthorized, Reason: "it has no credential", Scopes: a.scopes()}
}

// verify returns whose a token is.
func (a *Authenticator) verify(r *http.Request, token string) (*protocol.Principal, *Refusal) {
	now := time.Now()
	key := digest(token)
	v, ok := a.cache.get(key, now)
	if !ok {
		v = a.examine(r.Context(), token, now)
		// What could not be found out is asked again.
		if v.until.After(now) {
			a.cache.put(key, v, now)
		}
	}
	switch {
	case v.refusal != nil:
		return nil, v.refusal
	case v.audiences != nil && !slices.ContainsFunc(v.audiences, a.isOurs(r, v.allowed)):
		return nil, invalid("the token is for another audience")
	case len(missing(v.required, v.principal.Scopes)) > 0:
		return nil, &Refusal{
			Status: http.StatusForbidden, Code: insufficientScope, Scopes: v.required,
			Reason: "the token lacks the scopes " + strings.Join(missing(v.required, v.principal.Scopes), " "),
		}
	}
	return v.principal, nil
}

// verdict is what is known of a token.
type verdict struct {
	principal *protocol.Principal
	refusal   *Refusal // if there is no principal
	until     time.Time
	// audiences are those of the token, or nil where it has none to check, and
	// allowed those that it must have one of. Without any, it is the resource.
	audiences, allowed []string
	required           []string // scopes
}

// examine finds out whose a token is.
func (a *Authenticator) examine(ctx context.Context, token string, now time.Time) verdict {
	if a.keys != nil {
		if p := a.keys.Get().find(token); p != nil {
			return verdict{principal: p, until: now.Add(keyTTL)}
		}
	}
	if t, err := parseJWT(token); err == nil {
		if is := a.issuers[t.issuer]; is != nil {
			return is.examine(ctx, t, now)
		}
	}
	v := verdict{refusal: invalid("nobody here has issued the token")}
	for _, in := range a.asked {
		if v = in.examine(ctx, token, now); v.principal != nil {
			return v
		}
	}
	return v
}

// isOurs tells whether an audience is one that a token for this request may have.
func (a *Authenticator) isOurs(r *http.Request, allowed []string) func(string) bool {
	if len(allowed) > 0 {
		return func(audience string) bool { return slices.Contains(allowed, audience) }
	}
	resource := a.resource(r)
	return func(audience string) bool { return strings.TrimSuffix(audience, "/") == resource }
}

// scopes returns the scopes that tokens need, of all authorization servers.
func (a *Authenticator) scopes() []string {
	var all []string
	for _, is := range a.issuers {
		all = append(all, is.Scopes...)
	}
	for _, in := range a.asked {
		all = append(all, in.Scopes...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func missing(required, has []string) []string {
	var lacks []string
	for _, scope := range required {
		if !slices.Contains(has, scope) {
			lacks = append(lacks, scope)
		}
	}
	return lacks
}

// checkURL reports what is wrong with a URL that tokens or keys depend on.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		return fmt.Errorf("%q is no URL such as https://idp.example.com", clip.Name(text))
	case u.User != nil:
		return errors.New("has a user in it, which everybody would see")
	case u.Fragment != "":
		return fmt.Errorf("%q has a fragment", clip.Name(text))
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	}
	return fmt.Errorf("%q must begin with https://, because anybody on the path could answer for it; http:// is for loopback addresses", clip.Name(text))
}
