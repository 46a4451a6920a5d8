// Package annotated tests the example.
package annotated

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/gen/library/v1/libraryv1connect"
	"github.com/mcp-bridge/mcp-bridge/internal/demo"
	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
)

// The API builds and lints with buf as its users have it, and its options are
// heeded.
func TestProto(t *testing.T) {
	t.Parallel()
	buf := nodetools.Module(t, ".bin", "buf")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "third_party", "mcp", "options"), os.DirFS("../../proto/mcp/options")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"lint"}, {"format", "--diff", "--exit-code", "proto"}, {"build", "-o", "api.binpb"}} {
		cmd := exec.CommandContext(t.Context(), buf, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("buf %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	caller, err := bridge.Connect("connect+http://127.0.0.1:1", bridge.ConnectConfig{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := bridge.New(t.Context(), []bridge.Upstream{{
		Caller:      caller,
		Descriptors: bridge.DescriptorSetFile(filepath.Join(dir, "api.binpb")),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		b.Close()
		if err := caller.Close(); err != nil {
			t.Error(err)
		}
	}()
	if len(b.Warnings()) > 0 {
		t.Errorf("warnings %q", b.Warnings())
	}
	var names []string
	for _, tool := range b.Tools() {
		names = append(names, tool.Name)
		if tool.Name == "NotesService_DeleteNote" {
			var hints struct{ DestructiveHint, IdempotentHint bool }
			if err := json.Unmarshal(tool.Annotations, &hints); err != nil || !hints.DestructiveHint || !hints.IdempotentHint {
				t.Errorf("annotations %s: %v", tool.Annotations, err)
			}
		}
	}
	if got, want := strings.Join(names, " "), "NotesService_DeleteNote NotesService_GetNote NotesService_ListNotes"; got != want {
		t.Errorf("tools %s, want %s", got, want)
	}
}

// The file of options fits the API that it is for.
func TestOptions(t *testing.T) {
	t.Parallel()
	yaml, err := os.ReadFile("options.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b, err := bridge.New(t.Context(), []bridge.Upstream{
		bridge.InProcess(demo.Handler(demo.New()), libraryv1connect.LibraryName),
	}, bridge.WithOptions(yaml))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if len(b.Warnings()) > 0 {
		t.Errorf("warnings %q", b.Warnings())
	}
	for _, tool := range b.Tools() {
		if tool.Name == "Library_GetBook" && tool.Title != "Look up a book" || tool.Name == "Library_UpdateBook" {
			t.Errorf("tool %s, %s", tool.Name, tool.Title)
		}
	}
}
