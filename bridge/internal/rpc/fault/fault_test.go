package fault_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

func TestUnreachable(t *testing.T) {
	t.Parallel()
	grpcGo := func(text string) error {
		return errors.New(`last connection error: connection error: desc = "transport: ` + text + `"`)
	}
	for _, test := range []struct {
		name, url string
		err       error
		want      string
	}{
		{
			"refused", "grpc://h:1", fmt.Errorf("dial: %w", syscall.ECONNREFUSED),
			"nothing listens on h:1 (connection refused): is the server running, and is this its port?",
		},
		{
			"refused, text", "grpcs://h:1", grpcGo("Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"),
			"nothing listens on h:1 (connection refused): is the server running, and is this its port?",
		},
		{
			"unknown host", "grpc://h:1", &net.DNSError{Err: "no such host", Name: "h", IsNotFound: true},
			"the host of h:1 is unknown (no such host): is the name right?",
		},
		{
			"no socket", "unix:///run/a", syscall.ENOENT,
			"there is no socket /run/a: is the server running, and is the path right?",
		},
		{"no permission", "unix:///run/a", syscall.EACCES, "not allowed to open /run/a (permission denied)"},
		{"no way", "grpc://h:1", errors.New("dial tcp: network is unreachable"), "there is no way to h:1 from here: dial tcp: network is unreachable"},
		{
			"TLS to plaintext", "grpcs://h:1", tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"},
			"h:1 does not speak TLS, use grpc://h:1",
		},
		{
			"TLS to plaintext, text", "connect+https://h:1/api", errors.New("http: server gave HTTP response to HTTPS client"),
			"h:1 does not speak TLS, use connect+http://h:1/api",
		},
		{"plaintext to TLS", "connect+http://h:1", errors.New(`malformed HTTP response "\x15\x03\x01"`), "h:1 speaks TLS, use connect+https://h:1"},
		{
			"Connect to gRPC", "connect+http://h:1", errors.New(`HTTP/1.x transport connection broken: malformed HTTP response "\x00\x00\x12"`),
			"h:1 speaks only HTTP/2: it is probably a gRPC server, use grpc://h:1",
		},
		{
			"plaintext to TLS, perhaps", "grpc://h:1", errors.New("error reading server preface: EOF"),
			"h:1 closed the connection before it answered: if it expects TLS, use grpcs://h:1",
		},
		{
			"resolver", "dns://1.1.1.1/h:1", errors.New("error reading server preface: EOF"),
			"h:1 closed the connection before it answered: if it expects TLS, switch TLS to match",
		},
		{
			"HTTP/1.1", "grpc://h:1", errors.New("unexpected EOF, note that the frame header looked like an HTTP/1.1 header"),
			"h:1 speaks HTTP/1.1, not HTTP/2, which gRPC and bidirectional streams need: is it a gRPC server? (Connect: connect+http://, gRPC-Web: grpcweb+http://)",
		},
		{
			"unknown authority", "grpcs://h:1", fmt.Errorf("tls: %w", x509.UnknownAuthorityError{}),
			"the certificate of h:1 is not signed by a trusted authority: name its CA with --ca (tls.Config.RootCAs)",
		},
		{
			"other name", "grpcs://h:1", grpcGo("authentication handshake failed: tls: failed to verify certificate: x509: certificate is valid for a, not h"),
			"the certificate of h:1 is for another name: give the right one with --authority: tls: failed to verify certificate: x509: certificate is valid for a, not h",
		},
		{
			"expired", "grpcs://h:1", errors.New("x509: certificate has expired or is not yet valid: now"),
			"the certificate of h:1 has expired or is not valid yet: x509: certificate has expired or is not yet valid: now",
		},
		{
			"client certificate", "grpcs://h:1", errors.New("remote error: tls: certificate required"),
			"h:1 refused the client's certificate or wants one: give it with --cert and --key: remote error: tls: certificate required",
		},
		{
			"ALPN", "grpcs://h:1", errors.New("credentials: cannot check peer: missing selected ALPN property"),
			"h:1 speaks TLS but not HTTP/2, which gRPC needs: is it a gRPC server? (Connect: connect+https://, gRPC-Web: grpcweb+https://)",
		},
		{"other", "grpc://h:1", grpcGo("Error while dialing: strange"), "cannot reach h:1: strange"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			u, err := upstreamurl.Parse(test.url)
			if err != nil {
				t.Fatal(err)
			}
			got := fault.PeerOf(u).Unreachable(test.err)
			if got.Status.GetMessage() != test.want {
				t.Errorf("message %q\nwant    %q", got.Status.GetMessage(), test.want)
			}
			if got.Code() != code.Code_UNAVAILABLE || !got.Local || !errors.Is(got, test.err) {
				t.Errorf("code %v, Local %v, cause %v", got.Code(), got.Local, got.Cause)
			}
		})
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	p := fault.Peer{Name: "h:1"}
	if err := p.Context(t.Context()); err != nil {
		t.Errorf("error %v of a context that goes on", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Context(ctx); err.Error() != "CANCELLED: the call to h:1 was cancelled" || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 0)
	defer cancel()
	if err := p.Context(ctx); err.Error() != "DEADLINE_EXCEEDED: the deadline passed before h:1 finished the call" {
		t.Errorf("error %v", err)
	}
}

func TestCheckRequest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		call rpc.Call
		want string
	}{
		{rpc.Call{Procedure: "/a.B/C", Requests: [][]byte{nil}}, ""},
		{rpc.Call{Procedure: "/a.B/C", Kind: rpc.BidiStream}, ""},
		{
			rpc.Call{Procedure: "a.B/C", Kind: rpc.ServerStream},
			"INTERNAL: procedure \"a.B/C\" is not of the form /package.Service/Method\na.B/C takes one request message, got 0",
		},
		{
			rpc.Call{Procedure: "/a.B/C", Kind: rpc.ClientStream, Requests: [][]byte{nil, make([]byte, 11)}},
			"RESOURCE_EXHAUSTED: request message 2 has 11 bytes, the limit is 10",
		},
	} {
		got := ""
		if err := fault.CheckRequest(&test.call, 10); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("CheckRequest(%+v) = %q, want %q", test.call, got, test.want)
		}
	}
}
