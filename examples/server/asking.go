package main

import (
	"context"
	"fmt"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

// askingTools ask the user or the model once, and say what was answered.
func askingTools() []*tool {
	return []*tool{
		{
			name: "test_elicitation", description: "Asks the user for a name",
			schema: `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`,
			run: func(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
				var arguments struct{ Message string }
				if err := c.arguments(&arguments); err != nil {
					return failed(err.Error())
				}
				return c.elicit(textForm(arguments.Message, "username"))
			},
		},
		{
			name: "test_elicitation_sep1034_defaults", description: "Asks the user to fill in a form with proposals",
			run: func(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
				return c.elicit(form("Is this right?", proposals()))
			},
		},
		{
			name: "test_elicitation_sep1330_enums", description: "Asks the user to choose, in every way",
			run: func(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
				return c.elicit(form("What do you choose?", choices()))
			},
		},
		{
			name: "test_sampling", description: "Asks the model",
			schema: `{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`,
			run: func(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
				var arguments struct{ Prompt string }
				if err := c.arguments(&arguments); err != nil {
					return failed(err.Error())
				}
				if err := needsSampling(c.request.GetMeta()); err != nil {
					return nil, err
				}
				said, ok := c.answers().said("answer")
				if !ok {
					return c.ask("", questions{"answer": sampling(arguments.Prompt, 100)})
				}
				return done(text("LLM response: " + said))
			},
		},
	}
}

// elicit asks the user, and answers with what he has done.
func (c *call) elicit(question *mcpv1.InputRequest) (*mcpv1.CallToolResponse, error) {
	if err := needsElicitation(c.request.GetMeta()); err != nil {
		return nil, err
	}
	result := c.answers()["user"].GetElicitation()
	switch result.GetAction() {
	case mcpv1.ElicitAction_ELICIT_ACTION_ACCEPT:
		return done(text(fmt.Sprintf("User response: action=accept, content=%s", show(result.GetContent()))))
	case mcpv1.ElicitAction_ELICIT_ACTION_DECLINE:
		return done(text("User response: action=decline"))
	case mcpv1.ElicitAction_ELICIT_ACTION_CANCEL:
		return done(text("User response: action=cancel"))
	default:
		return c.ask("", questions{"user": question})
	}
}

// proposals are inputs of every type with something filled in.
func proposals() map[string]*mcpv1.PrimitiveSchemaDefinition {
	text := func(s string) *mcpv1.ElicitValue { return &mcpv1.ElicitValue{Value: &mcpv1.ElicitValue_Text{Text: s}} }
	number := func(n float64) *mcpv1.ElicitValue {
		return &mcpv1.ElicitValue{Value: &mcpv1.ElicitValue_Number{Number: n}}
	}
	return map[string]*mcpv1.PrimitiveSchemaDefinition{
		"name":     {Type: "string", Description: "Your name", DefaultValue: text("John Doe")},
		"age":      {Type: "integer", Description: "Your age", DefaultValue: number(30)},
		"score":    {Type: "number", Description: "Your score", DefaultValue: number(95.5)},
		"status":   {Type: "string", EnumValues: []string{"active", "inactive", "pending"}, DefaultValue: text("active")},
		"verified": {Type: "boolean", DefaultValue: &mcpv1.ElicitValue{Value: &mcpv1.ElicitValue_Flag{Flag: true}}},
	}
}

// choices are inputs for one and for several strings, with and without labels.
func choices() map[string]*mcpv1.PrimitiveSchemaDefinition {
	plain := []string{"option1", "option2", "option3"}
	titled := []*mcpv1.TitledConst{
		{Value: "value1", Title: "First Option"},
		{Value: "value2", Title: "Second Option"},
		{Value: "value3", Title: "Third Option"},
	}
	return map[string]*mcpv1.PrimitiveSchemaDefinition{
		"untitledSingle": {Type: "string", EnumValues: plain},
		"titledSingle":   {Type: "string", OneOf: titled},
		"legacyEnum": {
			Type: "string", EnumValues: []string{"opt1", "opt2", "opt3"},
			EnumNames: []string{"Option One", "Option Two", "Option Three"},
		},
		"untitledMulti": {
			Type: "array", MinItems: new(int64(1)), MaxItems: new(int64(3)),
			Items: &mcpv1.EnumItems{Type: "string", EnumValues: plain},
		},
		"titledMulti": {
			Type: "array", MinItems: new(int64(1)), MaxItems: new(int64(3)),
			Items: &mcpv1.EnumItems{AnyOf: titled},
		},
	}
}
