package peers

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/gen/mcp/v1/mcpv1connect"
	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
)

// stub is a client of McpService, and what it can be asked for.
type stub struct {
	mcpv1connect.McpServiceClient

	t *testing.T
}

// eachStub runs a test with a generated client of every protocol, one after
// the other, of a server from npm behind `mcp-bridge serve`.
func eachStub(t *testing.T, command []string, test func(c stub)) {
	t.Helper()
	base := strings.TrimSuffix(startServe(t, append([]string{"--log-level", "error", "--"}, command...)...).URL, "/mcp")
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	t.Cleanup(transport.CloseIdleConnections)
	for name, option := range map[string]connect.ClientOption{
		"gRPC": connect.WithGRPC(), "gRPC-Web": connect.WithGRPCWeb(), "Connect": connect.WithProtoJSON(),
	} {
		t.Run(name, func(t *testing.T) {
			test(stub{mcpv1connect.NewMcpServiceClient(&http.Client{Transport: transport}, base, option), t})
		})
	}
}

// server is the command of an official server.
func server(t *testing.T, name string, args ...string) []string {
	t.Helper()
	return append([]string{nodetools.Node(t), nodetools.Module(t, "@modelcontextprotocol/server-"+name, "dist/index.js")}, args...)
}

// toolCall is a call with arguments of JSON, of a client that can be asked for
// anything.
func toolCall(name, arguments string) *mcpv1.CallToolRequest {
	return &mcpv1.CallToolRequest{
		Name:          name,
		ArgumentsForm: &mcpv1.CallToolRequest_ArgumentsJson{ArgumentsJson: []byte(arguments)},
		Meta: &mcpv1.RequestMeta{
			ProtocolVersion: "2026-07-28",
			ClientCapabilities: &mcpv1.ClientCapabilities{
				Elicitation: &mcpv1.ElicitationCapability{}, Sampling: &mcpv1.SamplingCapability{},
			},
		},
	}
}

// call calls a tool to the end.
func (c stub) call(r *mcpv1.CallToolRequest) *mcpv1.CallToolResult {
	c.t.Helper()
	res, err := c.CallTool(c.t.Context(), r)
	if err != nil || res.GetComplete() == nil {
		c.t.Fatalf("%s: %v, %v", r.GetName(), res, err)
	}
	return res.GetComplete()
}

// want calls a tool whose result must have a text.
func (c stub) want(name, arguments, want string) *mcpv1.CallToolResult {
	c.t.Helper()
	res := c.call(toolCall(name, arguments))
	if got := texts(res); !strings.Contains(got, want) || res.GetIsError() {
		c.t.Errorf("%s %s: %s, want %s", name, arguments, got, want)
	}
	return res
}

func texts(res *mcpv1.CallToolResult) string {
	var all []string
	for _, block := range res.GetContent() {
		all = append(all, block.GetText().GetText())
	}
	return strings.Join(all, "\n")
}

// refused calls a tool that must fail.
func (c stub) refused(name, arguments, want string) {
	c.t.Helper()
	res := c.call(toolCall(name, arguments))
	if got := texts(res); !strings.Contains(got, want) || !res.GetIsError() {
		c.t.Errorf("%s %s: %s (isError %t), want %s", name, arguments, got, res.GetIsError(), want)
	}
}

// names returns the names of all tools.
func (c stub) names() []string {
	c.t.Helper()
	res, err := c.ListTools(c.t.Context(), &mcpv1.ListToolsRequest{})
	if err != nil {
		c.t.Fatal(err)
	}
	var names []string
	for _, tool := range res.GetTools() {
		names = append(names, tool.GetName())
	}
	return names
}

// answered makes a call that asks for one thing, and answers that.
func (c stub) answered(r *mcpv1.CallToolRequest, answer func(*mcpv1.InputRequest) *mcpv1.InputResponse) *mcpv1.CallToolResult {
	c.t.Helper()
	res, err := c.CallTool(c.t.Context(), r)
	if err != nil || len(res.GetInputRequired().GetInputRequests()) != 1 {
		c.t.Fatalf("%s: %v, %v", r.GetName(), res, err)
	}
	r.RequestState = res.GetInputRequired().RequestState
	r.InputResponses = make(map[string]*mcpv1.InputResponse)
	for key, asked := range res.GetInputRequired().GetInputRequests() {
		r.InputResponses[key] = answer(asked)
	}
	return c.call(r)
}

// TestServerEverything calls all that the reference server has from generated
// stubs.
func TestServerEverything(t *testing.T) {
	t.Parallel()
	eachStub(t, server(t, "everything", "stdio"), func(c stub) {
		t, ctx := c.t, c.t.Context()
		if names := c.names(); !slices.Contains(names, "echo") || !slices.Contains(names, "trigger-sampling-request") {
			t.Errorf("tools %q", names)
		}
		c.want("echo", `{"message":"hé"}`, "Echo: hé")
		c.want("get-sum", `{"a":1.5,"b":2}`, "The sum of 1.5 and 2 is 3.5.")
		c.refused("echo", `{}`, "message")
		weather := c.want("get-structured-content", `{"location":"Chicago"}`, "temperature")
		if fields := weather.GetStructuredContent().GetStructValue().GetFields(); fields["temperature"].GetNumberValue() != 36 {
			t.Errorf("structured content %v", fields)
		}
		image := c.call(toolCall("get-tiny-image", `{}`))
		if i := slices.IndexFunc(image.GetContent(), func(b *mcpv1.ContentBlock) bool { return b.GetImage() != nil }); i < 0 || !strings.HasPrefix(string(image.GetContent()[i].GetImage().GetData()), "\x89PNG") {
			t.Errorf("image %v", image)
		}

		long, err := c.StreamCallTool(ctx, &mcpv1.StreamCallToolRequest{Request: &mcpv1.CallToolRequest{
			Name: "trigger-long-running-operation", ArgumentsForm: &mcpv1.CallToolRequest_ArgumentsJson{ArgumentsJson: []byte(`{"duration":0.1,"steps":3}`)},
		}})
		if err != nil {
			t.Fatal(err)
		}
		var steps []float64
		var end *mcpv1.CallToolResult
		for long.Receive() {
			if p := long.Msg().GetProgress(); p != nil && p.GetTotal() == 3 {
				steps = append(steps, p.GetProgress())
			}
			end = long.Msg().GetResult().GetComplete()
		}
		if err := long.Err(); err != nil || !slices.Equal(steps, []float64{1, 2, 3}) || !strings.Contains(texts(end), "completed") {
			t.Errorf("progress %v, result %v, error %v", steps, end, err)
		}
		if err := long.Close(); err != nil {
			t.Error(err)
		}

		elicited := c.answered(toolCall("trigger-elicitation-request", `{}`), func(r *mcpv1.InputRequest) *mcpv1.InputResponse {
			if !strings.Contains(r.GetElicitation().String(), "Please provide inputs") {
				t.Errorf("asked %v", r)
			}
			return &mcpv1.InputResponse{Response: &mcpv1.InputResponse_Elicitation{Elicitation: &mcpv1.ElicitResult{
				Action:  mcpv1.ElicitAction_ELICIT_ACTION_ACCEPT,
				Content: map[string]*mcpv1.ElicitValue{"name": {Value: &mcpv1.ElicitValue_Text{Text: "Ada"}}, "integer": {Value: &mcpv1.ElicitValue_Number{Number: 7}}},
			}}}
		})
		if got := texts(elicited); !strings.Contains(got, "- Name: Ada") || !strings.Contains(got, "- Favorite Integer: 7") {
			t.Error(got)
		}
		sampled := c.answered(toolCall("trigger-sampling-request", `{"prompt":"why?","maxTokens":9}`), func(r *mcpv1.InputRequest) *mcpv1.InputResponse {
			if r.GetSampling().GetMaxTokens() != 9 {
				t.Errorf("asked %v", r)
			}
			return &mcpv1.InputResponse{Response: &mcpv1.InputResponse_OtherJson{OtherJson: []byte(`{"role":"assistant","model":"m","content":{"type":"text","text":"because"}}`)}}
		})
		if got := texts(sampled); !strings.Contains(got, "because") {
			t.Error(got)
		}

		checkResources(c)
		checkPrompts(c)
		c.refused("nothing", `{}`, "Tool nothing not found")
	})
}

func checkResources(c stub) {
	t, ctx := c.t, c.t.Context()
	t.Helper()
	resources, err := c.ListResources(ctx, &mcpv1.ListResourcesRequest{})
	if err != nil || len(resources.GetResources()) == 0 {
		t.Fatalf("resources: %v, %v", resources, err)
	}
	listed, err := c.ReadResource(ctx, &mcpv1.ReadResourceRequest{Uri: resources.GetResources()[0].GetUri()})
	if err != nil || len(listed.GetComplete().GetContents()) != 1 {
		t.Errorf("%s: %v, %v", resources.GetResources()[0].GetUri(), listed, err)
	}
	templates, err := c.ListResourceTemplates(ctx, &mcpv1.ListResourceTemplatesRequest{})
	if err != nil || len(templates.GetResourceTemplates()) != 2 {
		t.Errorf("templates: %v, %v", templates, err)
	}
	blob, err := c.ReadResource(ctx, &mcpv1.ReadResourceRequest{Uri: "demo://resource/dynamic/blob/2"})
	if err != nil || len(blob.GetComplete().GetContents()) != 1 || !strings.HasPrefix(string(blob.GetComplete().GetContents()[0].GetBlob()), "Resource 2: ") {
		t.Errorf("blob: %v, %v", blob, err)
	}
	_, err = c.ReadResource(ctx, &mcpv1.ReadResourceRequest{Uri: "demo://nothing"})
	if connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("missing resource: %v", err)
	}
}

func checkPrompts(c stub) {
	t, ctx := c.t, c.t.Context()
	t.Helper()
	prompts, err := c.ListPrompts(ctx, &mcpv1.ListPromptsRequest{})
	if err != nil || !slices.ContainsFunc(prompts.GetPrompts(), func(p *mcpv1.Prompt) bool { return p.GetName() == "args-prompt" }) {
		t.Errorf("prompts: %v, %v", prompts, err)
	}
	filled, err := c.GetPrompt(ctx, &mcpv1.GetPromptRequest{Name: "args-prompt", Arguments: map[string]string{"city": "Oslo"}})
	if err != nil || len(filled.GetComplete().GetMessages()) != 1 || !strings.Contains(filled.GetComplete().GetMessages()[0].GetContent().GetText().GetText(), "Oslo") {
		t.Errorf("prompt: %v, %v", filled, err)
	}
	_, err = c.GetPrompt(ctx, &mcpv1.GetPromptRequest{Name: "args-prompt"})
	if connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("prompt without argument: %v", err)
	}
	for _, tt := range []struct {
		request *mcpv1.CompleteRequest
		want    string
	}{
		{&mcpv1.CompleteRequest{
			Ref:      &mcpv1.CompletionReference{Reference: &mcpv1.CompletionReference_Prompt{Prompt: &mcpv1.PromptReference{Name: "completable-prompt"}}},
			Argument: &mcpv1.CompleteArgument{Name: "department", Value: "S"},
		}, "Sales Support"},
		{&mcpv1.CompleteRequest{
			Ref:      &mcpv1.CompletionReference{Reference: &mcpv1.CompletionReference_Prompt{Prompt: &mcpv1.PromptReference{Name: "completable-prompt"}}},
			Argument: &mcpv1.CompleteArgument{Name: "name"},
			Context:  &mcpv1.CompleteContext{Arguments: map[string]string{"department": "Sales"}},
		}, "David Eve Frank"},
		{&mcpv1.CompleteRequest{
			Ref:      &mcpv1.CompletionReference{Reference: &mcpv1.CompletionReference_Resource{Resource: &mcpv1.ResourceTemplateReference{Uri: "demo://resource/dynamic/text/{resourceId}"}}},
			Argument: &mcpv1.CompleteArgument{Name: "resourceId", Value: "12"},
		}, "12"},
	} {
		res, err := c.Complete(ctx, tt.request)
		if err != nil || strings.Join(res.GetCompletion().GetValues(), " ") != tt.want {
			t.Errorf("%v: %v, %v", tt.request, res, err)
		}
	}
}

// TestServerFilesystem writes and reads files.
func TestServerFilesystem(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	eachStub(t, server(t, "filesystem", dir), func(c stub) {
		t := c.t
		for _, want := range []string{"read_text_file", "write_file", "edit_file", "list_directory", "search_files"} {
			if !slices.Contains(c.names(), want) {
				t.Errorf("there is no tool %s", want)
			}
		}
		arguments := func(path string, members ...string) string {
			quoted, err := json.Marshal(path)
			if err != nil {
				t.Fatal(err)
			}
			return "{" + strings.Join(append([]string{`"path":` + string(quoted)}, members...), ",") + "}"
		}
		file := filepath.Join(dir, strings.ReplaceAll(t.Name(), "/", "-")+"é.txt")
		c.want("write_file", arguments(file, `"content":"one\ntwo \u20ac\n"`), "Successfully wrote")
		if got, err := os.ReadFile(file); err != nil || string(got) != "one\ntwo €\n" {
			t.Errorf("the file has %q, %v", got, err)
		}
		read := c.want("read_text_file", arguments(file), "two €")
		if got := read.GetStructuredContent().GetStructValue().GetFields()["content"].GetStringValue(); got != "one\ntwo €\n" {
			t.Errorf("structured content %q", got)
		}
		c.want("edit_file", arguments(file, `"edits":[{"oldText":"one","newText":"three"}]`), "+three")
		c.want("read_text_file", arguments(file, `"head":1`), "three")
		c.want("list_directory", arguments(dir), "[FILE] "+filepath.Base(file))
		c.refused("read_text_file", arguments("/etc/passwd"), "Access denied")
		c.refused("read_text_file", arguments(filepath.Join(dir, "nothing")), "ENOENT")
	})
}

// TestServerMemory keeps a graph of entities.
func TestServerMemory(t *testing.T) {
	t.Parallel()
	env, memory := "/usr/bin/env", filepath.Join(t.TempDir(), "memory.jsonl")
	if _, err := os.Stat(env); err != nil {
		nodetools.Missing(t, env+" is not there")
	}
	eachStub(t, append([]string{env, "MEMORY_FILE_PATH=" + memory}, server(t, "memory")...), func(c stub) {
		t, name := c.t, c.t.Name()+":" // no name is part of another
		c.want("create_entities", `{"entities":[{"name":"`+name+`","entityType":"test","observations":["runs"]},{"name":"`+name+`!","entityType":"test","observations":[]}]}`, name)
		c.want("create_relations", `{"relations":[{"from":"`+name+`","to":"`+name+`!","relationType":"knows"}]}`, "knows")
		c.want("add_observations", `{"observations":[{"entityName":"`+name+`","contents":["passes"]}]}`, "passes")
		found := c.want("search_nodes", `{"query":"`+name+`"}`, "passes")
		entities := found.GetStructuredContent().GetStructValue().GetFields()["entities"].GetListValue().GetValues()
		if len(entities) != 2 || entities[0].GetStructValue().GetFields()["name"].GetStringValue() != name {
			t.Errorf("found %v", entities)
		}
		c.want("delete_entities", `{"entityNames":["`+name+`!"]}`, "success")
		if res := c.call(toolCall("read_graph", `{}`)); strings.Contains(texts(res), name+"!") {
			t.Errorf("it is there still: %s", texts(res))
		}
		c.refused("add_observations", `{"observations":[{"entityName":"nobody","contents":["x"]}]}`, "nobody")
	})
}
