package googlemcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectcall"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol/modelcontextprotocolconnect"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/samejson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// asks is a server that needs input, and then answers with what it was given.
func asks(inputs string) protocol.HandlerFunc {
	return func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		responses, answered := jsontok.Lookup(r.Params, "inputResponses")
		state, _ := jsontok.Lookup(r.Params, "requestState")
		name, _ := jsontok.Lookup(r.Params, "name")
		arguments, _ := jsontok.Lookup(r.Params, "arguments")
		if !answered {
			return &protocol.Result{Type: protocol.ResultInputRequired, Body: json.RawMessage(`{"inputRequests":` + inputs + `,"requestState":"sealed"}`)}, nil
		}
		text := jsontok.AppendString(nil, strings.Join([]string{string(name), string(arguments), string(state), string(responses)}, " "))
		switch r.Method {
		case protocol.MethodReadResource:
			return result(`{"resultType":"complete","contents":[{"uri":"x:y","text":` + string(text) + `}]}`), nil
		case protocol.MethodGetPrompt:
			return result(`{"resultType":"complete","messages":[{"role":"user","content":{"type":"text","text":` + string(text) + `}}]}`), nil
		default:
			return result(`{"resultType":"complete","content":[{"type":"text","text":` + string(text) + `}]}`), nil
		}
	}
}

const question = `{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}`

func TestInputThroughTheService(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		method       string
		params       string
		inputs, want string // what the server asks, and the client sees if that is different
		responses    string
		given        string // what the server is given, if not the responses
	}{
		{
			name: "form", method: protocol.MethodCallTool, params: `{"name":"t","arguments":{"a":1}}`,
			inputs: `{"q":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","required":["s"],"properties":{` +
				`"s":{"type":"string","title":"T","description":"d","minLength":1,"maxLength":9,"format":"email"},` +
				`"u":{"type":"string","format":"uri"},"d":{"type":"string","format":"date"},"t":{"type":"string","format":"date-time"},` +
				`"n":{"type":"number","title":"T","description":"d","minimum":2,"maximum":8},` +
				`"b":{"type":"boolean","title":"T","description":"d","default":true},` +
				`"e":{"type":"string","title":"T","description":"d","enum":["x","y"],"enumNames":["X","Y"]}}}}}}`,
			responses: `{"q":{"action":"accept","content":{"s":"a@b.c","n":2.5,"b":false,"e":"x"}}}`,
		},
		{
			name: "form with what is lost", method: protocol.MethodCallTool, params: `{"name":"t","arguments":{"a":1}}`,
			inputs: `{"q":{"method":"elicitation/create","params":{"mode":"form","message":"","requestedSchema":{"$schema":"x","type":"object","properties":{` +
				`"s":{"type":"string","minLength":0,"format":"uuid","default":"x","pattern":"y"},` +
				`"i":{"type":"integer","minimum":-3,"maximum":2.5},"b":{"type":"boolean","default":false},` +
				`"e":{"type":"string","oneOf":[{"const":"x","title":"X"}]}}}}}}`,
			want: `{"q":{"method":"elicitation/create","params":{"message":"","requestedSchema":{"type":"object","properties":{` +
				`"s":{"type":"string"},"i":{"type":"number","maximum":2},"b":{"type":"boolean"},"e":{"type":"string","enum":["x"],"enumNames":["X"]}}}}}}`,
			responses: `{"q":{"action":"cancel"}}`,
		},
		{
			name: "all at once", method: protocol.MethodCallTool, params: `{"name":"t","arguments":{"a":1}}`,
			inputs: `{"a":` + question + `,"b":{"method":"roots/list","params":{}},"c":{"method":"sampling/createMessage","params":{"maxTokens":100,` +
				`"messages":[{"role":"user","content":{"type":"text","text":"hi"}},{"role":"assistant","content":{"type":"image","data":"AA==","mimeType":"a/b"}},{"role":"user","content":{"type":"audio","data":"AA==","mimeType":"a/b"}}],` +
				`"modelPreferences":{"hints":[{"name":"h"}],"costPriority":0.1,"speedPriority":0.2,"intelligencePriority":0.9},` +
				`"systemPrompt":"s","includeContext":"thisServer","temperature":0.7,"stopSequences":["x"]}}}`,
			responses: `{"a":{"action":"decline"},"b":{"roots":[{"uri":"file:///a","name":"A"},{"uri":"file:///b"}]},` +
				`"c":{"role":"assistant","content":{"type":"text","text":"hello"},"model":"m","stopReason":"endTurn"}}`,
		},
		{
			name: "sampling with what is lost", method: protocol.MethodCallTool, params: `{"name":"t","arguments":{"a":1}}`,
			inputs: `{"c":{"method":"sampling/createMessage","params":{"maxTokens":9999999999,"metadata":{"a":1},"temperature":0,"includeContext":"none",` +
				`"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}}}`,
			want: `{"c":{"method":"sampling/createMessage","params":{"maxTokens":2147483647,` +
				`"messages":[{"role":"user","content":{"type":"text","text":"a"}},{"role":"user","content":{"type":"text","text":"b"}}]}}}`,
			responses: `{"c":{"role":"assistant","content":[{"type":"image","data":"AAEC","mimeType":"a/b"}],"model":"m"}}`,
			given:     `{"c":{"role":"assistant","content":{"type":"image","data":"AAEC","mimeType":"a/b"},"model":"m"}}`,
		},
		{
			name: "prompt", method: protocol.MethodGetPrompt, params: `{"name":"t","arguments":{"a":"1"}}`,
			inputs: `{"q":` + question + `}`, responses: `{"q":{"action":"decline"}}`,
		},
		{
			name: "resource", method: protocol.MethodReadResource, params: `{"uri":"x:y"}`,
			inputs: `{"q":` + question + `}`, responses: `{"q":{"action":"decline"}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url, hc := serve(t, asks(tt.inputs))
			c := dial(t, hc, url, connectcall.ProtocolGRPC)
			got, err := ask(t.Context(), c, tt.method, tt.params)
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "" {
				tt.want = tt.inputs
			}
			inputs, _ := jsontok.Lookup([]byte(got), "inputRequests")
			state, _ := jsontok.Lookup([]byte(got), "requestState")
			if !strings.Contains(got, `"resultType":"input_required"`) || !samejson.Equal(inputs, []byte(tt.want)) {
				t.Fatalf(" got %s\nwant %s", got, tt.want)
			}
			got, err = ask(t.Context(), c, tt.method, strings.TrimSuffix(tt.params, "}")+`,"inputResponses":`+tt.responses+`,"requestState":`+string(state)+`}`)
			if err != nil {
				t.Fatal(err)
			}
			var said struct {
				Content, Contents []struct{ Text string }
				Messages          []struct{ Content struct{ Text string } }
			}
			if err := json.Unmarshal([]byte(got), &said); err != nil {
				t.Fatal(err)
			}
			text := ""
			switch {
			case len(said.Content) > 0:
				text = said.Content[0].Text
			case len(said.Contents) > 0:
				text = said.Contents[0].Text
			case len(said.Messages) > 0:
				text = said.Messages[0].Content.Text
			}
			name, _ := jsontok.Lookup([]byte(tt.params), "name")
			arguments, _ := jsontok.Lookup([]byte(tt.params), "arguments")
			given, ok := strings.CutPrefix(text, string(name)+" "+string(arguments)+` "sealed" `)
			if tt.given == "" {
				tt.given = tt.responses
			}
			if !ok || !samejson.Equal([]byte(given), []byte(tt.given)) {
				t.Errorf("the server was given %s\nwant %s", text, tt.given)
			}
		})
	}
}

// TestInputOfTheService: clients that know only the service may leave out what
// they have called.
func TestInputOfTheService(t *testing.T) {
	t.Parallel()
	url, hc := serve(t, asks(`{"q":`+question+`}`))
	c := modelcontextprotocolconnect.NewMcpClient(hc, url, connect.WithGRPC())
	args := &structpb.Struct{Fields: map[string]*structpb.Value{"a": structpb.NewNumberValue(1)}}
	got, err := c.CallTool(t.Context(), &googlepb.CallToolRequest{Request: &googlepb.CallToolRequest_Request{Name: "t", Arguments: args}})
	if err != nil {
		t.Fatal(err)
	}
	q := got.GetCommon().GetDependentRequests()["q"].GetElicitRequest()
	if q.GetMessage() != "Who?" || q.GetRequestedSchema()["name"].GetStringSchema() == nil || len(q.GetRequiredFields()) != 1 || len(got.GetContent()) > 0 {
		t.Errorf("%v", got)
	}
	answers := map[string]*googlepb.ServerInitiatedResponse{"q": {ElicitResult: &googlepb.ElicitResult{
		Type: googlepb.ElicitResult_TYPE_ACCEPT, Content: &structpb.Struct{Fields: map[string]*structpb.Value{"name": structpb.NewStringValue("me")}},
	}}}
	got, err = c.CallTool(t.Context(), &googlepb.CallToolRequest{Common: &googlepb.RequestFields{DependentResponses: answers, ResumeData: got.GetCommon().GetResumeData()}})
	want := `"t" {"a":1} "sealed" {"q":{"action":"accept","content":{"name":"me"}}}`
	if err != nil || got.GetContent()[0].GetText().GetText() != want {
		t.Errorf("%v, %v", got, err)
	}

	for _, tt := range []struct {
		common *googlepb.RequestFields
		want   string
	}{
		{nil, "invalid_argument: request is missing"},
		{&googlepb.RequestFields{DependentResponses: answers}, "invalid_argument: request is missing"},
		{&googlepb.RequestFields{ResumeData: args}, "invalid_argument: common: resume_data is not what this server has sent"},
		{&googlepb.RequestFields{DependentResponses: map[string]*googlepb.ServerInitiatedResponse{"q": {}}}, `invalid_argument: common: dependent_responses["q"]: it is none that is known here`},
		{&googlepb.RequestFields{DependentResponses: map[string]*googlepb.ServerInitiatedResponse{"q": {ElicitResult: &googlepb.ElicitResult{}}}}, `invalid_argument: common: dependent_responses["q"]: elicit_result.type must be set`},
		{&googlepb.RequestFields{DependentResponses: map[string]*googlepb.ServerInitiatedResponse{"q": {SamplingCreateMessageResult: &googlepb.SamplingCreateMessageResult{}}}}, `must have text, an image or audio`},
	} {
		if got, err := c.CallTool(t.Context(), &googlepb.CallToolRequest{Common: tt.common}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, %v", tt.common, got, err)
		}
	}
}

// TestNoField: what the service cannot say is refused.
func TestNoField(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ inputs, want string }{
		{`{"q":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://a.example"}}}`, "an elicitation that is no form"},
		{`{"q":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","enum":["x"]}}}}}}}`, `an input of type "array"`},
		{`{"q":{"method":"elicitation/create","params":{"message":"m","requestedSchema":7}}}`, "an elicitation whose schema is no form"},
		{`{"q":{"method":"sampling/createMessage","params":{"maxTokens":1,"messages":[],"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}}`, "tools of a model"},
		{`{"q":{"method":"sampling/createMessage","params":{"maxTokens":1,"messages":[{"role":"user","content":{"type":"tool_use","id":"1","name":"n","input":{}}}]}}}`, "content of a conversation"},
		{`{"q":{"method":"x/y","params":{}}}`, `the method "x/y"`},
		{`{}`, "the MCP server needs input, and does not say which"},
	} {
		url, hc := serve(t, func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
			if tt.inputs == `{}` {
				return &protocol.Result{Type: protocol.ResultInputRequired}, nil
			}
			return asks(tt.inputs)(ctx, r, n)
		})
		c := modelcontextprotocolconnect.NewMcpClient(hc, url)
		_, err := c.GetPrompt(t.Context(), &googlepb.GetPromptRequest{Name: "p"})
		if connect.CodeOf(err) != connect.CodeInternal || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.inputs, err, tt.want)
		}
	}
	url, hc := serve(t, func(context.Context, *protocol.Request, protocol.Notifier) (*protocol.Result, error) {
		return &protocol.Result{Type: protocol.ResultTask, Body: json.RawMessage(`{"taskId":"x"}`)}, nil
	})
	c := modelcontextprotocolconnect.NewMcpClient(hc, url)
	_, err := c.CallTool(t.Context(), &googlepb.CallToolRequest{Request: &googlepb.CallToolRequest_Request{Name: "t"}})
	if connect.CodeOf(err) != connect.CodeInternal || !strings.Contains(err.Error(), `no field for a result of type "task"`) {
		t.Error(err)
	}
}

// TestAnswersNoField: nor can clients answer what the service cannot say.
func TestAnswersNoField(t *testing.T) {
	t.Parallel()
	url, hc := serve(t, asks(`{"q":`+question+`}`))
	c := dial(t, hc, url, connectcall.ProtocolConnect)
	for _, tt := range []struct{ params, want string }{
		{`"inputResponses":{"q":{"x":1}}`, `params.inputResponses["q"]: model_context_protocol.Mcp has no field for an answer that is none to an elicitation, to sampling or about roots`},
		{`"inputResponses":{"q":{"action":"maybe"}}`, `an action that is not accept, decline or cancel`},
		{`"inputResponses":{"q":{"role":"user","model":"m","content":[]}}`, `an answer of a model that is not one piece of content`},
		{`"requestState":"x"`, "params.requestState is not one of this server"},
		{`"requestState":7`, "params.requestState has the wrong type"},
		{`"arguments":[]`, "params.arguments must be an object"},
	} {
		_, err := ask(t.Context(), c, protocol.MethodCallTool, `{"name":"t",`+tt.params+`}`)
		fault, ok := errors.AsType[*protocol.Error](err)
		if !ok || fault.Code != protocol.CodeInvalidParams || !strings.Contains(fault.Message, tt.want) {
			t.Errorf("%s: %v, want %s", tt.params, err, tt.want)
		}
	}
}

// TestAskedAgain: a server that only wants to be asked again is, as the service
// cannot say that.
func TestAskedAgain(t *testing.T) {
	t.Parallel()
	url, hc := serve(t, func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		if state, ok := jsontok.Lookup(r.Params, "requestState"); ok {
			return result(`{"resultType":"complete","content":[{"type":"text","text":` + string(state) + `}]}`), nil
		}
		return &protocol.Result{Type: protocol.ResultInputRequired, Body: json.RawMessage(`{"requestState":"later"}`)}, nil
	})
	c := modelcontextprotocolconnect.NewMcpClient(hc, url)
	got, err := c.CallTool(t.Context(), &googlepb.CallToolRequest{Request: &googlepb.CallToolRequest_Request{Name: "t"}})
	if err != nil || got.GetContent()[0].GetText().GetText() != "later" {
		t.Errorf("%v, %v", got, err)
	}
}
