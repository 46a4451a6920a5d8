package typedserve_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typedserve"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// tools are those of the fake server.
const tools = `[
	{"name":"add","inputSchema":{"type":"object","required":["version"],"properties":{"a":{"type":"integer"},"b":{"type":"integer"},"mode":{"enum":["fast mode","slow"]},"version":{"const":2}}},
		"outputSchema":{"type":"object","properties":{"sum":{"type":"integer"}}}},
	{"name":"say","inputSchema":{"type":"object"}}
]`

// echoing answers with the params that it gets.
func echoing(_ context.Context, params json.RawMessage, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
	text, err := json.Marshal(r.Method + " " + string(params))
	if err != nil {
		return nil, err
	}
	switch r.Method {
	case protocol.MethodGetPrompt:
		return &protocol.Result{Body: json.RawMessage(`{"description":"","messages":[{"role":"user","content":{"type":"text","text":` + string(text) + `}}]}`)}, nil
	case protocol.MethodReadResource:
		return &protocol.Result{Body: json.RawMessage(`{"contents":[{"uri":"x:y","text":` + string(text) + `}]}`)}, nil
	default:
		return &protocol.Result{
			Body: json.RawMessage(`{"content":[{"type":"text","text":` + string(text) + `}],"structuredContent":{"sum":3},"x/unknown":1,"isError":false}`),
			Meta: json.RawMessage(`{"a":[1.5]}`),
		}, nil
	}
}

// TestProtocols calls what is found by reflection, over every protocol.
func TestProtocols(t *testing.T) {
	t.Parallel()
	f := newFake(tools)
	f.call = echoing
	s, addr := serve(t, typedserve.Config{Handler: f})
	if s.Service() != "mcp.gen.fake.v1.FakeTools" {
		t.Errorf("the service is %s", s.Service())
	}
	for _, scheme := range []string{"grpc://", "grpcweb+http://", "connect+http://"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			// Reflection needs HTTP/2, which only gRPC speaks here.
			service := connect(t, "grpc://"+addr, s.Service()).find()
			c := connect(t, scheme+addr, s.Service())
			for _, tt := range []struct{ method, request, params, rest string }{
				{"Add", `{"a":"1","b":"9007199254740993","mode":"MODE_FAST_MODE"}`, `tools/call {"name":"add","arguments":{"a":1,"b":9007199254740993,"mode":"fast mode","version":2}}`, `"meta":{"a":[1.5]},"structured":{"sum":"3"}}`},
				{"Say", `{}`, `tools/call {"name":"say","arguments":{}}`, `"meta":{"a":[1.5]},"structuredRaw":"eyJzdW0iOjN9"}`},
				{"GetPromptGreet", `{"who":"you"}`, `prompts/get {"name":"greet","arguments":{"who":"you"}}`, `"role":"ROLE_USER"}]}`},
				{"ReadNote", `{"id":"a b","part":"é"}`, `resources/read {"uri":"note://a%20b?part=%C3%A9"}`, `"uri":"x:y"}]}`},
				{"ReadNote", `{}`, `resources/read {"uri":"note://"}`, `"uri":"x:y"}]}`},
			} {
				got, _, err := c.call(t.Context(), method(t, service, tt.method), tt.request, nil)
				if err != nil || len(got) != 1 || !strings.Contains(got[0], `"text":`+quote(tt.params)) || !strings.HasSuffix(got[0], tt.rest) {
					t.Errorf("%s: %s, %v", tt.method, got, err)
				}
			}
		})
	}
}

// TestJSON calls over the Connect protocol with JSON, which is ProtoJSON.
func TestJSON(t *testing.T) {
	t.Parallel()
	f := newFake(tools)
	f.call = echoing
	s, addr := serve(t, typedserve.Config{Handler: f})
	for _, tt := range []struct {
		method, request, want string
		status                int
	}{
		{"Add", `{"a":"1","b":2,"mode":"MODE_FAST_MODE"}`, `{"structured":{"sum":"3"},"content":[{"text":{"text":"tools/call {\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2,\"mode\":\"fast mode\",\"version\":2}}"}}],"meta":{"a":[1.5]}}`, 200},
		{"Add", `{"a":"x","c":1}`, `"google.rpc.BadRequest"`, 400},
		{"Nothing", `{}`, `"code":"unimplemented","message":"there is no RPC /mcp.gen.fake.v1.FakeTools/Nothing"`, 501},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/"+string(s.Service())+"/"+tt.method, strings.NewReader(tt.request))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		transport := &http.Transport{}
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		transport.CloseIdleConnections()
		if resp.StatusCode != tt.status || !strings.Contains(string(body), tt.want) {
			t.Errorf("%s: %d %s", tt.method, resp.StatusCode, body)
		}
	}
}
