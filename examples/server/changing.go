package main

import (
	"context"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

// changingTools change what the server offers, and one asks for a capability.
func changingTools() []*tool {
	passing := &tool{
		name: "passing", description: "Is there from time to time",
		run: func(context.Context, *call) (*mcpv1.CallToolResponse, error) { return done() },
	}
	draft := &prompt{
		description: &mcpv1.Prompt{Name: "passing", Description: "Is there from time to time"},
		get:         func(*server, *mcpv1.GetPromptRequest) (*mcpv1.GetPromptResponse, error) { return messages("") },
	}
	return []*tool{
		{
			name: "test_trigger_tool_change", description: "Adds a tool, or takes it away",
			run: func(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
				c.server.tools.toggle(passing.name, passing)
				c.server.listeners.notify(change{of: toolsList})
				return done(text("The list of tools has changed."))
			},
		},
		{
			name: "test_trigger_prompt_change", description: "Adds a prompt, or takes it away",
			run: func(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
				c.server.prompts.toggle(draft.description.GetName(), draft)
				c.server.listeners.notify(change{of: promptsList})
				return done(text("The list of prompts has changed."))
			},
		},
		{
			name: "test_missing_capability", description: "Is for clients with a model",
			run: func(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
				if err := needsSampling(c.request.GetMeta()); err != nil {
					return nil, err
				}
				return done(text("The client has a model."))
			},
		},
	}
}
