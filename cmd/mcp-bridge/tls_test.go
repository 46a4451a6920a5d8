package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestServeTLS: the listener speaks TLS, to HTTP/1.1 and to gRPC, demands client
// certificates, and follows its files.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	cert, certFile, keyFile := certificate(t)
	line := startInProcess(t, &bytes.Buffer{}, "serve", "--listen", "127.0.0.1:0", "--log-level", "error",
		"--tls-cert", certFile, "--tls-key", keyFile, "--tls-client-ca", certFile, reflective(t))
	url, ok := strings.CutPrefix(line, "Listening on https://")
	if !ok {
		t.Fatal(line)
	}
	address := strings.TrimSuffix(url, "/mcp")
	for _, scheme := range []string{"mcp+grpcs://" + address, "https://" + url, "connect+https://" + address} {
		args := []string{"tools", "--ca", certFile, scheme}
		if got := mcpBridge(t, args...); got.status == 0 {
			t.Errorf("%s: no certificate is demanded", scheme)
		}
		if strings.HasPrefix(scheme, "connect+") {
			continue // it is an MCP server, which the others have shown
		}
		contains(t, mcpBridge(t, append(args, "--cert", certFile, "--key", keyFile)...).ok(t), "Library_GetBook")
	}

	// Another certificate is used as soon as its files are there.
	renewed, newCert, newKey := certificate(t)
	for from, to := range map[string]string{newCert: certFile, newKey: keyFile} {
		pem, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, pem, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	roots.AddCert(renewed.Leaf)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{renewed}, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	if status, body := do(t, &http.Client{Transport: transport}, request(t, http.MethodPost, "https://"+url, listTools)); status != http.StatusOK {
		t.Errorf("status %d: %s", status, body)
	}
	transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	if resp, err := (&http.Client{Transport: transport}).Do(request(t, http.MethodPost, "https://"+url, listTools)); err == nil {
		_ = resp.Body.Close()
		t.Error("the former authority is trusted still")
	}
}

// TestScopedFlags: a flag is for one upstream as NAME=value, and must fit one.
func TestScopedFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"--proto", "a", "one=grpc://h:1", "two=grpc://h:2"}, []string{"--proto is for one upstream, and there are 2 that it could be for", "say which one: --proto NAME=..."}},
		{[]string{"--descriptors", "three=a", "one=grpc://h:1", "two=grpc://h:2"}, []string{`--descriptors number 1 is for the upstream "three", which does not exist`}},
		{[]string{"--service", "two=a", "one=grpc://h:1", "two=http://h:2"}, []string{`--service number 1 is for the upstream "two", which takes none: http://h:2`}},
		{[]string{"--timeout", "one=x", "one=grpc://h:1"}, []string{"--timeout"}},
		{[]string{"--tls-cert", "a", "grpc://h:1"}, []string{"--tls-cert needs its private key too: add --tls-key"}},
		{[]string{"--tls-client-ca", "a", "grpc://h:1"}, []string{"--tls-client-ca is for TLS"}},
	} {
		got := mcpBridge(t, append([]string{"serve"}, tt.args...)...)
		if got.status != exitUsage {
			t.Errorf("%q: exit status %d", tt.args, got.status)
		}
		contains(t, got.stderr, tt.want...)
	}
	set := descriptorSet(t)
	url := "grpc://" + unreflective(t)
	b := bridgeTo(t, "--descriptors", "one="+set, "--proto", "two="+protoDir, "--timeout", "two=1ns", "one="+url, "two="+url)
	for tool, want := range map[string]string{"one_Library_GetBook": "Pride and Prejudice", "two_Library_GetBook": "DEADLINE_EXCEEDED"} {
		_, got := do(t, b.web, request(t, http.MethodPost, b.base+"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+demoArguments+`}}`))
		contains(t, got, want)
	}
}
