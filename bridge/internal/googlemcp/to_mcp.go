package googlemcp

import (
	"strconv"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
)

// toMCP makes messages of mcp.v1 from those of the service.
type toMCP struct {
	// base64 undoes base64 where bytes are the text of it.
	base64 bool
}

func millisOf(ttl *durationpb.Duration) *int64 {
	if ttl == nil {
		return nil
	}
	return new(max(ttl.AsDuration().Milliseconds(), 0))
}

func (c *toMCP) tool(t *googlepb.Tool) *mcpv1.Tool {
	out := &mcpv1.Tool{Name: t.GetName(), Title: t.GetTitle(), Description: t.GetDescription()}
	schema := t.GetInputSchema()
	if len(schema.GetFields()) == 0 { // MCP wants one
		schema = &structpb.Struct{Fields: map[string]*structpb.Value{"type": structpb.NewStringValue("object")}}
	}
	out.InputSchemaForm = &mcpv1.Tool_InputSchema{InputSchema: schema}
	if s := t.GetOutputSchema(); len(s.GetFields()) > 0 {
		out.OutputSchemaForm = &mcpv1.Tool_OutputSchema{OutputSchema: s}
	}
	if a := t.GetAnnotations(); a != nil {
		out.Annotations = &mcpv1.ToolAnnotations{
			Title: a.GetTitle(), ReadOnlyHint: new(a.GetReadOnlyHint()), DestructiveHint: new(a.GetDestructiveHint()),
			IdempotentHint: new(a.GetIdempotentHint()), OpenWorldHint: new(a.GetOpenWorldHint()),
		}
	}
	return out
}

func (c *toMCP) callResult(r *googlepb.CallToolResponse) *mcpv1.CallToolResult {
	out := &mcpv1.CallToolResult{}
	if r.GetIsError() {
		out.IsError = new(true)
	}
	for _, p := range r.GetContent() {
		out.Content = append(out.Content, c.blocks(&content{
			text: p.GetText(), image: p.GetImage(), audio: p.GetAudio(), embedded: p.GetEmbeddedResource(), link: p.GetResourceLink(),
		})...)
	}
	if s := r.GetStructuredContent(); s != nil {
		out.StructuredContentForm = &mcpv1.CallToolResult_StructuredContent{StructuredContent: structpb.NewStructValue(s)}
	}
	return out
}

// blocks returns the content that is set: one piece, from servers that keep the
// rules.
func (c *toMCP) blocks(p *content) []*mcpv1.ContentBlock {
	var out []*mcpv1.ContentBlock
	if v := p.text; v != nil {
		out = append(out, &mcpv1.ContentBlock{Content: &mcpv1.ContentBlock_Text{Text: &mcpv1.TextContent{
			Text: v.GetText(), Annotations: mcpAnnotations(v.GetAnnotations()),
		}}})
	}
	if v := p.image; v != nil {
		out = append(out, &mcpv1.ContentBlock{Content: &mcpv1.ContentBlock_Image{Image: &mcpv1.ImageContent{
			Data: c.bytes(v.GetData()), MimeType: v.GetMimeType(), Annotations: mcpAnnotations(v.GetAnnotations()),
		}}})
	}
	if v := p.audio; v != nil {
		out = append(out, &mcpv1.ContentBlock{Content: &mcpv1.ContentBlock_Audio{Audio: &mcpv1.AudioContent{
			Data: c.bytes(v.GetData()), MimeType: v.GetMimeType(), Annotations: mcpAnnotations(v.GetAnnotations()),
		}}})
	}
	if v := p.embedded; v != nil {
		out = append(out, &mcpv1.ContentBlock{Content: &mcpv1.ContentBlock_Resource{Resource: &mcpv1.EmbeddedResource{
			Resource: c.contents(v.GetContents()), Annotations: mcpAnnotations(v.GetAnnotations()),
		}}})
	}
	if v := p.link; v != nil {
		r := c.resource(v)
		out = append(out, &mcpv1.ContentBlock{Content: &mcpv1.ContentBlock_ResourceLink{ResourceLink: &mcpv1.ResourceLink{
			Uri: r.GetUri(), Name: r.GetName(), Title: r.GetTitle(), Description: r.GetDescription(), MimeType: r.GetMimeType(),
			Annotations: r.GetAnnotations(), Size: r.Size,
		}}})
	}
	return out
}

func (c *toMCP) resource(r *googlepb.Resource) *mcpv1.Resource {
	out := &mcpv1.Resource{
		Uri: r.GetUri(), Name: r.GetName(), Title: r.GetTitle(), Description: r.GetDescription(), MimeType: r.GetMimeType(),
		Annotations: mcpAnnotations(r.GetAnnotations()),
	}
	if r.GetSize() > 0 {
		out.Size = new(signed(r.GetSize()))
	}
	return out
}

func (c *toMCP) template(t *googlepb.ResourceTemplate) *mcpv1.ResourceTemplate {
	return &mcpv1.ResourceTemplate{
		UriTemplate: t.GetUriTemplate(), Name: t.GetName(), Title: t.GetTitle(), Description: t.GetDescription(), MimeType: t.GetMimeType(),
		Annotations: mcpAnnotations(t.GetAnnotations()),
	}
}

func (c *toMCP) readResult(r *googlepb.ReadResourceResponse) *mcpv1.ReadResourceResult {
	out := &mcpv1.ReadResourceResult{}
	for _, part := range r.GetResource() {
		out.Contents = append(out.Contents, c.contents(part))
	}
	return out
}

func (c *toMCP) prompt(p *googlepb.Prompt) *mcpv1.Prompt {
	out := &mcpv1.Prompt{Name: p.GetName(), Title: p.GetTitle(), Description: p.GetDescription()}
	for _, a := range p.GetArguments() {
		arg := &mcpv1.PromptArgument{Name: a.GetName(), Title: a.GetTitle(), Description: a.GetDescription()}
		if a.GetRequired() {
			arg.Required = new(true)
		}
		out.Arguments = append(out.Arguments, arg)
	}
	return out
}

func (c *toMCP) promptResult(r *googlepb.GetPromptResponse) *mcpv1.GetPromptResult {
	out := &mcpv1.GetPromptResult{Description: r.GetDescription()}
	for _, m := range r.GetMessages() {
		for _, b := range c.blocks(&content{
			text: m.GetText(), image: m.GetImage(), audio: m.GetAudio(), embedded: m.GetEmbeddedResource(), link: m.GetResourceLink(),
		}) {
			out.Messages = append(out.Messages, &mcpv1.PromptMessage{Role: speaker(m.GetRole(), mcpv1.Role_ROLE_USER), Content: b})
		}
	}
	return out
}

func (c *toMCP) completion(r *googlepb.CompletionResponse) *mcpv1.Completion {
	out := &mcpv1.Completion{Values: r.GetValues()}
	if n := r.GetTotalMatches(); n > 0 {
		out.Total = new(n)
	}
	if r.GetHasMore() {
		out.HasMore = new(true)
	}
	return out
}

func (c *toMCP) contents(r *googlepb.ResourceContents) *mcpv1.ResourceContents {
	out := &mcpv1.ResourceContents{Uri: r.GetUri(), MimeType: r.GetMimeType()}
	if blob := r.GetBlob(); len(blob) > 0 && r.GetText() == "" {
		out.Contents = &mcpv1.ResourceContents_Blob{Blob: c.bytes(blob)}
	} else {
		out.Contents = &mcpv1.ResourceContents_Text{Text: r.GetText()}
	}
	return out
}

func mcpAnnotations(a *googlepb.Annotations) *mcpv1.Annotations {
	if a == nil {
		return nil
	}
	out := &mcpv1.Annotations{}
	if p := a.GetPriority(); p != 0 {
		out.Priority = new(double(p))
	}
	for _, role := range a.GetAudience() {
		if r := mcpRole(role); r != mcpv1.Role_ROLE_UNSPECIFIED {
			out.Audience = append(out.Audience, r)
		}
	}
	return out
}

func mcpRole(r googlepb.Role) mcpv1.Role {
	switch r {
	case googlepb.Role_ROLE_USER:
		return mcpv1.Role_ROLE_USER
	case googlepb.Role_ROLE_ASSISTANT:
		return mcpv1.Role_ROLE_ASSISTANT
	default:
		return mcpv1.Role_ROLE_UNSPECIFIED
	}
}

// double returns the number that people have meant: 0.1 is another one as a
// float than as a double.
func double(f float32) float64 {
	d, err := strconv.ParseFloat(strconv.FormatFloat(float64(f), 'g', -1, 32), 64)
	if err != nil { // the text of a float always is one
		return float64(f)
	}
	return d
}

func signed(n uint64) int64 { return int64(min(n, 1<<63-1)) }
