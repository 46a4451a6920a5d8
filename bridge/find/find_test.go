package find_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/find"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpschema"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// large has 100 tools, five for each of 20 things, on pages. It hides those of which
// the caller must not know.
type large struct {
	pageSize int
	lists    atomic.Int64
}

var things = []string{
	"Account", "Album", "Bank", "Book", "Camera", "Desk", "Engine", "Forest", "Garden", "House",
	"Invoice", "Journey", "Kitchen", "Lamp", "Mountain", "Note", "Ocean", "Pencil", "Queue", "River",
}

func (l *large) Handle(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
	var p struct {
		Name, Cursor string
		Arguments    json.RawMessage
	}
	_ = json.Unmarshal(r.Params, &p)
	switch r.Method {
	case protocol.MethodListTools:
		l.lists.Add(1)
		var all []string
		for _, thing := range things {
			for _, verb := range []string{"Create", "Get", "List", "Update", "Delete"} {
				if verb == "Delete" && r.Caller.Key() != admin.Key() {
					continue
				}
				all = append(all, fmt.Sprintf(`{"name":"%[1]ss_%[2]s%[1]s","description":"%[2]ss one %[1]s.\nMore.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}`, thing, verb))
			}
		}
		start, end := 0, len(all)
		next := ""
		if l.pageSize > 0 {
			_, _ = fmt.Sscan(p.Cursor, &start)
			if end = min(start+l.pageSize, end); end < len(all) {
				next = fmt.Sprintf(`,"nextCursor":"%d"`, end)
			}
		}
		return &protocol.Result{
			Body: json.RawMessage(`{"tools":[` + strings.Join(all[start:end], ",") + `]` + next + `}`),
			Meta: json.RawMessage(`{"a":1}`), Cache: &protocol.Cache{TTLMillis: 5},
		}, nil
	case protocol.MethodCallTool:
		return &protocol.Result{Body: json.RawMessage(fmt.Sprintf(`{"content":[],"called":%q,"with":%s,"params":%q}`, p.Name, p.Arguments, r.Params))}, nil
	}
	return nil, protocol.MethodNotFound(r.Method)
}

var admin = protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthJWT, Subject: "admin"})

func request(method, params string) *protocol.Request {
	return &protocol.Request{Method: method, Params: json.RawMessage(params), Caller: &protocol.Caller{Principal: admin}, Meta: protocol.Meta{Revision: protocol.Revision20260728}}
}

func call(t *testing.T, h protocol.Handler, tool, arguments string) string {
	t.Helper()
	return do(t, h, request(protocol.MethodCallTool, `{"name":"`+tool+`","arguments":`+arguments+`,"requestState":"s"}`))
}

func do(t *testing.T, h protocol.Handler, r *protocol.Request) string {
	t.Helper()
	res, err := h.Handle(t.Context(), r, protocol.Discard)
	if err != nil {
		return err.Error()
	}
	return string(protocol.AppendResult(nil, res, protocol.Revision20260728))
}

func TestSearch(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 7} {
		t.Run(fmt.Sprintf("pages of %d", size), func(t *testing.T) {
			t.Parallel()
			behind := &large{pageSize: size}
			h := protocol.Chain(behind, find.Middleware(find.Config{}))
			validator := mcpschema.Open(t, "2026-07-28")

			list := do(t, h, request(protocol.MethodListTools, `{}`))
			if err := validator.Check([]byte(`{"jsonrpc":"2.0","id":1,"result":`+list+`}`), protocol.MethodListTools); err != nil {
				t.Errorf("%v\n%s", err, list)
			}
			var listed struct {
				Tools []struct {
					Name, Description string
					Annotations       struct{ ReadOnlyHint bool }
				}
				NextCursor *string
				TTLMs      int            `json:"ttlMs"`
				Meta       map[string]any `json:"_meta"`
			}
			if err := json.Unmarshal([]byte(list), &listed); err != nil {
				t.Fatal(err)
			}
			if len(listed.Tools) != 3 || listed.NextCursor != nil || listed.TTLMs != 5 || listed.Meta["a"] != 1.0 {
				t.Fatalf("lists %s", list)
			}
			for i, want := range []string{find.SearchTool, find.DescribeTool, find.CallTool} {
				if tool := listed.Tools[i]; tool.Name != want || tool.Annotations.ReadOnlyHint != (want != find.CallTool) {
					t.Errorf("tool %d is %+v", i, tool)
				}
			}
			if !strings.Contains(listed.Tools[0].Description, "There are 100 tools") {
				t.Error(listed.Tools[0].Description)
			}

			for _, tt := range []struct{ tool, arguments, want string }{
				{find.SearchTool, `{"query":"create a book","limit":"1"}`, `"structuredContent":{"tools":[{"name":"Books_CreateBook","description":"Creates one Book."}],"total":`},
				{find.SearchTool, `{"limit":50}`, `"total":100}`},
				{find.SearchTool, `{"query":"zyxw"}`, `"structuredContent":{"tools":[],"total":0,"hint":"None of the 100 tools fits these words. Say in other words what the tool is to do, and with what. These are the services there are, and some of their tools.","services":["Accounts (5)","Albums (5)",`},
				{find.SearchTool, `{"query":"zyxw"}`, `"some":["Accounts_CreateAccount","Albums_CreateAlbum",`},
				{find.DescribeTool, `{"name":"Books_CreateBook"}`, `"structuredContent":{"name":"Books_CreateBook","description":"Creates one Book.\nMore.","inputSchema":`},
				{find.CallTool, `{"name":"Books_CreateBook","arguments":{"text":"x"}}`, `"called":"Books_CreateBook","with":{"text":"x"}`},
				{find.CallTool, `{"name":"Books_CreateBook","arguments":"{\"text\":\"x\"}"}`, `"called":"Books_CreateBook","with":{"text":"x"}`},
				{find.CallTool, `{"name":"Books_DeleteBook"}`, `\"name\":\"Books_DeleteBook\",\"arguments\":{},\"requestState\":\"s\"}`},
				{"Books_Nothing", `{}`, `"called":"Books_Nothing"`},

				{find.CallTool, `{"name":"Books_GetBok"}`, `"called":"Books_GetBok"`}, // the Handler says that there is none
				{find.CallTool, `{}`, `- name: is required; want the name of a tool, as search_tools shows it`},
				{find.CallTool, `{"name":"Books_GetBook","name":"Books_DeleteBook"}`, `occurs twice`},
				{find.CallTool, `{"name":"Books_GetBook","arguments":[1],"args":{}}`, `- arguments: wrong type; want an object, got [1]\n- args: unknown member; did you mean \"name\" or \"arguments\"?`},
				{find.CallTool, `{"name":"call_tool","arguments":{}}`, `"called":"call_tool"`},
				{find.DescribeTool, `{"name":7}`, `- name: wrong type; want a string, got 7`},
				{find.DescribeTool, `{"name":"x y z"}`, `there is no tool "x y z"; tools/list names those there are (code -32602)`},
				{find.SearchTool, `{"query":["a"],"limit":0}`, `- query: wrong type; want a string, got [\"a\"]\n- limit: wrong type; want a whole number from 1 to 50, got 0`},
			} {
				if got := call(t, h, tt.tool, tt.arguments); !strings.Contains(got, tt.want) {
					t.Errorf("%s %s:\ngot  %s\nwant %s", tt.tool, tt.arguments, got, tt.want)
				}
			}
		})
	}
}

// TestHidden: what a caller is not shown is not found and not described. A call of it is
// up to the Handler, as one without the detour is.
func TestHidden(t *testing.T) {
	t.Parallel()
	h := find.Middleware(find.Config{})(&large{})
	for _, tt := range []struct{ tool, arguments, shown, hidden string }{
		{find.SearchTool, `{"query":"Books_DeleteBook"}`, `"name":"Books_DeleteBook"`, `"name":"Books_GetBook"`},
		{find.DescribeTool, `{"name":"Books_DeleteBook"}`, `"structuredContent":{"name":"Books_DeleteBook"`, `there is no tool "Books_DeleteBook"`},
		{find.CallTool, `{"name":"Books_Delete\u0042ook","arguments":{}}`, `"called":"Books_DeleteBook"`, `"called":"Books_DeleteBook"`},
	} {
		for caller, want := range map[*protocol.Principal]string{admin: tt.shown, nil: tt.hidden} {
			r := request(protocol.MethodCallTool, `{"name":"`+tt.tool+`","arguments":`+tt.arguments+`}`)
			r.Caller = &protocol.Caller{Principal: caller}
			got := do(t, h, r)
			if found := strings.Contains(got, `"name":"Books_DeleteBook"`); !strings.Contains(got, want) || found && caller == nil {
				t.Errorf("%s %s: %s, want %s", tt.tool, tt.arguments, got, want)
			}
		}
	}
}

// TestBytes: a list that takes no more bytes than allowed stays.
func TestBytes(t *testing.T) {
	t.Parallel()
	var listed struct{ Tools []json.RawMessage }
	if err := json.Unmarshal([]byte(do(t, &large{}, request(protocol.MethodListTools, `{}`))), &listed); err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, tool := range listed.Tools {
		all += len(tool)
	}
	for _, tt := range []struct {
		bytes int
		want  string
	}{{all, "Accounts_CreateAccount"}, {all - 1, find.SearchTool}, {0, find.SearchTool}} {
		behind := &large{pageSize: 30}
		h := find.Middleware(find.Config{Bytes: tt.bytes})(behind)
		got := do(t, h, request(protocol.MethodListTools, `{}`))
		if !strings.Contains(got, `"tools":[{"name":"`+tt.want+`"`) {
			t.Errorf("%d bytes: %.100s", tt.bytes, got)
		}
		got = call(t, h, find.SearchTool, `{}`)
		if passed := strings.Contains(got, `"called":"search_tools"`); passed != (tt.bytes == all) {
			t.Errorf("%d bytes: %.200s", tt.bytes, got)
		}
		r := request(protocol.MethodListTools, `{"cursor":"90"}`)
		if got = do(t, h, r); !strings.Contains(got, "Rivers_") {
			t.Errorf("%d bytes: %.200s", tt.bytes, got)
		}
	}
}

// TestInternal: this program itself sees the tools.
func TestInternal(t *testing.T) {
	t.Parallel()
	h := find.Middleware(find.Config{})(&large{})
	r := request(protocol.MethodListTools, `{}`)
	r.Caller = protocol.InternalCaller()
	if got := do(t, h, r); !strings.Contains(got, "Accounts_CreateAccount") {
		t.Errorf("%.100s", got)
	}
}
