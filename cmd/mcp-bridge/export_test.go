package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExport(t *testing.T) {
	t.Parallel()
	url := strings.TrimPrefix(startInProcess(t, io.Discard, "serve", reflective(t), "--listen", "127.0.0.1:0"), "Listening on ")
	dir := t.TempDir()
	proto := filepath.Join(dir, "acme/library/v1/library.proto")
	export := []string{"export", "--package", "acme.library.v1", "--name", "library", "-o", dir, url}

	contains(t, mcpBridge(t, export...).ok(t), "wrote "+proto, "wrote "+filepath.Join(dir, "buf.yaml"), "mcp/v1/content.proto")
	text, err := os.ReadFile(proto)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, string(text), "package acme.library.v1;", "rpc LibraryGetBook(LibraryGetBookRequest) returns (LibraryGetBookResponse) {")
	if got := mcpBridge(t, export...).ok(t); got != "Nothing has changed.\n" {
		t.Errorf("the second time: %s", got)
	}
	check := append(export, "--check")
	if got := mcpBridge(t, check...).ok(t); got != "Nothing has changed.\n" {
		t.Errorf("--check: %s", got)
	}

	// A file of a server that had one more tool, and one less.
	older := strings.Replace(string(text), "rpc LibraryGetBook(", "rpc LibraryGetBookOld(", 1)
	if err := os.WriteFile(proto, []byte(older), 0o600); err != nil {
		t.Fatal(err)
	}
	o := mcpBridge(t, check...)
	if o.status != exitFailure {
		t.Errorf("exit status %d", o.status)
	}
	contains(t, o.stdout, "breaks: RPC ", "LibraryGetBookOld is gone\n", "added: RPC ", "LibraryGetBook is new\n")
	contains(t, o.stderr, "1 breaking change since")

	// What breaks is said where it is written, too.
	o = mcpBridge(t, export...)
	contains(t, o.ok(t), "wrote "+proto)
	contains(t, o.stderr, "breaks: RPC ", "LibraryGetBookOld is gone\n")

	// Without the lock it is made anew of the file.
	if err := os.WriteFile(proto, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(strings.TrimSuffix(proto, ".proto") + ".mcp.lock.json"); err != nil {
		t.Fatal(err)
	}
	o = mcpBridge(t, export...)
	contains(t, o.ok(t), "wrote "+strings.TrimSuffix(proto, ".proto")+".mcp.lock.json")
	contains(t, o.stderr, "there is no lock")
	if strings.Contains(o.stdout, "wrote "+proto+"\n") {
		t.Errorf("the .proto file was written too:\n%s", o.stdout)
	}

	// Without the file there is nothing to compare with.
	if err := os.Remove(proto); err != nil {
		t.Fatal(err)
	}
	o = mcpBridge(t, check...)
	if o.status != exitFailure {
		t.Errorf("exit status %d", o.status)
	}
	contains(t, o.stderr, "acme/library/v1/library.proto is missing")
}

// TestExportBesideBuf tests what is said of a buf.yaml that is there already.
func TestExportBesideBuf(t *testing.T) {
	t.Parallel()
	url := strings.TrimPrefix(startInProcess(t, io.Discard, "serve", reflective(t), "--listen", "127.0.0.1:0"), "Listening on ")
	for _, tt := range []struct {
		text string
		want bool
	}{
		{"version: v2\n", true},
		{"version: v2\nlint:\n  ignore:\n    - buf/validate\n", false},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "buf.yaml"), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		o := mcpBridge(t, "export", "-o", dir, url)
		contains(t, o.ok(t), "buf.gen.yaml")
		if got := strings.Contains(o.stderr, "may want to ignore buf/validate, mcp/json, mcp/options, mcp/v1\n"); got != tt.want {
			t.Errorf("%s: %s", tt.text, o.stderr)
		}
	}
}

func TestExportErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args   []string
		status int
		want   string
	}{
		{nil, exitUsage, "or for an MCP server: mcp-bridge export -- npx"},
		{[]string{"npx"}, exitUsage, `"npx" has no scheme`},
		{[]string{"http://localhost:1/mcp", "x"}, exitUsage, "2 arguments are too many"},
		{[]string{"--header", "a: b", "--", "x"}, exitUsage, "--header and --forward-header are for URLs"},
		{[]string{"--header", "a", "http://127.0.0.1:1/mcp"}, exitUsage, "not of the form 'name: value'"},
		{[]string{"--check", "--", "/does/not/exist"}, exitFailure, "/does/not/exist"},
		{[]string{"http://127.0.0.1:1/mcp"}, exitFailure, "connection refused"},
	} {
		o := mcpBridge(t, append([]string{"export", "-o", t.TempDir()}, tt.args...)...)
		if o.status != tt.status {
			t.Errorf("%q: exit status %d, want %d", tt.args, o.status, tt.status)
		}
		contains(t, o.stderr, tt.want)
	}
}
