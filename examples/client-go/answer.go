package main

import (
	"fmt"
	"slices"

	mcpv1 "example.com/mcp-client/gen/mcp/v1"
)

// answer answers what the server has asked for, by the same keys. A real client
// asks its user.
func (c *client) answer(requests map[string]*mcpv1.InputRequest) (map[string]*mcpv1.InputResponse, error) {
	responses := make(map[string]*mcpv1.InputResponse, len(requests))
	for key, request := range requests {
		form := request.GetElicitation().GetForm()
		if form == nil {
			return nil, fmt.Errorf("the server asks for %T, which this client has not offered", request.GetParamsForm())
		}
		fmt.Fprintf(c.out, "  asked: %s\n", form.GetMessage())
		responses[key] = &mcpv1.InputResponse{Response: &mcpv1.InputResponse_Elicitation{Elicitation: &mcpv1.ElicitResult{
			Action:  mcpv1.ElicitAction_ELICIT_ACTION_ACCEPT,
			Content: fill(form.GetRequestedSchema()),
		}}}
	}
	return responses, nil
}

// fill fills in a form: what must be filled in with a name, as far as it is
// text, the rest with what the server proposes.
func fill(form *mcpv1.ElicitSchema) map[string]*mcpv1.ElicitValue {
	content := make(map[string]*mcpv1.ElicitValue)
	for name, input := range form.GetProperties() {
		switch {
		case input.GetDefaultValue() != nil:
			content[name] = input.GetDefaultValue()
		case input.GetType() == "string" && slices.Contains(form.GetRequired(), name):
			content[name] = &mcpv1.ElicitValue{Value: &mcpv1.ElicitValue_Text{Text: "Ada Lovelace"}}
		}
	}
	return content
}
