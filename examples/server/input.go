package main

import (
	"encoding/json"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

// questions are what the server asks a client, by keys of its own.
type questions map[string]*mcpv1.InputRequest

// answers are what the client has answered, by the same keys. Others may be
// among them, and each can be missing: whoever asks looks for what it needs.
type answers map[string]*mcpv1.InputResponse

// ask is the response of a tool that needs something first. The client calls it
// again with the answers and the state, which may be empty.
func (c *call) ask(state string, q questions) (*mcpv1.CallToolResponse, error) {
	return &mcpv1.CallToolResponse{Result: &mcpv1.CallToolResponse_InputRequired{InputRequired: c.server.inputRequired(c.request.GetName(), state, q)}}, nil
}

func (s *server) inputRequired(name, state string, q questions) *mcpv1.InputRequiredResult {
	required := &mcpv1.InputRequiredResult{InputRequests: q}
	if state != "" {
		required.RequestState = s.seal(name, state)
	}
	return required
}

// answers returns what the client has answered.
func (c *call) answers() answers { return c.request.GetInputResponses() }

// form asks the user to fill in inputs. All that are named must be filled in.
func form(message string, inputs map[string]*mcpv1.PrimitiveSchemaDefinition, required ...string) *mcpv1.InputRequest {
	return &mcpv1.InputRequest{ParamsForm: &mcpv1.InputRequest_Elicitation{Elicitation: &mcpv1.ElicitRequestParams{
		Params: &mcpv1.ElicitRequestParams_Form{Form: &mcpv1.ElicitRequestFormParams{
			Message: message,
			RequestedSchemaForm: &mcpv1.ElicitRequestFormParams_RequestedSchema{RequestedSchema: &mcpv1.ElicitSchema{
				Type: "object", Properties: inputs, Required: required,
			}},
		}},
	}}}
}

// textForm asks the user for one text.
func textForm(message, input string) *mcpv1.InputRequest {
	return form(message, map[string]*mcpv1.PrimitiveSchemaDefinition{input: {Type: "string"}}, input)
}

// consent asks the user for a yes or a no, in the input "confirm".
func consent(message string) *mcpv1.InputRequest {
	return form(message, map[string]*mcpv1.PrimitiveSchemaDefinition{"confirm": {Type: "boolean"}}, "confirm")
}

// sampling asks the model.
func sampling(prompt string, maxTokens int64) *mcpv1.InputRequest {
	return &mcpv1.InputRequest{ParamsForm: &mcpv1.InputRequest_Sampling{Sampling: &mcpv1.CreateMessageRequestParams{
		Messages: []*mcpv1.SamplingMessage{{
			Role:        mcpv1.Role_ROLE_USER,
			ContentForm: &mcpv1.SamplingMessage_Content{Content: text(prompt)},
		}},
		MaxTokens: maxTokens,
	}}}
}

// roots asks for the roots of the client.
func roots() *mcpv1.InputRequest {
	return &mcpv1.InputRequest{ParamsForm: &mcpv1.InputRequest_Roots{Roots: &mcpv1.ListRootsRequestParams{}}}
}

// accepted returns what the user has filled in. It is not ok where he was not
// asked, or would not.
func (a answers) accepted(key string) (content map[string]*mcpv1.ElicitValue, ok bool) {
	result := a[key].GetElicitation()
	return result.GetContent(), result.GetAction() == mcpv1.ElicitAction_ELICIT_ACTION_ACCEPT
}

// text returns a text that the user has filled in, or nothing.
func (a answers) text(key, input string) string {
	content, _ := a.accepted(key)
	return content[input].GetText()
}

// said returns what the model has said.
func (a answers) said(key string) (said string, ok bool) {
	result := a[key].GetSampling()
	blocks := result.GetContentList().GetValues()
	if block := result.GetContent(); block != nil {
		blocks = append(blocks, block)
	}
	for _, block := range blocks {
		said += block.GetText().GetText()
	}
	return said, result != nil
}

// show writes what the user has filled in as JSON.
func show(content map[string]*mcpv1.ElicitValue) string {
	values := make(map[string]any, len(content))
	for name, value := range content {
		switch v := value.GetValue().(type) {
		case *mcpv1.ElicitValue_Text:
			values[name] = v.Text
		case *mcpv1.ElicitValue_Number:
			values[name] = v.Number
		case *mcpv1.ElicitValue_Flag:
			values[name] = v.Flag
		case *mcpv1.ElicitValue_List:
			values[name] = v.List.GetValues()
		case *mcpv1.ElicitValue_Json:
			values[name] = json.RawMessage(v.Json)
		}
	}
	text, err := json.Marshal(values)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
