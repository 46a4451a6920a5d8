package googlemcp

import (
	"math"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// toGoogle makes messages of the service from those of mcp.v1. It keeps the
// first error.
type toGoogle struct {
	*codecs
	err error
}

// object returns an object that is in one of two forms, or nil if it is in none.
func (c *toGoogle) object(s *structpb.Struct, text []byte) *structpb.Struct {
	if s != nil || jsontok.KindOf(text) != jsontok.KindObject {
		return s
	}
	s, err := c.structOf(text)
	if err != nil && c.err == nil {
		c.err = err
	}
	return s
}

func ttlOf(millis *int64) *durationpb.Duration {
	if millis == nil {
		return nil
	}
	// A protobuf duration is 10,000 years at most, and one of Go 290.
	return durationpb.New(time.Duration(min(max(*millis, 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond)
}

func (c *toGoogle) tool(t *mcpv1.Tool) *googlepb.Tool {
	out := &googlepb.Tool{
		Name: t.GetName(), Title: t.GetTitle(), Description: t.GetDescription(),
		InputSchema: c.object(t.GetInputSchema(), t.GetInputSchemaJson()),
	}
	// Structured content is an object here, or nothing: a schema of anything else
	// would promise what never comes.
	if schema := c.object(t.GetOutputSchema(), t.GetOutputSchemaJson()); schema.GetFields()["type"].GetStringValue() == "object" {
		out.OutputSchema = schema
	}
	if a := t.GetAnnotations(); a != nil {
		out.Annotations = &googlepb.ToolAnnotations{
			Title:           a.GetTitle(),
			ReadOnlyHint:    a.GetReadOnlyHint(),
			DestructiveHint: a.DestructiveHint == nil || a.GetDestructiveHint(),
			IdempotentHint:  a.GetIdempotentHint(),
			OpenWorldHint:   a.OpenWorldHint == nil || a.GetOpenWorldHint(),
		}
	}
	return out
}

func (c *toGoogle) callResult(r *mcpv1.CallToolResult) *googlepb.CallToolResponse {
	out := &googlepb.CallToolResponse{IsError: r.GetIsError()}
	for _, block := range r.GetContent() {
		if p := c.content(block); p != nil {
			out.Content = append(out.Content, &googlepb.CallToolResponse_Content{
				Text: p.text, Image: p.image, Audio: p.audio, EmbeddedResource: p.embedded, ResourceLink: p.link,
			})
		}
	}
	out.StructuredContent = c.object(r.GetStructuredContent().GetStructValue(), r.GetStructuredContentJson())
	return out
}

func resource(r *mcpv1.Resource) *googlepb.Resource {
	return &googlepb.Resource{
		Uri: r.GetUri(), Name: r.GetName(), Title: r.GetTitle(), Description: r.GetDescription(), MimeType: r.GetMimeType(),
		Annotations: annotations(r.GetAnnotations()), Size: unsigned(r.GetSize()),
	}
}

func template(t *mcpv1.ResourceTemplate) *googlepb.ResourceTemplate {
	return &googlepb.ResourceTemplate{
		UriTemplate: t.GetUriTemplate(), Name: t.GetName(), Title: t.GetTitle(), Description: t.GetDescription(), MimeType: t.GetMimeType(),
		Annotations: annotations(t.GetAnnotations()),
	}
}

func readResult(r *mcpv1.ReadResourceResult) *googlepb.ReadResourceResponse {
	out := &googlepb.ReadResourceResponse{}
	for _, part := range r.GetContents() {
		out.Resource = append(out.Resource, contents(part))
	}
	return out
}

func prompt(p *mcpv1.Prompt) *googlepb.Prompt {
	out := &googlepb.Prompt{Name: p.GetName(), Title: p.GetTitle(), Description: p.GetDescription()}
	for _, a := range p.GetArguments() {
		out.Arguments = append(out.Arguments, &googlepb.Prompt_Argument{
			Name: a.GetName(), Title: a.GetTitle(), Description: a.GetDescription(), Required: a.GetRequired(),
		})
	}
	return out
}

func (c *toGoogle) promptResult(r *mcpv1.GetPromptResult) *googlepb.GetPromptResponse {
	out := &googlepb.GetPromptResponse{Description: r.GetDescription()}
	for _, m := range r.GetMessages() {
		if p := c.content(m.GetContent()); p != nil {
			out.Messages = append(out.Messages, &googlepb.PromptMessage{
				Role: roleOf(m.GetRole()), Text: p.text, Image: p.image, Audio: p.audio, EmbeddedResource: p.embedded, ResourceLink: p.link,
			})
		}
	}
	return out
}

func completion(r *mcpv1.Completion) *googlepb.CompletionResponse {
	return &googlepb.CompletionResponse{Values: r.GetValues(), TotalMatches: r.GetTotal(), HasMore: r.GetHasMore()}
}

// content is a piece of content in the fields of the service, of which one is
// set.
type content struct {
	text     *googlepb.TextContent
	image    *googlepb.ImageContent
	audio    *googlepb.AudioContent
	embedded *googlepb.EmbeddedResource
	link     *googlepb.Resource
}

// content returns a piece of content, or nil if there is none in the block. Of
// types that the service does not have, it is the JSON.
func (c *toGoogle) content(b *mcpv1.ContentBlock) *content {
	switch v := b.GetContent().(type) {
	case *mcpv1.ContentBlock_Text:
		return &content{text: &googlepb.TextContent{Text: v.Text.GetText(), Annotations: annotations(v.Text.GetAnnotations())}}
	case *mcpv1.ContentBlock_Image:
		return &content{image: &googlepb.ImageContent{Data: v.Image.GetData(), MimeType: v.Image.GetMimeType(), Annotations: annotations(v.Image.GetAnnotations())}}
	case *mcpv1.ContentBlock_Audio:
		return &content{audio: &googlepb.AudioContent{Data: v.Audio.GetData(), MimeType: v.Audio.GetMimeType(), Annotations: annotations(v.Audio.GetAnnotations())}}
	case *mcpv1.ContentBlock_Resource:
		return &content{embedded: &googlepb.EmbeddedResource{Contents: contents(v.Resource.GetResource()), Annotations: annotations(v.Resource.GetAnnotations())}}
	case *mcpv1.ContentBlock_ResourceLink:
		l := v.ResourceLink
		return &content{link: &googlepb.Resource{
			Uri: l.GetUri(), Name: l.GetName(), Title: l.GetTitle(), Description: l.GetDescription(), MimeType: l.GetMimeType(),
			Annotations: annotations(l.GetAnnotations()), Size: unsigned(l.GetSize()),
		}}
	case nil:
		return nil
	default:
		text, err := c.json(b)
		if err != nil && c.err == nil {
			c.err = err
		}
		return &content{text: &googlepb.TextContent{Text: string(text)}}
	}
}

func contents(r *mcpv1.ResourceContents) *googlepb.ResourceContents {
	return &googlepb.ResourceContents{Uri: r.GetUri(), MimeType: r.GetMimeType(), Text: r.GetText(), Blob: r.GetBlob()}
}

func annotations(a *mcpv1.Annotations) *googlepb.Annotations {
	if a == nil {
		return nil
	}
	out := &googlepb.Annotations{Priority: float32(a.GetPriority())}
	for _, role := range a.GetAudience() {
		out.Audience = append(out.Audience, roleOf(role))
	}
	return out
}

func roleOf(r mcpv1.Role) googlepb.Role {
	switch r {
	case mcpv1.Role_ROLE_USER:
		return googlepb.Role_ROLE_USER
	case mcpv1.Role_ROLE_ASSISTANT:
		return googlepb.Role_ROLE_ASSISTANT
	default:
		return googlepb.Role_ROLE_UNKNOWN
	}
}

func unsigned(n int64) uint64 { return uint64(max(n, 0)) }
