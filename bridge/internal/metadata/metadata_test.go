package metadata_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/metadata"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/header"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	parent  = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	parent2 = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
)

func TestRequest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		forward []string
		in      http.Header
		meta    protocol.Meta
		want    http.Header
	}{
		{name: "nothing allowed", in: http.Header{"Authorization": {"Bearer x"}, "X-A": {"1"}}, want: http.Header{}},
		{
			name: "names in any case", forward: []string{"AUTHORIZATION", "x-a"},
			in:   http.Header{"Authorization": {"Bearer x"}, "X-A": {" 1 ", "2", ""}, "X-Ab": {"no"}},
			want: http.Header{"Authorization": {"Bearer x"}, "X-A": {"1", "2", ""}},
		},
		{
			name: "wildcard", forward: []string{"x-tenant-*"},
			in:   http.Header{"X-Tenant-Id": {"1"}, "X-Tenant-": {"2"}, "X-Tenant": {"no"}, "X-Other": {"no"}},
			want: http.Header{"X-Tenant-Id": {"1"}, "X-Tenant-": {"2"}},
		},
		{
			name: "credentials are not covered by wildcards", forward: []string{"auth*", "cook*", "*"},
			in:   http.Header{"Authorization": {"Bearer x"}, "Cookie": {"a=b"}, "Authority": {"a"}},
			want: http.Header{"Authority": {"a"}},
		},
		{name: "cookie if written out", forward: []string{"cookie"}, in: http.Header{"Cookie": {"a=b"}}, want: http.Header{"Cookie": {"a=b"}}},
		{
			name:    "protocol headers never pass",
			forward: []string{"connection", "keep-alive", "host", "te", "trailer", "transfer-encoding", "upgrade", "content-*", "content-type", "grpc-*", "grpc-timeout", "connect-*", "mcp-*", "mcp-session-id", "proxy-*", "user-agent", "accept", "accept-encoding", ":authority", "last-event-id"},
			in: http.Header{
				"Connection": {"close"}, "Keep-Alive": {"1"}, "Host": {"h"}, "Te": {"trailers"}, "Trailer": {"X"}, "Transfer-Encoding": {"chunked"},
				"Upgrade": {"h2c"}, "Content-Type": {"a/b"}, "Content-Language": {"de"}, "Grpc-Timeout": {"1S"}, "Grpc-Tags-Bin": {"AA"}, "Connect-Timeout-Ms": {"1"},
				"Connect-Anything": {"1"}, "Mcp-Session-Id": {"s"}, "Mcp-Protocol-Version": {"v"}, "Proxy-Authorization": {"p"}, "User-Agent": {"u"}, "Accept": {"*/*"},
				"Accept-Encoding": {"gzip"}, ":authority": {"a"}, "Last-Event-Id": {"1"},
			},
			want: http.Header{},
		},
		{
			name: "named by Connection", forward: []string{"x-*"},
			in:   http.Header{"Connection": {"close, x-hop", "X-Other"}, "X-Hop": {"1"}, "X-Other": {"1"}, "X-End": {"1"}},
			want: http.Header{"X-End": {"1"}},
		},
		{
			name: "values that cannot travel", forward: []string{"x-*"},
			in:   http.Header{"X-A": {"a\r\nX-Evil: 1", "ü", "\x00", "ok", "a\tb"}, "X-B": {"\x7f"}, "X ü": {"a"}},
			want: http.Header{"X-A": {"ok"}},
		},
		{
			name: "binary", forward: []string{"x-*"},
			in:   http.Header{"X-Raw-Bin": {"AP8=, AP8", "_-8", "not base64!", "A\nP8", ""}, "X-None-Bin": {"%"}},
			want: http.Header{"X-Raw-Bin": {"\x00\xff", "\x00\xff", "\xff\xef", ""}},
		},
		{
			name: "trace of the HTTP request",
			in:   http.Header{"Traceparent": {parent}, "Tracestate": {"a=1", "b=2"}, "Baggage": {"k=v"}},
			want: http.Header{"Traceparent": {parent}, "Tracestate": {"a=1,b=2"}, "Baggage": {"k=v"}},
		},
		{
			name: "trace of _meta counts first",
			in:   http.Header{"Traceparent": {parent}, "Tracestate": {"a=1"}, "Baggage": {"k=v"}},
			meta: protocol.Meta{TraceParent: parent2, Baggage: "k=w"},
			want: http.Header{"Traceparent": {parent2}, "Baggage": {"k=w"}},
		},
		{
			name: "invalid trace of _meta",
			in:   http.Header{"Traceparent": {parent}, "Tracestate": {"a=1"}},
			meta: protocol.Meta{TraceParent: "00-1", TraceState: "b=2", Baggage: "a=1\r\nX-Evil: 1"},
			want: http.Header{"Traceparent": {parent}, "Tracestate": {"a=1"}},
		},
		{
			name: "state without parent",
			in:   http.Header{"Traceparent": {parent, parent2}, "Tracestate": {"a=1"}, "Baggage": {strings.Repeat("b", 9000)}},
			want: http.Header{},
		},
		{name: "later version of traceparent", in: http.Header{"Traceparent": {"01" + parent[2:] + "-more"}}, want: http.Header{"Traceparent": {"01" + parent[2:] + "-more"}}},
		{name: "zero trace", in: http.Header{"Traceparent": {"00-00000000000000000000000000000000-b7ad6b7169203331-01"}}, want: http.Header{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := &metadata.Policy{Forward: tt.forward}
			got := p.Request(&protocol.Caller{Header: tt.in}, tt.meta)
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if err := header.Check(got); err != nil {
				t.Error(err)
			}
		})
	}
	var none *metadata.Policy
	for _, c := range []*protocol.Caller{nil, {}, {Header: http.Header{"X-A": {"1"}}}} {
		if got := none.Request(c, protocol.Meta{TraceParent: parent}); !reflect.DeepEqual(got, http.Header{"Traceparent": {parent}}) {
			t.Errorf("no policy: %q", got)
		}
	}
}

func TestTokenForwarded(t *testing.T) {
	t.Parallel()
	with := &protocol.Caller{Header: http.Header{"Authorization": {"Bearer x"}}}
	tests := []struct {
		name   string
		policy *metadata.Policy
		caller *protocol.Caller
		want   bool
	}{
		{"forwarded", &metadata.Policy{Forward: []string{"authorization"}}, with, true},
		{"not allowed", &metadata.Policy{Forward: []string{"auth*"}}, with, false},
		{"no policy", nil, with, false},
		{"no token", &metadata.Policy{Forward: []string{"authorization"}}, &protocol.Caller{}, false},
		{"no caller", &metadata.Policy{Forward: []string{"authorization"}}, nil, false},
		{"cannot travel", &metadata.Policy{Forward: []string{"authorization"}}, &protocol.Caller{Header: http.Header{"Authorization": {"ü"}}}, false},
	}
	for _, tt := range tests {
		if got := tt.policy.TokenForwarded(tt.caller); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

func TestResponse(t *testing.T) {
	t.Parallel()
	full := &rpc.Trailer{
		Header:  http.Header{"X-A": {"1", "ü", "<2>"}, "X-Raw-Bin": {"\x00\xff", ""}, "Set-Cookie": {"c"}, "Grpc-Status": {"0"}, "Content-Type": {"a/b"}, "Traceparent": {"t"}},
		Trailer: http.Header{"X-B": {"3"}, "X-C": {"a\nb"}},
	}
	tests := []struct {
		name    string
		policy  *metadata.Policy
		trailer *rpc.Trailer
		want    string
	}{
		{"all", &metadata.Policy{Return: []string{"X-*", "grpc-status", "content-type", "trace*"}}, full, `{"header":{"x-a":["1","<2>"],"x-raw-bin":["AP8=",""]},"trailer":{"x-b":["3"]}}`},
		{"one part", &metadata.Policy{Return: []string{"x-b"}}, full, `{"trailer":{"x-b":["3"]}}`},
		{"written out", &metadata.Policy{Return: []string{"set-cookie"}}, full, `{"header":{"set-cookie":["c"]}}`},
		{"not by wildcard", &metadata.Policy{Return: []string{"set-*"}}, full, ``},
		{"no match", &metadata.Policy{Return: []string{"x-z"}}, full, ``},
		{"nothing can be shown", &metadata.Policy{Return: []string{"x-c"}}, full, ``},
		{"forwarding is something else", &metadata.Policy{Forward: []string{"x-*"}}, full, ``},
		{"no trailer", &metadata.Policy{Return: []string{"x-*"}}, nil, ``},
		{"no policy", nil, full, ``},
	}
	for _, tt := range tests {
		got := tt.policy.Response(tt.trailer)
		if tt.want == "" {
			if got != nil {
				t.Errorf("%s: got %s, want nil", tt.name, got)
			}
			continue
		}
		var a, b any
		if err := json.Unmarshal(got, &a); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err := json.Unmarshal([]byte(tt.want), &b); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	good := &metadata.Policy{Forward: []string{"authorization", "X-Tenant-*", "cookie", "accept-language", "a_b.c-bin"}, Return: []string{"set-cookie", "x-*"}}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	var none *metadata.Policy
	if err := none.Validate(); err != nil {
		t.Error(err)
	}
	bad := &metadata.Policy{
		Forward: []string{"*", "x-*-y", "x y", "", "Host", "grpc-*", ":path", "traceparent", "ok"},
		Return:  []string{"mcp-session-id", "x-ü"},
	}
	const want = `forwarded header "*": a name must stand before the *, as not all headers may pass
forwarded header "x-*-y": a * is possible at the end only
forwarded header "x y": only letters, digits, '-', '_' and '.' are possible
forwarded header "": only letters, digits, '-', '_' and '.' are possible
forwarded header "Host": it belongs to the protocol and never passes
forwarded header "grpc-*": it belongs to the protocol and never passes
forwarded header ":path": it belongs to the protocol and never passes
forwarded header "traceparent": the trace context is always forwarded and never returned; leave it out
returned header "mcp-session-id": it belongs to the protocol and never passes
returned header "x-ü": only letters, digits, '-', '_' and '.' are possible`
	if err := bad.Validate(); err == nil || err.Error() != want {
		t.Errorf("error\n%v\nwant\n%s", err, want)
	}
}

// FuzzRequest checks that whatever a client sends, only what is allowed comes
// out, in a form that metadata can carry.
func FuzzRequest(f *testing.F) {
	f.Add("x-a", "1", "x-*", parent, "a=1", "k=v")
	f.Add("Authorization", "Bearer x", "auth*", "", "", "")
	f.Add("x-raw-bin", "AP8=,_-8", "x-raw-bin", parent, "\r\n", "\x00")
	f.Add("grpc-timeout", "1S", "*", "", "", "")
	f.Add("Connection", "x-a", "conn*", parent2+"-x", "", "ü")
	f.Fuzz(func(t *testing.T, key, value, entry, traceParent, state, bag string) {
		p := &metadata.Policy{Forward: []string{entry, "x-a"}, Return: []string{entry}}
		in := http.Header{"Traceparent": {traceParent}, "Tracestate": {state}}
		in.Add(key, value)
		caller := &protocol.Caller{Header: in}
		got := p.Request(caller, protocol.Meta{TraceParent: value, Baggage: bag})
		if err := header.Check(got); err != nil {
			t.Fatal(err)
		}
		prefix := strings.TrimSuffix(entry, "*")
		for k, values := range got {
			if k != http.CanonicalHeaderKey(k) || header.Reserved(k) || len(values) == 0 {
				t.Errorf("key %q with %d values", k, len(values))
			}
			switch k {
			case "Traceparent", "Tracestate", "Baggage", "X-A":
			case "Authorization", "Cookie", "Set-Cookie":
				if !strings.EqualFold(k, entry) {
					t.Errorf("%s passed under %q", k, entry)
				}
			default:
				if !strings.EqualFold(k[:min(len(k), len(prefix))], prefix) || prefix == "" {
					t.Errorf("%q passed under %q", k, entry)
				}
			}
		}
		if p.TokenForwarded(caller) && got.Get("Authorization") == "" {
			t.Error("the token was not forwarded")
		}
		if raw := p.Response(&rpc.Trailer{Header: in, Trailer: got}); raw != nil && !json.Valid(raw) {
			t.Errorf("not JSON: %s", raw)
		}
	})
}
