package schema

import (
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/customoption"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

// What the declarations of an API say of its values, besides comments: how names of
// resources look, by google.api.resource (https://google.aip.dev/123) and by the
// paths of google.api.http, and where a value comes from that only the backend can
// make.

// Numbers of the options of google/api/resource.proto and of their fields.
const (
	resourceNumber   = 1053 // of a message; a file has a list of the same
	referenceNumber  = 1055 // of a field
	resourceType     = 1
	resourcePattern  = 2
	resourceName     = 3 // the field of the name
	referenceType    = 1
	referenceChild   = 2
	httpRuleBindings = 11
)

const (
	// maxFormats is how many formats and origins of a value are told, maxHelp how
	// long they are together, in bytes.
	maxFormats = 3
	maxHelp    = 240
	// maxPaths is how many paths of a field mask are told.
	maxPaths = 20
)

// hints derives what can be said of fields from the methods of an API. It is safe
// for concurrent use.
type hints struct {
	methods []protoreflect.MethodDescriptor
	once    sync.Once
	// patterns are those of resources, by their types.
	patterns map[string][]string
	// paths are the formats of fields of requests in HTTP paths; a field that
	// methods have different ones of has none.
	paths map[protoreflect.FullName][]string
	// origins say which results have a message, own which field of a method's own
	// result does, by the message and the request.
	origins map[protoreflect.FullName][]string
	own     map[[2]protoreflect.FullName]string
	// masks are the paths that field masks of requests may have.
	masks map[protoreflect.FullName][]string
}

// of returns the words on a field of arguments that doc, the author's words, does
// not have yet, or "".
func (h *hints) of(fd protoreflect.FieldDescriptor, doc string) string {
	if len(h.methods) == 0 || fd.IsMap() {
		return ""
	}
	h.once.Do(h.read)
	switch fd.Kind() {
	case protoreflect.StringKind:
		if fd.Name() == "page_token" {
			if from := h.own[[2]protoreflect.FullName{"page_token", fd.ContainingMessage().FullName()}]; from != "" && doc == "" {
				return "From `" + from + "` of the result before."
			}
		}
		return formatText(h.formats(fd), doc)
	case protoreflect.MessageKind:
		md := fd.Message()
		if paths := h.masks[fd.FullName()]; len(paths) > 0 && !fd.IsList() {
			return "Paths: " + sample(paths, maxPaths, maxHelp) + "."
		}
		if !opaque(md) {
			return ""
		}
		if from := h.own[[2]protoreflect.FullName{md.FullName(), fd.ContainingMessage().FullName()}]; from != "" {
			return "From `" + from + "` of the result before."
		}
		if from := h.origins[md.FullName()]; len(from) > 0 {
			return "From " + sample(from, maxFormats, maxHelp) + "."
		}
	default:
	}
	return ""
}

// formatText says which formats a name has, unless doc shows one.
func formatText(formats []string, doc string) string {
	if len(formats) == 0 || strings.Contains(doc, "ormat:") {
		return ""
	}
	for _, format := range formats {
		if first, _, ok := strings.Cut(format, "/"); ok && !strings.ContainsAny(first, "{*") && strings.Contains(doc, first+"/") {
			return ""
		}
	}
	return "Format: " + strings.ReplaceAll(sample(formats, maxFormats, maxHelp), ", ", " or ") + "."
}

// formats returns those of the names in a field.
func (h *hints) formats(fd protoreflect.FieldDescriptor) []string {
	if reference := extensionBytes(fd, referenceNumber); reference != nil {
		if child := optionText(reference, referenceChild); child != nil {
			var parents []string
			for _, pattern := range h.patterns[string(child)] {
				if parent := parentPattern(pattern); parent != "" && !slices.Contains(parents, parent) {
					parents = append(parents, parent)
				}
			}
			return parents
		}
		return h.patterns[string(optionText(reference, referenceType))]
	}
	if formats := h.paths[fd.FullName()]; formats != nil {
		return formats
	}
	md := fd.ContainingMessage()
	if resource := extensionBytes(md, resourceNumber); resource != nil && !fd.IsList() {
		name := string(optionText(resource, resourceName))
		if name == "" {
			name = "name"
		}
		if string(fd.Name()) == name {
			return patternsOf(resource)
		}
	}
	return nil
}

// parentPattern returns the pattern of what a resource is in, or "".
func parentPattern(pattern string) string {
	segments := strings.Split(pattern, "/")
	n := len(segments)
	if n < 4 || !strings.HasPrefix(segments[n-1], "{") || strings.HasPrefix(segments[n-2], "{") {
		return ""
	}
	return strings.Join(segments[:n-2], "/")
}

// patternsOf returns the patterns of an encoded ResourceDescriptor that say
// something.
func patternsOf(resource []byte) []string {
	var patterns []string
	for f := range customoption.Fields(resource) {
		if f.Number != resourcePattern || f.Type != protowire.BytesType {
			continue
		}
		if pattern := formatOf(string(f.Bytes)); pattern != "" && !slices.Contains(patterns, pattern) {
			patterns = append(patterns, pattern)
		}
	}
	return patterns
}

// formatOf returns a pattern as it is shown, or "" for one that allows anything.
func formatOf(pattern string) string {
	if strings.Trim(pattern, "*") == "" {
		return ""
	}
	return clip(oneLine(pattern), maxNameText)
}

// read looks at all methods and the files that they need.
func (h *hints) read() {
	h.patterns = make(map[string][]string)
	h.paths = make(map[protoreflect.FullName][]string)
	h.origins = make(map[protoreflect.FullName][]string)
	h.own = make(map[[2]protoreflect.FullName]string)
	h.masks = make(map[protoreflect.FullName][]string)
	seen := make(map[string]bool)
	var others []protoreflect.MethodDescriptor
	for _, method := range h.methods {
		for _, d := range []protoreflect.Descriptor{method, method.Input(), method.Output()} {
			h.readFile(d.ParentFile(), seen)
		}
		h.readPaths(method)
		h.readMasks(method)
		if changes(method) { // what a change returns is wanted most
			h.readOrigins(method)
		} else {
			others = append(others, method)
		}
	}
	for _, method := range others {
		h.readOrigins(method)
	}
}

// changes reports whether the name of a method says that it changes something.
func changes(method protoreflect.MethodDescriptor) bool {
	words := splitWords(string(method.Name()))
	return len(words) > 0 && slices.Contains([]string{
		"add", "commit", "create", "delete", "grant", "import", "insert", "patch", "put", "remove", "set", "update", "upsert", "write",
	}, strings.ToLower(words[0]))
}

// readFile collects the resources of a file and of those that it imports.
func (h *hints) readFile(file protoreflect.FileDescriptor, seen map[string]bool) {
	if file == nil || seen[file.Path()] || len(seen) > maxFiles {
		return
	}
	seen[file.Path()] = true
	if customoption.Imports(file, "google/api/resource.proto") {
		customoption.Each(file, func(f customoption.Field) {
			if f.Number == resourceNumber && f.Type == protowire.BytesType {
				h.addResource(f.Bytes)
			}
		})
		var messages func(protoreflect.MessageDescriptors)
		messages = func(list protoreflect.MessageDescriptors) {
			for i := range list.Len() {
				h.addResource(extensionBytes(list.Get(i), resourceNumber))
				messages(list.Get(i).Messages())
			}
		}
		messages(file.Messages())
	}
	for i := range file.Imports().Len() {
		h.readFile(file.Imports().Get(i).FileDescriptor, seen)
	}
}

func (h *hints) addResource(resource []byte) {
	if typ := string(optionText(resource, resourceType)); typ != "" && h.patterns[typ] == nil {
		h.patterns[typ] = patternsOf(resource)
	}
}

// readPaths notes the formats of a request's fields in the paths of a method.
func (h *hints) readPaths(method protoreflect.MethodDescriptor) {
	formats := make(map[protoreflect.FullName][]string)
	for _, path := range httpPaths(extensionBytes(method, httpNumber)) {
		for _, variable := range variables(path) {
			name, pattern, _ := strings.Cut(variable, "=")
			fd := method.Input().Fields().ByName(protoreflect.Name(name))
			if pattern = formatOf(pattern); fd == nil || pattern == "" || slices.Contains(formats[fd.FullName()], pattern) {
				continue
			}
			formats[fd.FullName()] = append(formats[fd.FullName()], pattern)
		}
	}
	for field, list := range formats {
		if before, ok := h.paths[field]; ok && !slices.Equal(before, list) {
			list = []string{} // which of them holds is not known
		}
		h.paths[field] = list
	}
}

// httpPaths returns the path of an encoded google.api.HttpRule, and after it those
// of its additional bindings, which have none themselves.
func httpPaths(rule []byte) []string {
	var paths []string
	add := func(rule []byte) {
		for f := range customoption.Fields(rule) {
			if f.Type == protowire.BytesType && f.Number >= httpRuleGet && f.Number <= httpRulePatch {
				paths = append(paths, string(f.Bytes))
			}
		}
	}
	add(rule)
	for f := range customoption.Fields(rule) {
		if f.Type == protowire.BytesType && f.Number == httpRuleBindings {
			add(f.Bytes)
		}
	}
	return paths
}

// variables returns the variables of a path, such as name=shelves/*.
func variables(path string) []string {
	var list []string
	for {
		_, rest, ok := strings.Cut(path, "{")
		if !ok {
			return list
		}
		variable, after, ok := strings.Cut(rest, "}")
		if !ok {
			return list
		}
		list, path = append(list, variable), after
	}
}

// readMasks notes the paths that the field masks of a method may have, where it is
// certain which message they are of.
func (h *hints) readMasks(method protoreflect.MethodDescriptor) {
	for _, mask := range transcode.Masks(method) {
		if len(mask.Of) != 1 {
			continue
		}
		paths := []string{}
		fields := mask.Of[0].Fields()
		for i := range fields.Len() {
			fd := fields.Get(i)
			if deprecated(fd) || mask.Resource != nil && !readFieldOptions(fd).travels(input) || !validKey(fd.JSONName()) {
				continue
			}
			paths = append(paths, fd.JSONName())
		}
		name := mask.Field.FullName()
		if before, ok := h.masks[name]; ok && !slices.Equal(before, paths) {
			paths = []string{} // which of them hold is not known
		}
		h.masks[name] = paths
	}
}

// readOrigins notes which values a method's result has that others take.
func (h *hints) readOrigins(method protoreflect.MethodDescriptor) {
	request := method.Input().FullName()
	fields := method.Output().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		switch {
		case fd.IsList() || fd.IsMap():
		case fd.Kind() == protoreflect.StringKind && fd.Name() == "next_page_token":
			h.own[[2]protoreflect.FullName{"page_token", request}] = clip(fd.JSONName(), maxNameText)
		case fd.Message() != nil && opaque(fd.Message()):
			name := fd.Message().FullName()
			from := clip(fd.JSONName(), maxNameText)
			if _, ok := h.own[[2]protoreflect.FullName{name, request}]; !ok {
				h.own[[2]protoreflect.FullName{name, request}] = from
			}
			if len(h.origins[name]) <= maxFormats {
				h.origins[name] = append(h.origins[name], "`"+from+"` of "+clip(string(method.Name()), maxNameText))
			}
		}
	}
}

// opaque reports whether a message is a token: one field of text or bytes that only
// the backend can make, as its name or that of the message says.
func opaque(md protoreflect.MessageDescriptor) bool {
	if md.IsPlaceholder() || md.Fields().Len() != 1 || md.FullName().Parent() == "google.protobuf" {
		return false
	}
	fd := md.Fields().Get(0)
	if fd.IsList() || fd.Kind() != protoreflect.StringKind && fd.Kind() != protoreflect.BytesKind {
		return false
	}
	for _, word := range []string{"token", "cursor", "etag"} {
		if strings.HasSuffix(strings.ToLower(string(md.Name())), word) {
			return true
		}
	}
	return false
}
