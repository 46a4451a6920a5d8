package main

import (
	"testing"

	"connectrpc.com/connect"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

const lacking = "the client has not declared a capability that this request needs"

func TestCallTool(t *testing.T) {
	t.Parallel()
	client, _ := start(t)
	for _, tt := range []struct {
		name      string
		arguments map[string]any
		want      string // of the first text
		failed    bool
	}{
		{"test_simple_text", nil, "This is a simple text response for testing.", false},
		{"test_error_handling", nil, "This tool intentionally returns an error for testing", true},
		{"greet", map[string]any{"name": "Ada"}, "Hello, Ada!", false},
		{"greet", map[string]any{"name": 5}, "json: cannot unmarshal number into Go struct field .Name of type string", true},
		{"slow_compute", map[string]any{"seconds": 0, "label": "x"}, "computed x", false},
		{"slow_compute", map[string]any{"seconds": 3601}, "seconds must be from 0 to 3600", true},
		{"test_missing_capability", nil, "The client has a model.", false},
	} {
		response, err := client.CallTool(t.Context(), request(t, tt.name, tt.arguments))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		result := response.GetComplete()
		if got := result.GetContent()[0].GetText().GetText(); got != tt.want || result.GetIsError() != tt.failed {
			t.Errorf("%s(%v) answers %q, failed: %t; want %q, %t", tt.name, tt.arguments, got, result.GetIsError(), tt.want, tt.failed)
		}
	}
}

func TestCallToolErrors(t *testing.T) {
	t.Parallel()
	client, _ := start(t)
	_, err := client.CallTool(t.Context(), request(t, "nope", nil))
	wantFailure(t, err, connect.CodeInvalidArgument, codeInvalidParams, `there is no tool "nope"`)

	// Clients that can do nothing.
	for _, name := range []string{"test_missing_capability", "test_sampling", "test_elicitation", "confirm_delete"} {
		r := request(t, name, nil)
		r.Meta = nil
		_, err := client.CallTool(t.Context(), r)
		wantFailure(t, err, connect.CodeFailedPrecondition, codeMissingCapability, lacking)
	}
	page := "2"
	_, err = client.ListTools(t.Context(), &mcpv1.ListToolsRequest{Cursor: &page})
	wantFailure(t, err, connect.CodeInvalidArgument, codeInvalidParams, "there is one page only")
	_, err = client.ReadResource(t.Context(), &mcpv1.ReadResourceRequest{Uri: "test://template//data"})
	wantFailure(t, err, connect.CodeNotFound, codeInvalidParams, "there is no such resource")
	_, err = client.GetPrompt(t.Context(), &mcpv1.GetPromptRequest{Name: "test_prompt_with_arguments", Arguments: map[string]string{"arg1": "x"}})
	wantFailure(t, err, connect.CodeInvalidArgument, codeInvalidParams, `the argument "arg2" is missing`)
	if _, err = client.ListTasks(t.Context(), &mcpv1.ListTasksRequest{}); connect.CodeOf(err) != connect.CodeUnimplemented {
		t.Errorf("a method that is not there: %v", err)
	}
}

// Progress and logs come to clients that want them.
func TestStreamCallTool(t *testing.T) {
	t.Parallel()
	client, _ := start(t)
	for _, tt := range []struct {
		name          string
		token         *mcpv1.ProgressToken
		level         mcpv1.LoggingLevel
		progress, log int
	}{
		{"test_tool_with_progress", &mcpv1.ProgressToken{Token: &mcpv1.ProgressToken_Text{Text: "p"}}, 0, 3, 0},
		{"test_tool_with_progress", nil, 0, 0, 0},
		{"test_tool_with_logging", nil, mcpv1.LoggingLevel_LOGGING_LEVEL_DEBUG, 0, 3},
		{"test_tool_with_logging", nil, mcpv1.LoggingLevel_LOGGING_LEVEL_WARNING, 0, 0},
		{"test_tool_with_logging", nil, 0, 0, 0},
	} {
		r := request(t, tt.name, nil)
		r.Meta.ProgressToken, r.Meta.LogLevel = tt.token, tt.level
		stream, err := client.StreamCallTool(t.Context(), &mcpv1.StreamCallToolRequest{Request: r})
		if err != nil {
			t.Fatal(err)
		}
		var progress, log, results int
		for stream.Receive() {
			switch event := stream.Msg().GetEvent().(type) {
			case *mcpv1.StreamCallToolResponse_Progress:
				progress++
				if event.Progress.GetProgressToken().GetText() != "p" {
					t.Errorf("%s: progress %v", tt.name, event.Progress)
				}
			case *mcpv1.StreamCallToolResponse_LogMessage:
				log++
			case *mcpv1.StreamCallToolResponse_Result:
				results++
			}
		}
		if err := stream.Err(); err != nil {
			t.Error(err)
		}
		if err := stream.Close(); err != nil {
			t.Error(err)
		}
		if progress != tt.progress || log != tt.log || results != 1 {
			t.Errorf("%s: %d times progress, %d messages, %d results; want %d, %d and one", tt.name, progress, log, results, tt.progress, tt.log)
		}
	}
}

// A state comes back as it was, for calls of the tool that has made it.
func TestState(t *testing.T) {
	t.Parallel()
	client, _ := start(t)
	r := request(t, "test_input_required_result_multi_round", nil)
	var states []string
	for _, answer := range []map[string]*mcpv1.InputResponse{
		nil,
		{"other": filled(nil)},
		{"step1": filled(map[string]any{"name": "Ada"})},
	} {
		r.InputResponses = answer
		response, err := client.CallTool(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		r.RequestState = response.GetInputRequired().RequestState
		states = append(states, response.GetInputRequired().GetRequestState())
	}
	if states[0] == "" || states[0] != states[1] || states[1] == states[2] {
		t.Errorf("the states are %q", states)
	}
	for _, forged := range []string{"", ".", states[2] + "x", "." + states[2], states[2][1:]} {
		r.RequestState = &forged
		_, err := client.CallTool(t.Context(), r)
		wantFailure(t, err, connect.CodeInvalidArgument, codeInvalidParams, "requestState is not what the server has sent")
	}
	other := request(t, "test_input_required_result_request_state", nil)
	other.RequestState = &states[0]
	_, err := client.CallTool(t.Context(), other)
	wantFailure(t, err, connect.CodeInvalidArgument, codeInvalidParams, "requestState is not what the server has sent")

	r.RequestState, r.InputResponses = &states[2], map[string]*mcpv1.InputResponse{"step2": filled(map[string]any{"color": "blue"})}
	response, err := client.CallTool(t.Context(), r)
	if got := response.GetComplete().GetContent(); err != nil || got[0].GetText().GetText() != "Ada likes blue" {
		t.Errorf("in the end: %v, %v", got, err)
	}
}
