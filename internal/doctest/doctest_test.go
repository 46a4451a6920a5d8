// Package doctest runs every command that the documentation shows, and
// compares what it prints with what the documentation says that it prints.
//
// A fenced block of the language "console" is a session in a shell: lines that
// begin with "$ " are commands, the lines after them their output. A line "..."
// in the output stands for any number of lines, and "..." inside a line for any
// text. Commands that serve go on running until the end of the page. Ports are
// replaced by free ones, so that nothing on the machine is in the way.
package doctest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
)

// commandTimeout ends a command that hangs.
const commandTimeout = 2 * time.Minute

var bin string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "mcp-bridge-docs")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	bin = dir
	const module = "github.com/mcp-bridge/mcp-bridge/"
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), module+"cmd/mcp-bridge", module+"examples/server")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// command is one command of a page and the output that the page shows.
type command struct {
	line int
	text string
	want []string
}

// parse returns the commands of a page.
func parse(page string) []command {
	var (
		cmds  []command
		block bool
	)
	for i, line := range strings.Split(page, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			block = !block && strings.TrimSpace(line) == "```console"
		case !block:
		case strings.HasPrefix(line, "$ "):
			cmds = append(cmds, command{line: i + 1, text: line[2:]})
		case len(cmds) > 0:
			last := &cmds[len(cmds)-1]
			if strings.HasSuffix(last.text, "\\") && len(last.want) == 0 {
				last.text += "\n" + line
			} else {
				last.want = append(last.want, line)
			}
		}
	}
	return cmds
}

// serves reports whether a command runs until it is told to stop.
var serves = regexp.MustCompile(`(^|\s)(mcp-bridge (demo|serve)|server --listen)\b`)

// elsewhere are commands that this test must not run: the suite that runs it,
// and what changes the machine.
var elsewhere = regexp.MustCompile(`^(make |git clone|go install|cd )`)

func TestPages(t *testing.T) {
	t.Parallel()
	root := nodetools.Root(t)
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			s := &shell{t: t, dir: root, ports: map[string]string{}}
			for _, c := range parse(string(text)) {
				if elsewhere.MatchString(c.text) {
					continue
				}
				s.run(c)
			}
		})
	}
}

// TestMakeTargets holds that every make target that the documentation names
// exists.
func TestMakeTargets(t *testing.T) {
	t.Parallel()
	root := nodetools.Root(t)
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("(?m)(?:^\\$ |`)make ([a-z-]+)")
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllSubmatch(text, -1) {
			if !regexp.MustCompile(`(?m)^` + string(m[1]) + `:`).Match(makefile) {
				t.Errorf("%s names make %s, which does not exist", filepath.Base(page), m[1])
			}
		}
	}
}

// shell runs the commands of one page, in order.
type shell struct {
	t     *testing.T
	dir   string
	ports map[string]string
}

var port = regexp.MustCompile(`\b(127\.0\.0\.1|localhost):(\d{4,5})\b`)

// local replaces the ports of a text by free ones of this page.
func (s *shell) local(text string) string {
	return port.ReplaceAllStringFunc(text, func(addr string) string {
		host, number, _ := strings.Cut(addr, ":")
		if s.ports[number] == "" {
			lis, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				s.t.Fatal(err)
			}
			_, s.ports[number], _ = net.SplitHostPort(lis.Addr().String())
			if err := lis.Close(); err != nil {
				s.t.Fatal(err)
			}
		}
		return host + ":" + s.ports[number]
	})
}

// shown turns free ports back into those that the page shows.
func (s *shell) shown(text string) string {
	for number, free := range s.ports {
		text = strings.ReplaceAll(text, ":"+free, ":"+number)
	}
	return text
}

// defaultListen is where demo and serve listen if not told otherwise.
const defaultListen = "127.0.0.1:8080"

func (s *shell) run(c command) {
	t := s.t
	t.Helper()
	// The programs are built once, not by every command.
	text := strings.NewReplacer("go run ./cmd/mcp-bridge", "mcp-bridge", "go run ./examples/server", "server").Replace(c.text)
	if serves.MatchString(text) && !strings.Contains(text, "--listen") && !strings.Contains(text, "--config") {
		text = serves.ReplaceAllString(text, "$0 --listen "+defaultListen)
	}
	cmd := exec.Command("bash", "-c", "set -o pipefail; "+s.local(text))
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "NO_COLOR=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if serves.MatchString(text) {
		s.serve(c, cmd)
		return
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := time.AfterFunc(commandTimeout, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	// A page may well show a command that fails; its output says so.
	err := cmd.Wait()
	stop.Stop()
	if len(c.want) > 0 && !matches(strings.Join(c.want, "\n"), s.shown(out.String())) {
		t.Errorf("line %d: $ %s\nprints (%v):\n%s\nbut the page says:\n%s", c.line, c.text, err, s.shown(out.String()), strings.Join(c.want, "\n"))
	}
	if len(c.want) == 0 && err != nil {
		t.Errorf("line %d: $ %s\nfails: %v\n%s", c.line, c.text, err, out.String())
	}
}

// serve starts a command that goes on until the page ends, and waits until it
// has printed what the page shows.
func (s *shell) serve(c command, cmd *exec.Cmd) {
	t := s.t
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	out := &output{changed: make(chan struct{}, 1)}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(out, r)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("line %d: $ %s\nended with %v\n%s", c.line, c.text, err, out.String())
		}
		<-copied
		_ = r.Close()
	})
	want := strings.Join(c.want, "\n")
	if want == "" {
		want = "...http://..."
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	for !matches(want, s.shown(out.String())) {
		select {
		case <-out.changed:
		case <-copied:
			t.Fatalf("line %d: $ %s\nended after printing:\n%s\nbut the page says:\n%s", c.line, c.text, s.shown(out.String()), want)
		case <-ctx.Done():
			t.Fatalf("line %d: $ %s\nprints:\n%s\nbut the page says:\n%s", c.line, c.text, s.shown(out.String()), want)
		}
	}
}

// output collects what a process prints, and says when there is more.
type output struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	changed chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf.Write(p)
	select {
	case o.changed <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// matches compares an output with a page, in which "..." stands for anything.
func matches(want, got string) bool {
	var pattern strings.Builder
	pattern.WriteString(`^`)
	for i, line := range strings.Split(strings.TrimSpace(want), "\n") {
		if strings.TrimSpace(line) == "..." {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		if i > 0 && !strings.HasSuffix(pattern.String(), `*?`) {
			pattern.WriteString(`\n`)
		}
		line = regexp.QuoteMeta(strings.TrimRight(line, " "))
		pattern.WriteString(strings.ReplaceAll(line, `\.\.\.`, `.*`) + ` *`)
	}
	pattern.WriteString(`\s*$`)
	return regexp.MustCompile(pattern.String()).MatchString(strings.TrimSpace(got) + "\n")
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		want, got string
		ok        bool
	}{
		{"a\nb", "a\nb\n", true},
		{"a\nb", "a\nc", false},
		{"a\n...\nz", "a\nb\nc\nz", true},
		{"a\n...\nz", "a\nz", true},
		{"a\n...", "a\nb\nc", true},
		{"...\nz", "a\nz", true},
		{"x ... y", "x 12 y", true},
		{"x ... y", "x 12 z", false},
		{"a", "a\nb", false},
	} {
		if got := matches(tt.want, tt.got); got != tt.ok {
			t.Errorf("matches(%q, %q) = %t", tt.want, tt.got, got)
		}
	}
}
