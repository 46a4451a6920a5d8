package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
)

// everythingReport is what an official client saw of server-everything behind
// the bridge.
type everythingReport struct {
	Revision, Negotiated          string
	Asked, Tools, Completed       []string
	Echo, Long, Elicited, Sampled string
	Prompt, Resource              string
	Progress                      []float64
}

// check fails the test unless all that the revision has went well.
func (r *everythingReport) check(t *testing.T) {
	t.Helper()
	if r.Negotiated != r.Revision {
		t.Errorf("negotiated %q", r.Negotiated)
	}
	if !slices.Contains(r.Tools, "echo") || !slices.Contains(r.Tools, "trigger-sampling-request") {
		t.Errorf("tools %q", r.Tools)
	}
	asked := []string{"Resource trigger-sampling-request context: why?"}
	for _, want := range []struct{ got, part string }{
		{r.Echo, "Echo: hé"},
		{r.Long, "operation completed"},
		{r.Sampled, "because"},
		{r.Prompt, "Oslo"},
		{r.Resource, "Resource 2: "},
		{strings.Join(r.Completed, " "), "Sales Support"},
	} {
		if !strings.Contains(want.got, want.part) {
			t.Errorf("got %q, want %q", want.got, want.part)
		}
	}
	if r.Revision >= "2025-06-18" {
		asked = append([]string{"Please provide inputs for the following fields:"}, asked...)
		if !strings.Contains(r.Elicited, "- Name: Ada") {
			t.Errorf("elicited %q", r.Elicited)
		}
	}
	if !slices.Equal(r.Asked, asked) {
		t.Errorf("asked %q, want %q", r.Asked, asked)
	}
	// The TypeScript clients forget who wants progress once they have read the
	// result, even if the last progress came before it.
	if len(r.Progress) == 0 || !slices.Equal(r.Progress, []float64{1, 2}[:min(2, len(r.Progress))]) {
		t.Errorf("progress %v", r.Progress)
	}
}

// TestGoSDKBeforeEverything drives server-everything behind the bridge with the
// official Go client.
func TestGoSDKBeforeEverything(t *testing.T) {
	t.Parallel()
	everything := append([]string{"--log-level", "error", "--"}, server(t, "everything", "stdio")...)
	for _, kind := range []string{"http", "stdio"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var served endpoints
			if kind == "http" {
				served = startServe(t, everything...)
			}
			// One after the other: a legacy server on stdio has one session, and
			// cannot say whom it asks.
			for _, revision := range mcp.SupportedProtocolVersions() {
				t.Run(revision, func(t *testing.T) {
					var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: served.URL}
					switch {
					case kind == "stdio":
						transport = &mcp.CommandTransport{Command: exec.Command(binary, append([]string{"stdio"}, everything...)...)}
					case revision == "2024-11-05": // that revision has no Streamable HTTP
						transport = &mcp.SSEClientTransport{Endpoint: served.SSE}
					}
					report := drive(t, transport, revision)
					report.check(t)
				})
			}
		})
	}
}

// drive does all that there is to do in a session.
func drive(t *testing.T, transport mcp.Transport, revision string) *everythingReport {
	t.Helper()
	ctx, r := t.Context(), &everythingReport{Revision: revision}
	var mu sync.Mutex
	client := mcp.NewClient(&mcp.Implementation{Name: "peer", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			mu.Lock()
			defer mu.Unlock()
			r.Asked = append(r.Asked, q.Params.Message)
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
		//nolint:staticcheck // deprecated, and still asked for
		CreateMessageHandler: func(_ context.Context, q *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			mu.Lock()
			defer mu.Unlock()
			if text, ok := q.Params.Messages[0].Content.(*mcp.TextContent); ok {
				r.Asked = append(r.Asked, text.Text)
			}
			//nolint:staticcheck // as above
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "because"}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
			mu.Lock()
			defer mu.Unlock()
			r.Progress = append(r.Progress, n.Params.Progress)
		},
	})
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}()
	r.Negotiated = session.InitializeResult().ProtocolVersion
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		r.Tools = append(r.Tools, tool.Name)
	}
	call := func(name string, arguments map[string]any) string {
		params := &mcp.CallToolParams{Name: name, Arguments: arguments}
		params.SetProgressToken("p")
		res, err := session.CallTool(ctx, params)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var all []string
		for _, content := range res.Content {
			if text, ok := content.(*mcp.TextContent); ok {
				all = append(all, text.Text)
			}
		}
		return strings.Join(all, "\n")
	}
	r.Echo = call("echo", map[string]any{"message": "hé"})
	r.Long = call("trigger-long-running-operation", map[string]any{"duration": 0.1, "steps": 2})
	if revision >= "2025-06-18" {
		r.Elicited = call("trigger-elicitation-request", map[string]any{})
	}
	r.Sampled = call("trigger-sampling-request", map[string]any{"prompt": "why?"})
	prompt, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "args-prompt", Arguments: map[string]string{"city": "Oslo"}})
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := prompt.Messages[0].Content.(*mcp.TextContent); ok {
		r.Prompt = text.Text
	}
	resource, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "demo://resource/dynamic/text/2"})
	if err != nil {
		t.Fatal(err)
	}
	r.Resource = resource.Contents[0].Text
	completed, err := session.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "completable-prompt"},
		Argument: mcp.CompleteParamsArgument{Name: "department", Value: "S"},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Completed = completed.Completion.Values
	mu.Lock()
	defer mu.Unlock()
	return r
}

// TestTypeScriptBeforeEverything is the same with the official TypeScript
// clients.
func TestTypeScriptBeforeEverything(t *testing.T) {
	t.Parallel()
	node := nodetools.Node(t)
	script := filepath.Join(nodetools.Root(t), "tools", "peers", "everything.mjs")
	everything := append([]string{"--log-level", "error", "--"}, server(t, "everything", "stdio")...)
	legacy := []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}
	for _, kind := range []string{"http", "stdio"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			target := append([]string{binary, "stdio"}, everything...)
			if kind == "http" {
				served := startServe(t, everything...)
				target = []string{served.URL, served.SSE}
			}
			for _, sdk := range []struct {
				name, module string
				revisions    []string
			}{
				{"v1", "@modelcontextprotocol/sdk", legacy},
				{"v2", "@modelcontextprotocol/client", append(slices.Clone(legacy), "2026-07-28")},
			} {
				t.Run(sdk.name, func(t *testing.T) {
					if kind == "stdio" {
						t.Parallel()
					}
					nodetools.Module(t, sdk.module, "package.json")
					out := run(t, node, append([]string{script, sdk.name, strings.Join(sdk.revisions, ","), kind}, target...)...)
					lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
					if len(lines) != len(sdk.revisions) {
						t.Fatalf("printed %s", out)
					}
					for i, line := range lines {
						t.Run(sdk.revisions[i], func(t *testing.T) {
							var report everythingReport
							if err := json.Unmarshal(line, &report); err != nil {
								t.Fatalf("%v in %s", err, line)
							}
							report.check(t)
						})
					}
				})
			}
		})
	}
}
