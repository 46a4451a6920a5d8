package tlsconf_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/rpctest"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/tlsconf"
)

func write(t *testing.T, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// handshake performs one over TCP, and returns the server's view of it, or the
// error of either side.
func handshake(t *testing.T, server, client *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	type accepted struct {
		state tls.ConnectionState
		err   error
	}
	done := make(chan accepted, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			done <- accepted{err: err}
			return
		}
		defer conn.Close()
		_, err = conn.Write([]byte("!")) // a client hears that its certificate is refused when it reads
		done <- accepted{conn.(*tls.Conn).ConnectionState(), err}
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := tls.Client(conn, client)
	if _, err = c.Read(make([]byte, 1)); err != nil {
		_ = conn.Close()
	}
	accepting := <-done
	return accepting.state, errors.Join(err, accepting.err)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority := rpctest.NewAuthority(t)
	cert, key := authority.Issue(t, "client")
	files := tlsconf.Files{
		CA:         write(t, dir, "ca.pem", authority.PEM),
		Cert:       write(t, dir, "cert.pem", cert),
		Key:        write(t, dir, "key.pem", key),
		ServerName: "api.example.com",
	}
	config, err := files.Config("")
	if err != nil {
		t.Fatal(err)
	}
	if config.ServerName != "api.example.com" {
		t.Errorf("config %+v", config)
	}
	before, err := config.GetClientCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}

	// A renewed certificate is found; a pair that does not match is not used.
	cert, key = authority.Issue(t, "client")
	write(t, dir, "cert.pem", cert)
	torn, err := config.GetClientCertificate(nil)
	if err != nil || !bytes.Equal(torn.Certificate[0], before.Certificate[0]) {
		t.Errorf("half a renewal is used, error %v", err)
	}
	write(t, dir, "key.pem", key)
	after, err := config.GetClientCertificate(nil)
	if err != nil || bytes.Equal(after.Certificate[0], before.Certificate[0]) {
		t.Errorf("a renewal is not used, error %v", err)
	}
}

// TestAuthoritiesChange: both sides verify by the authorities that their files
// hold at the time, and by names as crypto/tls does.
func TestAuthoritiesChange(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, renewed := rpctest.NewAuthority(t), rpctest.NewAuthority(t)
	cert, key := old.Issue(t, "localhost", "127.0.0.1")
	serverFiles := tlsconf.ServerFiles{
		Cert: write(t, dir, "server.pem", cert), Key: write(t, dir, "server.key", key), ClientCA: write(t, dir, "clients.pem", old.PEM),
	}
	server, err := serverFiles.Config()
	if err != nil {
		t.Fatal(err)
	}
	cert, key = old.Issue(t, "client")
	clientFiles := tlsconf.Files{
		CA: write(t, dir, "ca.pem", old.PEM), Cert: write(t, dir, "client.pem", cert), Key: write(t, dir, "client.key", key),
	}
	client := func(host string) *tls.Config {
		t.Helper()
		config, err := clientFiles.Config(host)
		if err != nil {
			t.Fatal(err)
		}
		config.ServerName = host
		return config
	}
	byName, byAddress, byOther := client("localhost"), client("127.0.0.1"), client("other.test")
	for _, config := range []*tls.Config{byName, byAddress} {
		state, err := handshake(t, server, config)
		if err != nil || len(state.PeerCertificates) != 1 {
			t.Errorf("%s: %v, error %v", config.ServerName, state.PeerCertificates, err)
		}
	}
	_, err = handshake(t, server, byOther)
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok || !strings.Contains(err.Error(), "other.test") {
		t.Errorf("another name: %v", err)
	}

	write(t, dir, "ca.pem", renewed.PEM)
	if _, err := handshake(t, server, byAddress); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("an authority that is trusted no longer: %v", err)
	}
	cert, key = renewed.Issue(t, "localhost", "127.0.0.1")
	write(t, dir, "server.pem", cert)
	write(t, dir, "server.key", key)
	if _, err := handshake(t, server, byAddress); err != nil {
		t.Errorf("an authority that is trusted now: %v", err)
	}

	write(t, dir, "clients.pem", renewed.PEM)
	if _, err := handshake(t, server, byAddress); err == nil {
		t.Error("a client of the former authority is accepted")
	}
	cert, key = renewed.Issue(t, "client")
	write(t, dir, "client.pem", cert)
	write(t, dir, "client.key", key)
	if _, err := handshake(t, server, byAddress); err != nil {
		t.Errorf("a client of the new authority: %v", err)
	}

	// What cannot be read changes nothing.
	for _, name := range []string{"ca.pem", "clients.pem", "server.pem", "server.key", "client.key"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := handshake(t, server, byAddress); err != nil {
		t.Errorf("without the files: %v", err)
	}
}

// TestOldFiles: files that have not changed for a while are not read again.
func TestOldFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority := rpctest.NewAuthority(t)
	cert, key := authority.Issue(t, "client")
	files := tlsconf.Files{Cert: write(t, dir, "cert.pem", cert), Key: write(t, dir, "key.pem", key)}
	past := time.Now().Add(-time.Hour)
	for _, name := range []string{files.Cert, files.Key} {
		if err := os.Chtimes(name, past, past); err != nil {
			t.Fatal(err)
		}
	}
	config, err := files.Config("")
	if err != nil {
		t.Fatal(err)
	}
	before, err := config.GetClientCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := config.GetClientCertificate(nil)
	if err != nil || again != before {
		t.Errorf("the files are read again, error %v", err)
	}
}

func TestConfigErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := write(t, dir, "text.pem", []byte("hello"))
	for _, test := range []struct {
		name  string
		files tlsconf.Files
		want  []string
	}{
		{"nothing", tlsconf.Files{}, nil},
		{
			"CA and pair", tlsconf.Files{CA: filepath.Join(dir, "none"), Cert: text, Key: text},
			[]string{"CA file: open ", "client certificate " + text + " with key " + text + ": tls: failed to find any PEM data"},
		},
		{"CA is none", tlsconf.Files{CA: text}, []string{"CA file " + text + " holds no certificate in PEM form"}},
		{"no key", tlsconf.Files{Cert: text}, []string{"client certificate " + text + " needs its private key too"}},
		{"no certificate", tlsconf.Files{Key: text}, []string{"private key " + text + " needs its certificate too"}},
		{"contradiction", tlsconf.Files{CA: text, InsecureSkipVerify: true}, []string{"CA file " + text + " has no effect when certificates are not verified"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config, err := test.files.Config("localhost")
			if test.want == nil {
				if err != nil || config == nil || !test.files.IsZero() {
					t.Errorf("config %v, error %v", config, err)
				}
				return
			}
			wantErrors(t, config, err, test.want)
		})
	}
}

func TestServerConfigErrors(t *testing.T) {
	t.Parallel()
	text := write(t, t.TempDir(), "text.pem", []byte("hello"))
	for _, test := range []struct {
		name  string
		files tlsconf.ServerFiles
		want  []string
	}{
		{"nothing", tlsconf.ServerFiles{}, []string{"the certificate and its private key are missing"}},
		{"no key", tlsconf.ServerFiles{Cert: text}, []string{"certificate " + text + " needs its private key too"}},
		{"no PEM", tlsconf.ServerFiles{Cert: text, Key: text, ClientCA: text}, []string{"certificate " + text + " with key " + text + ": tls:", "CA file " + text + " holds no certificate"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config, err := test.files.Config()
			wantErrors(t, config, err, test.want)
		})
	}
}

func wantErrors(t *testing.T, config *tls.Config, err error, wants []string) {
	t.Helper()
	if err == nil || config != nil {
		t.Fatalf("config %v, error %v", config, err)
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q, want it to contain %q", err, want)
		}
	}
}
