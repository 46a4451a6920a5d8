package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// configFileOf writes a configuration file.
func configFileOf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcp-bridge.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	good := configFileOf(t, "upstreams: {a: {url: 'grpc://h:1'}, b: {command: [x]}}\n")
	if got, want := mcpBridge(t, "config", "check", good).ok(t), good+" is valid: 2 upstreams\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	bad := configFileOf(t, "upstreams: {a: {ulr: x}}\nsever: {}\n")
	o := mcpBridge(t, "config", "check", bad)
	if o.status != exitFailure || o.stdout != "" {
		t.Errorf("status %d, output %q", o.status, o.stdout)
	}
	contains(t, o.stderr, "the configuration is not valid:", bad+`:1:17: upstreams.a.ulr: unknown key; did you mean "url"?`, bad+`:2:1: sever: unknown key; did you mean "server"?`)

	host := configFileOf(t, `{"mcpServers": {"a": {"command": "x", "autoApprove": []}}}`)
	o = mcpBridge(t, "config", "check", host)
	contains(t, o.ok(t), "is valid: 1 upstream\n")
	contains(t, o.stderr, host+":1:39: mcpServers.a.autoApprove: the key is ignored")

	for _, args := range [][]string{{"config", "check"}, {"config", "check", "a", "b"}, {"config", "print"}, {"config", "schema", "x"}} {
		if o := mcpBridge(t, args...); o.status == 0 {
			t.Errorf("%q succeeds", args)
		}
	}
	o = mcpBridge(t, "config", "check", good+".none")
	contains(t, o.stderr, "does not exist")
}

func TestConfigPrint(t *testing.T) {
	t.Setenv("CONFIG_TEST_TOKEN", "very-secret")
	path := configFileOf(t, "upstreams: {a: {url: 'grpc://h:1', headers: {authorization: 'Bearer ${CONFIG_TEST_TOKEN}'}}}\n")
	got := mcpBridge(t, "config", "print", path).ok(t)
	contains(t, got, "listen: ['127.0.0.1:8080']", `authorization: ["Bearer ${CONFIG_TEST_TOKEN}"]`, "timeout: 60s")
}

func TestConfigSchema(t *testing.T) {
	t.Parallel()
	got := mcpBridge(t, "config", "schema").ok(t)
	if !json.Valid([]byte(got)) {
		t.Error("the schema is no JSON")
	}
	contains(t, got, `"$schema": "https://json-schema.org/draft/2020-12/schema"`, `"toolsBytes"`)
}
