package main

import (
	"context"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

// prompt is what a user can start a conversation with.
type prompt struct {
	description *mcpv1.Prompt
	get         func(*server, *mcpv1.GetPromptRequest) (*mcpv1.GetPromptResponse, error)
}

func allPrompts() []*prompt {
	argument := func(name, description string) *mcpv1.PromptArgument {
		return &mcpv1.PromptArgument{Name: name, Description: description, Required: new(true)}
	}
	return []*prompt{
		{
			description: &mcpv1.Prompt{Name: "test_simple_prompt", Title: "Simple", Description: "Has no arguments"},
			get: func(*server, *mcpv1.GetPromptRequest) (*mcpv1.GetPromptResponse, error) {
				return messages("A simple prompt", text("This is a simple prompt for testing."))
			},
		},
		{
			description: &mcpv1.Prompt{
				Name: "test_prompt_with_arguments", Title: "Filled in", Description: "Has two arguments",
				Arguments: []*mcpv1.PromptArgument{argument("arg1", "The first one"), argument("arg2", "The second one")},
			},
			get: func(_ *server, r *mcpv1.GetPromptRequest) (*mcpv1.GetPromptResponse, error) {
				a := r.GetArguments()
				return messages("A prompt with arguments", text("arg1 is "+a["arg1"]+" and arg2 is "+a["arg2"]))
			},
		},
		{
			description: &mcpv1.Prompt{
				Name: "test_prompt_with_embedded_resource", Title: "With a resource", Description: "Has the contents of a resource in it",
				Arguments: []*mcpv1.PromptArgument{argument("resourceUri", "Where the resource is")},
			},
			get: func(_ *server, r *mcpv1.GetPromptRequest) (*mcpv1.GetPromptResponse, error) {
				return messages("A prompt with a resource",
					embedded(r.GetArguments()["resourceUri"], "Embedded resource content for testing."),
					text("Please process the resource above."))
			},
		},
		{
			description: &mcpv1.Prompt{Name: "test_prompt_with_image", Title: "With a picture", Description: "Has a picture in it"},
			get: func(*server, *mcpv1.GetPromptRequest) (*mcpv1.GetPromptResponse, error) {
				return messages("A prompt with a picture", picture(), text("Please look at the picture above."))
			},
		},
		{
			description: &mcpv1.Prompt{Name: "test_input_required_result_prompt", Title: "With a question", Description: "Asks the user what it is about"},
			get: func(s *server, r *mcpv1.GetPromptRequest) (*mcpv1.GetPromptResponse, error) {
				if about := answers(r.GetInputResponses()).text("user_context", "context"); about != "" {
					return messages("A prompt about something", text("It is about "+about+"."))
				}
				required := s.inputRequired(r.GetName(), "", questions{"user_context": textForm("What is it about?", "context")})
				return &mcpv1.GetPromptResponse{Result: &mcpv1.GetPromptResponse_InputRequired{InputRequired: required}}, nil
			},
		},
	}
}

// messages is a prompt of which the user says everything.
func messages(description string, content ...*mcpv1.ContentBlock) (*mcpv1.GetPromptResponse, error) {
	result := &mcpv1.GetPromptResult{Description: description}
	for _, block := range content {
		result.Messages = append(result.Messages, &mcpv1.PromptMessage{Role: mcpv1.Role_ROLE_USER, Content: block})
	}
	return &mcpv1.GetPromptResponse{Result: &mcpv1.GetPromptResponse_Complete{Complete: result}}, nil
}

// ListPrompts lists the prompts, all on one page.
func (s *server) ListPrompts(_ context.Context, r *mcpv1.ListPromptsRequest) (*mcpv1.ListPromptsResponse, error) {
	if err := onlyPage(r); err != nil {
		return nil, err
	}
	response := &mcpv1.ListPromptsResponse{TtlMs: new(cacheFor), CacheScope: mcpv1.CacheScope_CACHE_SCOPE_PUBLIC}
	for _, p := range s.prompts.all() {
		response.Prompts = append(response.Prompts, p.description)
	}
	return response, nil
}

// GetPrompt fills in a prompt.
func (s *server) GetPrompt(_ context.Context, r *mcpv1.GetPromptRequest) (*mcpv1.GetPromptResponse, error) {
	p, ok := s.prompts.get(r.GetName())
	if !ok {
		return nil, invalid("there is no prompt %q", r.GetName())
	}
	for _, argument := range p.description.GetArguments() {
		if r.GetArguments()[argument.GetName()] == "" && argument.GetRequired() {
			return nil, invalid("the argument %q is missing", argument.GetName())
		}
	}
	return p.get(s, r)
}
