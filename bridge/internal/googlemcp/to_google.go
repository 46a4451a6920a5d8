package googlemcp

import (
	"encoding/json"
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

// metadata returns the _meta of a request or a result.
func (c *toGoogle) metadata(meta json.RawMessage) *structpb.Struct { return c.object(nil, meta) }
