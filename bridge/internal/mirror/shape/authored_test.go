package shape_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/samejson"
)

// TestWrittenInGo says what the JSON of messages is that a program makes, with
// nothing in them but what it wants to say.
func TestWrittenInGo(t *testing.T) {
	t.Parallel()
	text := &mcpv1.ContentBlock{Content: &mcpv1.ContentBlock_Text{Text: &mcpv1.TextContent{Text: "done"}}}
	for name, tt := range map[string]struct {
		message proto.Message
		want    string
	}{
		"call": {
			&mcpv1.CallToolRequest{
				Name:          "add",
				ArgumentsForm: &mcpv1.CallToolRequest_Arguments{Arguments: &structpb.Struct{}},
				Meta:          &mcpv1.RequestMeta{ProgressToken: &mcpv1.ProgressToken{Token: &mcpv1.ProgressToken_Text{Text: "p"}}},
			},
			`{"name":"add","arguments":{},"_meta":{"progressToken":"p"}}`,
		},
		"call with JSON": {
			&mcpv1.CallToolRequest{Name: "add", ArgumentsForm: &mcpv1.CallToolRequest_ArgumentsJson{ArgumentsJson: []byte(`{"a":1.0}`)}},
			`{"name":"add","arguments":{"a":1.0}}`,
		},
		"result": {
			&mcpv1.CallToolResponse{Result: &mcpv1.CallToolResponse_Complete{Complete: &mcpv1.CallToolResult{
				Content:               []*mcpv1.ContentBlock{text},
				StructuredContentForm: &mcpv1.CallToolResult_StructuredContent{StructuredContent: structpb.NewNullValue()},
				IsError:               new(false),
			}}},
			`{"content":[{"type":"text","text":"done"}],"structuredContent":null,"isError":false}`,
		},
		"empty result": {
			&mcpv1.CallToolResponse{Result: &mcpv1.CallToolResponse_Complete{Complete: &mcpv1.CallToolResult{ResultType: new("complete")}}},
			`{"resultType":"complete","content":[]}`,
		},
		"question": {
			&mcpv1.CallToolResponse{Result: &mcpv1.CallToolResponse_InputRequired{InputRequired: &mcpv1.InputRequiredResult{
				InputRequests: map[string]*mcpv1.InputRequest{
					"who": {ParamsForm: &mcpv1.InputRequest_Elicitation{Elicitation: &mcpv1.ElicitRequestParams{Params: &mcpv1.ElicitRequestParams_Form{Form: &mcpv1.ElicitRequestFormParams{
						Message: "Who?",
						RequestedSchemaForm: &mcpv1.ElicitRequestFormParams_RequestedSchema{RequestedSchema: &mcpv1.ElicitSchema{
							Type:       "object",
							Properties: map[string]*mcpv1.PrimitiveSchemaDefinition{"name": {Type: "string"}},
						}},
					}}}}},
					"in": {ParamsForm: &mcpv1.InputRequest_Elicitation{Elicitation: &mcpv1.ElicitRequestParams{Params: &mcpv1.ElicitRequestParams_Url{Url: &mcpv1.ElicitRequestUrlParams{
						Message: "Sign in", Url: "https://example.com",
					}}}}},
					"where": {ParamsForm: &mcpv1.InputRequest_Roots{Roots: &mcpv1.ListRootsRequestParams{}}},
				},
			}}},
			`{"resultType":"input_required","inputRequests":{
				"in":{"method":"elicitation/create","params":{"mode":"url","message":"Sign in","url":"https://example.com"}},
				"where":{"method":"roots/list","params":{}},
				"who":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}}}`,
		},
		"answers": {
			&mcpv1.ReadResourceRequest{
				Uri: "file:///a",
				InputResponses: map[string]*mcpv1.InputResponse{
					"who": {Response: &mcpv1.InputResponse_Elicitation{Elicitation: &mcpv1.ElicitResult{
						Action:  mcpv1.ElicitAction_ELICIT_ACTION_ACCEPT,
						Content: map[string]*mcpv1.ElicitValue{"age": {Value: &mcpv1.ElicitValue_Number{Number: 7}}},
					}}},
					"where": {Response: &mcpv1.InputResponse_Roots{Roots: &mcpv1.ListRootsResult{}}},
				},
				RequestState: new(""),
			},
			`{"uri":"file:///a","inputResponses":{"where":{"roots":[]},"who":{"action":"accept","content":{"age":7}}},"requestState":""}`,
		},
		"page": {
			&mcpv1.ListToolsResponse{TtlMs: new(int64(0)), CacheScope: mcpv1.CacheScope_CACHE_SCOPE_PUBLIC},
			`{"tools":[],"ttlMs":0,"cacheScope":"public"}`,
		},
		"task without end": {
			&mcpv1.GetTaskResponse{TaskId: "t", Status: mcpv1.TaskStatus_TASK_STATUS_COMPLETED,
				TtlMsForm:  &mcpv1.GetTaskResponse_TtlMsNull{},
				ResultForm: &mcpv1.GetTaskResponse_ToolResult{ToolResult: &mcpv1.CallToolResult{}}},
			`{"taskId":"t","status":"completed","ttlMs":null,"result":{"content":[]}}`,
		},
		"members of one's own": {
			&mcpv1.Icon{Src: "data:,", Extra: []byte(`{"x":[1],"src":"hidden"}`)},
			`{"src":"data:,","x":[1]}`,
		},
		"list changed": {
			&mcpv1.ListenResponse{Event: &mcpv1.ListenResponse_ToolsListChanged{ToolsListChanged: &mcpv1.NotificationParams{}}},
			`{"method":"notifications/tools/list_changed","params":{}}`,
		},
		"batch": {
			&mcpv1.JsonRpcFrame{Frame: &mcpv1.JsonRpcFrame_Batch{Batch: &mcpv1.JsonRpcBatch{Messages: []*mcpv1.JsonRpcMessage{
				{Jsonrpc: "2.0", Method: "notifications/initialized"},
			}}}},
			`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wire, err := proto.Marshal(tt.message)
			if err != nil {
				t.Fatal(err)
			}
			codec, err := compilers()[0].Codec(tt.message.ProtoReflect().Descriptor())
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := codec.AppendJSON(nil, wire)
			if err != nil {
				t.Fatal(err)
			}
			if !samejson.Equal(got, []byte(tt.want)) {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}
