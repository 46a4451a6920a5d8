// Package peers drives the built binary with the official MCP clients: the Go
// SDK, the TypeScript SDKs v1 and v2, and the Inspector's command line.
package peers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc"

	"github.com/mcp-bridge/mcp-bridge/internal/demo"
	"github.com/mcp-bridge/mcp-bridge/internal/demo/demogrpc"
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

// startBackend serves the demo by grpc-go with reflection, and returns its
// upstream URL.
func startBackend(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := demogrpc.NewServer(demo.New())
	done := make(chan error, 1)
	go func() { done <- server.Serve(lis) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	return "grpc://" + lis.Addr().String()
}

// endpoints are where `mcp-bridge serve` listens.
type endpoints struct {
	URL string `json:"url"`
	SSE string `json:"sse"`
}

// startServe runs `mcp-bridge serve --sse`.
func startServe(t *testing.T, args ...string) endpoints {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"serve", "--json", "--sse", "--listen", "127.0.0.1:0"}, args...)...)
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
	var started endpoints
	if err := json.Unmarshal(line, &started); err != nil || started.URL == "" || started.SSE == "" {
		t.Fatalf("serve said %q", line)
	}
	return started
}

var wantTools = []string{
	"Library_CheckOutBook", "Library_CreateBook", "Library_DeleteBook", "Library_GetBook",
	"Library_ListBooks", "Library_Reindex", "Library_SearchBooks", "Library_UpdateBook", "Library_WatchBooks",
}

func TestGoSDK(t *testing.T) {
	t.Parallel()
	backend := startBackend(t)
	served := startServe(t, backend)
	for _, revision := range mcp.SupportedProtocolVersions() {
		for _, transport := range []string{"http", "stdio", "sse"} {
			if transport == "http" && revision == "2024-11-05" {
				continue // that revision has no Streamable HTTP
			}
			if transport == "sse" && revision != "2024-11-05" {
				continue // that revision has Streamable HTTP instead
			}
			t.Run(revision+"/"+transport, func(t *testing.T) {
				t.Parallel()
				tr := map[string]mcp.Transport{
					"http":  &mcp.StreamableClientTransport{Endpoint: served.URL},
					"stdio": &mcp.CommandTransport{Command: exec.Command(binary, "stdio", backend)},
					"sse":   &mcp.SSEClientTransport{Endpoint: served.SSE},
				}[transport]
				client := mcp.NewClient(&mcp.Implementation{Name: "peer", Version: "1"}, nil)
				session, err := client.Connect(t.Context(), tr, &mcp.ClientSessionOptions{ProtocolVersion: revision})
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := session.Close(); err != nil {
						t.Error(err)
					}
				}()
				if got := session.InitializeResult().ProtocolVersion; got != revision {
					t.Errorf("negotiated %s", got)
				}
				checkSession(t.Context(), t, session)
			})
		}
	}
}

func checkSession(ctx context.Context, t *testing.T, session *mcp.ClientSession) {
	t.Helper()
	var names []string
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	if !slices.Equal(names, wantTools) {
		t.Errorf("tools %q, want %q", names, wantTools)
	}
	found, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "Library_GetBook", Arguments: map[string]any{"name": "shelves/1/books/1"}})
	if err != nil {
		t.Fatal(err)
	}
	if book, ok := found.StructuredContent.(map[string]any); !ok || book["name"] != "shelves/1/books/1" {
		t.Errorf("structured content %v", found.StructuredContent)
	}
	missing, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "Library_GetBook", Arguments: map[string]any{"name": "shelves/1/books/999"}})
	if err != nil {
		t.Fatal(err)
	}
	if !missing.IsError {
		t.Error("a missing book is no error")
	}
}

// A method with the option "confirm" is called only after the user has said
// yes, who is asked through clients of every revision that has elicitation. They
// all can subscribe, too.
func TestConfirmation(t *testing.T) {
	t.Parallel()
	options := filepath.Join(nodetools.Root(t), "examples", "annotated", "options.yaml")
	backend := startBackend(t)
	served := startServe(t, "--options", options, backend)
	book := 0
	for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for _, transport := range []string{"http", "stdio"} {
			book++
			name := fmt.Sprintf("shelves/1/books/%d", book)
			t.Run(revision+"/"+transport, func(t *testing.T) {
				t.Parallel()
				tr := map[string]mcp.Transport{
					"http":  &mcp.StreamableClientTransport{Endpoint: served.URL},
					"stdio": &mcp.CommandTransport{Command: exec.Command(binary, "stdio", "--options", options, backend)},
				}[transport]
				action := "decline"
				client := mcp.NewClient(&mcp.Implementation{Name: "peer", Version: "1"}, &mcp.ClientOptions{
					ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						if want := "Take " + name + " off its shelf for good?"; r.Params.Message != want {
							t.Errorf("asked %q, want %q", r.Params.Message, want)
						}
						return &mcp.ElicitResult{Action: action}, nil
					},
				})
				session, err := client.Connect(t.Context(), tr, &mcp.ClientSessionOptions{ProtocolVersion: revision})
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := session.Close(); err != nil {
						t.Error(err)
					}
				}()
				if c := session.InitializeResult().Capabilities.Resources; c == nil || !c.Subscribe {
					t.Errorf("resources %+v", c)
				}
				if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "library://" + name}); err != nil {
					t.Error(err)
				}
				remove := &mcp.CallToolParams{Name: "Library_DeleteBook", Arguments: map[string]any{"name": name, "force": true}}
				get := &mcp.CallToolParams{Name: "Library_GetBook", Arguments: map[string]any{"name": name}}
				for _, step := range []struct {
					action  string
					call    *mcp.CallToolParams
					isError bool
				}{{"decline", remove, true}, {"", get, false}, {"accept", remove, false}, {"", get, true}} {
					action = step.action
					res, err := session.CallTool(t.Context(), step.call)
					if err != nil {
						t.Fatalf("%s: %v", step.call.Name, err)
					}
					if res.IsError != step.isError {
						t.Errorf("%s of %s after %q: isError %t", step.call.Name, name, step.action, res.IsError)
					}
				}
			})
		}
	}
	t.Run("typescript", func(t *testing.T) {
		t.Parallel()
		nodetools.Module(t, "@modelcontextprotocol/sdk", "package.json")
		script := filepath.Join(nodetools.Root(t), "tools", "peers", "confirm.mjs")
		for i, action := range []string{"decline", "accept"} {
			out := run(t, nodetools.Node(t), script, served.URL, fmt.Sprintf("shelves/2/books/%d", i+1), action)
			var report struct {
				Asked   []string
				IsError bool
			}
			if err := json.Unmarshal(out, &report); err != nil || len(report.Asked) != 1 || report.IsError != (action == "decline") {
				t.Errorf("%s: %v, %s", action, err, out)
			}
		}
	})
}

func TestTypeScriptSDKs(t *testing.T) {
	t.Parallel()
	node := nodetools.Node(t)
	script := filepath.Join(nodetools.Root(t), "tools", "peers", "client.mjs")
	backend := startBackend(t)
	served := startServe(t, backend)
	for _, tt := range []struct {
		sdk, module string
		revisions   []string
	}{
		{"v1", "@modelcontextprotocol/sdk", []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}},
		{"v2", "@modelcontextprotocol/client", []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}},
	} {
		for _, revision := range tt.revisions {
			for _, transport := range []string{"http", "stdio", "sse"} {
				if transport == "http" && revision == "2024-11-05" {
					continue // that revision has no Streamable HTTP
				}
				if transport == "sse" && revision != "2024-11-05" {
					continue // that revision has Streamable HTTP instead
				}
				t.Run(tt.sdk+"/"+revision+"/"+transport, func(t *testing.T) {
					t.Parallel()
					nodetools.Module(t, tt.module, "package.json")
					target := map[string][]string{
						"http":  {served.URL},
						"sse":   {served.SSE},
						"stdio": {binary, "stdio", backend},
					}[transport]
					checkReport(t, revision, run(t, node, append([]string{script, tt.sdk, revision, transport}, target...)...))
				})
			}
		}
	}
}

func checkReport(t *testing.T, revision string, out []byte) {
	t.Helper()
	var report struct {
		Server, Negotiated, Book, Text string
		Initialized                    bool
		Tools                          []string
		Missing, Wrong                 struct {
			IsError bool
			Text    string
		}
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	if report.Negotiated != revision {
		t.Errorf("negotiated %q", report.Negotiated)
	}
	if modern := revision == "2026-07-28"; report.Initialized == modern {
		t.Errorf("initialize was sent: %t", report.Initialized)
	}
	if !slices.Equal(report.Tools, wantTools) {
		t.Errorf("tools %q, want %q", report.Tools, wantTools)
	}
	if report.Book != "shelves/1/books/1" || report.Text != report.Book {
		t.Errorf("book %q, text %q", report.Book, report.Text)
	}
	if !report.Missing.IsError || !strings.Contains(report.Missing.Text, "999") {
		t.Errorf("missing book: %+v", report.Missing)
	}
	if !report.Wrong.IsError || !strings.Contains(report.Wrong.Text, "nam") {
		t.Errorf("wrong argument: %+v", report.Wrong)
	}
}

// TestInspector lists and calls tools with the Inspector's command line.
func TestInspector(t *testing.T) {
	t.Parallel()
	node := nodetools.Node22(t)
	cli := nodetools.Module(t, "@modelcontextprotocol/inspector", "package.json")
	backend := startBackend(t)
	url := startServe(t, backend).URL
	entry := inspectorEntry(t, cli)
	for _, tt := range []struct {
		name   string
		target []string
	}{
		{"http", []string{url, "--transport", "http"}},
		{"stdio", []string{binary, "stdio", backend}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := run(t, node, append(append([]string{entry, "--cli"}, tt.target...), "--method", "tools/list")...)
			var list struct{ Tools []struct{ Name string } }
			if err := json.Unmarshal(out, &list); err != nil {
				t.Fatalf("%v in %q", err, out)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
			}
			if !slices.Equal(names, wantTools) {
				t.Errorf("tools %q, want %q", names, wantTools)
			}
		})
	}
}

// inspectorEntry returns the script that the package names as its command.
func inspectorEntry(t *testing.T, packageJSON string) string {
	t.Helper()
	data, err := os.ReadFile(packageJSON)
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Bin map[string]string }
	if err := json.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	entry, ok := manifest.Bin["mcp-inspector"]
	if !ok {
		t.Fatalf("the Inspector has no command mcp-inspector but %v", manifest.Bin)
	}
	return filepath.Join(filepath.Dir(packageJSON), entry)
}

func run(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.Bytes()
}
