package googlemcp

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
)

// rule finishes a message whose fields have been copied, in either direction.
type rule [2]func(c *converter, to, from proto.Message) error

// finish adapts a function for two types of messages.
func finish[To, From proto.Message](f func(c *converter, to To, from From) error) func(*converter, proto.Message, proto.Message) error {
	return func(c *converter, to, from proto.Message) error {
		typedTo, ok := to.(To)
		typedFrom, same := from.(From)
		if !ok || !same {
			return fmt.Errorf("googlemcp: no rule for %T and %T", to, from)
		}
		return f(c, typedTo, typedFrom)
	}
}

// rules are what a table cannot say, by the messages of the service.
var rules = map[string]rule{
	"Tool":                         {toGoogle: finish(finishGoogleTool), toMCP: finish(finishTool)},
	"ToolAnnotations":              {toGoogle: finish(finishGoogleHints), toMCP: finish(finishHints)},
	"CallToolResponse.Content":     {toGoogle: finish(finishGoogleContent)},
	"PromptMessage":                {toGoogle: finish(finishGooglePrompt), toMCP: finish(finishPrompt)},
	"CompletionRequest":            {toMCP: finish(finishCompletion)},
	"CompletionResponse":           {toMCP: finish(finishCompleted)},
	"EmbeddedResource":             {toMCP: finish(finishEmbedded)},
	"ResourceContents":             {toMCP: finish(finishContents)},
	"ElicitRequest":                {toMCP: finish(finishForm)},
	"ElicitResult":                 {toGoogle: finish(finishGoogleElicited), toMCP: finish(finishElicited)},
	"PrimitiveSchemaDefinition":    {toGoogle: finish(finishGoogleInput), toMCP: finish(finishInput)},
	"SamplingMessage":              {toGoogle: finishGoogleSampled},
	"SamplingCreateMessageRequest": {toMCP: finish(finishSampling)},
	"SamplingCreateMessageResult":  {toMCP: finish(finishSampled)},
}

// Structured content is an object in the service, or nothing: a schema of
// anything else would promise what never comes.
func finishGoogleTool(_ *converter, to *googlepb.Tool, _ *mcpv1.Tool) error {
	if to.GetOutputSchema().GetFields()["type"].GetStringValue() != "object" {
		to.OutputSchema = nil
	}
	return nil
}

// MCP wants an input schema.
func finishTool(_ *converter, to *mcpv1.Tool, _ *googlepb.Tool) error {
	if len(to.GetInputSchema().GetFields()) == 0 {
		to.InputSchemaForm = &mcpv1.Tool_InputSchema{InputSchema: &structpb.Struct{
			Fields: map[string]*structpb.Value{"type": structpb.NewStringValue("object")},
		}}
	}
	if len(to.GetOutputSchema().GetFields()) == 0 {
		to.OutputSchemaForm = nil
	}
	return nil
}

// Hints have no presence in the service, and two of them are true by default in
// MCP.
func finishGoogleHints(_ *converter, to *googlepb.ToolAnnotations, from *mcpv1.ToolAnnotations) error {
	to.DestructiveHint = from.DestructiveHint == nil || from.GetDestructiveHint()
	to.OpenWorldHint = from.OpenWorldHint == nil || from.GetOpenWorldHint()
	return nil
}

func finishHints(_ *converter, to *mcpv1.ToolAnnotations, from *googlepb.ToolAnnotations) error {
	to.ReadOnlyHint, to.DestructiveHint = new(from.GetReadOnlyHint()), new(from.GetDestructiveHint())
	to.IdempotentHint, to.OpenWorldHint = new(from.GetIdempotentHint()), new(from.GetOpenWorldHint())
	return nil
}

// Content of a type that the service does not have is text: its JSON.
func finishGoogleContent(c *converter, to *googlepb.CallToolResponse_Content, from *mcpv1.ContentBlock) (err error) {
	to.Text, err = c.otherContent(to.GetText(), from)
	return err
}

func finishGooglePrompt(c *converter, to *googlepb.PromptMessage, from *mcpv1.PromptMessage) (err error) {
	to.Text, err = c.otherContent(to.GetText(), from.GetContent())
	return err
}

func (c *converter) otherContent(text *googlepb.TextContent, block *mcpv1.ContentBlock) (*googlepb.TextContent, error) {
	switch block.GetContent().(type) {
	case *mcpv1.ContentBlock_OtherJson, *mcpv1.ContentBlock_ToolUse, *mcpv1.ContentBlock_ToolResult:
		other, err := c.json(block)
		return &googlepb.TextContent{Text: string(other)}, err
	default:
		return text, nil
	}
}

func finishPrompt(_ *converter, to *mcpv1.PromptMessage, _ *googlepb.PromptMessage) error {
	to.Role = cmp.Or(to.GetRole(), mcpv1.Role_ROLE_USER)
	return nil
}

// MCP wants an argument to complete, and a completion, also of nothing.
func finishCompletion(_ *converter, to *mcpv1.CompleteRequest, _ *googlepb.CompletionRequest) error {
	if to.GetArgument() == nil {
		to.Argument = &mcpv1.CompleteArgument{}
	}
	return nil
}

func finishCompleted(_ *converter, to *mcpv1.CompleteResponse, _ *googlepb.CompletionResponse) error {
	if to.GetCompletion() == nil {
		to.Completion = &mcpv1.Completion{}
	}
	return nil
}

// MCP wants the contents of an embedded resource, and contents have a text where
// they have nothing else.
func finishEmbedded(_ *converter, to *mcpv1.EmbeddedResource, from *googlepb.EmbeddedResource) error {
	if from.GetContents() == nil {
		to.Resource = &mcpv1.ResourceContents{Contents: &mcpv1.ResourceContents_Text{}}
	}
	return nil
}

func finishContents(_ *converter, to *mcpv1.ResourceContents, from *googlepb.ResourceContents) error {
	if from.GetText() != "" || len(from.GetBlob()) == 0 {
		to.Contents = &mcpv1.ResourceContents_Text{Text: from.GetText()}
	}
	return nil
}

// noField is the error for what the service has no field for, where to leave it
// out would change what is meant.
func noField(what string) error {
	return fmt.Errorf("%s has no field for %s", ServiceName, what)
}

func finishForm(_ *converter, to *mcpv1.ElicitRequestFormParams, _ *googlepb.ElicitRequest) error {
	schema := to.GetRequestedSchema()
	if schema == nil {
		schema = &mcpv1.ElicitSchema{}
		to.RequestedSchemaForm = &mcpv1.ElicitRequestFormParams_RequestedSchema{RequestedSchema: schema}
	}
	schema.Type = "object"
	return nil
}

func finishGoogleElicited(c *converter, to *googlepb.ElicitResult, from *mcpv1.ElicitResult) error {
	if to.GetType() == googlepb.ElicitResult_UNKNOWN {
		return noField("an action that is not accept, decline or cancel")
	}
	text, err := c.json(from)
	if err != nil {
		return err
	}
	to.Content, err = c.memberOf(text, "content")
	return err
}

func finishElicited(c *converter, to *mcpv1.ElicitResult, from *googlepb.ElicitResult) error {
	if from.GetContent() != nil {
		text, err := c.json(from.GetContent())
		if err != nil {
			return err
		}
		filled := &mcpv1.ElicitResult{}
		if err := c.read(object("content", text), filled); err != nil {
			return err
		}
		to.Content, to.Extra = filled.GetContent(), filled.GetExtra()
	}
	if to.GetAction() == mcpv1.ElicitAction_ELICIT_ACTION_UNSPECIFIED {
		return errors.New("elicit_result.type must be set")
	}
	return nil
}

var formats = map[string]googlepb.PrimitiveSchemaDefinition_StringSchema_Format{
	"email":     googlepb.PrimitiveSchemaDefinition_StringSchema_FORMAT_EMAIL,
	"uri":       googlepb.PrimitiveSchemaDefinition_StringSchema_FORMAT_URI,
	"date":      googlepb.PrimitiveSchemaDefinition_StringSchema_FORMAT_DATE,
	"date-time": googlepb.PrimitiveSchemaDefinition_StringSchema_FORMAT_DATE_TIME,
}

// An input of MCP says by its type which one of the service it is. What only
// restricts or suggests a value, and has no field, is left out: the server looks
// at the value anyway.
func finishGoogleInput(c *converter, to *googlepb.PrimitiveSchemaDefinition, from *mcpv1.PrimitiveSchemaDefinition) error {
	switch kind := from.GetType(); {
	case kind == "string" && len(from.GetEnumValues())+len(from.GetOneOf()) > 0:
		to.EnumSchema = &googlepb.PrimitiveSchemaDefinition_EnumSchema{}
		if err := c.toGoogle(to.EnumSchema, from); err != nil || len(from.GetOneOf()) == 0 {
			return err
		}
		to.EnumSchema.EnumList, to.EnumSchema.EnumNames = nil, nil
		for _, one := range from.GetOneOf() {
			to.EnumSchema.EnumList = append(to.EnumSchema.EnumList, one.GetValue())
			to.EnumSchema.EnumNames = append(to.EnumSchema.EnumNames, one.GetTitle())
		}
		return nil
	case kind == "string":
		to.StringSchema = &googlepb.PrimitiveSchemaDefinition_StringSchema{Format: formats[from.GetFormat()]}
		return c.toGoogle(to.StringSchema, from)
	case kind == "number" || kind == "integer":
		to.NumberSchema = &googlepb.PrimitiveSchemaDefinition_NumberSchema{
			Minimum: bound(math.Ceil(from.GetMinimum())), Maximum: bound(math.Floor(from.GetMaximum())),
		}
		return c.toGoogle(to.NumberSchema, from)
	case kind == "boolean":
		to.BooleanSchema = &googlepb.PrimitiveSchemaDefinition_BooleanSchema{}
		return c.toGoogle(to.BooleanSchema, from)
	default:
		return noField(fmt.Sprintf("an input of type %q", clip.Name(kind)))
	}
}

// An input that says nothing is text.
func finishInput(c *converter, to *mcpv1.PrimitiveSchemaDefinition, from *googlepb.PrimitiveSchemaDefinition) error {
	switch {
	case from.GetEnumSchema() != nil:
		to.Type = "string"
		return c.toMCP(to, from.GetEnumSchema())
	case from.GetNumberSchema() != nil:
		to.Type = "number"
		if n := from.GetNumberSchema().GetMinimum(); n > 0 {
			to.Minimum = new(float64(n))
		}
		if n := from.GetNumberSchema().GetMaximum(); n > 0 {
			to.Maximum = new(float64(n))
		}
		return c.toMCP(to, from.GetNumberSchema())
	case from.GetBooleanSchema() != nil:
		to.Type = "boolean"
		return c.toMCP(to, from.GetBooleanSchema())
	case from.GetStringSchema() != nil:
		for name, format := range formats {
			if format == from.GetStringSchema().GetFormat() {
				to.Format = name
			}
		}
		to.Type = "string"
		return c.toMCP(to, from.GetStringSchema())
	default:
		to.Type = "string"
		return nil
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

func finishGoogleSampled(_ *converter, to, _ proto.Message) error {
	m, ok := to.(*googlepb.SamplingMessage)
	if !ok || m.GetText() == nil && m.GetImage() == nil && m.GetAudio() == nil {
		return noField("content of a conversation other than text, pictures and sounds")
	}
	return nil
}

// MCP wants to know who says something.
func finishSampling(_ *converter, to *mcpv1.CreateMessageRequestParams, _ *googlepb.SamplingCreateMessageRequest) error {
	for _, m := range to.GetMessages() {
		m.Role = cmp.Or(m.GetRole(), mcpv1.Role_ROLE_USER)
	}
	return nil
}

// unknownModel is the model of clients that do not say which has answered. MCP
// tells answers of models from others by it.
const unknownModel = "unknown"

func finishSampled(_ *converter, to *mcpv1.CreateMessageResult, from *googlepb.SamplingCreateMessageResult) error {
	m := from.GetMessage()
	pieces := 0
	for _, set := range []bool{m.GetText() != nil, m.GetImage() != nil, m.GetAudio() != nil} {
		if set {
			pieces++
		}
	}
	if pieces != 1 {
		return errors.New("sampling_create_message_result.message must have text, an image or audio")
	}
	to.Role, to.Model = cmp.Or(to.GetRole(), mcpv1.Role_ROLE_ASSISTANT), cmp.Or(to.GetModel(), unknownModel)
	return nil
}
