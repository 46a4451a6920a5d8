package upstreamurl_test

import (
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
)

func TestParseTarget(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in, canonical string
		kind          upstreamurl.Kind
		tls           bool
	}{
		{"grpc://h:1", "grpc://h:1", upstreamurl.API, false},
		{"unix:/run/a.sock", "unix:///run/a.sock", upstreamurl.API, false},
		{"connect+https://h/api", "connect+https://h:443/api", upstreamurl.API, true},
		{"mcp+grpcs://h", "mcp+grpcs://h:443", upstreamurl.MCPService, true},
		{"MCP+connect+http://h", "mcp+connect+http://h:80", upstreamurl.MCPService, false},
		{"google+grpc://h:1", "google+grpc://h:1", upstreamurl.GoogleService, false},
		{"tunnel+grpc://h:1", "tunnel+grpc://h:1", upstreamurl.Tunnel, false},
		{"http://h/mcp?a=b", "http://h/mcp?a=b", upstreamurl.StreamableHTTP, false},
		{"HTTPS://h:8443/mcp", "HTTPS://h:8443/mcp", upstreamurl.StreamableHTTP, true},
		{"mcp+https://h/mcp", "https://h/mcp", upstreamurl.StreamableHTTP, true},
		{"sse+http://[::1]:80/sse", "sse+http://[::1]:80/sse", upstreamurl.SSE, false},
	} {
		t.Run(test.in, func(t *testing.T) {
			t.Parallel()
			target, err := upstreamurl.ParseTarget(test.in)
			if err != nil {
				t.Fatal(err)
			}
			if target.Kind != test.kind || target.TLS() != test.tls || target.String() != test.canonical {
				t.Errorf("kind %d, TLS %t, %s; want %d, %t, %s", target.Kind, target.TLS(), target, test.kind, test.tls, test.canonical)
			}
			if target.IsRPC() == (test.kind == upstreamurl.StreamableHTTP || test.kind == upstreamurl.SSE) {
				t.Errorf("IsRPC() = %t", target.IsRPC())
			}
		})
	}
}

func TestParseTargetErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want string }{
		{"", "upstream URL is empty"},
		{"localhost:1", "did you mean grpc://localhost:1?"},
		{"mcp+localhost:1", "did you mean grpc://localhost:1?"},
		{"sse+grpc://h:1", `unknown scheme "sse+grpc"`},
		{"htp://h/mcp", "an MCP server has http:// or https://"},
		{"http://", "the host is missing"},
		{"http:///mcp", "the host is missing"},
		{"https://h:0/", "port 0 is not between 1 and 65535"},
		{"https://h:http/", "invalid port"},
		{"https://u:secret@h/mcp", `upstream "https://h/mcp": a user name or password in a URL is not supported`},
		{"https://u:secret@h:x/mcp", `upstream "https://h:x/mcp": invalid port`},
		{"https://h/mcp#a", "a fragment is not supported"},
		{"https://u:secret@#", "a fragment is not supported\n"},
		{"http://" + strings.Repeat("a", 5000), "upstream URL has 5007 bytes, the limit is 4096"},
	} {
		t.Run(test.in[:min(len(test.in), 40)], func(t *testing.T) {
			t.Parallel()
			target, err := upstreamurl.ParseTarget(test.in)
			if err == nil {
				t.Fatalf("ParseTarget = %+v, want an error", target)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %q, want it to contain %q", err, test.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("error %q shows a password", err)
			}
		})
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, seed := range []string{"grpc://h:1", "mcp+unix:@a", "google+grpcs://h", "tunnel+connect+https://h/a", "sse+http://h/a?b", "https://[::1]/", "mcp+http://h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		target, err := upstreamurl.ParseTarget(s)
		if err != nil {
			if target != (upstreamurl.Target{}) {
				t.Fatalf("ParseTarget(%q) = %+v with the error %v", s, target, err)
			}
			return
		}
		again, err := upstreamurl.ParseTarget(target.String())
		if err != nil || again != target {
			t.Fatalf("ParseTarget(%q) = %+v; ParseTarget(%q) = %+v, %v", s, target, target.String(), again, err)
		}
	})
}
