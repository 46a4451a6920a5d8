package main

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	mcpv1 "example.com/mcp-client/gen/mcp/v1"
)

// maxRounds is how often a server may ask for input before a call is given up.
const maxRounds = 10

// call calls a tool until it is done: where the server needs something first,
// the same request is made again, with the answers.
func (c *client) call(ctx context.Context, request *mcpv1.CallToolRequest) error {
	for range maxRounds {
		response, err := c.mcp.CallTool(ctx, request)
		if err != nil {
			return err
		}
		required := response.GetInputRequired()
		if required == nil {
			return c.print(response)
		}
		if request.InputResponses, err = c.answer(required.GetInputRequests()); err != nil {
			return err
		}
		request.RequestState = required.RequestState
	}
	return fmt.Errorf("the server has asked %d times", maxRounds)
}

// stream calls a tool and prints how far it has come. The last event has the
// result.
func (c *client) stream(ctx context.Context, request *mcpv1.CallToolRequest) error {
	// Servers report progress to those who have a token for it.
	request.Meta = proto.CloneOf(request.GetMeta())
	request.Meta.ProgressToken = &mcpv1.ProgressToken{Token: &mcpv1.ProgressToken_Text{Text: request.GetName()}}
	stream, err := c.mcp.StreamCallTool(ctx, &mcpv1.StreamCallToolRequest{Request: request})
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	for stream.Receive() {
		event := stream.Msg()
		if progress := event.GetProgress(); progress != nil {
			fmt.Fprintf(c.out, "  step %v of %v\n", progress.GetProgress(), progress.GetTotal())
		}
		if result := event.GetResult(); result != nil {
			return c.print(result)
		}
	}
	if err := stream.Err(); err != nil {
		return err
	}
	return errors.New("the stream ended without a result")
}

// print prints the text of a result.
func (c *client) print(response *mcpv1.CallToolResponse) error {
	result := response.GetComplete()
	if result == nil {
		return fmt.Errorf("the server answers with %T, not with a result", response.GetResult())
	}
	for _, block := range result.GetContent() {
		if text := block.GetText(); text != nil {
			fmt.Fprintf(c.out, "  %s\n", text.GetText())
		}
	}
	if result.GetIsError() {
		return errors.New("the tool has failed")
	}
	return nil
}
