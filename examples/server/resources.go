package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

// watchedURI is the resource that changes by itself, and watchedEvery how often.
const (
	watchedURI   = "test://watched-resource"
	watchedEvery = 3 * time.Second
)

// The URIs of the template are what stands between these.
const (
	templateBefore = "test://template/"
	templateAfter  = "/data"
)

// resource is something to read.
type resource struct {
	description *mcpv1.Resource
	contents    *mcpv1.ResourceContents
}

func allResources() []*resource {
	describe := func(contents *mcpv1.ResourceContents, name, description string) *resource {
		return &resource{
			description: &mcpv1.Resource{Uri: contents.GetUri(), Name: name, Description: description, MimeType: contents.GetMimeType()},
			contents:    contents,
		}
	}
	return []*resource{
		describe(textContents("test://static-text", "text/plain", "This is the content of the static text resource."),
			"static-text", "Some text"),
		describe(&mcpv1.ResourceContents{
			Uri: "test://static-binary", MimeType: "image/png", Contents: &mcpv1.ResourceContents_Blob{Blob: pixel},
		}, "static-binary", "A picture"),
		describe(textContents(watchedURI, "text/plain", "It is said to change."), "watched-resource", "Changes every few seconds"),
	}
}

// updateWatched tells of changes of the watched resource until ctx ends.
func (s *server) updateWatched(ctx context.Context) {
	ticker := time.NewTicker(watchedEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.listeners.notify(change{of: resourceContents, name: watchedURI})
		case <-ctx.Done():
			return
		}
	}
}

// ListResources lists the resources, all on one page.
func (s *server) ListResources(_ context.Context, r *mcpv1.ListResourcesRequest) (*mcpv1.ListResourcesResponse, error) {
	if err := onlyPage(r); err != nil {
		return nil, err
	}
	response := &mcpv1.ListResourcesResponse{TtlMs: new(cacheFor), CacheScope: mcpv1.CacheScope_CACHE_SCOPE_PUBLIC}
	for _, r := range s.resources.all() {
		response.Resources = append(response.Resources, r.description)
	}
	return response, nil
}

// ListResourceTemplates lists the one template.
func (s *server) ListResourceTemplates(_ context.Context, r *mcpv1.ListResourceTemplatesRequest) (*mcpv1.ListResourceTemplatesResponse, error) {
	if err := onlyPage(r); err != nil {
		return nil, err
	}
	return &mcpv1.ListResourceTemplatesResponse{
		ResourceTemplates: []*mcpv1.ResourceTemplate{{
			UriTemplate: templateBefore + "{id}" + templateAfter,
			Name:        "template",
			Description: "Data by its id",
			MimeType:    "application/json",
		}},
		TtlMs:      new(cacheFor),
		CacheScope: mcpv1.CacheScope_CACHE_SCOPE_PUBLIC,
	}, nil
}

// ReadResource reads a resource, or one of the template.
func (s *server) ReadResource(_ context.Context, r *mcpv1.ReadResourceRequest) (*mcpv1.ReadResourceResponse, error) {
	contents, err := s.read(r.GetUri())
	if err != nil {
		return nil, err
	}
	return &mcpv1.ReadResourceResponse{Result: &mcpv1.ReadResourceResponse_Complete{Complete: &mcpv1.ReadResourceResult{
		Contents:   []*mcpv1.ResourceContents{contents},
		TtlMs:      new(cacheFor),
		CacheScope: mcpv1.CacheScope_CACHE_SCOPE_PUBLIC,
	}}}, nil
}

func (s *server) read(uri string) (*mcpv1.ResourceContents, error) {
	if r, ok := s.resources.get(uri); ok {
		return r.contents, nil
	}
	rest, ok := strings.CutPrefix(uri, templateBefore)
	id, ends := strings.CutSuffix(rest, templateAfter)
	if !ok || !ends || id == "" || strings.Contains(id, "/") {
		return nil, unknownResource(uri)
	}
	data, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
	if err != nil {
		return nil, err
	}
	return textContents(uri, "application/json", string(data)), nil
}
