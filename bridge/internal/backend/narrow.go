package backend

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Names of request fields by which less is asked for (AIP-132, AIP-157, AIP-158
// and AIP-160, and what other APIs have for the same).
var (
	sizeFields   = []protoreflect.Name{"page_size", "limit", "max_results", "max_items", "per_page", "first", "top_k", "page_limit", "max_count"}
	filterFields = []protoreflect.Name{"filter", "filters", "query", "where", "prefix", "range_end", "expr"}
	viewFields   = []protoreflect.Name{"view"}
	maskFields   = []protoreflect.Name{"read_mask", "field_mask", "fields", "output_fields", "mask"}
)

// narrowing says which arguments of a request make its result smaller.
func narrowing(request protoreflect.MessageDescriptor) string {
	var ways []string
	add := func(lead string, names []protoreflect.Name, fits func(protoreflect.FieldDescriptor) bool) {
		for _, f := range narrowingFields(request) {
			if slices.Contains(names, f.fd.Name()) && fits(f.fd) {
				ways = append(ways, lead+" "+f.path)
			}
		}
	}
	add("a smaller", sizeFields, isSize)
	add("fewer fields in", maskFields, isPaths)
	add("a narrower", filterFields, func(protoreflect.FieldDescriptor) bool { return true })
	add("another", viewFields, func(fd protoreflect.FieldDescriptor) bool { return fd.Enum() != nil })
	switch n := len(ways); n {
	case 0:
		return "Call it for something smaller, if its arguments allow that."
	case 1:
		return "Ask for less: " + ways[0] + "."
	default:
		return "Ask for less: " + strings.Join(ways[:n-1], ", ") + " or " + ways[n-1] + "."
	}
}

// narrowingField is a field of a request, or of a message in one.
type narrowingField struct {
	path string // of JSON names
	fd   protoreflect.FieldDescriptor
}

// narrowingFields returns the fields of a request and, as many APIs have what
// bounds a result in a message, those one level below.
func narrowingFields(request protoreflect.MessageDescriptor) []narrowingField {
	var all []narrowingField
	for i := range request.Fields().Len() {
		fd := request.Fields().Get(i)
		all = append(all, narrowingField{fd.JSONName(), fd})
	}
	for _, f := range slices.Clone(all) {
		if f.fd.Message() == nil || f.fd.IsList() || f.fd.IsMap() || f.fd.Message().FullName().Parent() == "google.protobuf" {
			continue
		}
		for i := range f.fd.Message().Fields().Len() {
			fd := f.fd.Message().Fields().Get(i)
			if slices.Contains(sizeFields, fd.Name()) {
				all = append(all, narrowingField{f.path + "." + fd.JSONName(), fd})
			}
		}
	}
	return all
}

// isSize reports whether the values of a field are numbers.
func isSize(fd protoreflect.FieldDescriptor) bool {
	switch fd.Kind() {
	case protoreflect.Int32Kind, protoreflect.Int64Kind, protoreflect.Uint32Kind, protoreflect.Uint64Kind,
		protoreflect.Sint32Kind, protoreflect.Sint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind,
		protoreflect.Sfixed32Kind, protoreflect.Sfixed64Kind:
		return !fd.IsList()
	case protoreflect.MessageKind: // wrappers
		name := fd.Message().FullName()
		return name == "google.protobuf.Int32Value" || name == "google.protobuf.UInt32Value" || name == "google.protobuf.Int64Value" || name == "google.protobuf.UInt64Value"
	default:
		return false
	}
}

// isPaths reports whether the values of a field are paths of fields.
func isPaths(fd protoreflect.FieldDescriptor) bool {
	if md := fd.Message(); md != nil {
		return md.FullName() == "google.protobuf.FieldMask"
	}
	return fd.Kind() == protoreflect.StringKind && fd.IsList()
}
