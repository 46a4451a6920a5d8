package googlemcp

import (
	"encoding/json"
	"fmt"
	"math"

	"google.golang.org/protobuf/types/known/structpb"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// noField is the error for what the service has no field for, where to leave it
// out would change what is meant.
func noField(what string) error {
	return fmt.Errorf("%s has no field for %s", ServiceName, what)
}

// inputRequest returns what a server needs from a client.
func (c *toGoogle) inputRequest(r *mcpv1.InputRequest) (*googlepb.ServerInitiatedRequest, error) {
	switch v := r.GetParamsForm().(type) {
	case *mcpv1.InputRequest_Elicitation:
		form := v.Elicitation.GetForm()
		if form == nil {
			return nil, noField("an elicitation that is no form")
		}
		out, err := elicitRequest(form)
		return &googlepb.ServerInitiatedRequest{ElicitRequest: out}, err
	case *mcpv1.InputRequest_Sampling:
		out, err := c.samplingRequest(v.Sampling)
		return &googlepb.ServerInitiatedRequest{SamplingCreateMessage: out}, err
	case *mcpv1.InputRequest_Roots:
		return &googlepb.ServerInitiatedRequest{ListRootsRequest: &googlepb.ListRootsRequest{}}, nil
	default:
		if r.GetMethod() == "roots/list" { // without parameters
			return &googlepb.ServerInitiatedRequest{ListRootsRequest: &googlepb.ListRootsRequest{}}, nil
		}
		return nil, noField(fmt.Sprintf("the method %q", r.GetMethod()))
	}
}

func elicitRequest(form *mcpv1.ElicitRequestFormParams) (*googlepb.ElicitRequest, error) {
	if form.GetRequestedSchemaJson() != nil {
		return nil, noField("an elicitation whose schema is no form")
	}
	out := &googlepb.ElicitRequest{Message: form.GetMessage(), RequiredFields: form.GetRequestedSchema().GetRequired()}
	for name, p := range form.GetRequestedSchema().GetProperties() {
		input, err := formInput(p)
		if err != nil {
			return nil, err
		}
		if out.RequestedSchema == nil {
			out.RequestedSchema = make(map[string]*googlepb.PrimitiveSchemaDefinition)
		}
		out.RequestedSchema[name] = input
	}
	return out, nil
}

var formats = map[string]googlepb.PrimitiveSchemaDefinition_StringSchema_Format{
	"email":     googlepb.PrimitiveSchemaDefinition_StringSchema_FORMAT_EMAIL,
	"uri":       googlepb.PrimitiveSchemaDefinition_StringSchema_FORMAT_URI,
	"date":      googlepb.PrimitiveSchemaDefinition_StringSchema_FORMAT_DATE,
	"date-time": googlepb.PrimitiveSchemaDefinition_StringSchema_FORMAT_DATE_TIME,
}

// formInput returns an input of a form. What only restricts or suggests a value,
// and has no field, is left out: the server looks at the value anyway.
func formInput(p *mcpv1.PrimitiveSchemaDefinition) (*googlepb.PrimitiveSchemaDefinition, error) {
	switch p.GetType() {
	case "string":
		choice := &googlepb.PrimitiveSchemaDefinition_EnumSchema{
			Title: p.GetTitle(), Description: p.GetDescription(), EnumList: p.GetEnumValues(), EnumNames: p.GetEnumNames(),
		}
		if of := p.GetOneOf(); len(of) > 0 {
			choice.EnumList, choice.EnumNames = nil, nil
			for _, one := range of {
				choice.EnumList, choice.EnumNames = append(choice.EnumList, one.GetValue()), append(choice.EnumNames, one.GetTitle())
			}
		}
		if len(choice.EnumList) > 0 {
			return &googlepb.PrimitiveSchemaDefinition{EnumSchema: choice}, nil
		}
		return &googlepb.PrimitiveSchemaDefinition{StringSchema: &googlepb.PrimitiveSchemaDefinition_StringSchema{
			Title: p.GetTitle(), Description: p.GetDescription(), MinLength: unsigned(p.GetMinLength()), MaxLength: unsigned(p.GetMaxLength()),
			Format: formats[p.GetFormat()],
		}}, nil
	case "number", "integer":
		return &googlepb.PrimitiveSchemaDefinition{NumberSchema: &googlepb.PrimitiveSchemaDefinition_NumberSchema{
			Title: p.GetTitle(), Description: p.GetDescription(), Minimum: bound(math.Ceil(p.GetMinimum())), Maximum: bound(math.Floor(p.GetMaximum())),
		}}, nil
	case "boolean":
		return &googlepb.PrimitiveSchemaDefinition{BooleanSchema: &googlepb.PrimitiveSchemaDefinition_BooleanSchema{
			Title: p.GetTitle(), Description: p.GetDescription(), Default: p.GetDefaultValue().GetFlag(),
		}}, nil
	default:
		return nil, noField(fmt.Sprintf("an input of type %q", p.GetType()))
	}
}

// bound returns a bound that is not negative, or 0, which is none.
func bound(f float64) uint64 {
	switch {
	case f >= 1<<64:
		return math.MaxUint64
	case f > 0:
		return uint64(f)
	default:
		return 0
	}
}

func (c *toGoogle) samplingRequest(p *mcpv1.CreateMessageRequestParams) (*googlepb.SamplingCreateMessageRequest, error) {
	if len(p.GetTools()) > 0 || p.GetToolChoice() != nil {
		return nil, noField("tools of a model")
	}
	out := &googlepb.SamplingCreateMessageRequest{
		SystemPrompt: p.GetSystemPrompt(), Temperature: float32(p.GetTemperature()), StopSequence: p.GetStopSequences(),
		MaxTokens: int32(min(max(p.GetMaxTokens(), 0), math.MaxInt32)),
	}
	switch p.GetIncludeContext() {
	case mcpv1.IncludeContext_INCLUDE_CONTEXT_THIS_SERVER:
		out.IncludeContext = googlepb.SamplingCreateMessageRequest_THIS_SERVER
	case mcpv1.IncludeContext_INCLUDE_CONTEXT_ALL_SERVERS:
		out.IncludeContext = googlepb.SamplingCreateMessageRequest_ALL_SERVERS
	default:
	}
	if m := p.GetModelPreferences(); m != nil {
		out.ModelPreferences = &googlepb.SamplingCreateMessageRequest_ModelPreferences{
			IntelligencePriority: float32(m.GetIntelligencePriority()), SpeedPriority: float32(m.GetSpeedPriority()), CostPriority: float32(m.GetCostPriority()),
		}
		for _, hint := range m.GetHints() {
			out.ModelPreferences.Hints = append(out.ModelPreferences.Hints, &googlepb.SamplingCreateMessageRequest_ModelPreferences_ModelHint{Name: hint.GetName()})
		}
	}
	for _, m := range p.GetMessages() {
		// A list of content is several messages in a row.
		for _, b := range blocksOf(m.GetContent(), m.GetContentList()) {
			message, err := c.samplingMessage(m.GetRole(), b)
			if err != nil {
				return nil, err
			}
			out.Messages = append(out.Messages, message)
		}
	}
	return out, nil
}

// blocksOf returns content that is one piece or a list.
func blocksOf(one *mcpv1.ContentBlock, list *mcpv1.ContentBlockList) []*mcpv1.ContentBlock {
	if one != nil {
		return []*mcpv1.ContentBlock{one}
	}
	return list.GetValues()
}

func (c *toGoogle) samplingMessage(role mcpv1.Role, b *mcpv1.ContentBlock) (*googlepb.SamplingMessage, error) {
	p := c.content(b)
	_, unknown := b.GetContent().(*mcpv1.ContentBlock_OtherJson)
	if p == nil || unknown || b.GetToolUse() != nil || b.GetToolResult() != nil || p.embedded != nil || p.link != nil {
		return nil, noField("content of a conversation other than text, pictures and sounds")
	}
	return &googlepb.SamplingMessage{Role: roleOf(role), Text: p.text, Image: p.image, Audio: p.audio}, nil
}

// inputResponse returns what a client has answered.
func (c *toGoogle) inputResponse(r *mcpv1.InputResponse) (*googlepb.ServerInitiatedResponse, error) {
	switch v := r.GetResponse().(type) {
	case *mcpv1.InputResponse_Elicitation:
		out := &googlepb.ElicitResult{}
		switch v.Elicitation.GetAction() {
		case mcpv1.ElicitAction_ELICIT_ACTION_ACCEPT:
			out.Type = googlepb.ElicitResult_TYPE_ACCEPT
		case mcpv1.ElicitAction_ELICIT_ACTION_DECLINE:
			out.Type = googlepb.ElicitResult_TYPE_DECLINE
		case mcpv1.ElicitAction_ELICIT_ACTION_CANCEL:
			out.Type = googlepb.ElicitResult_TYPE_CANCEL
		default:
			return nil, noField("an action that is not accept, decline or cancel")
		}
		text, err := c.json(v.Elicitation)
		if err != nil {
			return nil, err
		}
		filled, _ := jsontok.Lookup(text, "content")
		out.Content = c.object(nil, filled)
		return &googlepb.ServerInitiatedResponse{ElicitResult: out}, nil
	case *mcpv1.InputResponse_Roots:
		out := &googlepb.ListRootsResult{}
		for _, root := range v.Roots.GetRoots() {
			out.Roots = append(out.Roots, &googlepb.ListRootsResult_Root{Uri: root.GetUri(), Name: root.GetName()})
		}
		return &googlepb.ServerInitiatedResponse{RootListResult: out}, nil
	case *mcpv1.InputResponse_Sampling:
		blocks := blocksOf(v.Sampling.GetContent(), v.Sampling.GetContentList())
		if len(blocks) != 1 {
			return nil, noField("an answer of a model that is not one piece of content")
		}
		message, err := c.samplingMessage(v.Sampling.GetRole(), blocks[0])
		return &googlepb.ServerInitiatedResponse{SamplingCreateMessageResult: &googlepb.SamplingCreateMessageResult{
			Message: message, Model: v.Sampling.GetModel(), StopReason: v.Sampling.GetStopReason(),
		}}, err
	default:
		return nil, noField("an answer that is none to an elicitation, to sampling or about roots")
	}
}

// fieldState is the member of resume_data that has the state of a request. The
// others are what is called, for clients that leave that out when they call
// again.
const (
	fieldState     = "requestState"
	fieldName      = "name"
	fieldArguments = "arguments"
)

// inputRequired puts what a server needs into the common fields of a response.
func (c *toGoogle) inputRequired(r *mcpv1.InputRequiredResult, called *googlepb.CallToolRequest_Request, out *googlepb.ResponseFields) error {
	out.DependentRequests = make(map[string]*googlepb.ServerInitiatedRequest)
	for key, request := range r.GetInputRequests() {
		var err error
		if out.DependentRequests[key], err = c.inputRequest(request); err != nil {
			return fmt.Errorf("the server asks for input %q: %w", key, err)
		}
	}
	out.ResumeData = &structpb.Struct{Fields: make(map[string]*structpb.Value)}
	if r.RequestState != nil {
		out.ResumeData.Fields[fieldState] = structpb.NewStringValue(r.GetRequestState())
	}
	if called != nil {
		out.ResumeData.Fields[fieldName] = structpb.NewStringValue(called.GetName())
		if args := called.GetArguments(); args != nil {
			out.ResumeData.Fields[fieldArguments] = structpb.NewStructValue(args)
		}
	}
	return nil
}

// requestFields makes the common fields of a request.
func (c *toGoogle) requestFields(meta json.RawMessage, responses map[string]*mcpv1.InputResponse, state *string) (*googlepb.RequestFields, error) {
	out := &googlepb.RequestFields{Metadata: c.object(nil, meta)}
	for key, response := range responses {
		if out.DependentResponses == nil {
			out.DependentResponses = make(map[string]*googlepb.ServerInitiatedResponse)
		}
		var err error
		if out.DependentResponses[key], err = c.inputResponse(response); err != nil {
			return nil, fmt.Errorf("params.inputResponses[%q]: %w", key, err)
		}
	}
	if state != nil {
		var err error
		if out.ResumeData, err = c.structOf(json.RawMessage(*state)); err != nil {
			return nil, fmt.Errorf("params.requestState is not one of this server")
		}
	}
	return out, nil
}
