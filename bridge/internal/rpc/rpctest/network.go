package rpctest

import (
	"crypto/tls"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// Network is what [RunNetwork] needs of an implementation.
type Network struct {
	// Plain and Secure are the schemes without and with TLS, with "://".
	Plain, Secure string
	// Serve serves a backend until the test ends, with TLS where there is a
	// configuration.
	Serve func(t *testing.T, listener net.Listener, b *Backend, config *tls.Config)
	// Dial returns a caller, which is closed when the test ends. The
	// configuration may be nil.
	Dial func(t *testing.T, url string, config *tls.Config, authority string) rpc.Caller
	// Unix is true where the scheme of unix sockets means this protocol.
	Unix bool
}

// RunNetwork tests what happens between the two sides before there is a call:
// TLS, sockets, and every common way for them to be wrong.
func RunNetwork(t *testing.T, n Network) {
	t.Helper()
	for name, test := range map[string]func(*testing.T){
		"TLS":                     n.secure,
		"TLS by another name":     n.otherName,
		"mutual TLS":              n.mutual,
		"TLS against plaintext":   n.secureToPlain,
		"plaintext against TLS":   n.plainToSecure,
		"untrusted certificate":   n.untrusted,
		"certificate of another":  n.wrongName,
		"no client certificate":   n.noClientCertificate,
		"nothing listens":         n.refused,
		"unknown host":            n.unknownHost,
		"not an RPC server":       n.website,
		"unix socket":             n.unix,
		"unix socket is missing":  n.unixMissing,
		"a server that came back": n.back,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

type world struct {
	authority *Authority
	server    *tls.Config
	client    *tls.Config
}

func newWorld(t *testing.T, names ...string) *world {
	t.Helper()
	a := NewAuthority(t)
	return &world{
		authority: a,
		server:    &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{a.Pair(t, names...)}, ClientCAs: a.Pool()},
		client:    &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: a.Pool()},
	}
}

// start serves on a free port and returns its address.
func (n Network) start(t *testing.T, config *tls.Config) string {
	t.Helper()
	listener := Listen(t, "tcp", "127.0.0.1:0")
	n.Serve(t, listener, NewBackend(), config)
	return listener.Addr().String()
}

func (Network) works(t *testing.T, caller rpc.Caller) {
	t.Helper()
	got := ""
	_, err := caller.Call(t.Context(), NewCall("Echo", nil, "hello"), func(message []byte) error {
		got = string(message)
		return nil
	})
	if err != nil || got != "hello" {
		t.Errorf("received %q, error %v", got, err)
	}
}

// fails calls in every kind and wants the same error of each.
func (Network) fails(t *testing.T, caller rpc.Caller, c code.Code, message string) {
	t.Helper()
	for _, method := range []string{"Echo", "Count", "Join", "Chat"} {
		_, err := caller.Call(t.Context(), NewCall(method, nil, "1"), ignore)
		WantStatus(t, err, c, true, message)
	}
}

func (n Network) secure(t *testing.T) {
	w := newWorld(t, "127.0.0.1")
	n.works(t, n.Dial(t, n.Secure+n.start(t, w.server), w.client, ""))
}

func (n Network) otherName(t *testing.T) {
	w := newWorld(t, "api.example.com")
	n.works(t, n.Dial(t, n.Secure+n.start(t, w.server), w.client, "api.example.com"))
}

func (n Network) mutual(t *testing.T) {
	w := newWorld(t, "127.0.0.1")
	w.server.ClientAuth = tls.RequireAndVerifyClientCert
	w.client.Certificates = []tls.Certificate{w.authority.Pair(t, "client")}
	n.works(t, n.Dial(t, n.Secure+n.start(t, w.server), w.client, ""))
}

func (n Network) noClientCertificate(t *testing.T) {
	w := newWorld(t, "127.0.0.1")
	w.server.ClientAuth = tls.RequireAndVerifyClientCert
	n.fails(t, n.Dial(t, n.Secure+n.start(t, w.server), w.client, ""), code.Code_UNAVAILABLE, "give it with --cert and --key")
}

func (n Network) secureToPlain(t *testing.T) {
	w := newWorld(t)
	address := n.start(t, nil)
	n.fails(t, n.Dial(t, n.Secure+address, w.client, ""), code.Code_UNAVAILABLE, address+" does not speak TLS, use "+n.Plain+address)
}

func (n Network) plainToSecure(t *testing.T) {
	w := newWorld(t, "127.0.0.1")
	address := n.start(t, w.server)
	n.fails(t, n.Dial(t, n.Plain+address, nil, ""), code.Code_UNAVAILABLE, "TLS, use "+n.Secure+address)
}

func (n Network) untrusted(t *testing.T) {
	w := newWorld(t, "127.0.0.1")
	address := n.start(t, w.server)
	n.fails(t, n.Dial(t, n.Secure+address, nil, ""), code.Code_UNAVAILABLE, "the certificate of "+address+" is not signed by a trusted authority: name its CA with --ca")
}

func (n Network) wrongName(t *testing.T) {
	w := newWorld(t, "api.example.com")
	address := n.start(t, w.server)
	n.fails(t, n.Dial(t, n.Secure+address, w.client, ""), code.Code_UNAVAILABLE, "the certificate of "+address+" is for another name: give the right one with --authority")
}

func (n Network) refused(t *testing.T) {
	listener := Listen(t, "tcp", "127.0.0.1:0")
	listener.Kill()
	address := listener.Addr().String()
	n.fails(t, n.Dial(t, n.Plain+address, nil, ""), code.Code_UNAVAILABLE, "nothing listens on "+address+" (connection refused)")
}

func (n Network) unknownHost(t *testing.T) {
	caller := n.Dial(t, n.Plain+"no-such-host.invalid:1", nil, "")
	_, err := caller.Call(t.Context(), NewCall("Echo", nil, ""), ignore)
	// Where there is no name server at all, the resolver says something else.
	WantStatus(t, err, code.Code_UNAVAILABLE, true, "no-such-host.invalid")
}

func (n Network) website(t *testing.T) {
	listener := Listen(t, "tcp", "127.0.0.1:0")
	ServeHTTP(t, listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<html>Welcome</html>"))
	}), nil)
	n.fails(t, n.Dial(t, n.Plain+listener.Addr().String(), nil, ""), code.Code_UNKNOWN, "does not look like a")
	listener = Listen(t, "tcp", "127.0.0.1:0")
	ServeHTTP(t, listener, http.NotFoundHandler(), nil)
	n.fails(t, n.Dial(t, n.Plain+listener.Addr().String(), nil, ""), code.Code_UNIMPLEMENTED, "404 (Not Found)")
}

func (n Network) unix(t *testing.T) {
	if !n.Unix {
		t.Skip("this protocol has no scheme for unix sockets")
	}
	path := filepath.Join(t.TempDir(), "a.sock")
	n.Serve(t, Listen(t, "unix", path), NewBackend(), nil)
	n.works(t, n.Dial(t, "unix://"+path, nil, ""))
}

func (n Network) unixMissing(t *testing.T) {
	if !n.Unix {
		t.Skip("this protocol has no scheme for unix sockets")
	}
	path := filepath.Join(t.TempDir(), "a.sock")
	n.fails(t, n.Dial(t, "unix://"+path, nil, ""), code.Code_UNAVAILABLE, "there is no socket "+path)
}

// back stops a server and starts it again on its port.
func (n Network) back(t *testing.T) {
	listener := Listen(t, "tcp", "127.0.0.1:0")
	address := listener.Addr().String()
	n.Serve(t, listener, NewBackend(), nil)
	caller := n.Dial(t, n.Plain+address, nil, "")
	n.works(t, caller)
	listener.Kill()
	again := Listen(t, "tcp", address)
	n.Serve(t, again, NewBackend(), nil)
	// A few calls may find the broken connection, or the pause after it.
	for {
		_, err := caller.Call(t.Context(), NewCall("Echo", nil, "hello"), ignore)
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), address) {
			t.Fatalf("error %v does not say where", err)
		}
	}
}
