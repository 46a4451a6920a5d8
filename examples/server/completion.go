package main

import (
	"context"
	"strings"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

// completions are values of arguments, by prompt or template and argument.
var completions = map[[2]string][]string{
	{"test_prompt_with_arguments", "arg1"}:                {"paris", "park", "party"},
	{templateBefore + "{id}" + templateAfter, "id"}:       {"1", "12", "123"},
	{"test_prompt_with_embedded_resource", "resourceUri"}: {"test://static-text", "test://static-binary"},
	{"test_prompt_with_arguments", "arg2"}:                {"london", "lisbon"},
}

// Complete finds the values that begin with what there is.
func (s *server) Complete(_ context.Context, r *mcpv1.CompleteRequest) (*mcpv1.CompleteResponse, error) {
	name := r.GetRef().GetPrompt().GetName()
	if template := r.GetRef().GetResource(); template != nil {
		name = template.GetUri()
	}
	found := &mcpv1.Completion{}
	for _, value := range completions[[2]string{name, r.GetArgument().GetName()}] {
		if strings.HasPrefix(value, r.GetArgument().GetValue()) {
			found.Values = append(found.Values, value)
		}
	}
	found.Total = new(int64(len(found.GetValues())))
	found.HasMore = new(false)
	return &mcpv1.CompleteResponse{Completion: found}, nil
}
