package engine

import (
	"strings"

	"github.com/yosida95/uritemplate/v3"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/options"
)

// ResourceScheme is the scheme of URIs that follow from google.api.resource:
// resource://library.googleapis.com/shelves/1/books/2 is the book with the
// name shelves/1/books/2.
const ResourceScheme = "resource"

// namedResources returns the templates of a Get method that takes the name of
// what it returns, where the option google.api.resource of the response says
// how such names are made (https://google.aip.dev/131).
func namedResources(t *tool, method protoreflect.MethodDescriptor) []*resource {
	if method.IsStreamingClient() || method.IsStreamingServer() || !strings.HasPrefix(string(method.Name()), "Get") {
		return nil
	}
	name := method.Input().Fields().ByName("name")
	if name == nil || name.Kind() != protoreflect.StringKind || name.IsList() {
		return nil
	}
	of, ok := options.ResourceOf(method.Output())
	if !ok {
		return nil
	}
	service, kind, ok := strings.Cut(of.Type, "/")
	if !ok {
		return nil
	}
	var all []*resource
	for i, pattern := range of.Patterns {
		if !strings.Contains(pattern, "{") || strings.ContainsAny(pattern, "*=") {
			continue
		}
		r := &resource{tool: t, uri: ResourceScheme + "://" + service + "/" + pattern, mime: "application/json", pattern: pattern}
		var err error
		if r.template, err = uritemplate.New(r.uri); err != nil {
			continue
		}
		label := strings.ToLower(kind)
		if i > 0 {
			label += "_" + strings.Trim(strings.NewReplacer("{", "", "}", "", "/", "_").Replace(pattern), "_")
		}
		r.render(label, "", "")
		all = append(all, r)
	}
	return all
}
