package walls

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	code   = regexp.MustCompile("`([^`]+)`")
	folder = regexp.MustCompile(`^[a-z][a-z0-9/-]*$`)
)

// TestRoomsAreNamed: the table of docs/contribute.md has every package, by its
// path or by its name in the row of a folder that it is below, and names no
// folder that does not exist.
func TestRoomsAreNamed(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "contribute.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := make(map[string]bool)
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || !strings.Contains(cells[1], "`") {
			continue
		}
		for _, f := range code.FindAllStringSubmatch(cells[1], -1) {
			named[f[1]] = true
			for _, name := range code.FindAllStringSubmatch(cells[2], -1) {
				below := path.Join(f[1], name[1])
				if !isDir(filepath.Join(root, below)) && isDir(filepath.Join(root, name[1])) {
					below = name[1] // which another row is about
				}
				if folder.MatchString(name[1]) {
					named[below] = true
				}
			}
		}
	}
	_, own := list(t)
	for _, name := range own {
		name = short(name)
		if !named[name] && !strings.HasPrefix(name, "gen/") {
			t.Errorf("docs/contribute.md does not name %s", name)
		}
	}
	for name := range named {
		if !isDir(filepath.Join(root, name)) {
			t.Errorf("docs/contribute.md names %s, which is no folder", name)
		}
	}
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// manyLines is the size from which on a package says how data passes through it.
const manyLines = 1000

var file = regexp.MustCompile(`\b[a-z0-9_]+\.go\b`)

// TestLargePackagesSayHow: a package of more than manyLines lines has a doc.go
// that leads through its files, and names none that does not exist. A README does
// so for examples.
func TestLargePackagesSayHow(t *testing.T) {
	t.Parallel()
	_, own := list(t)
	for _, name := range own {
		name = short(name)
		dir := filepath.Join("..", "..", name)
		if strings.HasPrefix(name, "gen/") || strings.HasPrefix(name, "examples/") || linesOf(t, dir) <= manyLines {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, "doc.go"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		files := file.FindAllString(string(text), -1)
		if len(files) < 2 {
			t.Errorf("the doc.go of %s does not say how data passes through its files", name)
		}
		for _, f := range files {
			if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
				t.Errorf("the doc.go of %s names %s, which is not there", name, f)
			}
		}
	}
}

// linesOf counts the lines of a package, without its tests.
func linesOf(t *testing.T, dir string) (n int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		n += bytes.Count(text, []byte("\n"))
	}
	return n
}
