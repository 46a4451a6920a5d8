package config_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcp-bridge/mcp-bridge/bridge/config"
	"github.com/mcp-bridge/mcp-bridge/bridge/fault"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden is a golden file: the first file is the configuration, "env" has
// variables, and the last one is what comes of it.
type golden struct {
	path    string
	archive *txtar.Archive
	dir     string // where the files are
	name    string // of the configuration
	env     map[string]string
}

// goldens runs a test for every golden file in a directory of testdata.
func goldens(t *testing.T, dir string, test func(t *testing.T, g *golden) string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files in %s: %v", dir, err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			g := openGolden(t, path)
			got := strings.ReplaceAll(test(t, g), g.dir, "DIR")
			if got != "" && !strings.HasSuffix(got, "\n") {
				got += "\n"
			}
			last := &g.archive.Files[len(g.archive.Files)-1]
			if *update {
				last.Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(g.archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := string(last.Data); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func openGolden(t *testing.T, path string) *golden {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	g := &golden{path: path, archive: archive, dir: t.TempDir(), env: map[string]string{}}
	for i, f := range archive.Files[:len(archive.Files)-1] {
		if f.Name == "env" {
			for line := range strings.Lines(string(f.Data)) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				g.env[name] = value
			}
			continue
		}
		if i == 0 {
			g.name = filepath.Join(g.dir, f.Name)
		}
		full := filepath.Join(g.dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(full), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// lookup finds the variables of a golden file only.
func (g *golden) lookup(name string) (string, bool) {
	v, ok := g.env[name]
	return v, ok
}

// TestFaults compares the texts of faults.
func TestFaults(t *testing.T) {
	t.Parallel()
	goldens(t, "faults", func(t *testing.T, g *golden) string {
		_, err := config.Load(g.name, config.Options{LookupEnv: g.lookup})
		faults, ok := errors.AsType[fault.Faults](err)
		if !ok {
			t.Fatalf("error %v, want faults", err)
		}
		for _, value := range g.env {
			if len(value) > 6 && strings.Contains(err.Error(), value) {
				t.Errorf("the error shows the value %q of a variable:\n%v", value, err)
			}
		}
		return faults.Error()
	})
}

// TestLoad compares what comes of files without faults, and the warnings before
// it. What is printed must mean the same.
func TestLoad(t *testing.T) {
	t.Parallel()
	goldens(t, "load", func(t *testing.T, g *golden) string {
		f, err := config.Load(g.name, config.Options{LookupEnv: g.lookup})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		for _, w := range f.Warnings {
			out.WriteString("# " + w.String() + "\n")
		}
		text, err := f.YAML()
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
		again, err := config.Parse("printed.yaml", text, config.Options{LookupEnv: g.lookup, Dir: g.dir})
		if err != nil {
			t.Fatalf("what is printed cannot be read:\n%v\n%s", err, text)
		}
		same(t, config.WithDefaults(again.Config), config.WithDefaults(f.Config))
		for name, value := range g.env {
			if strings.HasPrefix(name, "SECRET") && bytes.Contains(out.Bytes(), []byte(value)) {
				t.Errorf("the value of %s is printed", name)
			}
		}
		return out.String()
	})
}
