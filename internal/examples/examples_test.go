// Package examples runs the examples that are no part of the module, as their
// READMEs say: with stubs that buf generates, through the built binary.
package examples

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
)

var binary string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "mcp-bridge")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "mcp-bridge")
	build := exec.Command("go", "build", "-o", binary, "github.com/mcp-bridge/mcp-bridge/cmd/mcp-bridge")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// server is the command of the MCP server that the examples call, as arguments.
func server(t *testing.T) []string {
	t.Helper()
	return []string{"--", nodetools.Node(t), nodetools.Module(t, "@modelcontextprotocol/server-everything", "dist/index.js")}
}

// serve puts the bridge in front of the MCP server that the examples call, and
// returns its URL.
func serve(t *testing.T, flags ...string) string {
	t.Helper()
	cmd := exec.Command(binary, slices.Concat([]string{"serve", "--json", "--listen", "127.0.0.1:0"}, flags, server(t))...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("serve: %v\n%s", err, stderr.Bytes())
		}
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatalf("serve said nothing: %v\n%s", err, stderr.Bytes())
	}
	var started struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(line, &started); err != nil || started.URL == "" {
		t.Fatalf("serve said %q", line)
	}
	return strings.TrimSuffix(started.URL, "/mcp")
}

// checkout copies what an example needs of the repository, so that nothing is
// generated or installed in it, and returns the directory of the example.
func checkout(t *testing.T, example string) string {
	t.Helper()
	root, dir := nodetools.Root(t), t.TempDir()
	protovalidate := filepath.Join(".build", "protovalidate")
	if _, err := os.Stat(filepath.Join(root, protovalidate)); err != nil {
		nodetools.Missing(t, "the .proto files of protovalidate are not there; run `make tools`")
	}
	example = filepath.Join("examples", example)
	for _, from := range []string{"proto", protovalidate} {
		if err := os.CopyFS(filepath.Join(dir, from), os.DirFS(filepath.Join(root, from))); err != nil {
			t.Fatal(err)
		}
	}
	// Directories of an example are what was generated and installed in it.
	files := []string{"buf.yaml"}
	entries, err := os.ReadDir(filepath.Join(root, example))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			files = append(files, filepath.Join(example, entry.Name()))
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, example), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, example)
}

// run runs a command of an example, with a directory in front of its PATH, and
// returns what it prints.
func run(t *testing.T, dir, path string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+path+string(os.PathListSeparator)+os.Getenv("PATH"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(command, " "), err, out, stderr.Bytes())
	}
	return string(out)
}

// check compares what a client prints with what it must, and with its README.
func check(t *testing.T, dir, got string, want ...string) {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(readme), "```text\n")
	shown, _, ok := strings.Cut(shown, "```")
	if !ok {
		t.Fatal("the README does not show what the example prints")
	}
	for _, s := range append(strings.Split(shown, "...\n"), want...) {
		if !strings.Contains(got, s) {
			t.Errorf("the client does not print %q but:\n%s", s, got)
		}
	}
}

// generic is what the clients of McpService print.
func generic(language string) []string {
	return []string{
		"\ntrigger-elicitation-request: Trigger Elicitation Request Tool\n",
		"\necho\n  Echo: hello from " + language + "\n",
		"\n  step 1 of 4\n  step 2 of 4\n  step 3 of 4\n  step 4 of 4\n",
		"\n- Name: Ada Lovelace\n- Favorite Integer: 42\n- Favorite Number: 3.14\n",
		`"fish-1"`,
	}
}

// withTypes is what the clients of the typed service print, beside what their
// READMEs show.
var withTypes = []string{
	"\nstep 1 of 4\nstep 2 of 4\nstep 3 of 4\nstep 4 of 4\n",
	"\n- Name: Ada Lovelace\n- Favorite Integer: 42\n- Favorite Number: 3.14\n",
	`"fish-1"`,
}

// export writes the typed service of the MCP server for an example.
func export(t *testing.T, dir string) {
	t.Helper()
	run(t, dir, "", slices.Concat([]string{binary, "export", "--package", "acme.everything.v1", "-o", "proto"}, server(t))...)
}

func TestGoClient(t *testing.T) {
	t.Parallel()
	buf := nodetools.Module(t, ".bin", "buf")
	dir := checkout(t, "client-go")
	run(t, dir, "", buf, "generate")
	run(t, dir, "", "go", "vet", "-trimpath", ".")
	run(t, dir, "", "go", "build", "-trimpath", "-o", "client", ".")
	check(t, dir, run(t, dir, "", filepath.Join(dir, "client"), serve(t)), generic("Go")...)
}

func TestTypedGoClient(t *testing.T) {
	t.Parallel()
	buf := nodetools.Module(t, ".bin", "buf")
	dir := checkout(t, "typed-go")
	export(t, dir)
	run(t, dir, "", buf, "generate")
	run(t, dir, "", "go", "vet", "-trimpath", ".")
	run(t, dir, "", "go", "build", "-trimpath", "-o", "client", ".")
	check(t, dir, run(t, dir, "", filepath.Join(dir, "client"), serve(t, "--typed", filepath.Join(dir, "proto"))), withTypes...)
}

func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	path := filepath.Dir(nodetools.Node22(t))
	if _, err := exec.LookPath("npm"); err != nil {
		nodetools.Missing(t, "npm is not installed")
	}
	dir := checkout(t, "client-typescript")
	run(t, dir, path, "npm", "ci")
	run(t, dir, path, "npm", "run", "generate")
	run(t, dir, path, "npm", "run", "check")
	check(t, dir, run(t, dir, path, "npm", "start", "--", serve(t)), generic("TypeScript")...)
}

func TestTypedTypeScriptClient(t *testing.T) {
	t.Parallel()
	path := filepath.Dir(nodetools.Node22(t))
	if _, err := exec.LookPath("npm"); err != nil {
		nodetools.Missing(t, "npm is not installed")
	}
	dir := checkout(t, "typed-typescript")
	export(t, dir)
	run(t, dir, path, "npm", "ci")
	run(t, dir, path, "npm", "run", "generate")
	run(t, dir, path, "npm", "run", "check")
	check(t, dir, run(t, dir, path, "npm", "start", "--", serve(t, "--typed", filepath.Join(dir, "proto"))), withTypes...)
}

// TestExtend runs an example that is a module of its own: what it implements and
// wraps can be implemented and wrapped by any other module.
func TestExtend(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "run", ".")
	cmd.Dir = filepath.Join(nodetools.Root(t), "examples", "extend")
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	got, err := cmd.Output()
	if err != nil {
		t.Fatalf("go run: %v\n%s", err, stderr.Bytes())
	}
	const want = `tools/list {}
  tool clock_now
  tool greeter_Greeter_Greet
tools/call {"name":"clock_now"}
  It is noon.
tools/call {"name":"greeter_Greeter_Greet","arguments":{"full_name":"Ada"}}
  {"greeting":"Hello Ada"}
tools/call {"name":"greeter_Greeter_Greet","arguments":{"full_name":"Mall\u006fry"}}
  error: there is no tool "greeter_Greeter_Greet"; tools/list names those there are (code -32602)
tools/call {"name":"greeter_Greeter_\u0052eset"}
  error: there is no tool "greeter_Greeter_Reset"; did you mean "greeter_Greeter_Greet"? tools/list names all of them (code -32602)
1 RPC
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
