package protocol_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func TestPrincipalKey(t *testing.T) {
	t.Parallel()
	ann := protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthJWT, Issuer: "https://idp.example.com", Subject: "ann"})
	same := map[string]*protocol.Principal{
		"refreshed": protocol.NewPrincipal(protocol.Principal{
			Method: protocol.AuthJWT, Issuer: "https://idp.example.com", Subject: "ann", Scopes: []string{"a"}, Expiry: time.Unix(1, 0),
		}),
		"introspected": protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthIntrospection, Issuer: "https://idp.example.com", Subject: "ann"}),
	}
	for name, p := range same {
		if p.Key() != ann.Key() || p.Quota() != ann.Quota() {
			t.Errorf("%s: another key", name)
		}
	}
	other := map[string]*protocol.Principal{
		"subject":     protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthJWT, Issuer: "https://idp.example.com", Subject: "bob"}),
		"issuer":      protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthJWT, Issuer: "https://idp.example.co", Subject: "mann"}),
		"boundary":    protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthJWT, Issuer: "https://idp.example.coma", Subject: "nn"}),
		"API key":     protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthAPIKey, Issuer: "https://idp.example.com", Subject: "ann"}),
		"anonymous":   protocol.AnonymousPrincipal(""),
		"credentials": protocol.AnonymousPrincipal("", "ann"),
		"internal":    protocol.InternalPrincipal(),
	}
	seen := map[string]string{ann.Key(): "ann"}
	for name, p := range other {
		if before, ok := seen[p.Key()]; ok {
			t.Errorf("%s has the key of %s", name, before)
		}
		seen[p.Key()] = name
	}
	var nobody *protocol.Principal
	if nobody.Key() != protocol.AnonymousPrincipal("192.0.2.1:1").Key() {
		t.Error("nil has another key than an anonymous principal without credentials")
	}
	if nobody.Authenticated() || protocol.AnonymousPrincipal("").Authenticated() || !ann.Authenticated() {
		t.Error("who is authenticated is wrong")
	}
}

func TestPrincipalQuota(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1:1", "192.0.2.1:2", true},
		{"192.0.2.1:1", "192.0.2.1", true},
		{"192.0.2.1:1", "192.0.2.2:1", false},
		{"[::ffff:192.0.2.1]:1", "192.0.2.1:1", true},
		{"[2001:db8::1]:1", "[2001:db8::ffff:1]:1", true},
		{"[2001:db8::1]:1", "[2001:db8:0:1::1]:1", false},
		{"[fe80::1%eth0]:1", "[fe80::2%eth1]:1", true},
		{"@", "", false},
	} {
		a, b := protocol.AnonymousPrincipal(tt.a, "x"), protocol.AnonymousPrincipal(tt.b, "y")
		if got := a.Quota() == b.Quota(); got != tt.same {
			t.Errorf("%s and %s share a quota: %t", tt.a, tt.b, got)
		}
	}
}

func TestPrincipalContext(t *testing.T) {
	t.Parallel()
	ann := protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthAPIKey, Subject: "ann"})
	if got := protocol.PrincipalFrom(protocol.WithPrincipal(t.Context(), ann)); got != ann {
		t.Errorf("got %v", got)
	}
	if got := protocol.PrincipalFrom(protocol.WithPrincipal(t.Context(), protocol.InternalPrincipal())); got != nil {
		t.Errorf("a request came from outside as %v", got)
	}
	if got := protocol.PrincipalFrom(context.Background()); got != nil {
		t.Errorf("got %v from nowhere", got)
	}
}

func TestChain(t *testing.T) {
	t.Parallel()
	var order string
	note := func(name string) protocol.Middleware {
		return func(next protocol.Handler) protocol.Handler {
			return protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
				order += name
				return next.Handle(ctx, r, n)
			})
		}
	}
	h := protocol.HandlerFunc(func(context.Context, *protocol.Request, protocol.Notifier) (*protocol.Result, error) {
		order += "!"
		return &protocol.Result{}, nil
	})
	if _, err := protocol.Chain(h, note("a"), note("b")).Handle(t.Context(), &protocol.Request{}, protocol.Discard); err != nil {
		t.Fatal(err)
	}
	if order != "ab!" {
		t.Errorf("order %q, want ab!", order)
	}
}

func TestNewCaller(t *testing.T) { // not parallel: it counts allocations
	header := http.Header{"Authorization": {"Bearer a"}}
	ann := protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthAPIKey, Subject: "ann"})
	if c := protocol.NewCaller(protocol.WithPrincipal(t.Context(), ann), "http", header, "192.0.2.1:1"); c.Principal != ann {
		t.Errorf("principal %+v, want that of the context", c.Principal)
	}
	c := protocol.NewCaller(t.Context(), "http", header, "192.0.2.1:1")
	want := protocol.AnonymousPrincipal("192.0.2.1:2", "Bearer a")
	if c.Key() != want.Key() || c.Principal.Quota() != want.Quota() || c.Principal.Authenticated() {
		t.Errorf("principal %+v, want %+v", c.Principal, want)
	}
	if c := protocol.NewCaller(protocol.WithPrincipal(t.Context(), protocol.InternalPrincipal()), "http", nil, ""); c.Principal.Internal() {
		t.Error("a request from outside is internal")
	}
	var nobody *protocol.Caller
	if c := protocol.NewCaller(t.Context(), "stdio", nil, ""); c.Key() != nobody.Key() {
		t.Error("a caller without credentials has another key than none")
	}
	if got := testing.AllocsPerRun(100, func() { protocol.NewCaller(context.Background(), "http", nil, "192.0.2.1:1") }); got > 1 {
		t.Errorf("%v allocations, want 1", got)
	}
}
