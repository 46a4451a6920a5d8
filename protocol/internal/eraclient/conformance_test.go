package eraclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
	"github.com/mcp-bridge/mcp-bridge/internal/ways"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// driverEnv makes the test binary the client that the conformance suite
// drives.
const driverEnv = "ERA_TEST_DRIVER"

// TestConformance runs the scenarios of the official suites that are about the
// transport and the protocol: all but those of authorization and of extensions.
func TestConformance(t *testing.T) {
	t.Parallel()
	node := nodetools.Node22(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const first, second = "conformance-0.1", "conformance-0.2"
	for _, s := range []struct{ suite, scenario, revision string }{
		{first, "initialize", "2025-06-18"}, {first, "initialize", "2025-11-25"},
		{first, "tools_call", "2025-06-18"}, {first, "tools_call", "2025-11-25"},
		{first, "sse-retry", "2025-11-25"},
		{first, "elicitation-sep1034-client-defaults", "2025-11-25"},
		{second, "initialize", "2025-06-18"}, {second, "initialize", "2025-11-25"},
		{second, "tools_call", "2025-06-18"}, {second, "tools_call", "2025-11-25"}, {second, "tools_call", ways.Modern},
		{second, "sse-retry", "2025-11-25"},
		{second, "elicitation-sep1034-client-defaults", "2025-11-25"},
		{second, "request-metadata", ways.Modern},
		{second, "sep-2322-client-request-state", ways.Modern},
		{second, "http-standard-headers", ways.Modern}, {second, "http-custom-headers", ways.Modern}, {second, "http-invalid-tool-headers", ways.Modern},
		{second, "json-schema-ref-no-deref", ways.Modern},
		{second, "json-schema-2020-12-preservation", "2025-11-25"}, {second, "json-schema-2020-12-preservation", ways.Modern},
	} {
		suite := nodetools.Module(t, s.suite, "dist/index.js")
		t.Run(s.suite+" "+s.scenario+" "+s.revision, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(node, suite, "client", "--command", self, "--scenario", s.scenario, "--spec-version", s.revision, "--output-dir", t.TempDir())
			cmd.Env = append(cmd.Environ(), driverEnv+"=1")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// drive is the client: it does everything that the server offers.
func drive(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c, err := streamable.NewClient(streamable.ClientConfig{URL: url, ClientConfig: protocol.ClientConfig{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}})
	if err != nil {
		return err
	}
	defer c.Close()
	var given struct {
		ToolCalls []struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return err
		}
	}
	var offer struct {
		Capabilities struct{ Tools, Prompts, Resources json.RawMessage }
	}
	if err := do(ctx, c, "server/discover", `{}`, &offer); err != nil {
		return err
	}
	if offer.Capabilities.Tools != nil {
		var list struct {
			Tools []struct {
				Name        string
				InputSchema json.RawMessage
			}
		}
		if err := do(ctx, c, "tools/list", `{}`, &list); err != nil {
			return err
		}
		if given.ToolCalls == nil {
			for _, tool := range list.Tools {
				var schema struct {
					Properties map[string]struct{ Type any }
				}
				if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
					return err
				}
				args := make(map[string]any)
				for name, p := range schema.Properties {
					switch p.Type {
					case "object": // json_schema_echo wants the schema of the tool before it
						args[name] = list.Tools[0].InputSchema
					case "integer", "number":
						args[name] = 5
					case "boolean":
						args[name] = true
					case "string":
						args[name] = "text"
					}
				}
				raw, err := json.Marshal(args)
				if err != nil {
					return err
				}
				given.ToolCalls = append(given.ToolCalls, struct {
					Name      string
					Arguments json.RawMessage
				}{tool.Name, raw})
			}
		}
		for _, call := range given.ToolCalls {
			if err := do(ctx, c, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, call.Name, call.Arguments), nil); err != nil {
				fmt.Fprintln(os.Stderr, call.Name, err) // the suite judges
			}
		}
	}
	if offer.Capabilities.Prompts != nil {
		var list struct{ Prompts []struct{ Name string } }
		if err := do(ctx, c, "prompts/list", `{}`, &list); err != nil {
			return err
		}
		for _, p := range list.Prompts {
			if err := do(ctx, c, "prompts/get", fmt.Sprintf(`{"name":%q}`, p.Name), nil); err != nil {
				return err
			}
		}
	}
	if offer.Capabilities.Resources != nil {
		var list struct{ Resources []struct{ URI string } }
		if err := do(ctx, c, "resources/list", `{}`, &list); err != nil {
			return err
		}
		for _, r := range list.Resources {
			if err := do(ctx, c, "resources/read", fmt.Sprintf(`{"uri":%q}`, r.URI), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// do makes a request, and gives whatever input it wants.
func do(ctx context.Context, c *streamable.Client, method, params string, out any) error {
	for range 10 {
		res, err := c.Handle(ctx, request(method, params, capabilities(`{"elicitation":{"form":{}},"sampling":{},"roots":{}}`)), protocol.Discard)
		if err != nil {
			return err
		}
		if res.Type != protocol.ResultInputRequired {
			if out == nil {
				return nil
			}
			return json.Unmarshal(res.Body, out)
		}
		var in struct {
			InputRequests map[string]struct {
				Params struct {
					RequestedSchema struct {
						Properties map[string]struct{ Default any }
					}
				}
			}
			RequestState *string
		}
		if err := json.Unmarshal(res.Body, &in); err != nil {
			return err
		}
		answers := make(map[string]any)
		for key, r := range in.InputRequests {
			content := make(map[string]any)
			for name, p := range r.Params.RequestedSchema.Properties {
				content[name] = p.Default
				if p.Default == nil {
					content[name] = true
				}
			}
			answers[key] = map[string]any{"action": "accept", "content": content}
		}
		retry := make(map[string]any)
		if err := json.Unmarshal([]byte(params), &retry); err != nil {
			return err
		}
		delete(retry, "requestState")
		retry["inputResponses"] = answers
		if in.RequestState != nil {
			retry["requestState"] = *in.RequestState
		}
		raw, err := json.Marshal(retry)
		if err != nil {
			return err
		}
		params = strings.TrimSpace(string(raw))
	}
	return fmt.Errorf("%s wants input without end", method)
}
