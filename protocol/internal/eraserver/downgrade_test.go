package eraserver_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/mcpschema"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eraserver"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// serving returns a server that answers everything alike.
func serving(t *testing.T, body string, err error) *eraserver.Server {
	t.Helper()
	return newServer(t, handler(func(_ context.Context, r *protocol.Request) (*protocol.Result, error) {
		if r.Method == protocol.MethodDiscover {
			return prototest.NewHandler().Handle(t.Context(), r, protocol.Discard)
		}
		return &protocol.Result{Body: json.RawMessage(body)}, err
	}))
}

type handler func(context.Context, *protocol.Request) (*protocol.Result, error)

func (f handler) Handle(ctx context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
	return f(ctx, r)
}

// TestOlderResults: no client gets a result that its revision's schema forbids.
func TestOlderResults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ method, body, want string }{
		"an object stays": {
			"tools/call", `{"content":[],"structuredContent": {"structuredContent":[1]}}`, `{"content":[],"structuredContent": {"structuredContent":[1]}}`,
		},
		"an array": {
			"tools/call", `{"content":[],"structuredContent":[1.0, null],"isError":false}`,
			`{"content":[{"type":"text","text":"[1.0,null]"}],"isError":false}`,
		},
		"null, and no content": {
			"tools/call", `{"structuredContent" : null}`, `{"content":[{"type":"text","text":"null"}]}`,
		},
		"a number beside an image": {
			"tools/call", `{"structuredContent":7,"content":[{"type":"image","data":"","mimeType":"image/png"}]}`,
			`{"content":[{"type":"image","data":"","mimeType":"image/png"},{"type":"text","text":"7"}]}`,
		},
		"the server has a text": {
			"tools/call", `{"structuredContent":"x","content":[{"type":"text","text":"it is x"}]}`, `{"content":[{"type":"text","text":"it is x"}]}`,
		},
		"in a text": {
			"tools/call", `{"content":[{"type":"text","text":"\"structuredContent\":1"}]}`, `{"content":[{"type":"text","text":"\"structuredContent\":1"}]}`,
		},
		"schemas": {
			"tools/list", `{"tools":[{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}},` +
				`{"name":"b","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}},` +
				`{"name":"c","outputSchema":{"anyOf":[]},"inputSchema":{"type":"object"}}],"nextCursor":"d"}`,
			`{"tools":[{"name":"a","inputSchema":{"type":"object"}},` +
				`{"name":"b","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}},` +
				`{"name":"c","inputSchema":{"type":"object"}}],"nextCursor":"d"}`,
		},
		"no tools": {"tools/list", `{"tools":[]}`, `{"tools":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session, _ := open(t, serving(t, tt.body, nil))
			defer session.Close()
			if got := answerOf(t, session, tt.method); got != `"result":`+tt.want+`}` {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestOlderErrors: codes that only 2026-07-28 has are said in those of the
// client's revision.
func TestOlderErrors(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		method string
		err    *protocol.Error
		want   string
	}{
		"capability": {
			"tools/call", protocol.MissingCapability(`{"roots":{}}`),
			`{"code":-32602,"message":"the client has not declared a capability that this request needs","data":{"code":-32021,"data":{"requiredCapabilities":{"roots":{}}}}}`,
		},
		"resource": {
			"resources/read", &protocol.Error{Code: -32602, Message: "no", Data: json.RawMessage(`{"uri":"a:b"}`)},
			`{"code":-32002,"message":"no","data":{"uri":"a:b"}}`,
		},
		"parameters of a resource": {
			"resources/read", &protocol.Error{Code: -32602, Message: "no"}, `{"code":-32602,"message":"no"}`,
		},
		"parameters": {
			"tools/call", &protocol.Error{Code: -32602, Message: "no", Data: json.RawMessage(`{"uri":"a:b"}`)},
			`{"code":-32602,"message":"no","data":{"uri":"a:b"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session, _ := open(t, serving(t, "", tt.err))
			defer session.Close()
			if got := answerOf(t, session, tt.method); got != `"error":`+tt.want+`}` {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// answerOf returns the response to a request, from behind its id, which must be
// valid.
func answerOf(t *testing.T, s *eraserver.Session, method string) string {
	t.Helper()
	m, err := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"name":"n","uri":"a:b"}}`))
	if err != nil {
		t.Fatal(err)
	}
	body := s.Call(t.Context(), m, caller, eraserver.Stream{Notifier: protocol.Discard}).Body
	if err := mcpschema.Open(t, string(s.Revision)).Check(body, method); err != nil {
		t.Error(err)
	}
	return string(body[len(`{"jsonrpc":"2.0","id":1,`):])
}
