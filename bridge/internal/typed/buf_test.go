package typed_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
)

// workspace is a directory in which buf finds .proto files and what they import.
type workspace struct {
	buf, dir string
}

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	w := &workspace{buf: nodetools.Module(t, "@bufbuild/buf", "bin/buf"), dir: t.TempDir()}
	root := nodetools.Root(t)
	validate := filepath.Join(root, ".build", "protovalidate")
	if _, err := os.Stat(validate); err != nil {
		t.Skip("protovalidate is not there; run `make tools`")
	}
	w.copy(t, filepath.Join(root, "proto", "mcp"), "imports/mcp")
	w.copy(t, validate, "imports")
	w.write(t, "buf.yaml", "version: v2\nmodules:\n  - path: proto\n  - path: imports\n    lint:\n      ignore: [imports]\n")
	return w
}

func (w *workspace) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (w *workspace) copy(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(w.dir, filepath.FromSlash(to)), os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// run runs buf, and returns what it says and whether it succeeds.
func (w *workspace) run(t *testing.T, args ...string) (string, bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), w.buf, args...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "BUF_CACHE_DIR="+filepath.Join(w.dir, ".cache"))
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// TestBuf tests that buf has nothing to say of what is written, in whatever
// style it is.
func TestBuf(t *testing.T) {
	t.Parallel()
	if *update {
		t.Skip("the golden files are being written")
	}
	w := newWorkspace(t)
	files, err := filepath.Glob("testdata/*.proto")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// Variants of one file need packages of their own.
		_, after, _ := strings.Cut(string(text), "\npackage ")
		pkg, _, _ := strings.Cut(after, ";")
		name := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(file), ".proto"), "-", "")
		own := "golden." + name + ".v1"
		w.write(t, "proto/golden/"+name+"/v1/"+name+".proto", strings.ReplaceAll(string(text), "package "+pkg+";", "package "+own+";"))
	}
	for _, args := range [][]string{{"lint"}, {"format", "-d", "--exit-code", "proto"}, {"build", "-o", os.DevNull}} {
		if out, ok := w.run(t, args...); !ok {
			t.Errorf("buf %s: %s", strings.Join(args, " "), out)
		}
	}
}
