package gateway_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-bridge/mcp-bridge/bridge/gateway"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// callers are the means of authentication of a test.
type callers struct {
	config *configv1.Auth
	key    jose.JSONWebKey
	file   string // of API keys
}

const (
	issuer   = "https://idp.example.com"
	audience = "https://mcp.example.com/mcp"
)

func newCallers(t *testing.T) *callers {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := &callers{key: jose.JSONWebKey{Key: private, KeyID: "k"}, file: filepath.Join(dir, "api-keys")}
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{c.key.Public()}})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "keys.json"), set, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.allow(t, "robot")
	c.config = &configv1.Auth{
		Jwt:     []*configv1.JwtIssuer{{Issuer: issuer, JwksFile: filepath.Join(dir, "keys.json"), Audiences: []string{audience}}},
		ApiKeys: &configv1.ApiKeys{File: c.file},
	}
	return c
}

// allow writes the file of API keys: the key of each name is the name.
func (c *callers) allow(t *testing.T, names ...string) {
	t.Helper()
	var text bytes.Buffer
	for _, name := range names {
		sum := sha256.Sum256([]byte(name))
		fmt.Fprintf(&text, "%s:sha256:%s\n", name, hex.EncodeToString(sum[:]))
	}
	if err := os.WriteFile(c.file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// token returns a token for a subject, which the id tells from others for it.
func (c *callers) token(t *testing.T, subject, id string, expiry time.Time) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: c.key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := json.Marshal(map[string]any{"iss": issuer, "sub": subject, "aud": audience, "exp": expiry.Unix(), "jti": id})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// bearer is an http.RoundTripper that sends a token.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// TestAuth asks every front with and without a credential.
func TestAuth(t *testing.T) {
	t.Parallel()
	c := newCallers(t)
	cfg := local()
	cfg.Auth, cfg.Server.Sse = c.config, true
	seen := make(chan string, 100)
	g := newGateway(t, cfg, gateway.WithUpstream("library", library), gateway.WithMiddleware(func(next protocol.Handler) protocol.Handler {
		return protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
			seen <- string(r.Caller.Principal.Method) + " " + r.Caller.Principal.Subject
			return next.Handle(ctx, r, n)
		})
	}))
	if down := g.Ready(t.Context()); len(down) > 0 {
		t.Fatal(down)
	}
	base := serve(t, g)
	client := browser(t)
	alice := c.token(t, "alice", "1", time.Now().Add(time.Hour))
	for _, path := range []string{"/mcp", "/sse", "/mcp.v1.McpService/ListTools", "/google.mcp.v1.Mcp/ListTools", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/nothing"} {
		if status, body := post(t, client, base+path, listTools); status != http.StatusUnauthorized {
			t.Errorf("%s without a credential: %d %s", path, status, body)
		}
		if status, body := post(t, client, base+path, listTools, "Authorization", "Bearer "+alice[:len(alice)-2]); status != http.StatusUnauthorized || strings.Contains(body, alice[:20]) {
			t.Errorf("%s with a bad credential: %d %s", path, status, body)
		}
	}
	if len(seen) > 0 {
		t.Fatalf("a request passed: %s", <-seen)
	}
	for token, who := range map[string]string{alice: "jwt alice", "robot": "api_key robot"} {
		for _, path := range []string{"/mcp", "/mcp.v1.McpService/ListTools"} {
			body := listTools
			if path != "/mcp" {
				body = "{}"
			}
			if status, body := post(t, client, base+path, body, "Authorization", "Bearer "+token); status != http.StatusOK {
				t.Errorf("%s as %s: %d %s", path, who, status, body)
			}
			if got := <-seen; got != who {
				t.Errorf("%s saw %q, want %q", path, got, who)
			}
		}
	}
	if status, body := post(t, client, base+"/grpc.health.v1.Health/Check", "{}"); status != http.StatusOK {
		t.Errorf("health: %d %s", status, body)
	}
	for _, path := range []string{"/healthz", "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"} {
		resp, err := client.Get(base + path) //nolint:noctx // of a test
		if err != nil {
			t.Fatal(err)
		}
		if _ = resp.Body.Close(); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}

// TestSessionsOfPrincipals opens a session as one principal: it answers a new token
// of the same, and nobody else.
func TestSessionsOfPrincipals(t *testing.T) {
	t.Parallel()
	c := newCallers(t)
	cfg := local()
	cfg.Auth = c.config
	g := newGateway(t, cfg, gateway.WithUpstream("library", library))
	if down := g.Ready(t.Context()); len(down) > 0 {
		t.Fatal(down)
	}
	base := serve(t, g)
	client := browser(t)
	later := time.Now().Add(time.Hour)
	transport := &bearer{c.token(t, "alice", "1", later), client.Transport}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: base + "/mcp", HTTPClient: &http.Client{Transport: transport}, DisableStandaloneSSE: true},
			&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	as := func(token string) int {
		status, _ := post(t, client, base+"/mcp", listTools, "Authorization", "Bearer "+token,
			"Mcp-Session-Id", session.ID(), "Mcp-Protocol-Version", "2025-11-25")
		return status
	}
	if status := as(c.token(t, "alice", "2", later)); status != http.StatusOK {
		t.Errorf("with a refreshed token: %d", status)
	}
	if status := as(c.token(t, "bob", "1", later)); status != http.StatusNotFound {
		t.Errorf("as somebody else: %d", status)
	}
	if status := as("robot"); status != http.StatusNotFound {
		t.Errorf("as somebody else by an API key: %d", status)
	}
	// Another configuration with the same callers keeps the session.
	cfg.ToolsBytes = new(int32(1 << 20))
	if err := g.Apply(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := session.ListTools(t.Context(), nil); err != nil {
		t.Errorf("after a reload: %v", err)
	}
	// One that lets nobody in by a token ends its use, not the process.
	cfg.Auth = &configv1.Auth{ApiKeys: &configv1.ApiKeys{File: c.file}}
	if err := g.Apply(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if status := as(c.token(t, "alice", "3", later)); status != http.StatusUnauthorized {
		t.Errorf("after the issuer was taken out: %d", status)
	}
}

// TestExposedWithoutAuth refuses to listen where other machines can call.
func TestExposedWithoutAuth(t *testing.T) {
	t.Parallel()
	cfg := &configv1.Config{Server: &configv1.Server{Listen: []string{"0.0.0.0:0"}}}
	if _, err := gateway.New(t.Context(), cfg, gateway.WithUpstream("library", library)); err == nil || !strings.Contains(err.Error(), "auth is not set") {
		t.Errorf("error %v", err)
	}
	cfg.Auth = &configv1.Auth{Anonymous: true}
	newGateway(t, cfg, gateway.WithUpstream("library", library))
}
