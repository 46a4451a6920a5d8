package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// commands are the command lines of all commands, without the program's name.
func commands() [][]string {
	var all [][]string
	var walk func(cmd *cobra.Command, path []string)
	walk = func(cmd *cobra.Command, path []string) {
		all = append(all, path)
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				walk(sub, append(slices.Clip(path), sub.Name()))
			}
		}
	}
	walk((&app{}).root(), nil)
	return all
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, path := range commands() {
		name := strings.Join(append([]string{"mcp-bridge"}, path...), "-")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := mcpBridge(t, append(path, "--help")...).ok(t)
			contains(t, got, "\nExamples:\n  ")
			for line := range strings.Lines(got) {
				if strings.Contains(line, "\t") {
					t.Errorf("a tab in %q", line)
				}
			}
			golden(t, filepath.Join("testdata", "help", name+".txt"), got)
			if len(path) > 0 {
				if again := mcpBridge(t, append([]string{"help"}, path...)...).ok(t); again != got {
					t.Errorf("`help %s` prints something else:\n%s", path, again)
				}
			}
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, []byte(got)) {
		t.Errorf("%s differs; run the tests with -update and review. Got:\n%s", file, got)
	}
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"serv"}, []string{`mcp-bridge: there is no command "serv"`, "did you mean serve?", "see: mcp-bridge --help"}},
		{[]string{"help", "nothing"}, []string{`there is no command "nothing"`}},
		{[]string{"serve"}, []string{"the URL of the upstream is missing", "write for example: mcp-bridge serve grpc://localhost:50051"}},
		{[]string{"serve", "grpc://h:1", "h:2"}, []string{`upstream "h:2" has no scheme`}},
		{[]string{"serve", "a=grpc://h:1", "a=grpc://h:2"}, []string{`two upstreams are called "a"`}},
		{[]string{"serve", "--service", "x", "http://h:1", "--", "y"}, []string{"--service is for APIs of gRPC and Connect, and all upstreams are MCP servers"}},
		{[]string{"serve", "--ca", "x", "http://h:1", "grpc://h:2"}, []string{"are for TLS, which none of the upstreams uses"}},
		{[]string{"tools", "--ca", "x", "http://h:1"}, []string{"are for TLS, which http://h:1 does not use"}},
		{[]string{"tools", "--gzip", "http://h:1"}, []string{"--gzip is for APIs of gRPC and Connect"}},
		{[]string{"tools", "grpc://h:1", "b", "c"}, []string{"3 arguments are too many"}},
		{[]string{"serve", "--header", "x=a: b", "one=grpc://h:1", "two=grpc://h:2"}, []string{`--header number 1 is for the upstream "x"`}},
		{[]string{"serve", "--forward-header", "x=a", "one=grpc://h:1", "two=grpc://h:2"}, []string{`--forward-header number 1 is for the upstream "x"`, "there are: one, two"}},
		{
			[]string{"serve", "--header", "x=a: b", "--forward-header", "one=a", "one=tunnel+grpc://h:1", "--", "./x"},
			[]string{`--header number 1 is for the upstream "x", which takes none: ./x`, `--forward-header number 1 is for the upstream "one", which takes none: tunnel+grpc://h:1`},
		},
		{[]string{"serve", "--forward-header", "x=a", "grpc://h:1"}, []string{"give the upstream that name: x=URL"}},
		{[]string{"serve", "--env", "A", "http://h:1"}, []string{"--env is for the command of an MCP server, which is missing"}},
		{[]string{"tools", "--env", "MCP_BRIDGE_NO_SUCH", "--", "x"}, []string{"--env MCP_BRIDGE_NO_SUCH: the environment has no such variable"}},
		{[]string{"stdio", "--env", "=hunter2", "--", "x"}, []string{"--env number 1 is neither NAME nor NAME=VALUE"}},
		{[]string{"serve", "--header", "a: ${MCP_BRIDGE_NO_SUCH}", "grpc://h:1"}, []string{"--header a: the environment has no variable MCP_BRIDGE_NO_SUCH"}},
		{[]string{"serve", "--nope"}, []string{"unknown flag: --nope", "see: mcp-bridge serve --help"}},
		{[]string{"serve", "--timeout", "5", "grpc://h:1"}, []string{`invalid argument "5" for "--timeout"`}},
		{[]string{"stdio", "localhost:50051"}, []string{"did you mean grpc://localhost:50051?"}},
		{[]string{"tools", "grpc://h:1", "A", "B"}, []string{"3 arguments are too many"}},
		{[]string{"call", "grpc://h:1"}, []string{"the name of the tool is missing", "usage: mcp-bridge call URL TOOL [JSON|-]"}},
		{[]string{"call", "grpc://h:1", "T", `{"a":`, "b}"}, []string{"4 arguments are too many", "JSON needs single quotes"}},
		{[]string{"call", "grpc://h:1", "T", `{"a": x}`}, []string{"the JSON argument is not valid JSON: line 1, column 7: invalid character 'x'", "{\"a\": x}\n        ^"}},
		{[]string{"version", "x"}, []string{`version takes no arguments, got "x"`}},
		{[]string{"demo", "grpc://h:1"}, []string{"demo takes no arguments", "mcp-bridge serve"}},
		{[]string{"demo", "--path", "/"}, []string{"--path / is taken"}},
		{
			[]string{"serve", "--listen", "8080", "--path", "mcp", "--shutdown-timeout", "-1s", "grpc://h:1"},
			[]string{`--listen "8080" is not of the form host:port`, `--path "mcp" is no path`, "--shutdown-timeout -1s is negative"},
		},
		{[]string{"serve", "--path", "/healthz", "grpc://h:1"}, []string{"--path /healthz is taken"}},
		{[]string{"serve", "--path", "/sse", "--sse", "grpc://h:1"}, []string{"--path /sse is taken"}},
		{[]string{"serve", "--path", "/{x}", "grpc://h:1"}, []string{`--path "/{x}" is no path`}},
		{
			[]string{
				"tools", "--descriptors", "a", "--proto", "b", "--ca", "ca.pem", "--timeout", "-1s", "--refresh", "-2s", "--operation-wait", "-3s", "--task-ttl", "0s",
				"--max-message-bytes", "-3", "--header", "hunter2", "grpc://h:1",
			},
			[]string{
				"--descriptors and --proto exclude each other", "write grpcs://h:1", "--timeout -1s is negative",
				"--refresh -2s is negative", "--operation-wait -3s is negative", "--task-ttl 0s is less than a millisecond", "--max-message-bytes -3 is negative", "--header number 1 is not of the form 'name: value'",
			},
		},
		{[]string{"tools", "--cert", "c.pem", "grpcs://h:1"}, []string{"--cert needs its private key too: add --key"}},
		{[]string{"tools", "--key", "k.pem", "grpcs://h:1"}, []string{"--key needs its certificate too: add --cert"}},
		{[]string{"tools", "--proto-path", "a", "unix:/x"}, []string{"--proto-path is for the imports of --proto, which is missing"}},
		{[]string{"tools", "--insecure-skip-verify", "unix:/x"}, []string{"a unix socket has none"}},
		{[]string{"tools", "--header", "host: x", "grpc://h:1"}, []string{`--header: host: the header belongs to the protocol`}},
		{[]string{"tools", "--header", "host: x", "connect+http://h:1"}, []string{`--header: host: the header belongs to the protocol`}},
		{[]string{"tools", "--header", "x-bin: %", "grpc://h:1"}, []string{"--header x-bin: the value is not base64"}},
		{[]string{"tools", "--header", "hunter2=", "grpc://h:1"}, []string{"--header number 1 is not of the form 'name: value'"}},
		{[]string{"tools", "--header", "hunter2==", "one=grpc://h:1"}, []string{"--header number 1 is not of the form 'name: value'"}},
		{[]string{"serve", "--header", "a: b", "--", "server", "--token=hunter2"}, []string{"--header and --forward-header are for URLs"}},
		{[]string{"serve", "--service", "a", "https://h/mcp?token=hunter2"}, []string{`"https://h/mcp?token=xxxxx" is an MCP server`}},
		{[]string{"serve", "--service", "one=a", "one=https://h/mcp?token=hunter2", "two=grpc://h:1"}, []string{"which takes none: https://h/mcp?token=xxxxx"}},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			got := mcpBridge(t, tt.args...)
			if got.status != 2 || got.stdout != "" {
				t.Errorf("exit status %d, stdout %q", got.status, got.stdout)
			}
			contains(t, got.stderr, tt.want...)
			if strings.Contains(got.stderr, "hunter2") {
				t.Errorf("a header value is shown:\n%s", got.stderr)
			}
			if !strings.HasPrefix(got.stderr, "mcp-bridge: ") || strings.Count("\n"+got.stderr, "\nmcp-bridge: ") != 1 {
				t.Errorf("not one line of mcp-bridge:\n%s", got.stderr)
			}
		})
	}
}

func TestNoCommand(t *testing.T) {
	t.Parallel()
	if got, want := mcpBridge(t).ok(t), mcpBridge(t, "--help").ok(t); got != want {
		t.Errorf("prints\n%s", got)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	contains(t, mcpBridge(t, "version").ok(t), "mcp-bridge ", "2026-07-28", "2024-11-05")
	contains(t, mcpBridge(t, "version", "--json").ok(t), `"protocolVersions":["2026-07-28",`, `"version":"`)
	contains(t, mcpBridge(t, "--version").ok(t), "mcp-bridge ")
}
