package main

import (
	"context"
	_ "embed"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

var (
	//go:embed assets/pixel.png
	pixel []byte
	//go:embed assets/silence.wav
	silence []byte
)

// contentTools answer with every kind of content.
func contentTools() []*tool {
	answer := func(name, description string, content ...*mcpv1.ContentBlock) *tool {
		return &tool{name: name, description: description, run: func(context.Context, *call) (*mcpv1.CallToolResponse, error) {
			return done(content...)
		}}
	}
	return []*tool{
		answer("test_simple_text", "Answers with text", text("This is a simple text response for testing.")),
		answer("test_image_content", "Answers with a picture", picture()),
		answer("test_audio_content", "Answers with a sound", sound()),
		answer("test_embedded_resource", "Answers with a resource",
			embedded("test://embedded-resource", "This is an embedded resource content.")),
		answer("test_multiple_content_types", "Answers with text, a picture and a resource",
			text("Multiple content types test:"), picture(), embedded("test://mixed-content-resource", "This is one of several.")),
		{
			name: "test_error_handling", description: "Fails",
			run: func(context.Context, *call) (*mcpv1.CallToolResponse, error) {
				return failed("This tool intentionally returns an error for testing")
			},
		},
		{
			name: "greet", description: "Greets somebody",
			schema: `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`,
			run: func(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
				var arguments struct{ Name string }
				if err := c.arguments(&arguments); err != nil {
					return failed(err.Error())
				}
				return done(text("Hello, " + arguments.Name + "!"))
			},
		},
		{
			name: "test_x_mcp_header", description: "Takes an argument that HTTP clients repeat in a header",
			schema: `{"type":"object","properties":{` +
				`"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`,
			run: func(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
				var arguments struct{ Region string }
				if err := c.arguments(&arguments); err != nil {
					return failed(err.Error())
				}
				return done(text("region " + arguments.Region))
			},
		},
		{
			name: "json_schema_2020_12_tool", description: "Has a schema with much of JSON Schema 2020-12",
			schema: contactSchema,
			run: func(_ context.Context, c *call) (*mcpv1.CallToolResponse, error) {
				return done(text("called with " + c.request.GetArguments().String()))
			},
		},
	}
}

// contactSchema is a schema whose key words must reach the client as they are.
const contactSchema = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {
		"address": {
			"$anchor": "addressDef",
			"type": "object",
			"properties": {"street": {"type": "string"}, "city": {"type": "string"}}
		}
	},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`

func text(s string) *mcpv1.ContentBlock {
	return &mcpv1.ContentBlock{Content: &mcpv1.ContentBlock_Text{Text: &mcpv1.TextContent{Text: s}}}
}

func picture() *mcpv1.ContentBlock {
	return &mcpv1.ContentBlock{Content: &mcpv1.ContentBlock_Image{Image: &mcpv1.ImageContent{Data: pixel, MimeType: "image/png"}}}
}

func sound() *mcpv1.ContentBlock {
	return &mcpv1.ContentBlock{Content: &mcpv1.ContentBlock_Audio{Audio: &mcpv1.AudioContent{Data: silence, MimeType: "audio/wav"}}}
}

func embedded(uri, contents string) *mcpv1.ContentBlock {
	return &mcpv1.ContentBlock{Content: &mcpv1.ContentBlock_Resource{Resource: &mcpv1.EmbeddedResource{
		Resource: textContents(uri, "text/plain", contents),
	}}}
}

func textContents(uri, mimeType, contents string) *mcpv1.ResourceContents {
	return &mcpv1.ResourceContents{Uri: uri, MimeType: mimeType, Contents: &mcpv1.ResourceContents_Text{Text: contents}}
}
