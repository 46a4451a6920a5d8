package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	mcpv1 "example.com/everything/gen/mcp/v1"
)

const (
	// restHeader is the metadata with what a typed request has no fields for.
	restHeader = "mcp-request-bin"
	// maxRounds is how often a server may ask for input before a call is given up.
	maxRounds = 10
)

// ask makes a call until it is done: where the server needs something first, the
// same request is made again, with the answers.
func ask[Request, Response any](ctx context.Context, out io.Writer, rpc func(context.Context, *Request) (*Response, error), request *Request) (*Response, error) {
	rest := &mcpv1.CallToolRequest{Meta: &mcpv1.RequestMeta{ClientCapabilities: &mcpv1.ClientCapabilities{
		Elicitation: &mcpv1.ElicitationCapability{Form: &structpb.Struct{}},
	}}}
	for range maxRounds {
		wire, err := proto.Marshal(rest)
		if err != nil {
			return nil, err
		}
		callCtx, info := connect.NewClientContext(ctx)
		info.RequestHeader().Set(restHeader, connect.EncodeBinaryHeader(wire))
		response, err := rpc(callCtx, request)
		required, ok := detail[*mcpv1.InputRequiredResult](err)
		if !ok {
			return response, err
		}
		if rest.InputResponses, err = answer(out, required.GetInputRequests()); err != nil {
			return nil, err
		}
		rest.RequestState = required.RequestState
	}
	return nil, fmt.Errorf("the server has asked %d times", maxRounds)
}

// toolError returns what a tool has said that has failed.
func toolError(err error) *mcpv1.CallToolResult {
	failed, _ := detail[*mcpv1.ToolError](err)
	return failed.GetResult()
}

// detail returns the detail of a type in an error, if there is one.
func detail[M proto.Message](err error) (M, bool) {
	var status *connect.Error
	if errors.As(err, &status) {
		for _, d := range status.Details() {
			if value, err := d.Value(); err == nil {
				if m, ok := value.(M); ok {
					return m, true
				}
			}
		}
	}
	var none M
	return none, false
}

// answer fills in the forms of a server, by the same keys. A real client asks its
// user.
func answer(out io.Writer, requests map[string]*mcpv1.InputRequest) (map[string]*mcpv1.InputResponse, error) {
	responses := make(map[string]*mcpv1.InputResponse, len(requests))
	for key, request := range requests {
		form := request.GetElicitation().GetForm()
		if form == nil {
			return nil, fmt.Errorf("the server asks for %T, which this client has not offered", request.GetParamsForm())
		}
		fmt.Fprintf(out, "asked: %s\n", form.GetMessage())
		content := make(map[string]*mcpv1.ElicitValue)
		for name, input := range form.GetRequestedSchema().GetProperties() {
			switch {
			case input.GetDefaultValue() != nil:
				content[name] = input.GetDefaultValue()
			case input.GetType() == "string" && slices.Contains(form.GetRequestedSchema().GetRequired(), name):
				content[name] = &mcpv1.ElicitValue{Value: &mcpv1.ElicitValue_Text{Text: "Ada Lovelace"}}
			}
		}
		responses[key] = &mcpv1.InputResponse{Response: &mcpv1.InputResponse_Elicitation{Elicitation: &mcpv1.ElicitResult{
			Action: mcpv1.ElicitAction_ELICIT_ACTION_ACCEPT, Content: content,
		}}}
	}
	return responses, nil
}
