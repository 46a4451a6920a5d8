package googlemcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
)

// object returns a JSON object with one member.
func object(name string, value []byte) json.RawMessage {
	var o mcpjson.Object
	o.Add(name, value)
	return o.JSON()
}

// memberOf returns a member of an object as a Struct, or nil if it is none.
func (c *converter) memberOf(text json.RawMessage, name string) (*structpb.Struct, error) {
	value, ok := jsontok.Lookup(text, name)
	if !ok || jsontok.KindOf(value) != jsontok.KindObject {
		return nil, nil //nolint:nilnil // none is a value here
	}
	return c.structOf(value)
}

// inputToGoogle returns what a server needs from a client.
func (c *converter) inputToGoogle(r *mcpv1.InputRequest) (*googlepb.ServerInitiatedRequest, error) {
	switch v := r.GetParamsForm().(type) {
	case *mcpv1.InputRequest_Elicitation:
		form := v.Elicitation.GetForm()
		switch {
		case form == nil:
			return nil, noField("an elicitation that is no form")
		case form.GetRequestedSchemaJson() != nil:
			return nil, noField("an elicitation whose schema is no form")
		}
		out := &googlepb.ElicitRequest{}
		return &googlepb.ServerInitiatedRequest{ElicitRequest: out}, c.toGoogle(out, form)
	case *mcpv1.InputRequest_Sampling:
		if len(v.Sampling.GetTools()) > 0 || v.Sampling.GetToolChoice() != nil {
			return nil, noField("tools of a model")
		}
		out := &googlepb.SamplingCreateMessageRequest{}
		v.Sampling.Messages = spread(v.Sampling.GetMessages())
		return &googlepb.ServerInitiatedRequest{SamplingCreateMessage: out}, c.toGoogle(out, v.Sampling)
	case *mcpv1.InputRequest_Roots:
	default:
		if r.GetMethod() != "roots/list" { // which may have no parameters
			return nil, noField(fmt.Sprintf("the method %q", clip.Name(r.GetMethod())))
		}
	}
	return &googlepb.ServerInitiatedRequest{ListRootsRequest: &googlepb.ListRootsRequest{}}, nil
}

// spread returns messages of one piece of content each: a list of content is
// several messages in a row.
func spread(messages []*mcpv1.SamplingMessage) []*mcpv1.SamplingMessage {
	var out []*mcpv1.SamplingMessage
	for _, m := range messages {
		if m.GetContentList() == nil {
			out = append(out, m)
			continue
		}
		for _, one := range m.GetContentList().GetValues() {
			out = append(out, &mcpv1.SamplingMessage{Role: m.GetRole(), ContentForm: &mcpv1.SamplingMessage_Content{Content: one}})
		}
	}
	return out
}

// inputToMCP returns what a server needs from a client, and the capability that a
// client must have for it.
func (c *converter) inputToMCP(r *googlepb.ServerInitiatedRequest) (request *mcpv1.InputRequest, capability string, err error) {
	switch {
	case r.GetElicitRequest() != nil:
		form := &mcpv1.ElicitRequestFormParams{}
		return &mcpv1.InputRequest{ParamsForm: &mcpv1.InputRequest_Elicitation{Elicitation: &mcpv1.ElicitRequestParams{
			Params: &mcpv1.ElicitRequestParams_Form{Form: form},
		}}}, "elicitation", c.toMCP(form, r.GetElicitRequest())
	case r.GetSamplingCreateMessage() != nil:
		sampling := &mcpv1.CreateMessageRequestParams{}
		return &mcpv1.InputRequest{ParamsForm: &mcpv1.InputRequest_Sampling{Sampling: sampling}}, "sampling", c.toMCP(sampling, r.GetSamplingCreateMessage())
	case r.GetListRootsRequest() != nil:
		return &mcpv1.InputRequest{ParamsForm: &mcpv1.InputRequest_Roots{Roots: &mcpv1.ListRootsRequestParams{}}}, "roots", nil
	default:
		return nil, "", errNoInput
	}
}

var errNoInput = errors.New("it is none that is known here")

// answerToGoogle returns what a client has answered.
func (c *converter) answerToGoogle(r *mcpv1.InputResponse) (*googlepb.ServerInitiatedResponse, error) {
	switch v := r.GetResponse().(type) {
	case *mcpv1.InputResponse_Elicitation:
		out := &googlepb.ElicitResult{}
		return &googlepb.ServerInitiatedResponse{ElicitResult: out}, c.toGoogle(out, v.Elicitation)
	case *mcpv1.InputResponse_Roots:
		out := &googlepb.ListRootsResult{}
		return &googlepb.ServerInitiatedResponse{RootListResult: out}, c.toGoogle(out, v.Roots)
	case *mcpv1.InputResponse_Sampling:
		switch list := v.Sampling.GetContentList(); {
		case list != nil && len(list.GetValues()) == 1:
			v.Sampling.ContentForm = &mcpv1.CreateMessageResult_Content{Content: list.GetValues()[0]}
		case v.Sampling.GetContent() == nil:
			return nil, noField("an answer of a model that is not one piece of content")
		}
		out := &googlepb.SamplingCreateMessageResult{}
		return &googlepb.ServerInitiatedResponse{SamplingCreateMessageResult: out}, c.toGoogle(out, v.Sampling)
	default:
		return nil, noField("an answer that is none to an elicitation, to sampling or about roots")
	}
}

// answerToMCP returns what a client has answered.
func (c *converter) answerToMCP(r *googlepb.ServerInitiatedResponse) (*mcpv1.InputResponse, error) {
	switch {
	case r.GetElicitResult() != nil:
		out := &mcpv1.ElicitResult{}
		return &mcpv1.InputResponse{Response: &mcpv1.InputResponse_Elicitation{Elicitation: out}}, c.toMCP(out, r.GetElicitResult())
	case r.GetRootListResult() != nil:
		out := &mcpv1.ListRootsResult{}
		return &mcpv1.InputResponse{Response: &mcpv1.InputResponse_Roots{Roots: out}}, c.toMCP(out, r.GetRootListResult())
	case r.GetSamplingCreateMessageResult() != nil:
		out := &mcpv1.CreateMessageResult{}
		return &mcpv1.InputResponse{Response: &mcpv1.InputResponse_Sampling{Sampling: out}}, c.toMCP(out, r.GetSamplingCreateMessageResult())
	default:
		return nil, errNoInput
	}
}

// Members of resume_data: the state of a request and, for clients that leave out
// what is called when they call again, that.
const (
	fieldState     = "requestState"
	fieldName      = "name"
	fieldArguments = "arguments"
)

// neededToGoogle puts what a server needs into the common fields of a response.
// called is the tool that was called, or nil.
func (c *converter) neededToGoogle(out *googlepb.ResponseFields, needed *mcpv1.InputRequiredResult, called *googlepb.CallToolRequest_Request) error {
	out.DependentRequests = make(map[string]*googlepb.ServerInitiatedRequest)
	for key, request := range needed.GetInputRequests() {
		var err error
		if out.DependentRequests[key], err = c.inputToGoogle(request); err != nil {
			return fmt.Errorf("the server asks for input %q: %w", clip.Name(key), err)
		}
	}
	out.ResumeData = &structpb.Struct{Fields: make(map[string]*structpb.Value)}
	if needed.RequestState != nil {
		out.ResumeData.Fields[fieldState] = structpb.NewStringValue(needed.GetRequestState())
	}
	if called != nil {
		out.ResumeData.Fields[fieldName] = structpb.NewStringValue(called.GetName())
		if args := called.GetArguments(); args != nil {
			out.ResumeData.Fields[fieldArguments] = structpb.NewStructValue(args)
		}
	}
	return nil
}

// neededToMCP returns the body of a result that says what a server needs, and the
// capabilities that a client must have for it.
func (c *converter) neededToMCP(r *googlepb.ResponseFields) (*mcpv1.InputRequiredResult, []string, error) {
	out := &mcpv1.InputRequiredResult{InputRequests: make(map[string]*mcpv1.InputRequest)}
	var capabilities []string
	for _, key := range slices.Sorted(maps.Keys(r.GetDependentRequests())) {
		request, capability, err := c.inputToMCP(r.GetDependentRequests()[key])
		if err != nil {
			return nil, nil, fmt.Errorf("dependent_requests[%q]: %w", clip.Name(key), err)
		}
		out.InputRequests[key] = request
		capabilities = append(capabilities, capability)
	}
	if data := r.GetResumeData(); data != nil {
		text, err := c.json(data)
		if err != nil {
			return nil, nil, fmt.Errorf("resume_data: %w", err)
		}
		out.RequestState = new(string(text))
	}
	return out, capabilities, nil
}

// retry is what the common fields of a request have of one that was made before.
type retry struct {
	responses json.RawMessage                   // the inputResponses, or nil
	state     json.RawMessage                   // the requestState, or nil
	called    *googlepb.CallToolRequest_Request // or nil
}

// readRetry reads what [converter.neededToGoogle] has written, and the answers.
func (c *converter) readRetry(r *googlepb.RequestFields) (*retry, error) {
	out := &retry{}
	var responses mcpjson.Object
	for _, key := range slices.Sorted(maps.Keys(r.GetDependentResponses())) {
		response, err := c.answerToMCP(r.GetDependentResponses()[key])
		if err != nil {
			return nil, fmt.Errorf("dependent_responses[%q]: %w", clip.Name(key), err)
		}
		text, err := c.json(response)
		if err != nil {
			return nil, fmt.Errorf("dependent_responses[%q]: %w", clip.Name(key), err)
		}
		responses.Add(key, text)
	}
	if !responses.Empty() {
		out.responses = responses.JSON()
	}
	for name, value := range r.GetResumeData().GetFields() {
		if !out.set(name, value) {
			return nil, errors.New("resume_data is not what this server has sent")
		}
	}
	return out, nil
}

func (r *retry) set(name string, value *structpb.Value) bool {
	if r.called == nil && name != fieldState {
		r.called = &googlepb.CallToolRequest_Request{}
	}
	switch kind := value.GetKind().(type) {
	case *structpb.Value_StringValue:
		switch name {
		case fieldState:
			r.state = jsontok.AppendString(nil, kind.StringValue)
			return true
		case fieldName:
			r.called.Name = kind.StringValue
			return true
		}
	case *structpb.Value_StructValue:
		if name == fieldArguments {
			r.called.Arguments = kind.StructValue
			return true
		}
	}
	return false
}

// addTo adds the answers and the state to the params of a request.
func (r *retry) addTo(params json.RawMessage) json.RawMessage {
	if r.responses != nil {
		params = mcpjson.With(params, "inputResponses", r.responses)
	}
	if r.state != nil {
		params = mcpjson.With(params, fieldState, r.state)
	}
	return params
}

// retryToGoogle makes the common fields of a request.
func (c *converter) retryToGoogle(meta json.RawMessage, responses map[string]*mcpv1.InputResponse, state *string) (*googlepb.RequestFields, error) {
	out := &googlepb.RequestFields{}
	var err error
	if out.Metadata, err = c.memberOf(meta, "_meta"); err != nil {
		return nil, fmt.Errorf("params._meta: %w", err)
	}
	for key, response := range responses {
		if out.DependentResponses == nil {
			out.DependentResponses = make(map[string]*googlepb.ServerInitiatedResponse)
		}
		if out.DependentResponses[key], err = c.answerToGoogle(response); err != nil {
			return nil, fmt.Errorf("params.inputResponses[%q]: %w", clip.Name(key), err)
		}
	}
	if state != nil {
		if out.ResumeData, err = c.structOf(json.RawMessage(*state)); err != nil {
			return nil, errors.New("params.requestState is not one of this server")
		}
	}
	return out, nil
}
