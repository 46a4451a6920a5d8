package typedserve_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/metadata"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/status"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typedserve"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// callSay calls the tool "say", which answers by a function.
func callSay(ctx context.Context, t *testing.T, say func() (*protocol.Result, error), header http.Header) (*rpc.StatusError, *rpc.Trailer) {
	t.Helper()
	f := newFake(tools)
	f.call = func(context.Context, json.RawMessage, *protocol.Request, protocol.Notifier) (*protocol.Result, error) {
		return say()
	}
	s, addr := serve(t, typedserve.Config{Handler: f})
	c := connect(t, "grpc://"+addr, s.Service())
	got, trailer, err := c.call(ctx, method(t, c.find(), "Say"), `{}`, header)
	failed, ok := errors.AsType[*rpc.StatusError](err)
	if !ok {
		t.Fatalf("got %s, %v; want a status", got, err)
	}
	return failed, trailer
}

// TestErrors tests what errors of a server become.
func TestErrors(t *testing.T) {
	t.Parallel()
	original := &statuspb.Status{Code: int32(code.Code_ALREADY_EXISTS), Message: "it exists"}
	wire, err := proto.Marshal(original)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 5000)
	for _, tt := range []struct {
		name  string
		say   func() (*protocol.Result, error)
		code  code.Code
		want  string // the message
		check func(t *testing.T, st *statuspb.Status)
	}{
		{"tool", result(`{"isError":true,"content":[{"type":"text","text":"no such city"},{"type":"audio","data":"AAAA","mimeType":"audio/wav"}],"structuredContent":[1],"x/y":2}`),
			code.Code_UNKNOWN, "no such city", func(t *testing.T, st *statuspb.Status) {
				e := detail(t, st, &mcpv1.ToolError{}).GetResult()
				if !e.GetIsError() || e.GetContent()[1].GetAudio().GetMimeType() != "audio/wav" || e.GetStructuredContent().GetListValue() == nil || string(e.GetExtra()) != `{"x/y":2}` {
					t.Errorf("got %v", e)
				}
			}},
		{"long", result(`{"isError":true,"content":[{"type":"text","text":"` + long + `"},{"type":"image","data":"` + long + `","mimeType":"image/png"},{"type":"text","text":"end"}]}`),
			code.Code_UNKNOWN, strings.Repeat("x", 1021) + "...", func(t *testing.T, st *statuspb.Status) {
				e := detail(t, st, &mcpv1.ToolError{}).GetResult()
				if len(e.GetContent()) != 2 || e.GetContent()[1].GetText().GetText() != "end" || proto.Size(st) > 6<<10 {
					t.Errorf("%d bytes: %v", proto.Size(st), e)
				}
			}},
		{"nothing said", result(`{"isError":true,"content":[]}`), code.Code_UNKNOWN, "the tool has failed", nil},
		{"a bridge's", func() (*protocol.Result, error) {
			return &protocol.Result{Body: json.RawMessage(`{"isError":true,"content":[]}`), Meta: json.RawMessage(`{"` + status.MetaKey + `":"` + base64.StdEncoding.EncodeToString(wire) + `"}`)}, nil
		}, code.Code_ALREADY_EXISTS, "it exists", func(t *testing.T, st *statuspb.Status) {
			if !proto.Equal(st, original) {
				t.Errorf("got %v", st)
			}
		}},
		{"JSON-RPC", failing(&protocol.Error{Code: -32602, Message: "no", Data: json.RawMessage(`{"a":[1]}`)}), code.Code_INVALID_ARGUMENT, "no", func(t *testing.T, st *statuspb.Status) {
			e := detail(t, st, &mcpv1.JsonRpcError{})
			if e.GetCode() != -32602 || e.GetData().GetStructValue().GetFields()["a"] == nil {
				t.Errorf("got %v", e)
			}
		}},
		{"capability", failing(protocol.MissingCapability(`{"elicitation":{}}`)), code.Code_FAILED_PRECONDITION, "", func(t *testing.T, st *statuspb.Status) {
			if detail(t, st, &mcpv1.JsonRpcError{}).GetMissingRequiredClientCapability().GetRequiredCapabilities().GetElicitation() == nil {
				t.Errorf("got %v", st)
			}
		}},
		{"down", failing(&protocol.UpstreamError{Kind: protocol.UpstreamThrottled, Message: "slower", RetryAfter: time.Second}), code.Code_RESOURCE_EXHAUSTED, "slower", func(t *testing.T, st *statuspb.Status) {
			if len(st.GetDetails()) != 2 {
				t.Fatalf("got %v", st)
			}
			retry, fault := &statuspb.Status{Details: st.GetDetails()[:1]}, &statuspb.Status{Details: st.GetDetails()[1:]}
			if detail(t, retry, &errdetails.RetryInfo{}).GetRetryDelay().AsDuration() != time.Second || detail(t, fault, &mcpv1.JsonRpcError{}).GetCode() != -32603 {
				t.Errorf("got %v", st)
			}
		}},
		{"challenge", failing(&protocol.Error{Code: -32600, Message: "a token, please", Challenge: "Bearer"}), code.Code_UNAUTHENTICATED, "a token, please", nil},
		{"secret", failing(errors.New("secret")), code.Code_INTERNAL, "internal error", nil},
		{"task", func() (*protocol.Result, error) {
			return &protocol.Result{Type: protocol.ResultTask, Body: json.RawMessage(`{"taskId":"7","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":1000}`)}, nil
		}, code.Code_UNKNOWN, "", func(t *testing.T, st *statuspb.Status) {
			if r := detail(t, st, &mcpv1.CallToolResponse{}); r.GetTask() == nil {
				t.Errorf("got %v", r)
			}
		}},
		{"no MCP", result(`{"content":7}`), code.Code_INTERNAL, "what the MCP server said is no MCP", nil},
		{"panic", func() (*protocol.Result, error) { panic("it panics") }, code.Code_INTERNAL, "internal error", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			failed, trailer := callSay(t.Context(), t, tt.say, nil)
			if failed.Code() != tt.code || tt.want != "" && failed.Status.GetMessage() != tt.want {
				t.Errorf("got %v; want %v: %s", failed, tt.code, tt.want)
			}
			if tt.check != nil {
				tt.check(t, failed.Status)
			}
			if got := trailer.Header.Get("Www-Authenticate"); (got != "") != (tt.code == code.Code_UNAUTHENTICATED) {
				t.Errorf("the challenge is %q", got)
			}
		})
	}
}

func result(body string) func() (*protocol.Result, error) {
	return func() (*protocol.Result, error) { return &protocol.Result{Body: json.RawMessage(body)}, nil }
}

func failing(err error) func() (*protocol.Result, error) {
	return func() (*protocol.Result, error) { return nil, err }
}

// detail returns the only detail of a status.
func detail[M proto.Message](t *testing.T, st *statuspb.Status, m M) M {
	t.Helper()
	if len(st.GetDetails()) != 1 {
		t.Fatalf("%d details: %v", len(st.GetDetails()), st)
	}
	if err := st.GetDetails()[0].UnmarshalTo(m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMetadataIsTooMuch tests a _meta that no Struct holds.
func TestMetadataIsTooMuch(t *testing.T) {
	t.Parallel()
	f := newFake(tools)
	f.call = func(context.Context, json.RawMessage, *protocol.Request, protocol.Notifier) (*protocol.Result, error) {
		return &protocol.Result{Body: json.RawMessage(`{"content":[],"structuredContent":{"sum":1,"more":2}}`), Meta: json.RawMessage(`{"n":9007199254740993}`)}, nil
	}
	s, addr := serve(t, typedserve.Config{Handler: f})
	c := connect(t, "grpc://"+addr, s.Service())
	got, _, err := c.call(t.Context(), method(t, c.find(), "Add"), `{}`, nil)
	raw := base64.StdEncoding.EncodeToString([]byte(`{"sum":1,"more":2}`))
	if err != nil || got[0] != `{"structuredRaw":"`+raw+`"}` {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestElicitation answers what the server asks.
func TestElicitation(t *testing.T) {
	t.Parallel()
	f := newFake(tools)
	f.call = func(_ context.Context, params json.RawMessage, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		if !protocol.HasCapability(r.Meta.Capabilities, "elicitation", "form") {
			return nil, protocol.MissingCapability(`{"elicitation":{}}`)
		}
		var p struct {
			InputResponses map[string]json.RawMessage
			RequestState   string
		}
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		if p.InputResponses == nil {
			return &protocol.Result{Type: protocol.ResultInputRequired, Body: json.RawMessage(`{"requestState":"sealed","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}}}`)}, nil
		}
		text, err := json.Marshal(p.RequestState + string(p.InputResponses["q"]))
		return &protocol.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":` + string(text) + `}]}`)}, err
	}
	s, addr := serve(t, typedserve.Config{Handler: f})
	c := connect(t, "grpc://"+addr, s.Service())
	say := method(t, c.find(), "Say")
	capable := &mcpv1.RequestMeta{ClientCapabilities: &mcpv1.ClientCapabilities{Elicitation: &mcpv1.ElicitationCapability{}}}

	_, _, err := c.call(t.Context(), say, `{}`, rest(t, &mcpv1.CallToolRequest{Meta: capable}))
	failed, ok := errors.AsType[*rpc.StatusError](err)
	if !ok || failed.Code() != code.Code_FAILED_PRECONDITION {
		t.Fatal(err)
	}
	required := detail(t, failed.Status, &mcpv1.InputRequiredResult{})
	if required.GetInputRequests()["q"].GetElicitation().GetForm().GetMessage() != "Who?" {
		t.Fatalf("got %v", required)
	}
	answer := map[string]*mcpv1.ElicitValue{"name": {Value: &mcpv1.ElicitValue_Text{Text: "Ada"}}}
	got, _, err := c.call(t.Context(), say, `{}`, rest(t, &mcpv1.CallToolRequest{
		Meta: capable, RequestState: required.RequestState,
		InputResponses: map[string]*mcpv1.InputResponse{"q": {Response: &mcpv1.InputResponse_Elicitation{Elicitation: &mcpv1.ElicitResult{
			Action: mcpv1.ElicitAction_ELICIT_ACTION_ACCEPT, Content: answer,
		}}}},
	}))
	if want := quote(`sealed{"action":"accept","content":{"name":"Ada"}}`); err != nil || !strings.Contains(got[0], want) {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}

	for _, tt := range []struct {
		name   string
		header http.Header
		want   string
	}{
		{"no message", http.Header{metadata.RestHeader: {"\xff"}}, "is no mcp.v1.CallToolRequest"},
		{"arguments", rest(t, &mcpv1.CallToolRequest{Name: "x"}), `has the member "name": want input_responses`},
		{"revision", rest(t, &mcpv1.CallToolRequest{Meta: &mcpv1.RequestMeta{ProtocolVersion: "2025-11-25"}}), "2025-11-25"},
	} {
		if _, _, err := c.call(t.Context(), say, `{}`, tt.header); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
}

// rest is the metadata with what requests have no fields for.
func rest(t *testing.T, m *mcpv1.CallToolRequest) http.Header {
	t.Helper()
	wire, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return http.Header{metadata.RestHeader: {string(wire)}}
}
