package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"go.uber.org/goleak"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const resource = "https://mcp.example.com/mcp"

// idp is an authorization server that has keys and metadata.
type idp struct {
	*httptest.Server

	keys    atomic.Pointer[jose.JSONWebKeySet]
	down    atomic.Bool
	fetches atomic.Int64
}

func newIDP(t *testing.T, keys ...jose.JSONWebKey) *idp {
	t.Helper()
	s := &idp{}
	s.serve(keys...)
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, v any) {
		if s.down.Load() {
			http.Error(w, "down", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]string{"issuer": s.URL, "jwks_uri": s.URL + "/keys"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		s.fetches.Add(1)
		answer(w, s.keys.Load())
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *idp) serve(keys ...jose.JSONWebKey) {
	set := &jose.JSONWebKeySet{}
	for _, k := range keys {
		set.Keys = append(set.Keys, k.Public())
	}
	s.keys.Store(set)
}

func key(t testing.TB, id string, alg jose.SignatureAlgorithm) jose.JSONWebKey {
	t.Helper()
	var (
		private crypto.Signer
		err     error
	)
	switch {
	case strings.HasPrefix(string(alg), "ES"):
		curve := map[jose.SignatureAlgorithm]elliptic.Curve{jose.ES256: elliptic.P256(), jose.ES384: elliptic.P384(), jose.ES512: elliptic.P521()}[alg]
		private, err = ecdsa.GenerateKey(curve, rand.Reader)
	case alg == jose.EdDSA:
		_, private, err = ed25519.GenerateKey(rand.Reader)
	default:
		private, err = rsa.GenerateKey(rand.Reader, minRSABits)
	}
	if err != nil {
		t.Fatal(err)
	}
	return jose.JSONWebKey{Key: private, KeyID: id, Algorithm: string(alg), Use: "sig"}
}

// sign returns a token. Members of header are put into its header.
func sign(t testing.TB, k jose.JSONWebKey, alg jose.SignatureAlgorithm, claims any, header map[jose.HeaderKey]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: k}, &jose.SignerOptions{ExtraHeaders: header})
	if err != nil {
		t.Fatal(err)
	}
	payload, ok := claims.([]byte)
	if !ok {
		if payload, err = json.Marshal(claims); err != nil {
			t.Fatal(err)
		}
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

type object = map[string]any

// good returns claims that are fine, with changes.
func good(issuer string, changes object) object {
	c := object{"iss": issuer, "sub": "alice", "aud": resource, "exp": time.Now().Add(time.Hour).Unix(), "scope": "orders.read orders.write"}
	for name, value := range changes {
		if c[name] = value; value == nil {
			delete(c, name)
		}
	}
	return c
}

func open(t testing.TB, cfg Config) *Authenticator {
	t.Helper()
	if cfg.Resource == "" {
		cfg.Resource = resource
	}
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func request(token string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "https://mcp.example.com/mcp", http.NoBody)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

func TestJWT(t *testing.T) {
	t.Parallel()
	var all []jose.JSONWebKey
	algs := []jose.SignatureAlgorithm{jose.RS256, jose.PS384, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA}
	for _, alg := range algs {
		all = append(all, key(t, string(alg), alg))
	}
	server := newIDP(t, all...)
	a := open(t, Config{Issuers: []Issuer{{Issuer: server.URL}}})
	k := all[2]
	for _, alg := range algs {
		i := slices.IndexFunc(all, func(k jose.JSONWebKey) bool { return k.KeyID == string(alg) })
		p, refusal := a.Authenticate(request(sign(t, all[i], alg, good(server.URL, nil), map[jose.HeaderKey]any{"typ": "at+jwt"})))
		if refusal != nil || p.Subject != "alice" || p.Issuer != server.URL || !slices.Equal(p.Scopes, []string{"orders.read", "orders.write"}) {
			t.Errorf("%s: %+v, %+v", alg, p, refusal)
		}
	}
	if n := server.fetches.Load(); n != 1 {
		t.Errorf("the keys were fetched %d times", n)
	}
	stranger := key(t, k.KeyID, jose.ES256)
	now := time.Now()
	public, err := x509.MarshalPKIXPublicKey(all[0].Public().Key)
	if err != nil {
		t.Fatal(err)
	}
	confused := sign(t, jose.JSONWebKey{Key: public, KeyID: all[0].KeyID}, jose.HS256, good(server.URL, nil), nil)
	tests := []struct {
		name, token string
		ok          bool
	}{
		{"no key id", sign(t, jose.JSONWebKey{Key: k.Key}, jose.ES256, good(server.URL, nil), nil), true},
		{"one of several audiences", sign(t, k, jose.ES256, good(server.URL, object{"aud": []string{"https://other", resource}}), nil), true},
		{"audience with a slash at the end", sign(t, k, jose.ES256, good(server.URL, object{"aud": resource + "/"}), nil), true},
		{"expired within the leeway", sign(t, k, jose.ES256, good(server.URL, object{"exp": now.Add(-30 * time.Second).Unix()}), nil), true},
		{"a fraction of a second", sign(t, k, jose.ES256, good(server.URL, object{"exp": float64(now.Unix()) + 1000.5}), nil), true},
		{"expired", sign(t, k, jose.ES256, good(server.URL, object{"exp": now.Add(-2 * time.Minute).Unix()}), nil), false},
		{"never expires", sign(t, k, jose.ES256, good(server.URL, object{"exp": nil}), nil), false},
		{"expiry as a text", sign(t, k, jose.ES256, good(server.URL, object{"exp": "tomorrow"}), nil), false},
		{"not valid yet", sign(t, k, jose.ES256, good(server.URL, object{"nbf": now.Add(2 * time.Minute).Unix()}), nil), false},
		{"issued in the future", sign(t, k, jose.ES256, good(server.URL, object{"iat": now.Add(2 * time.Minute).Unix()}), nil), false},
		{"another audience", sign(t, k, jose.ES256, good(server.URL, object{"aud": "https://other"}), nil), false},
		{"an endpoint's audience", sign(t, k, jose.ES256, good(server.URL, object{"aud": resource + "/support"}), nil), false},
		{"no audience", sign(t, k, jose.ES256, good(server.URL, object{"aud": nil}), nil), false},
		{"no subject", sign(t, k, jose.ES256, good(server.URL, object{"sub": nil}), nil), false},
		{"another issuer", sign(t, k, jose.ES256, good("https://other", nil), nil), false},
		{"a stranger's key of the same id", sign(t, stranger, jose.ES256, good(server.URL, nil), nil), false},
		{"another algorithm than the key's", sign(t, jose.JSONWebKey{Key: all[0].Key, KeyID: all[0].KeyID}, jose.PS256, good(server.URL, nil), nil), false},
		{"the public key as a shared secret", confused, false},
		{"an ID token's typ", sign(t, k, jose.ES256, good(server.URL, nil), map[jose.HeaderKey]any{"typ": "id+jwt"}), false},
		{"a critical header that nobody knows", sign(t, k, jose.ES256, good(server.URL, nil), map[jose.HeaderKey]any{"crit": []string{"x"}, "x": 1}), false},
		{"a duplicate member", sign(t, k, jose.ES256, []byte(`{"iss":"`+server.URL+`","sub":"alice","sub":"bob","aud":"`+resource+`","exp":9999999999}`), nil), false},
		{"no algorithm", "eyJhbGciOiJub25lIn0.eyJpc3MiOiJ4In0.", false},
		{"no token at all", "x", false},
		{"two parts", "a.b", false},
		{"too long", strings.Repeat("a", maxTokenBytes+1), false},
		{"characters of no token", "a b", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for range 2 { // the second time from the cache
				p, refusal := a.Authenticate(request(tt.token))
				if ok := refusal == nil; ok != tt.ok {
					t.Fatalf("%+v, %+v", p, refusal)
				}
				if refusal != nil && (refusal.Status != http.StatusUnauthorized || refusal.Code != invalidToken || p != nil) {
					t.Errorf("%+v, %+v", p, refusal)
				}
			}
		})
	}
	t.Run("an altered signature", func(t *testing.T) {
		t.Parallel()
		token := []byte(sign(t, k, jose.ES256, good(server.URL, nil), nil))
		payload := slices.Index(token, '.') + 5
		token[payload] ^= 1
		if _, refusal := a.Authenticate(request(string(token))); refusal == nil {
			t.Error("it was let in")
		}
	})
}

// TestProviders takes the claims as well-known authorization servers write them.
func TestProviders(t *testing.T) {
	t.Parallel()
	k := key(t, "k", jose.RS256)
	jwks := filepath.Join(t.TempDir(), "keys.json")
	writeKeys(t, jwks, k)
	for name, tt := range map[string]struct {
		issuer Issuer
		claims object
		scopes []string
	}{
		"Keycloak": {
			Issuer{Issuer: "https://kc.example.com/realms/acme", Audiences: []string{"orders", "account"}},
			object{"typ": "Bearer", "azp": "agent", "aud": []string{"account"}, "scope": "profile email", "realm_access": object{"roles": []string{"user"}}},
			[]string{"email", "profile"},
		},
		"Entra v2": {
			Issuer{Issuer: "https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0", Audiences: []string{"66666666-7777-8888-9999-000000000000"}},
			object{"ver": "2.0", "aud": "66666666-7777-8888-9999-000000000000", "scp": "Orders.Read", "scope": nil, "oid": "o", "tid": "t"},
			[]string{"Orders.Read"},
		},
		"Entra v1, for a client": {
			Issuer{Issuer: "https://sts.windows.net/11111111-2222-3333-4444-555555555555/", Audiences: []string{"api://orders"}, ScopeClaims: []string{"scp", "roles"}},
			object{"ver": "1.0", "aud": "api://orders", "roles": []string{"Orders.All"}, "scope": nil},
			[]string{"Orders.All"},
		},
		"Okta": {
			Issuer{Issuer: "https://acme.okta.com/oauth2/default", Audiences: []string{"api://default"}},
			object{"ver": 1, "aud": "api://default", "cid": "c", "uid": "u", "scp": []string{"orders.read", "offline_access"}, "scope": nil},
			[]string{"offline_access", "orders.read"},
		},
		"Auth0": {
			Issuer{Issuer: "https://acme.eu.auth0.com/"},
			object{"aud": []string{resource, "https://acme.eu.auth0.com/userinfo"}, "azp": "a", "scope": "openid orders.read", "permissions": []string{"orders.read"}},
			[]string{"openid", "orders.read"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.issuer.JWKSFile = jwks
			a := open(t, Config{Issuers: []Issuer{tt.issuer}})
			p, refusal := a.Authenticate(request(sign(t, k, jose.RS256, good(tt.issuer.Issuer, tt.claims), map[jose.HeaderKey]any{"typ": "JWT"})))
			if refusal != nil {
				t.Fatal(refusal.Reason)
			}
			if !slices.Equal(p.Scopes, tt.scopes) {
				t.Errorf("scopes %q, want %q", p.Scopes, tt.scopes)
			}
		})
	}
}

func writeKeys(t *testing.T, file string, keys ...jose.JSONWebKey) {
	t.Helper()
	set := jose.JSONWebKeySet{}
	for _, k := range keys {
		set.Keys = append(set.Keys, k.Public())
	}
	text, err := json.Marshal(set)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestRotation replaces the key of an issuer, and takes its server down.
func TestRotation(t *testing.T) {
	t.Parallel()
	first, second := key(t, "1", jose.ES256), key(t, "2", jose.ES256)
	server := newIDP(t, first)
	a := open(t, Config{Issuers: []Issuer{{Issuer: server.URL}}})
	server.down.Store(true)
	token := sign(t, first, jose.ES256, good(server.URL, nil), nil)
	if _, refusal := a.Authenticate(request(token)); refusal == nil || refusal.Status != http.StatusServiceUnavailable {
		t.Fatalf("while the keys cannot be had: %+v", refusal)
	}
	server.down.Store(false)
	hurry(a, server)
	if _, refusal := a.Authenticate(request(token)); refusal != nil {
		t.Fatal(refusal.Reason)
	}
	server.serve(second)
	later := sign(t, second, jose.ES256, good(server.URL, nil), nil)
	if _, refusal := a.Authenticate(request(later)); refusal == nil || refusal.Status != http.StatusUnauthorized {
		t.Fatalf("keys were fetched again at once: %+v", refusal)
	}
	hurry(a, server)
	if _, refusal := a.Authenticate(request(later)); refusal != nil {
		t.Fatal(refusal.Reason)
	}
	// A server that is down blocks nobody whose keys are there.
	server.down.Store(true)
	hurry(a, server)
	other := sign(t, second, jose.ES256, good(server.URL, object{"sub": "bob"}), nil)
	if p, refusal := a.Authenticate(request(other)); refusal != nil || p.Subject != "bob" {
		t.Fatalf("%+v", refusal)
	}
	unknown := sign(t, key(t, "3", jose.ES256), jose.ES256, good(server.URL, nil), nil)
	if _, refusal := a.Authenticate(request(unknown)); refusal == nil || refusal.Status != http.StatusUnauthorized {
		t.Fatalf("a key of nobody: %+v", refusal)
	}
}

// hurry lets the keys of a server be fetched again without a pause.
func hurry(a *Authenticator, server *idp) {
	k, ok := a.issuers[server.URL].keys.(*remoteKeys)
	if !ok {
		panic("no remote keys")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = time.Time{}
}

func TestHostileKeyServers(t *testing.T) {
	t.Parallel()
	k := key(t, "k", jose.ES256)
	secret := jose.JSONWebKey{Key: []byte(strings.Repeat("s", 32)), KeyID: "k"}
	elsewhere := newIDP(t, k)
	for name, serve := range map[string]http.HandlerFunc{
		"endless": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat(" ", 1<<16)); err != nil {
					return
				}
			}
		},
		"not JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"a shared secret": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{secret}})
		},
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/keys", http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(serve)
			t.Cleanup(server.Close)
			a := open(t, Config{Issuers: []Issuer{{Issuer: server.URL, JWKSURL: server.URL + "/keys"}}})
			for _, token := range []string{
				sign(t, k, jose.ES256, good(server.URL, nil), nil), sign(t, secret, jose.HS256, good(server.URL, nil), nil),
			} {
				if _, refusal := a.Authenticate(request(token)); refusal == nil {
					t.Error("it was let in")
				}
			}
		})
	}
	t.Run("slow", func(t *testing.T) {
		t.Parallel()
		asked := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(asked)
			<-r.Context().Done()
		}))
		t.Cleanup(server.Close)
		a := open(t, Config{Issuers: []Issuer{{Issuer: server.URL, JWKSURL: server.URL}}})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-asked; cancel() }()
		if _, refusal := a.Authenticate(request(sign(t, k, jose.ES256, good(server.URL, nil), nil)).WithContext(ctx)); refusal == nil {
			t.Error("it was let in")
		}
		a.Close() // ends the fetch, or the server would not close
	})
}

func TestAPIKeys(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// printf %s sesame | sha256sum
	const sesame = "d0c04f4b1951e4aeaaec8223ed2039e542f3aae805a6fa7f6d794e5afff5d272"
	write("# callers\n\nalice:sha256:" + strings.ToUpper(sesame) + ":orders.read, orders.write\n")
	a := open(t, Config{APIKeys: file})
	p, refusal := a.Authenticate(request("sesame"))
	if refusal != nil || p.Subject != "alice" || p.Method != protocol.AuthAPIKey || !slices.Equal(p.Scopes, []string{"orders.read", "orders.write"}) {
		t.Fatalf("%+v, %+v", p, refusal)
	}
	for _, wrong := range []string{"Sesame", "sesame2", sesame, "alice"} {
		if _, refusal := a.Authenticate(request(wrong)); refusal == nil {
			t.Errorf("%q was let in", wrong)
		}
	}
	write("bob:sha256:" + sesame + "\n")
	a.cache = cache{} // as if keyTTL had passed
	if p, refusal := a.Authenticate(request("sesame")); refusal != nil || p.Subject != "bob" {
		t.Errorf("after a change: %+v, %+v", p, refusal)
	}
	w := httptest.NewRecorder()
	a.Handler(http.NotFoundHandler(), nil).ServeHTTP(w, request(""))
	if got := w.Result().Header.Get("Www-Authenticate"); got != "Bearer" {
		t.Errorf("without an authorization server, the challenge is %q", got)
	}
	w = httptest.NewRecorder()
	if a.Metadata().ServeHTTP(w, request("")); w.Code != http.StatusNotFound {
		t.Errorf("metadata without an authorization server: %d", w.Code)
	}
	for text, want := range map[string]string{
		"":                              "has no key",
		"alice:md5:00":                  "NAME:sha256:HEX",
		"alice:sha256:00":               "64 hexadecimal digits",
		"alice:sha256:" + sesame + ":,": "is no scope",
		"a:sha256:" + sesame + "\nb:sha256:" + sesame: "keys:2: the key is that of line 1",
	} {
		write(text)
		if _, err := New(Config{APIKeys: file}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestIntrospection(t *testing.T) {
	t.Parallel()
	var (
		asked  atomic.Int64
		answer atomic.Value
	)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		id, secret, _ := r.BasicAuth()
		if id != "bridge" || secret != url.QueryEscape("s:/ecret") || r.FormValue("token") == "" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer.Load().(string))
	}))
	t.Cleanup(server.Close)
	a := open(t, Config{Introspections: []Introspection{{URL: server.URL, ClientID: "bridge", ClientSecret: "s:/ecret", Scopes: []string{"orders.read"}}}})
	answer.Store(`{"active":true,"sub":"alice","scope":"orders.read","aud":"` + resource + `"}`)
	for range 3 {
		p, refusal := a.Authenticate(request("opaque"))
		if refusal != nil || p.Subject != "alice" || p.Issuer != server.URL {
			t.Fatalf("%+v, %+v", p, refusal)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
	for i, tt := range []struct {
		answer string
		status int
	}{
		{`{"active":false}`, http.StatusUnauthorized},
		{`{"active":"yes"}`, http.StatusServiceUnavailable},
		{`{"active":true,"active":false}`, http.StatusServiceUnavailable},
		{`{"active":true}`, http.StatusUnauthorized},
		{`{"active":true,"sub":"a","exp":1}`, http.StatusUnauthorized},
		{`{"active":true,"sub":"a","aud":"https://other","scope":"orders.read"}`, http.StatusUnauthorized},
		{`{"active":true,"sub":"a","scope":"orders.write"}`, http.StatusForbidden},
		{`[]`, http.StatusServiceUnavailable},
	} {
		answer.Store(tt.answer)
		if _, refusal := a.Authenticate(request("other" + string(rune('a'+i)))); refusal == nil || refusal.Status != tt.status {
			t.Errorf("%s: %+v", tt.answer, refusal)
		}
	}
	answer.Store(`{"active":true,"client_id":"agent","scope":"orders.read"}`)
	if p, refusal := a.Authenticate(request("machine")); refusal != nil || p.Subject != "client:agent" {
		t.Errorf("%+v, %+v", p, refusal)
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	parse := func(text string) *url.URL {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	root := &x509.Certificate{Subject: pkix.Name{CommonName: "root"}}
	a := open(t, Config{Certificates: true})
	for _, tt := range []struct {
		leaf            x509.Certificate
		issuer, subject string
	}{
		{x509.Certificate{URIs: []*url.URL{parse("spiffe://acme/agent")}, DNSNames: []string{"agent"}}, "", "spiffe://acme/agent"},
		{x509.Certificate{URIs: []*url.URL{parse("spiffe://acme/agent"), parse("spiffe://other/agent")}}, "CN=root", "spiffe://acme/agent"},
		{x509.Certificate{DNSNames: []string{"agent.acme"}}, "CN=root", "agent.acme"},
		{x509.Certificate{EmailAddresses: []string{"agent@acme"}}, "CN=root", "agent@acme"},
		{x509.Certificate{Subject: pkix.Name{CommonName: "agent"}}, "CN=root", "CN=agent"},
	} {
		r := request("")
		r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{&tt.leaf, root}}}
		p, refusal := a.Authenticate(r)
		if refusal != nil || p.Method != protocol.AuthMTLS || p.Issuer != tt.issuer || p.Subject != tt.subject {
			t.Errorf("%+v, %+v; want %s of %q", p, refusal, tt.subject, tt.issuer)
		}
	}
	r := request("")
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{DNSNames: []string{"unverified"}}}}
	if _, refusal := a.Authenticate(r); refusal == nil {
		t.Error("a certificate that nobody has verified was let in")
	}
}

// TestRefusals looks at what clients get.
func TestRefusals(t *testing.T) {
	t.Parallel()
	k := key(t, "k", jose.ES256)
	server := newIDP(t, k)
	var log strings.Builder
	a := open(t, Config{Issuers: []Issuer{{Issuer: server.URL, Scopes: []string{"orders.read", "orders.list"}}}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	h := a.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, protocol.PrincipalFrom(r.Context()).Subject)
	}), func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/mcp.v1.") })
	const metadata = `resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"`
	secret := "sEcReT-" + strings.Repeat("x", 30)
	for _, tt := range []struct {
		name, token, path, kind string
		status                  int
		challenge, grpc         string
	}{
		{"no credential", "", "/mcp", "application/json", 401, `Bearer scope="orders.list orders.read", ` + metadata, ""},
		{"an endpoint", "", "/mcp/support", "application/json", 401, `oauth-protected-resource/mcp/support"`, ""},
		{"a bad one", secret, "/mcp", "application/json", 401, `Bearer error="invalid_token", error_description="the credential is not valid here, or not any more", ` + metadata, ""},
		{"few scopes", sign(t, k, jose.ES256, good(server.URL, nil), nil), "/mcp", "application/json", 403, `error="insufficient_scope"`, ""},
		{"gRPC", secret, "/mcp.v1.McpService/CallTool", "application/grpc", 200, `error="invalid_token"`, "16"},
		{"gRPC, few scopes", sign(t, k, jose.ES256, good(server.URL, nil), nil), "/mcp.v1.McpService/CallTool", "application/grpc+proto", 200, `scope="orders.read orders.list"`, "7"},
		{"Connect", "", "/mcp.v1.McpService/CallTool", "application/json", 401, metadata, ""},
	} {
		r := httptest.NewRequest(http.MethodPost, "https://mcp.example.com"+tt.path, http.NoBody)
		r.Header.Set("Content-Type", tt.kind)
		if tt.token != "" {
			r.Header.Set("Authorization", "Bearer "+tt.token)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		res := w.Result()
		status := res.Header.Get("Grpc-Status") + res.Trailer.Get("Grpc-Status")
		challenge := res.Header.Get("Www-Authenticate") + res.Trailer.Get("Www-Authenticate")
		if res.StatusCode != tt.status || !strings.Contains(challenge, tt.challenge) || status != tt.grpc {
			t.Errorf("%s: status %d, gRPC %q, challenge %q", tt.name, res.StatusCode, status, challenge)
		}
		if body := w.Body.String(); strings.Contains(body, "alice") || strings.Contains(body, secret) {
			t.Errorf("%s: %s", tt.name, body)
		}
	}
	if strings.Contains(log.String(), secret) || strings.Count(log.String(), "\n") != 7 {
		t.Errorf("the log: %s", log.String())
	}
	r := request(sign(t, k, jose.ES256, good(server.URL, object{"scope": "orders.read orders.list"}), nil))
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Body.String() != "alice" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	r.Header.Add("Authorization", "Bearer other")
	w = httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusBadRequest {
		t.Errorf("two credentials: %d", w.Code)
	}
	for path, want := range map[string]string{"": resource, "/mcp": resource, "/mcp/support": resource + "/support", "/other": resource} {
		w := httptest.NewRecorder()
		a.Metadata().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "https://mcp.example.com"+MetadataPath+path, http.NoBody))
		var doc struct {
			Resource string
			Servers  []string `json:"authorization_servers"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || doc.Resource != want || !slices.Equal(doc.Servers, []string{server.URL}) {
			t.Errorf("%q: %v, %s", path, err, w.Body)
		}
	}
}

// TestStreamsEndWithTheCredential opens a stream of events.
func TestStreamsEndWithTheCredential(t *testing.T) {
	t.Parallel()
	k := key(t, "k", jose.ES256)
	server := newIDP(t, k)
	a := open(t, Config{Issuers: []Issuer{{Issuer: server.URL, Leeway: time.Second}}})
	var cause error
	h := a.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		cause = context.Cause(r.Context())
	}), nil)
	r := request(sign(t, k, jose.ES256, good(server.URL, object{"exp": time.Now().Unix()}), nil))
	r.Method = http.MethodGet
	h.ServeHTTP(httptest.NewRecorder(), r)
	if cause != errExpired { //nolint:errorlint // the very one
		t.Errorf("the stream ended with %v", cause)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	_, err := New(Config{
		Resource:       "http://mcp.example.com",
		Issuers:        []Issuer{{Issuer: "idp"}, {Issuer: "https://user:secret@idp"}, {Issuer: "https://a", JWKSURL: "http://a/keys"}, {Issuer: "https://a", JWKSFile: "missing"}},
		Introspections: []Introspection{{URL: "https://idp/introspect"}},
		APIKeys:        "missing-too",
	})
	for _, want := range []string{
		"the resource identifier", "the issuer \"idp\" is no URL", "has a user in it", "the URL of its keys \"http://a/keys\" must begin with https://",
		"is listed twice", "open missing:", "needs a client id", "open missing-too:",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing from\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "secret@") {
		t.Error(err)
	}
	if _, err := New(Config{Issuers: []Issuer{{Issuer: "https://idp"}}}); err == nil || !strings.Contains(err.Error(), "need an audience") {
		t.Error(err)
	}
}

// TestCacheIsBounded floods it.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	var c cache
	now := time.Now()
	first := verdict{principal: protocol.AnonymousPrincipal(""), until: now.Add(time.Hour)}
	c.put(digest("first"), first, now)
	for i := range 3 * maxCached {
		c.put(digest(big.NewInt(int64(i)).String()), verdict{refusal: invalid(""), until: now.Add(time.Hour)}, now)
	}
	if n := len(c.verdicts); n > maxCached {
		t.Errorf("%d tokens", n)
	}
	if _, ok := c.get(digest("first"), now); !ok {
		t.Error("bad tokens have driven out a good one")
	}
	if _, ok := c.get(digest("first"), now.Add(2*time.Hour)); ok {
		t.Error("a token outlived its time")
	}
}

func FuzzAuthenticate(f *testing.F) {
	k := key(f, "k", jose.ES256)
	dir := f.TempDir()
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{k.Public()}})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "keys.json"), text, 0o600)
	}
	if err != nil {
		f.Fatal(err)
	}
	const issuer = "https://idp.example.com"
	a := open(f, Config{Issuers: []Issuer{{Issuer: issuer, JWKSFile: filepath.Join(dir, "keys.json")}}})
	token := sign(f, k, jose.ES256, good(issuer, object{"exp": 99999999999}), nil)
	f.Add(token)
	f.Add("a.b.c")
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Fuzz(func(t *testing.T, text string) {
		p, refusal := a.Authenticate(request(text))
		switch {
		case (p == nil) != (refusal != nil):
			t.Errorf("%q: %+v, %+v", text, p, refusal)
		// A signature of ECDSA has one spelling of its own only to within the base64
		// of its last character.
		case p != nil && !strings.HasPrefix(strings.Trim(text, " "), token[:strings.LastIndexByte(token, '.')]):
			t.Errorf("%q was let in", text)
		}
	})
}

func FuzzClaims(f *testing.F) {
	f.Add([]byte(`{"iss":"i","sub":"s","aud":["a"],"exp":1e10,"scp":["a b"],"nbf":1}`))
	f.Add([]byte(`{"exp":-1}`))
	is := &issuer{Issuer: Issuer{Issuer: "i", Leeway: DefaultLeeway, ScopeClaims: []string{"scope", "scp"}}}
	f.Fuzz(func(t *testing.T, payload []byte) {
		now := time.Now()
		v := is.read(payload, now)
		if (v.principal == nil) == (v.refusal == nil) {
			t.Fatalf("%s: %+v", payload, v)
		}
		if v.principal != nil && (v.until.After(v.principal.Expiry) || !v.until.After(now) || v.audiences == nil) {
			t.Errorf("%s: %+v", payload, v)
		}
	})
}

func FuzzKeySet(f *testing.F) {
	f.Add([]byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`))
	f.Add([]byte(`{"keys":[{"kty":"oct","k":"AAAA"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := readKeySet(text)
		if (err == nil) != (len(set) > 0) {
			t.Fatalf("%d keys, %v", len(set), err)
		}
		for _, k := range set {
			if !k.IsPublic() {
				t.Errorf("a key that is not public: %+v", k)
			}
		}
	})
}

func FuzzAPIKeys(f *testing.F) {
	f.Add([]byte("alice:sha256:" + strings.Repeat("0", 64) + ":a,b\n# x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := parseAPIKeys("keys", text)
		if err == nil && len(keys) == 0 {
			t.Error("no key and no error")
		}
	})
}
