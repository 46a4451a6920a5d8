package guard_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/guard"
)

// Where connections arrive.
var (
	loopback  = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
	loopback6 = &net.TCPAddr{IP: net.IPv6loopback, Port: 80}
	public    = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}
	unix      = &net.UnixAddr{Name: "s", Net: "unix"}
)

// request is one to host that arrives on local, which may be nil, with the
// values of Origin.
func request(local net.Addr, host string, origins ...string) *http.Request {
	r := &http.Request{Host: host, Header: http.Header{}}
	for _, o := range origins {
		r.Header.Add("Origin", o)
	}
	if local == nil {
		return r
	}
	return r.WithContext(context.WithValue(context.Background(), http.LocalAddrContextKey, local))
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	origins := guard.Policy{Origins: []string{"https://app.example.com"}}
	hosts := guard.Policy{Hosts: []string{"mcp.example.com"}}
	all := guard.Policy{Origins: []string{"*"}, Hosts: []string{"*"}}
	const (
		host   = `host "evil.example" is not served here; allow it by name if it is meant`
		origin = `origin "https://evil.example" is not allowed here`
		none   = "the Origin header names no origin that is allowed here"
	)
	for _, tt := range []struct {
		name   string
		policy guard.Policy
		r      *http.Request
		want   string
	}{
		{"no browser", guard.Policy{}, request(loopback, "localhost:80"), ""},
		{"loopback names", guard.Policy{}, request(loopback, "LOCALHOST"), ""},
		{"loopback address", guard.Policy{}, request(loopback, "127.0.0.1:80"), ""},
		{"all of 127/8", guard.Policy{}, request(loopback, "127.1.2.3"), ""},
		{"loopback address, IPv6", guard.Policy{}, request(loopback6, "[::1]:80"), ""},
		{"loopback address, IPv6 without port", guard.Policy{}, request(loopback6, "[::1]"), ""},
		{"mapped loopback address", guard.Policy{}, request(loopback6, "[::ffff:127.0.0.1]:80"), ""},
		{"rebound name", guard.Policy{}, request(loopback, "evil.example:80"), host},
		{"rebound name, IPv6", guard.Policy{}, request(loopback6, "evil.example"), host},
		{"rebound name, unknown address", guard.Policy{}, request(nil, "evil.example"), host},
		{"no host", guard.Policy{}, request(loopback, ""), `host "" is not served here; allow it by name if it is meant`},
		{"name that begins like loopback", guard.Policy{}, request(loopback, "127.0.0.1.evil.example"), `host "127.0.0.1.evil.example" is not served here; allow it by name if it is meant`},
		{"name that ends like loopback", guard.Policy{}, request(loopback, "evil.localhost"), `host "evil.localhost" is not served here; allow it by name if it is meant`},
		{"public server", guard.Policy{}, request(public, "evil.example"), ""},
		{"unix socket", guard.Policy{}, request(unix, "evil.example"), ""},
		{"named host", hosts, request(public, "MCP.example.com:443"), ""},
		{"host beside the named one", hosts, request(public, "evil.example"), host},
		{"host beside the named one, unix", hosts, request(unix, "evil.example"), host},
		{"loopback beside the named one", hosts, request(public, "localhost"), ""},
		{"any host", all, request(loopback, "evil.example", "https://evil.example"), ""},

		{"origin of nobody", guard.Policy{}, request(loopback, "localhost", "null"), none},
		{"origin that is none", guard.Policy{}, request(loopback, "localhost", "http://[::1"), none},
		{"origin without scheme", guard.Policy{}, request(loopback, "localhost", "localhost:80"), none},
		{"loopback origin", guard.Policy{}, request(loopback, "localhost", "http://localhost:3000"), ""},
		{"loopback origin, IPv6", guard.Policy{}, request(loopback, "localhost", "http://[::1]:3000"), ""},
		{"foreign origin", guard.Policy{}, request(loopback, "localhost", "https://evil.example"), origin},
		{"foreign origin, public", guard.Policy{}, request(public, "mcp.example.com", "https://evil.example"), origin},
		{"origin like loopback", guard.Policy{}, request(loopback, "localhost", "https://localhost.evil.example"), `origin "https://localhost.evil.example" is not allowed here`},
		{"origin with loopback as user", guard.Policy{}, request(loopback, "localhost", "https://localhost@evil.example"), `origin "https://localhost@evil.example" is not allowed here`},
		{"rebound name, public", guard.Policy{}, request(public, "evil.example:8443", "https://evil.example:8443"), `origin "https://evil.example:8443" is not allowed here, as host "evil.example" is not known; allow either by name if it is meant`},
		{"rebound name, unix", guard.Policy{}, request(unix, "evil.example", "https://evil.example"), `origin "https://evil.example" is not allowed here, as host "evil.example" is not known; allow either by name if it is meant`},
		{"rebound name with named origins", origins, request(public, "evil.example", "https://evil.example"), `origin "https://evil.example" is not allowed here, as host "evil.example" is not known; allow either by name if it is meant`},
		{"own address", guard.Policy{}, request(public, "192.0.2.1:8443", "https://192.0.2.1:8443"), ""},
		{"own address, IPv6", guard.Policy{}, request(public, "[2001:db8::1]:8443", "https://[2001:db8::1]:8443"), ""},
		{"other address", guard.Policy{}, request(public, "192.0.2.1:8443", "https://192.0.2.2:8443"), `origin "https://192.0.2.2:8443" is not allowed here`},
		{"local tool, public", guard.Policy{}, request(public, "mcp.example.com", "http://localhost:6274"), ""},
		{"own origin", hosts, request(public, "mcp.example.com:8443", "https://mcp.example.com:8443"), ""},
		{"own name, other port", hosts, request(public, "mcp.example.com:8443", "https://mcp.example.com"), `origin "https://mcp.example.com" is not allowed here`},
		{"named origin", origins, request(public, "mcp.example.com", "https://APP.example.com"), ""},
		{"named origin, other port", origins, request(public, "mcp.example.com", "https://app.example.com:8443"), `origin "https://app.example.com:8443" is not allowed here`},
		{"named origin, other scheme", origins, request(public, "mcp.example.com", "http://app.example.com"), `origin "http://app.example.com" is not allowed here`},
		{"two origins", origins, request(public, "mcp.example.com", "https://app.example.com", "https://evil.example"), origin},
		{"empty origin", guard.Policy{}, request(loopback, "localhost", ""), ""},
	} {
		if got := tt.policy.Refuse(tt.r); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	good := guard.Policy{
		Origins: []string{"*", "https://app.example.com", "http://localhost:3000", "vscode-webview://x"},
		Hosts:   []string{"*", "mcp.example.com", "::1", "192.0.2.1"},
	}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	bad := guard.Policy{
		Origins: []string{"app.example.com", "", "https://app.example.com/", "https://app.example.com/path"},
		Hosts:   []string{"mcp.example.com:443", "https://mcp.example.com", "[::1]", "a/b", ""},
	}
	want := []string{
		`allowed origin "app.example.com" needs a scheme, such as https://app.example.com`,
		`allowed origin "" needs a scheme, such as https://`,
		`allowed origin "https://app.example.com/" must end with the host or port: browsers send no path`,
		`allowed origin "https://app.example.com/path" must end with the host or port: browsers send no path`,
		`allowed host "mcp.example.com:443" must be a host name without scheme and port`,
		`allowed host "https://mcp.example.com" must be a host name without scheme and port`,
		`allowed host "[::1]" must be a host name without scheme and port`,
		`allowed host "a/b" must be a host name without scheme and port`,
		`allowed host "" must be a host name without scheme and port`,
	}
	if err := bad.Validate(); err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("error %v\nwant %s", err, strings.Join(want, "\n"))
	}
}

// FuzzRefuse: a page of another site never reaches a loopback server, however
// its origin and the host are written.
func FuzzRefuse(f *testing.F) {
	for _, s := range []string{"", "null", "http://localhost", "https://evil.example", "http://[::1]:80", "http://127.0.0.1@evil.example", "//localhost", "http://localhost%00.evil"} {
		f.Add("localhost", s)
		f.Add("evil.example", s)
	}
	f.Fuzz(func(t *testing.T, host, origin string) {
		var p guard.Policy
		refused := p.Refuse(request(loopback, host, origin))
		if refused != "" && !strings.Contains(refused, "here") {
			t.Errorf("reason %q", refused)
		}
		site, isSite := strings.CutPrefix(origin, "https://")
		if isSite && strings.HasSuffix(site, ".example") && !strings.ContainsAny(site, "/:?#@[]%\\") && refused == "" {
			t.Errorf("origin %q reaches host %q", origin, host)
		}
		if strings.HasSuffix(host, ".example") && refused == "" {
			t.Errorf("host %q is served", host)
		}
		for _, local := range []net.Addr{public, unix} {
			if strings.HasSuffix(host, ".example") && isSite && strings.HasSuffix(site, ".example") && p.Refuse(request(local, host, origin)) == "" {
				t.Errorf("off loopback, origin %q reaches host %q", origin, host)
			}
		}
		open := guard.Policy{Origins: []string{"*"}, Hosts: []string{"*"}}
		if got := open.Refuse(request(loopback, host, origin)); got != "" {
			t.Errorf("a policy that allows all refuses: %s", got)
		}
	})
}
