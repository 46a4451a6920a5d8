package transcode

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/nearest"
)

// Mask is a field of a request that is a google.protobuf.FieldMask, with what its
// paths are of.
type Mask struct {
	// Field is the field of the request.
	Field protoreflect.FieldDescriptor
	// Resource is the field of the request that an update mask is about
	// (AIP-134), or nil.
	Resource protoreflect.FieldDescriptor
	// Of are the messages of which a path may name fields, at least one.
	Of []protoreflect.MessageDescriptor
}

// Masks returns the masks of a method of which it is certain what their paths are
// of: those of an update are of the resource that the request holds (AIP-134), and
// those of what is read are of the response or of the resources in it (AIP-157).
func Masks(method protoreflect.MethodDescriptor) []Mask {
	var masks []Mask
	request := method.Input()
	for i := range request.Fields().Len() {
		fd := request.Fields().Get(i)
		if fd.Message() == nil || fd.IsList() || fd.IsMap() || wellKnownOf(fd.Message()) != wktFieldMask {
			continue
		}
		m := Mask{Field: fd}
		switch name := string(fd.Name()); {
		case name == "update_mask", name == "field_mask" && startsWith(method, "Update", "Patch", "PartialUpdate"):
			if m.Resource = resourceOf(request); m.Resource != nil {
				m.Of = append(m.Of, m.Resource.Message())
			}
		case name == "read_mask", name == "field_mask" && startsWith(method, "Get", "List", "Read", "Search", "BatchGet"):
			m.Of = readables(method.Output())
		}
		if len(m.Of) > 0 {
			masks = append(masks, m)
		}
	}
	return masks
}

func startsWith(method protoreflect.MethodDescriptor, verbs ...string) bool {
	return slices.ContainsFunc(verbs, func(verb string) bool { return strings.HasPrefix(string(method.Name()), verb) })
}

// resourceOf returns the field of an update's request that holds the resource: the
// one that the request is called after, as book in UpdateBookRequest, or nil.
func resourceOf(request protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	verb := snakeCase(strings.TrimSuffix(string(request.Name()), "Request"))
	for i := range request.Fields().Len() {
		fd := request.Fields().Get(i)
		if isResource(fd) && !fd.IsList() && strings.HasSuffix(verb, "_"+string(fd.Name())) {
			return fd
		}
	}
	return nil
}

// readables returns what a mask of what is read may be about: the response, and the
// messages in its fields.
func readables(response protoreflect.MessageDescriptor) []protoreflect.MessageDescriptor {
	if wellKnownOf(response) != wktNone || response.Fields().Len() == 0 || response.FullName() == "google.longrunning.Operation" {
		return nil
	}
	all := []protoreflect.MessageDescriptor{response}
	for i := range response.Fields().Len() {
		if fd := response.Fields().Get(i); isResource(fd) {
			all = append(all, fd.Message())
		}
	}
	return all
}

// isResource reports whether a field holds messages whose fields a mask may name.
func isResource(fd protoreflect.FieldDescriptor) bool {
	return fd.Message() != nil && !fd.IsMap() && wellKnownOf(fd.Message()) == wktNone && fd.Message().Fields().Len() > 0
}

// resolve returns a path by the proto names of its fields, and whether there is
// such a field. Where there is none, it returns the message in which a name was not
// found and what leads to it.
func (m *Mask) resolve(path string) (resolved string, ok bool, at protoreflect.MessageDescriptor, prefix []string) {
	for _, md := range m.Of {
		resolved, inner, before := walk(md, strings.Split(path, "."))
		if inner == nil {
			return resolved, true, nil, nil
		}
		if at == nil || len(before) > len(prefix) {
			at, prefix = inner, before
		}
	}
	return "", false, at, prefix
}

// walk follows a path. It returns the message in which a name was not found, and the
// JSON names that lead to it.
func walk(md protoreflect.MessageDescriptor, names []string) (resolved string, missing protoreflect.MessageDescriptor, prefix []string) {
	var out []string
	for i := 0; i < len(names); i++ {
		fd := md.Fields().ByName(protoreflect.Name(names[i]))
		if fd == nil {
			fd = md.Fields().ByJSONName(names[i])
		}
		if fd == nil {
			// Some servers take the name of a oneof for those of its members.
			if i == len(names)-1 && oneofByName(md, names[i]) != nil {
				return strings.Join(append(out, names[i]), "."), nil, nil
			}
			return "", md, prefix
		}
		out, prefix = append(out, string(fd.Name())), append(prefix, fd.JSONName())
		if i+1 < len(names) && (fd.IsMap() || fd.IsList() && names[i+1] == "*") { // a key, or all elements (AIP-161)
			i++
			out, prefix = append(out, names[i]), append(prefix, names[i])
		}
		if i == len(names)-1 {
			break
		}
		inner := fd.Message()
		if fd.IsMap() {
			inner = fd.MapValue().Message()
		}
		switch {
		case inner == nil:
			return "", md, prefix[:len(prefix)-1]
		case wellKnownOf(inner) != wktNone: // such as a Struct, whose names are not known
			return strings.Join(append(out, names[i+1:]...), "."), nil, nil
		}
		md = inner
	}
	return strings.Join(out, "."), nil, nil
}

// Masking returns a codec of the same type whose reader takes only such paths in
// masks as name fields.
func (c *Codec) Masking(masks []Mask) *Codec {
	if len(masks) == 0 {
		return c
	}
	w := *c
	w.masks = masks
	return &w
}

// maskOf returns the mask that a field is, or nil.
func (r *reader) maskOf(f *field) *Mask {
	if f.index < 0 || f.index >= len(r.root.fields) || f != &r.root.fields[f.index] {
		return nil // it is no field of the outermost message
	}
	for i := range r.masks {
		if m := &r.masks[i]; f.number == m.Field.Number() {
			return m
		}
	}
	return nil
}

// checkPath returns the path of a mask as it is sent, and reports one that is none.
func (r *reader) checkPath(p, path string) (string, bool) {
	if r.mask == nil || path == "*" {
		return path, true
	}
	resolved, ok, _, _ := r.mask.resolve(p)
	if !ok {
		var at protoreflect.MessageDescriptor
		var prefix []string
		if resolved, ok, at, prefix = r.mask.resolve(path); !ok {
			r.report(unknownPath(p, r.mask.Of[0], at, prefix))
			return "", false
		}
	}
	// What JSON has no form of stays as it would be without the check.
	if _, ok := appendCamelPath(nil, []byte(resolved)); !ok {
		return path, true
	}
	return resolved, true
}

// unknownPath says that a message has no field of a path, and which there are.
func unknownPath(p string, of, at protoreflect.MessageDescriptor, prefix []string) Violation {
	names := strings.Split(p, ".")
	wrong := names[min(len(prefix), len(names)-1)]
	lead := strings.Join(append(prefix, ""), ".")
	paths := func(yield func(string) bool) {
		for i := range at.Fields().Len() {
			if !yield(lead + at.Fields().Get(i).JSONName()) {
				return
			}
		}
	}
	v := Violation{Problem: "there is no field " + printable(clip(p, maxNameText)) + " in " + string(of.FullName()) + ", so the path would change or show nothing"}
	for _, near := range nearest.Names(wrong, fieldNames(at.Fields()), "") {
		v.Suggestions = append(v.Suggestions, lead+near)
	}
	if v.Suggestions == nil {
		v.Expected = oneOf(paths, at.Fields().Len())
	}
	return v
}
