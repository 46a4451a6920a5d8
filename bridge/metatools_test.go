package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpschema"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// large serves 100 methods: five for each of 20 things.
func large(t *testing.T) *dynbackend.Backend {
	t.Helper()
	source := &strings.Builder{}
	source.WriteString("syntax = \"proto3\";\npackage large.v1;\nmessage Text { string text = 1; }\n")
	methods := make(map[string]dynbackend.Method)
	for _, thing := range []string{
		"Account", "Album", "Bank", "Book", "Camera", "Desk", "Engine", "Forest", "Garden", "House",
		"Invoice", "Journey", "Kitchen", "Lamp", "Mountain", "Note", "Ocean", "Pencil", "Queue", "River",
	} {
		fmt.Fprintf(source, "service %ss {\n", thing)
		for _, verb := range []string{"Create", "Get", "List", "Update", "Delete"} {
			fmt.Fprintf(source, "  // %ss one %s.\n  rpc %s%s(Text) returns (Text);\n", verb, strings.ToLower(thing), verb, thing)
			methods[verb+thing] = echo
		}
		source.WriteString("}\n")
	}
	methods["DeleteBook"] = func(context.Context, *dynamicpb.Message, *dynamicpb.Message) error {
		return grpcstatus.Error(codes.NotFound, "no such book")
	}
	return dynbackend.Start(t, map[string]string{"large.proto": source.String()}, methods)
}

// message is a request of a modern client.
func message(method, params string) string {
	params = strings.TrimSuffix(params, "}")
	if params != "{" {
		params += ","
	}
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params +
		`"_meta":{"` + protocol.MetaProtocolVersion + `":"2026-07-28","` + protocol.MetaClientCapabilities + `":{}}}}`
}

// toolResult is the response to tools/call or tools/list.
type toolResult struct {
	Result struct {
		callResult
		Tools      []bridge.Tool
		NextCursor string
	}
	Error *struct {
		Code    int
		Message string
	}
}

func decode[T any](t *testing.T, data string) T {
	t.Helper()
	var out T
	if err := json.Unmarshal([]byte(data), &out); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return out
}

type found struct {
	Tools []struct{ Name, Description string }
	Total int
}

func TestToolSearch(t *testing.T) {
	t.Parallel()
	b := start(t, large(t), bridge.WithToolSearch(bridge.DefaultToolSearchThreshold), bridge.WithPageSize(7))
	validator := mcpschema.Open(t, "2026-07-28")
	for name, client := range map[string]wire{"HTTP": overHTTP(t, b), "stdio": overStdio(t, b)} {
		t.Run(name, func(t *testing.T) {
			request := func(method, params string) toolResult {
				t.Helper()
				answer := client(message(method, params))
				if err := validator.Check(answer, method); err != nil {
					t.Errorf("%v\n%s", err, answer)
				}
				return decode[toolResult](t, string(answer))
			}
			call := func(tool, arguments string) toolResult {
				t.Helper()
				return request(protocol.MethodCallTool, `{"name":"`+tool+`","arguments":`+arguments+`}`)
			}
			list := request(protocol.MethodListTools, `{}`).Result
			if len(list.Tools) != 3 || list.NextCursor != "" {
				t.Fatalf("lists %d tools", len(list.Tools))
			}
			for i, want := range []string{bridge.SearchTool, bridge.DescribeTool, bridge.CallTool} {
				tool := list.Tools[i]
				if tool.Name != want || (want != bridge.CallTool) != strings.Contains(string(tool.Annotations), `"readOnlyHint":true`) {
					t.Errorf("tool %d is %s %s", i, tool.Name, tool.Annotations)
				}
			}
			if !strings.Contains(list.Tools[0].Description, "There are 100 tools") {
				t.Error(list.Tools[0].Description)
			}

			hits := decode[found](t, string(call(bridge.SearchTool, `{"query":"create a book","limit":"3"}`).Result.StructuredContent))
			if len(hits.Tools) != 3 || hits.Tools[0].Name != "Books_CreateBook" || !strings.HasPrefix(hits.Tools[0].Description, "Calls large.v1.Books/CreateBook") || hits.Total < 20 {
				t.Errorf("found %+v", hits)
			}
			hits = decode[found](t, string(call(bridge.SearchTool, `{}`).Result.StructuredContent))
			if len(hits.Tools) != 10 || hits.Total != 100 {
				t.Errorf("an overview of %d tools of %d", len(hits.Tools), hits.Total)
			}

			described := decode[bridge.Tool](t, string(call(bridge.DescribeTool, `{"name":"Books_CreateBook"}`).Result.StructuredContent))
			if described.Name != "Books_CreateBook" || !strings.Contains(string(described.InputSchema), `"text"`) || described.OutputSchema == nil {
				t.Errorf("described as %+v", described)
			}

			for _, arguments := range []string{`{"text":"x"}`, `"{\"text\":\"x\"}"`} {
				through := call(bridge.CallTool, `{"name":"Books_CreateBook","arguments":`+arguments+`}`).Result
				directly := call("Books_CreateBook", `{"text":"x"}`).Result
				if string(through.StructuredContent) != `{"text":"x"}` || string(through.StructuredContent) != string(directly.StructuredContent) {
					t.Errorf("through call_tool %s, directly %s", through.StructuredContent, directly.StructuredContent)
				}
			}
			for _, arguments := range []string{`{}`, `{"txt":"x"}`} {
				through := call(bridge.CallTool, `{"name":"Books_DeleteBook","arguments":`+arguments+`}`).Result
				directly := call("Books_DeleteBook", arguments).Result
				if !through.IsError || !slices.Equal(through.Content, directly.Content) {
					t.Errorf("through call_tool %v, directly %v", through.Content, directly.Content)
				}
			}
			if direct := call("Books_Nothing", `{}`); direct.Error == nil || direct.Error.Code != -32602 {
				t.Errorf("an unknown tool: %+v", direct)
			}
			for _, tt := range []struct{ tool, arguments, want string }{
				{bridge.CallTool, `{"name":"Books_GetBok"}`, `- name: there is no such tool; find one with search_tools, got "Books_GetBok"; did you mean "Books_`},
				{bridge.CallTool, `{}`, "- name: is required; want the name of a tool, as search_tools shows it"},
				{bridge.CallTool, `{"name":"Books_GetBook","arguments":[1],"args":{}}`, "- arguments: wrong type; want an object, got [1]\n- args: unknown member; did you mean \"name\" or \"arguments\"?"},
				{bridge.CallTool, `{"name":"call_tool","arguments":{}}`, `there is no such tool`},
				{bridge.DescribeTool, `{"name":7}`, "- name: wrong type; want a string, got 7"},
				{bridge.DescribeTool, `{"name":"x y z"}`, `there is no such tool`},
				{bridge.SearchTool, `{"query":["a"],"limit":0}`, "- query: wrong type; want a string, got [\"a\"]\n- limit: wrong type; want a whole number from 1 to 50, got 0"},
			} {
				res := call(tt.tool, tt.arguments).Result
				if !res.IsError || len(res.Content) != 1 || !strings.Contains(res.Content[0].Text, tt.want) {
					t.Errorf("%s %s: %+v, want %s", tt.tool, tt.arguments, res.Content, tt.want)
				}
			}
		})
	}
}

// At the threshold, and without tool search, tools are listed.
func TestToolSearchThreshold(t *testing.T) {
	t.Parallel()
	backend := large(t)
	for _, tt := range []struct {
		opts []bridge.Option
		want int
	}{
		{nil, 100},
		{[]bridge.Option{bridge.WithToolSearch(100)}, 100},
		{[]bridge.Option{bridge.WithToolSearch(99)}, 3},
		{[]bridge.Option{bridge.WithToolSearch(0)}, 3},
	} {
		b := start(t, backend, tt.opts...)
		res, err := b.Handle(t.Context(), request(protocol.MethodListTools, `{}`), protocol.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(decode[struct{ Tools []bridge.Tool }](t, string(res.Body)).Tools); got != tt.want {
			t.Errorf("lists %d tools, want %d", got, tt.want)
		}
		if got := len(b.Tools()); got != 100 {
			t.Errorf("Tools returns %d", got)
		}
		if _, err := call(t.Context(), t, b, bridge.SearchTool, `{}`); (err == nil) != (tt.want == 3) {
			t.Errorf("search_tools: %v", err)
		}
	}
	_, err := bridge.New(t.Context(), []bridge.Upstream{{}}, bridge.WithToolSearch(-1))
	if err == nil || !strings.Contains(err.Error(), "the threshold -1 of tool search is negative") {
		t.Errorf("got %v", err)
	}
}
