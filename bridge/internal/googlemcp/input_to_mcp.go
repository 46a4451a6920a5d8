package googlemcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
)

var errNoInput = errors.New("it is none that is known here")

// inputRequest returns what a server needs from a client, and the capability
// that a client must have for it.
func (c *toMCP) inputRequest(r *googlepb.ServerInitiatedRequest) (request *mcpv1.InputRequest, capability string, err error) {
	switch {
	case r.GetElicitRequest() != nil:
		return &mcpv1.InputRequest{ParamsForm: &mcpv1.InputRequest_Elicitation{Elicitation: &mcpv1.ElicitRequestParams{
			Params: &mcpv1.ElicitRequestParams_Form{Form: c.elicitForm(r.GetElicitRequest())},
		}}}, "elicitation", nil
	case r.GetSamplingCreateMessage() != nil:
		return &mcpv1.InputRequest{ParamsForm: &mcpv1.InputRequest_Sampling{Sampling: c.samplingParams(r.GetSamplingCreateMessage())}}, "sampling", nil
	case r.GetListRootsRequest() != nil:
		return &mcpv1.InputRequest{ParamsForm: &mcpv1.InputRequest_Roots{Roots: &mcpv1.ListRootsRequestParams{}}}, "roots", nil
	default:
		return nil, "", errNoInput
	}
}

func (c *toMCP) elicitForm(r *googlepb.ElicitRequest) *mcpv1.ElicitRequestFormParams {
	schema := &mcpv1.ElicitSchema{Type: "object", Required: r.GetRequiredFields()}
	for name, p := range r.GetRequestedSchema() {
		if schema.Properties == nil {
			schema.Properties = make(map[string]*mcpv1.PrimitiveSchemaDefinition)
		}
		schema.Properties[name] = mcpInput(p)
	}
	return &mcpv1.ElicitRequestFormParams{
		Message: r.GetMessage(), RequestedSchemaForm: &mcpv1.ElicitRequestFormParams_RequestedSchema{RequestedSchema: schema},
	}
}

// mcpInput returns an input of a form. One that says nothing is text.
func mcpInput(p *googlepb.PrimitiveSchemaDefinition) *mcpv1.PrimitiveSchemaDefinition {
	switch {
	case p.GetEnumSchema() != nil:
		s := p.GetEnumSchema()
		return &mcpv1.PrimitiveSchemaDefinition{
			Type: "string", Title: s.GetTitle(), Description: s.GetDescription(), EnumValues: s.GetEnumList(), EnumNames: s.GetEnumNames(),
		}
	case p.GetNumberSchema() != nil:
		s := p.GetNumberSchema()
		out := &mcpv1.PrimitiveSchemaDefinition{Type: "number", Title: s.GetTitle(), Description: s.GetDescription()}
		if s.GetMinimum() > 0 {
			out.Minimum = new(float64(s.GetMinimum()))
		}
		if s.GetMaximum() > 0 {
			out.Maximum = new(float64(s.GetMaximum()))
		}
		return out
	case p.GetBooleanSchema() != nil:
		s := p.GetBooleanSchema()
		out := &mcpv1.PrimitiveSchemaDefinition{Type: "boolean", Title: s.GetTitle(), Description: s.GetDescription()}
		if s.GetDefault() {
			out.DefaultValue = &mcpv1.ElicitValue{Value: &mcpv1.ElicitValue_Flag{Flag: true}}
		}
		return out
	default:
		s := p.GetStringSchema()
		out := &mcpv1.PrimitiveSchemaDefinition{Type: "string", Title: s.GetTitle(), Description: s.GetDescription()}
		if s.GetMinLength() > 0 {
			out.MinLength = new(signed(s.GetMinLength()))
		}
		if s.GetMaxLength() > 0 {
			out.MaxLength = new(signed(s.GetMaxLength()))
		}
		for name, format := range formats {
			if format == s.GetFormat() {
				out.Format = name
			}
		}
		return out
	}
}

func (c *toMCP) samplingParams(r *googlepb.SamplingCreateMessageRequest) *mcpv1.CreateMessageRequestParams {
	out := &mcpv1.CreateMessageRequestParams{
		SystemPrompt: r.GetSystemPrompt(), StopSequences: r.GetStopSequence(), MaxTokens: int64(r.GetMaxTokens()),
	}
	if t := r.GetTemperature(); t != 0 {
		out.Temperature = new(double(t))
	}
	switch r.GetIncludeContext() {
	case googlepb.SamplingCreateMessageRequest_THIS_SERVER:
		out.IncludeContext = mcpv1.IncludeContext_INCLUDE_CONTEXT_THIS_SERVER
	case googlepb.SamplingCreateMessageRequest_ALL_SERVERS:
		out.IncludeContext = mcpv1.IncludeContext_INCLUDE_CONTEXT_ALL_SERVERS
	default:
	}
	if p := r.GetModelPreferences(); p != nil {
		out.ModelPreferences = &mcpv1.ModelPreferences{
			IntelligencePriority: priority(p.GetIntelligencePriority()), SpeedPriority: priority(p.GetSpeedPriority()), CostPriority: priority(p.GetCostPriority()),
		}
		for _, hint := range p.GetHints() {
			out.ModelPreferences.Hints = append(out.ModelPreferences.Hints, &mcpv1.ModelHint{Name: hint.GetName()})
		}
	}
	for _, m := range r.GetMessages() {
		for _, b := range c.samplingContent(m) {
			out.Messages = append(out.Messages, &mcpv1.SamplingMessage{
				Role: speaker(m.GetRole(), mcpv1.Role_ROLE_USER), ContentForm: &mcpv1.SamplingMessage_Content{Content: b},
			})
		}
	}
	return out
}

func (c *toMCP) samplingContent(m *googlepb.SamplingMessage) []*mcpv1.ContentBlock {
	return c.blocks(&content{text: m.GetText(), image: m.GetImage(), audio: m.GetAudio()})
}

// priority returns a number, of which 0 is none.
func priority(f float32) *float64 {
	if f == 0 {
		return nil
	}
	return new(double(f))
}

// speaker returns a role that MCP requires.
func speaker(r googlepb.Role, otherwise mcpv1.Role) mcpv1.Role {
	if role := mcpRole(r); role != mcpv1.Role_ROLE_UNSPECIFIED {
		return role
	}
	return otherwise
}

// unknownModel is the model of clients that do not say which has answered. MCP
// tells answers of models from others by it.
const unknownModel = "unknown"

// inputResponse returns what a client has answered.
func (c *toMCP) inputResponse(r *googlepb.ServerInitiatedResponse, codecs *codecs) (*mcpv1.InputResponse, error) {
	switch {
	case r.GetElicitResult() != nil:
		out := &mcpv1.ElicitResult{}
		if filled := r.GetElicitResult().GetContent(); filled != nil {
			text, err := codecs.json(filled)
			if err == nil {
				err = codecs.read(append(append(json.RawMessage(`{"content":`), text...), '}'), out)
			}
			if err != nil {
				return nil, err
			}
		}
		switch r.GetElicitResult().GetType() {
		case googlepb.ElicitResult_TYPE_ACCEPT:
			out.Action = mcpv1.ElicitAction_ELICIT_ACTION_ACCEPT
		case googlepb.ElicitResult_TYPE_DECLINE:
			out.Action = mcpv1.ElicitAction_ELICIT_ACTION_DECLINE
		case googlepb.ElicitResult_TYPE_CANCEL:
			out.Action = mcpv1.ElicitAction_ELICIT_ACTION_CANCEL
		default:
			return nil, errors.New("elicit_result.type must be set")
		}
		return &mcpv1.InputResponse{Response: &mcpv1.InputResponse_Elicitation{Elicitation: out}}, nil
	case r.GetRootListResult() != nil:
		out := &mcpv1.ListRootsResult{}
		for _, root := range r.GetRootListResult().GetRoots() {
			out.Roots = append(out.Roots, &mcpv1.Root{Uri: root.GetUri(), Name: root.GetName()})
		}
		return &mcpv1.InputResponse{Response: &mcpv1.InputResponse_Roots{Roots: out}}, nil
	case r.GetSamplingCreateMessageResult() != nil:
		v := r.GetSamplingCreateMessageResult()
		blocks := c.samplingContent(v.GetMessage())
		if len(blocks) != 1 {
			return nil, errors.New("sampling_create_message_result.message must have text, an image or audio")
		}
		return &mcpv1.InputResponse{Response: &mcpv1.InputResponse_Sampling{Sampling: &mcpv1.CreateMessageResult{
			Role: speaker(v.GetMessage().GetRole(), mcpv1.Role_ROLE_ASSISTANT), ContentForm: &mcpv1.CreateMessageResult_Content{Content: blocks[0]},
			Model: cmp.Or(v.GetModel(), unknownModel), StopReason: v.GetStopReason(),
		}}}, nil
	default:
		return nil, errNoInput
	}
}

// retry is what the common fields of a request have of one that was made before.
type retry struct {
	responses map[string]*mcpv1.InputResponse
	state     *string
	called    *googlepb.CallToolRequest_Request // or nil
}

// retry reads what [toGoogle.inputRequired] has written, and the answers.
func (c *toMCP) retry(r *googlepb.RequestFields, codecs *codecs) (*retry, error) {
	out := &retry{}
	for _, key := range slices.Sorted(maps.Keys(r.GetDependentResponses())) {
		response, err := c.inputResponse(r.GetDependentResponses()[key], codecs)
		if err != nil {
			return nil, fmt.Errorf("dependent_responses[%q]: %w", key, err)
		}
		if out.responses == nil {
			out.responses = make(map[string]*mcpv1.InputResponse)
		}
		out.responses[key] = response
	}
	data := r.GetResumeData()
	if data == nil {
		return out, nil
	}
	for name, value := range data.GetFields() {
		ok := false
		switch kind := value.GetKind().(type) {
		case *structpb.Value_StringValue:
			switch name {
			case fieldState:
				out.state, ok = new(kind.StringValue), true
			case fieldName:
				out.call().Name, ok = kind.StringValue, true
			}
		case *structpb.Value_StructValue:
			if ok = name == fieldArguments; ok {
				out.call().Arguments = kind.StructValue
			}
		}
		if !ok {
			return nil, errors.New("resume_data is not what this server has sent")
		}
	}
	return out, nil
}

func (r *retry) call() *googlepb.CallToolRequest_Request {
	if r.called == nil {
		r.called = &googlepb.CallToolRequest_Request{}
	}
	return r.called
}

// inputRequired returns what a server needs, and the capabilities that a client
// must have for it.
func (c *toMCP) inputRequired(r *googlepb.ResponseFields, codecs *codecs) (*mcpv1.InputRequiredResult, []string, error) {
	out := &mcpv1.InputRequiredResult{InputRequests: make(map[string]*mcpv1.InputRequest)}
	var capabilities []string
	for _, key := range slices.Sorted(maps.Keys(r.GetDependentRequests())) {
		request, capability, err := c.inputRequest(r.GetDependentRequests()[key])
		if err != nil {
			return nil, nil, fmt.Errorf("dependent_requests[%q]: %w", key, err)
		}
		out.InputRequests[key] = request
		capabilities = append(capabilities, capability)
	}
	if data := r.GetResumeData(); data != nil {
		text, err := codecs.json(data)
		if err != nil {
			return nil, nil, fmt.Errorf("resume_data: %w", err)
		}
		out.RequestState = new(string(text))
	}
	return out, capabilities, nil
}
