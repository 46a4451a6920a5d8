package export_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/export"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typed"
	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// startServer runs an MCP server, and returns what it offers.
func startServer(t *testing.T, command string, args ...string) typed.Server {
	t.Helper()
	c, err := stdio.NewClient(stdio.ClientConfig{Command: command, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	s, err := export.List(t.Context(), c, json.RawMessage(`{"name":"test","version":"1"}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// synthetic is a server with a hundred tools and deep schemas.
func synthetic() typed.Server {
	s := typed.Server{Name: "synthetic"}
	for i := range 100 {
		input := fmt.Sprintf(`{"type":"object","properties":{"id":{"type":"integer"},"filter":%s},"required":["id"]}`, deep(i, 3))
		s.Tools = append(s.Tools, typed.Tool{
			Name: fmt.Sprintf("tool_%d", i), Description: fmt.Sprintf("Tool number %d.", i),
			Input: []byte(input), Output: []byte(deep(i/2, 1)),
		})
	}
	return s
}

// deep returns the schema of an object in objects.
func deep(n, depth int) string {
	if depth == 0 {
		return [...]string{
			`{"type":"string","format":"date"}`, `{"type":"number"}`, `{"enum":["low","high"]}`,
			`{"type":"object","additionalProperties":{"type":"boolean"}}`, `{"type":["integer","null"]}`,
		}[n%5]
	}
	inner := deep(n+depth, depth-1)
	return fmt.Sprintf(`{"type":"object","properties":{"level%d":%s,"list":{"type":"array","items":%s},"name":{"type":"string"}},"required":["name"]}`,
		depth, inner, deep(n+1, 0))
}

// TestServers exports real servers, and does with the files what their users do.
func TestServers(t *testing.T) {
	t.Parallel()
	node, dir := nodetools.Node(t), t.TempDir()
	module := func(name string) string {
		return nodetools.Module(t, "@modelcontextprotocol/server-"+name, "dist/index.js")
	}
	gosdk := filepath.Join(t.TempDir(), "everything")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", gosdk, "github.com/modelcontextprotocol/go-sdk/examples/server/everything")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	goServer := startServer(t, gosdk)
	goServer.Name = "gosdk" // it is called everything, too
	var last *export.Export
	for name, server := range map[string]typed.Server{
		"everything": startServer(t, node, module("everything"), "stdio"),
		"filesystem": startServer(t, node, module("filesystem"), t.TempDir()),
		"memory":     startServer(t, node, module("memory")),
		"gosdk":      goServer,
		"synthetic":  synthetic(),
	} {
		e, err := export.Make(t.Context(), server, export.Options{Dir: dir, Rules: name == "synthetic"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(e.Warnings) > 0 {
			t.Errorf("%s: %q", name, e.Warnings)
		}
		write(t, dir, e)
		golden(t, name+".proto", e.Files[e.Path])
		last = e
	}
	kitchenSink(t, dir)
	writeFile(t, filepath.Join(dir, "buf.yaml"), last.BufYAML("."))
	buf(t, dir, "lint")
	buf(t, dir, "format", "-d", "--exit-code", "--path", "mcp/gen")
	t.Run("go", func(t *testing.T) { compileGo(t, dir, last) })
	t.Run("typescript", func(t *testing.T) { compileTypeScript(t, dir) })
}

// kitchenSink adds the golden file of all kinds of schemas.
func kitchenSink(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "typed", "testdata", "kitchen-rules.proto"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "mcp", "gen", "kitchen", "v1", "kitchen.proto"), text)
}

func write(t *testing.T, dir string, e *export.Export) {
	t.Helper()
	for path, text := range e.Files {
		writeFile(t, filepath.Join(dir, filepath.FromSlash(path)), text)
	}
}

func writeFile(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		writeFile(t, path, got)
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Errorf("%s differs; see what with -update and git diff", path)
	}
}

func buf(t *testing.T, dir string, args ...string) {
	t.Helper()
	run(t, dir, nodetools.Module(t, "@bufbuild/buf", "bin/buf"), args...)
}

func run(t *testing.T, dir, command string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%.3000s", filepath.Base(command), strings.Join(args, " "), err, out)
	}
}

// compileGo compiles what protoc-gen-go generates by the buf.gen.yaml that users
// get, in a module with the versions of this one.
func compileGo(t *testing.T, dir string, e *export.Export) {
	t.Helper()
	root, out := nodetools.Root(t), t.TempDir()
	mod := "-modfile=" + filepath.Join(root, "tools", "gen", "go.mod")
	text := string(e.BufGenYAML("."))
	for _, plugin := range []string{"protoc-gen-go", "protoc-gen-go-grpc"} {
		local := filepath.Join(out, plugin)
		build := exec.CommandContext(t.Context(), "go", "tool", "-n", mod, plugin)
		build.Dir = root
		path, err := build.Output()
		if err != nil {
			t.Fatalf("go tool -n %s: %v", plugin, err)
		}
		if err := os.Symlink(strings.TrimSpace(string(path)), local); err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, "local: "+plugin+"\n", "local: "+local+"\n")
	}
	writeFile(t, filepath.Join(dir, "buf.gen.yaml"), []byte(text))
	buf(t, dir, "generate", "-o", out)
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(out, name), []byte(strings.Replace(string(text), "module github.com/mcp-bridge/mcp-bridge", "module example.com", 1)))
	}
	run(t, out, "go", "build", "-mod=mod", "./gen/...")
}

// compileTypeScript compiles what protoc-gen-es generates.
func compileTypeScript(t *testing.T, dir string) {
	t.Helper()
	plugin := nodetools.Module(t, "@bufbuild/protoc-gen-es", "bin/protoc-gen-es")
	tsc := nodetools.Module(t, "typescript", "bin/tsc")
	out := t.TempDir()
	writeFile(t, filepath.Join(dir, "buf.gen.yaml"), []byte(`version: v2
inputs:
  - directory: .
plugins:
  - local: `+plugin+`
    out: gen
    opt: target=ts
`))
	buf(t, dir, "generate", "-o", out, "--path", "mcp/gen/everything", "--path", "mcp/gen/memory", "--path", "mcp/gen/kitchen", "--include-imports")
	modules := filepath.Dir(filepath.Dir(filepath.Dir(nodetools.Module(t, "@bufbuild/protobuf", "package.json"))))
	if err := os.Symlink(modules, filepath.Join(out, "node_modules")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(out, "package.json"), []byte(`{"type":"module"}`))
	writeFile(t, filepath.Join(out, "tsconfig.json"), []byte(`{"compilerOptions":{"strict":true,"noEmit":true,"module":"esnext","moduleResolution":"bundler","target":"es2022","skipLibCheck":true,"types":[]},"include":["gen"]}`))
	run(t, out, nodetools.Node(t), tsc, "-p", ".")
}

// TestEarlier tests that an export heeds the earlier one, with and without its
// lock.
func TestEarlier(t *testing.T) {
	t.Parallel()
	schema := func(properties string) typed.Server {
		return typed.Server{Name: "acme/weather", Tools: []typed.Tool{{Name: "get", Input: []byte(`{"type":"object","properties":{` + properties + `}}`)}}}
	}
	export1 := func(dir, pkg, properties string) (*export.Export, error) {
		return export.Make(t.Context(), schema(properties), export.Options{Dir: dir, Package: pkg})
	}
	for _, tt := range []struct {
		name     string
		lose     string
		recovers bool
	}{
		{"with the lock", "", false},
		{"without the lock", ".mcp.lock.json", true},
		{"without the .proto file", ".proto", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			first, err := export1(dir, "acme.weather.v1", `"a":{"type":"string"},"b":{"type":"object","properties":{"c":{"enum":["x","y"]}}}`)
			if err != nil || first.Earlier || len(first.Outdated(dir)) < 5 {
				t.Fatalf("got %+v, %v", first, err)
			}
			write(t, dir, first)
			if out := first.Outdated(dir); out != nil {
				t.Errorf("outdated: %q", out)
			}
			if tt.lose != "" {
				if err := os.Remove(filepath.Join(dir, "acme/weather/v1/weather"+tt.lose)); err != nil {
					t.Fatal(err)
				}
			}
			second, err := export1(dir, "acme.weather.v1", `"b":{"type":"object","properties":{"d":{"type":"integer"},"c":{"enum":["y","z"]}}},"a":{"type":"integer"}`)
			if err != nil {
				t.Fatal(err)
			}
			text := string(second.Files[second.Path])
			for _, want := range []string{
				"B b = 2;", "optional int64 a_2 = 3 [", "reserved 1;\n  reserved \"a\";", "C_Y = 2 [", "C_Z = 3 [", "reserved 1;\n      reserved \"C_X\";", "optional int64 d = 2 [",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("there is no %q in\n%s", want, text)
				}
			}
			if second.Recovered != tt.recovers || second.Earlier != (tt.lose != ".proto") {
				t.Errorf("recovered %t, earlier %t", second.Recovered, second.Earlier)
			}
			if !second.Earlier {
				return
			}
			var breaking []string
			for _, c := range second.Changes {
				if c.Breaking {
					breaking = append(breaking, c.Text)
				}
			}
			want := "field GetRequest.a (1) is gone\nvalue C_X (1) of enum GetRequest.B.C is gone"
			if got := strings.Join(breaking, "\n"); got != want {
				t.Errorf("breaking: %s", got)
			}
		})
	}
	t.Run("package of the earlier export", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		for _, pkg := range []string{"acme.weather.v1", ""} {
			e, err := export1(dir, pkg, `"a":{}`)
			if err != nil || e.Path != "acme/weather/v1/weather.proto" {
				t.Fatalf("got %+v, %v", e, err)
			}
			write(t, dir, e)
		}
		lock := filepath.Join(dir, "acme/weather/v1/weather.mcp.lock.json")
		if err := os.Remove(lock); err != nil {
			t.Fatal(err)
		}
		e, err := export1(dir, "", `"a":{}`)
		if err != nil || e.Path != "acme/weather/v1/weather.proto" || !e.Recovered {
			t.Fatalf("without the lock: got %+v, %v", e, err)
		}
		write(t, dir, e)
		e, err = export1(dir, "acme.weather.v2", `"a":{}`)
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, e)
		if _, err := export1(dir, "", `"a":{}`); err == nil || !strings.Contains(err.Error(), "several exports") {
			t.Errorf("got %v", err)
		}
		for _, v := range []string{"v1", "v2"} {
			if err := os.Remove(filepath.Join(dir, "acme", "weather", v, "weather.mcp.lock.json")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := export1(dir, "", `"a":{}`); err == nil || !strings.Contains(err.Error(), "several exports") {
			t.Errorf("without locks: got %v", err)
		}
	})
	t.Run("another directory", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		e, err := export1(dir, "acme.weather.v1", `"a":{}`)
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, e)
		if _, err := export1(filepath.Join(dir, "acme"), "", `"a":{}`); err == nil || !strings.Contains(err.Error(), "is an export of this server, but below "+dir) {
			t.Errorf("got %v", err)
		}
		lock := filepath.Join(dir, "acme", "weather", "v1", "weather.mcp.lock.json")
		writeFile(t, lock, []byte(strings.ReplaceAll(string(e.Files["acme/weather/v1/weather.mcp.lock.json"]), "acme.weather.v1", "acme.other.v1")))
		if _, err := export1(dir, "acme.weather.v1", `"a":{}`); err == nil || !strings.Contains(err.Error(), lock+": the package is acme.weather.v1, but that of the lock is acme.other.v1") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("broken files", func(t *testing.T) {
		t.Parallel()
		for name, want := range map[string]string{"weather.mcp.lock.json": "the lock file", "weather.proto": "the earlier export"} {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "acme/weather/v1", name), []byte("{"))
			if _, err := export1(dir, "acme.weather.v1", `"a":{}`); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", name, err, want)
			}
		}
		if _, err := export1(t.TempDir(), "no package", `"a":{}`); err == nil || !strings.Contains(err.Error(), "no name of a protobuf package") {
			t.Errorf("got %v", err)
		}
	})
}

// TestImports tests that the file of protovalidate is the one that is fetched
// for the build.
func TestImports(t *testing.T) {
	t.Parallel()
	fetched, err := os.ReadFile(filepath.Join(nodetools.Root(t), ".build/protovalidate/buf/validate/validate.proto"))
	if err != nil {
		t.Skip("protovalidate is not there; run `make tools`")
	}
	ours, err := os.ReadFile("imports/buf/validate/validate.proto")
	if err != nil {
		t.Fatal(err)
	}
	if string(ours) != string(fetched) {
		t.Error("it differs: copy .build/protovalidate/buf here")
	}
}
