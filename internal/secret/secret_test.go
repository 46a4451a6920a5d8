package secret_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/secret"
)

func TestURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"grpc://localhost:50051":                                "grpc://localhost:50051",
		"https://user:hunter2@example.com/mcp":                  "https://example.com/mcp",
		"https://user@example.com":                              "https://example.com",
		"books=grpc://u:p@host:1/x":                             "books=grpc://host:1/x",
		"https://u:p@ss@host/":                                  "https://host/",
		"https://u:p/w@host":                                    "https://host",
		"https://host/@scope/x":                                 "https://host/@scope/x",
		"https://host:80/@scope/x":                              "https://host:80/@scope/x",
		"https://host/mcp?api_key=abc&q=tea&access_token=x#top": "https://host/mcp?api_key=xxxxx&q=tea&access_token=xxxxx#top",
		"https://host/?apiKey=abc;author=me":                    "https://host/?apiKey=xxxxx&author=me",
		"https://host/?a%70i_key=abc":                           "https://host/?a%70i_key=xxxxx",
		"https://host/?%zz=abc":                                 "https://host/?%zz=xxxxx",
		"https://host/#access_token=abc":                        "https://host/#access_token=xxxxx",
		"https://u:p%zz@host/":                                  "https://host/",
		"unix:/run/x.sock":                                      "unix:/run/x.sock",
	} {
		if got := secret.URL(in); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
	const text = `Post "https://u:p@host/mcp?token=abc": refused; see http://docs/?q=1`
	if got, want := secret.Text(text), `Post "https://host/mcp?token=xxxxx": refused; see http://docs/?q=1`; got != want {
		t.Errorf("%s becomes %s", text, got)
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Authorization", "X-Api-Key", "x_api_key", "apiKey", "APIKEY", "GITHUB_TOKEN", "githubToken", "Cookie", "client_secret", "sig", "X-Amz-Signature", "DB_PASSWORD", "PGPASSWORD", "sessionid"} {
		if !secret.Name(name) {
			t.Errorf("%s passes for harmless", name)
		}
	}
	for _, name := range []string{"author", "Accept", "monkey", "X-Tenant", "keyboard", "LOG_LEVEL", "path", "tokenizer", "design", ""} {
		if secret.Name(name) {
			t.Errorf("%s passes for secret", name)
		}
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	var v secret.Values
	v.AddHeader(http.Header{
		"Authorization": {"Bearer abc.def\"ghi"},
		"X-Api-Key":     {"k3y!"},
		"X-Tenant":      {"acme", "acme-corporation"},
		"Cookie":        {"a=cookie-one; b=two2"},
	})
	v.Add("Proxy-Authorization", "Basic dXNlcjpodW50ZXIy")
	v.Add("DATA_DIR", "/data/files/of/mine")
	v.Add("short_token", "x")
	for in, want := range map[string]string{
		`bad token abc.def"ghi`:              `bad token [redacted]`,
		`bad "Bearer abc.def\"ghi"`:          `bad "[redacted]"`,
		`?t=abc.def%22ghi`:                   `?t=[redacted]`,
		"k3y! of acme, and acme-corporation": "[redacted] of acme, and [redacted]",
		"cookie-one two2":                    "[redacted] [redacted]",
		"user:hunter2 hunter2":               "[redacted] [redacted]",
		"/data/files/of/mine x":              "/data/files/of/mine x",
		"at https://u:p@h/?token=1":          "at https://h/?token=xxxxx",
	} {
		if got := v.Redact(in); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
	var none secret.Values
	if got := none.Redact("k3y!"); got != "k3y!" {
		t.Errorf("no values: %s", got)
	}
}

func TestSentIsBounded(t *testing.T) {
	t.Parallel()
	var v secret.Values
	v.Add("token", "for-good")
	for i := range 2000 {
		v.Sent(http.Header{"Authorization": {fmt.Sprintf("Bearer token-%04d", i)}})
	}
	if got := v.Redact("for-good token-0000 token-1999"); got != "[redacted] token-0000 [redacted]" {
		t.Error(got)
	}
}

func TestLogger(t *testing.T) {
	t.Parallel()
	var v secret.Values
	v.Add("token", "hunter2")
	var out bytes.Buffer
	log := v.Logger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	log.With("a", "hunter2").WithGroup("g").Warn("it said hunter2", "error", errors.New("hunter2"), "n", 7,
		slog.Group("inner", "b", "hunter2"), "url", &url.URL{Scheme: "http", User: url.UserPassword("u", "p"), Host: "h"})
	if got := out.String(); strings.Contains(got, "hunter2") || strings.Contains(got, "u:p") || strings.Count(got, secret.Redacted) != 4 || !strings.Contains(got, "g.n=7") {
		t.Error(got)
	}
}

func FuzzURL(f *testing.F) {
	f.Add("user", "pass/w@rd")
	f.Fuzz(func(t *testing.T, user, password string) {
		if len(password) < 6 || strings.ContainsAny(password, "#?&= ") {
			return
		}
		u := url.URL{Scheme: "https", User: url.UserPassword(user, password), Host: "example.com", Path: "/mcp"}
		if got := secret.URL(u.String()); got != "https://example.com/mcp" {
			t.Errorf("%s becomes %s", &u, got)
		}
	})
}

func TestArgs(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"npx -y server /data":                            {"npx", "-y", "server", "/data"},
		"server --api-key xxxxx --verbose --token=xxxxx": {"server", "--api-key", "abc", "--verbose", "--token=abc"},
		"server --token --verbose":                       {"server", "--token", "--verbose"},
		"env GITHUB_TOKEN=xxxxx LANG=C server":           {"env", "GITHUB_TOKEN=abc", "LANG=C", "server"},
		"server postgres://db/x --url=https://h/":        {"server", "postgres://u:p@db/x", "--url=https://u:p@h/"},
	} {
		if got := secret.Args(args); got != want {
			t.Errorf("%q becomes %s, want %s", args, got, want)
		}
	}
}
