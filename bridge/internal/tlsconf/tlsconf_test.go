package tlsconf_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	config, err := files.Config()
	if err != nil {
		t.Fatal(err)
	}
	if !config.RootCAs.Equal(authority.Pool()) || config.ServerName != "api.example.com" || config.InsecureSkipVerify {
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
		{"no key", tlsconf.Files{Cert: text}, []string{"client certificate " + text + " needs its private key too: add --key"}},
		{"no certificate", tlsconf.Files{Key: text}, []string{"private key " + text + " needs its certificate too: add --cert"}},
		{"contradiction", tlsconf.Files{CA: text, InsecureSkipVerify: true}, []string{"give one of --ca and --insecure-skip-verify"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config, err := test.files.Config()
			if test.want == nil {
				if err != nil || config == nil || !test.files.IsZero() {
					t.Errorf("config %v, error %v", config, err)
				}
				return
			}
			if err == nil || config != nil {
				t.Fatalf("config %v, error %v", config, err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q, want it to contain %q", err, want)
				}
			}
		})
	}
}
