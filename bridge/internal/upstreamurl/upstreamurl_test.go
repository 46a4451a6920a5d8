package upstreamurl_test

import (
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in, canonical, base, target string
	}{
		{"grpc://localhost:50051", "grpc://localhost:50051", "http://localhost:50051", "dns:///localhost:50051"},
		{"GRPC://Host:1/", "grpc://Host:1", "http://Host:1", "dns:///Host:1"},
		{"grpcs://api.example.com", "grpcs://api.example.com:443", "https://api.example.com:443", "dns:///api.example.com:443"},
		{"grpcs://[::1]:9", "grpcs://[::1]:9", "https://[::1]:9", "dns:///[::1]:9"},
		{"grpc://[fe80::1%25eth0]:9", "grpc://[fe80::1%25eth0]:9", "http://[fe80::1%25eth0]:9", "dns:///[fe80::1%eth0]:9"},
		{"dns:///h:1", "grpc://h:1", "http://h:1", "dns:///h:1"},
		{"dns:h:1", "grpc://h:1", "http://h:1", "dns:///h:1"},
		{"dns://8.8.8.8/h:1", "dns://8.8.8.8:53/h:1", "http://h:1", "dns://8.8.8.8:53/h:1"},
		{"unix:///run/a.sock", "unix:///run/a.sock", "http://localhost", "unix:///run/a.sock"},
		{"unix:/run/a.sock", "unix:///run/a.sock", "http://localhost", "unix:///run/a.sock"},
		{"unix:a.sock", "unix:a.sock", "http://localhost", "unix:a.sock"},
		{"unix:@name", "unix:@name", "http://localhost", "unix:@name"},
		{"grpc+unix:///run/a.sock", "unix:///run/a.sock", "http://localhost", "unix:///run/a.sock"},
		{"connect+http://h", "connect+http://h:80", "http://h:80", "dns:///h:80"},
		{"connect+https://h/api/v1/", "connect+https://h:443/api/v1", "https://h:443/api/v1", "dns:///h:443"},
		{"grpcweb+http://h:8080/x", "grpcweb+http://h:8080/x", "http://h:8080/x", "dns:///h:8080"},
		{"grpcweb+https://h/a%2Fb", "grpcweb+https://h:443/a%2Fb", "https://h:443/a%2Fb", "dns:///h:443"},
	} {
		t.Run(test.in, func(t *testing.T) {
			t.Parallel()
			u, err := upstreamurl.Parse(test.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := u.String(); got != test.canonical {
				t.Errorf("String() = %q, want %q", got, test.canonical)
			}
			if got := u.Base(); got != test.base {
				t.Errorf("Base() = %q, want %q", got, test.base)
			}
			if got := u.Target(); got != test.target {
				t.Errorf("Target() = %q, want %q", got, test.target)
			}
			again, err := upstreamurl.Parse(u.String())
			if err != nil || again != u {
				t.Errorf("Parse(%q) = %+v, %v; want %+v", u.String(), again, err, u)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want string }{
		{"", "upstream URL is empty: write for example grpc://localhost:50051"},
		{"localhost:50051", `upstream "localhost:50051" has no scheme: did you mean grpc://localhost:50051?`},
		{"example.com", "did you mean grpc://example.com:PORT?"},
		{"example.com:443", "did you mean grpcs://example.com:443?"},
		{":50051", "did you mean grpc://localhost:50051?"},
		{"50051", "did you mean grpc://localhost:50051?"},
		{"dns:50051", "did you mean grpc://dns:50051?"},
		{"/run/a.sock", "did you mean unix:/run/a.sock?"},
		{"http://h:1/mcp", "an MCP server is not an upstream here; for an API write connect+http://h:1/mcp (Connect), grpcweb+http://h:1/mcp (gRPC-Web) or grpc://h:1 (gRPC)"},
		{"https://h:1", "or grpcs://h:1 (gRPC)"},
		{"ftp://h", `upstream "ftp://h": unknown scheme "ftp", known are grpc://, grpcs://, grpcweb+http://`},
		{"grpc://localhost", `upstream "grpc://localhost": the port is missing, write for example grpc://localhost:50051`},
		{"dns:///localhost", `the port is missing`},
		{"dns://localhost:1", `did you mean dns:///localhost:1?`},
		{"grpc://h:0", "port 0 is not between 1 and 65535"},
		{"grpc://h:65536", "port 65536 is not between 1 and 65535"},
		{"grpc://h:http", "invalid port"},
		{"grpc://:1", "the host is missing"},
		{"grpc://h:1/api", `gRPC has no path prefix, remove "/api"`},
		{"grpc://a:secret@h:1", `upstream "grpc://h:1": a user name or password in a URL is not supported`},
		{"grpc://a:secret%zz@h:1", `upstream "grpc://h:1": the user information cannot be read`},
		{"a:secret@h:1", `upstream "h:1" has no scheme: did you mean grpc://h:1?`},
		{"http://a:secret@h/p", "write connect+http://h/p (Connect), grpcweb+http://h/p (gRPC-Web) or grpc://h (gRPC)"},
		{"ftp://a:secret@h", `upstream "ftp://h": unknown scheme "ftp"`},
		{"connect+http://h/?token=secret", `upstream "connect+http://h/?token=xxxxx": a query is not supported`},
		{"connect+http://h?a=b#c", "a query is not supported\nupstream \"connect+http://h?a=b#c\": a fragment is not supported"},
		{"unix:", "the path of the socket is missing"},
		{"unix://", "the path of the socket is missing"},
		{"unix://run/a.sock", "did you mean unix:///run/a.sock or unix:run/a.sock?"},
		{"grpc://" + strings.Repeat("a", 5000), "upstream URL has 5007 bytes, the limit is 4096"},
	} {
		t.Run(test.in[:min(len(test.in), 40)], func(t *testing.T) {
			t.Parallel()
			u, err := upstreamurl.Parse(test.in)
			if err == nil {
				t.Fatalf("Parse = %+v, want an error", u)
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

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"grpc://h:1", "unix:@a", "dns://8.8.8.8/h:1", "connect+https://h/a%2Fb/", "grpc://[::1%25a]:2", "localhost:1", "grpcs://h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := upstreamurl.Parse(s)
		if err != nil {
			if u != (upstreamurl.URL{}) {
				t.Fatalf("Parse(%q) = %+v with the error %v", s, u, err)
			}
			return
		}
		again, err := upstreamurl.Parse(u.String())
		if err != nil || again != u {
			t.Fatalf("Parse(%q) = %+v; Parse(%q) = %+v, %v", s, u, u.String(), again, err)
		}
	})
}
