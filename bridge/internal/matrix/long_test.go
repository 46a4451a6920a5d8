package matrix

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/find"
	"github.com/mcp-bridge/mcp-bridge/gen/library/v1/libraryv1connect"
	"github.com/mcp-bridge/mcp-bridge/internal/demo"
	"github.com/mcp-bridge/mcp-bridge/internal/ways"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	// longBytes is how long something long is. The tests of each front send
	// megabytes; here are too many requests for that.
	longBytes = 100 << 10
	// maxRepeated is how much of it an answer may repeat.
	maxRepeated = 4 << 10
)

// longRequests are requests in which LONG is something long.
var longRequests = []struct{ name, method, params string }{
	{"method", "LONG", `{}`},
	{"cursor of tools", protocol.MethodListTools, `{"cursor":"LONG"}`},
	{"cursor of resources", protocol.MethodListResources, `{"cursor":"LONG"}`},
	{"cursor of templates", protocol.MethodListTemplates, `{"cursor":"LONG"}`},
	{"cursor of prompts", protocol.MethodListPrompts, `{"cursor":"LONG"}`},
	{"tool", protocol.MethodCallTool, `{"name":"LONG"}`},
	{"tool of an upstream", protocol.MethodCallTool, `{"name":"library_LONG"}`},
	{"tool of an MCP server", protocol.MethodCallTool, `{"name":"notes_LONG"}`},
	{"tool as a task", protocol.MethodCallTool, `{"name":"LONG","task":{"ttl":1000}}`},
	{"argument", protocol.MethodCallTool, `{"name":"library_Library_GetBook","arguments":{"LONG":1}}`},
	{"argument twice", protocol.MethodCallTool, `{"name":"library_Library_GetBook","arguments":{"LONG":1,"LONG":2}}`},
	{"string", protocol.MethodCallTool, `{"name":"library_Library_GetBook","arguments":{"name":"LONG"}}`},
	{"value of an enum", protocol.MethodCallTool, `{"name":"library_Library_ListBooks","arguments":{"genre":"LONG"}}`},
	{"number", protocol.MethodCallTool, `{"name":"library_Library_ListBooks","arguments":{"pageSize":"LONG"}}`},
	{"arguments that are none", protocol.MethodCallTool, `{"name":"library_Library_GetBook","arguments":"LONG"}`},
	{"found tool", protocol.MethodCallTool, `{"name":"call_tool","arguments":{"name":"LONG","arguments":{}}}`},
	{"argument of call_tool", protocol.MethodCallTool, `{"name":"call_tool","arguments":{"LONG":1}}`},
	{"described tool", protocol.MethodCallTool, `{"name":"describe_tool","arguments":{"name":"LONG"}}`},
	{"words to find", protocol.MethodCallTool, `{"name":"search_tools","arguments":{"query":"LONG"}}`},
	{"state", protocol.MethodCallTool, `{"name":"library_Library_DeleteBook","arguments":{"name":"shelves/1/books/1"},"requestState":"LONG","inputResponses":{}}`},
	{"key of an answer", protocol.MethodCallTool, `{"name":"library_Library_DeleteBook","arguments":{"name":"shelves/1/books/1"},"inputResponses":{"LONG":{"action":"LONG"}}}`},
	{"resource", protocol.MethodReadResource, `{"uri":"LONG"}`},
	{"URI of an upstream", protocol.MethodReadResource, `{"uri":"library+library://LONG"}`},
	{"URI of an API", protocol.MethodReadResource, `{"uri":"library://LONG"}`},
	{"URI of an MCP server", protocol.MethodReadResource, `{"uri":"notes+test://LONG"}`},
	{"URI with an escape", protocol.MethodReadResource, `{"uri":"library+library://%4cLONG"}`},
	{"prompt", protocol.MethodGetPrompt, `{"name":"LONG"}`},
	{"prompt of an MCP server", protocol.MethodGetPrompt, `{"name":"notes_LONG"}`},
	{"argument of a prompt", protocol.MethodGetPrompt, `{"name":"library_recommend","arguments":{"LONG":"LONG"}}`},
	{"completed prompt", protocol.MethodComplete, `{"ref":{"type":"ref/prompt","name":"LONG"},"argument":{"name":"a","value":""}}`},
	{"completed template", protocol.MethodComplete, `{"ref":{"type":"ref/resource","uri":"LONG"},"argument":{"name":"a","value":""}}`},
	{"completed argument", protocol.MethodComplete, `{"ref":{"type":"ref/resource","uri":"library+library://{+name}"},"argument":{"name":"LONG","value":""}}`},
	{"completed value", protocol.MethodComplete, `{"ref":{"type":"ref/resource","uri":"library+library://{+name}"},"argument":{"name":"name","value":"LONG"}}`},
	{"reference of another type", protocol.MethodComplete, `{"ref":{"type":"LONG","name":"a"},"argument":{"name":"a","value":""}}`},
	{"subscription", protocol.MethodListen, `{"notifications":{"resourceSubscriptions":["LONG"]}}`},
	{"subscription of an upstream", protocol.MethodListen, `{"notifications":{"resourceSubscriptions":["notes+test://LONG"]}}`},
	{"task", protocol.MethodGetTask, `{"taskId":"LONG"}`},
	{"updated task", protocol.MethodUpdateTask, `{"taskId":"LONG","inputResponses":{}}`},
	{"cancelled task", protocol.MethodCancelTask, `{"taskId":"LONG"}`},
	{"log level", protocol.MethodListTools, `{"_meta":{"io.modelcontextprotocol/logLevel":"LONG"}}`},
	{"progress token", protocol.MethodListTools, `{"_meta":{"progressToken":{"LONG":1}}}`},
	{"time", protocol.MethodCallTool, `{"name":"library_Library_GetBook","arguments":{"name":"a"},"_meta":{"` + protocol.TimeoutKey + `":"LONG"}}`},
}

// TestLongNamesEverywhere: whatever is long in a request, no front and nothing
// behind it repeats it in an answer.
func TestLongNamesEverywhere(t *testing.T) {
	t.Parallel()
	options, err := os.ReadFile("../../../examples/annotated/options.yaml")
	if err != nil {
		t.Fatal(err)
	}
	api, err := bridge.New(t.Context(), []bridge.Upstream{bridge.InProcess(demo.Handler(demo.New()), libraryv1connect.LibraryName)}, bridge.WithOptions(options))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	several := protocol.Chain(newGuarded(t, nil).mux, find.Middleware(find.Config{Bytes: 1}))
	long := strings.Repeat("x", longBytes)
	for _, w := range everyFront() {
		if w.Transport == typed || w.Revision != ways.Modern && w.Revision != string(protocol.LatestLegacy) && w.Transport != ways.SSE {
			continue // the names of a typed service are RPCs
		}
		t.Run(w.String(), func(t *testing.T) {
			t.Parallel()
			for what, handler := range map[string]protocol.Handler{"one API": api, "several upstreams": several} {
				c := newNode(t, handler).connectAny(t, w)
				for _, r := range longRequests {
					params := r.params
					if what == "one API" {
						params = strings.NewReplacer("library_", "", "library+", "").Replace(params)
					}
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					res, err := c.Handle(ctx, request(strings.ReplaceAll(r.method, "LONG", long), strings.ReplaceAll(params, "LONG", long)), protocol.NotifierFunc(
						func(context.Context, *protocol.Notification) error {
							cancel() // it is listened to
							return nil
						}))
					cancel()
					if text := refusalText(res, err); strings.Count(text, "x") > maxRepeated {
						t.Errorf("%s, %s: %d bytes: %.300s", what, r.name, len(text), text)
					}
				}
			}
		})
	}
}

// refusalText is what an error says, or a result.
func refusalText(res *protocol.Result, err error) string {
	if err == nil {
		return string(res.Body)
	}
	if fault, ok := errors.AsType[*protocol.Error](err); ok {
		return fault.Message + string(fault.Data)
	}
	return err.Error()
}
