package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTaskKeyFile(t *testing.T) {
	t.Parallel()
	short := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(short, []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		short:              "has 7 bytes; a key needs 32",
		short + ".missing": "--task-key-file: open ",
	} {
		got := mcpBridge(t, "tools", "--task-key-file", file, "grpc://127.0.0.1:1")
		if got.status != 1 || got.stdout != "" {
			t.Errorf("exit status %d, stdout %q", got.status, got.stdout)
		}
		contains(t, got.stderr, want)
	}
}
