package document

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// message writes a mapping as the JSON of a message.
func (w *writer) message(n *Node, md protoreflect.MessageDescriptor, path, shown string) {
	w.out = append(w.out, '{')
	first := true
	for _, m := range n.Members {
		at, name := joinField(path, m.Key), joinField(shown, m.Key)
		if m.skip || m.Value.skip {
			w.bad[name] = true
			continue
		}
		fd := md.Fields().ByJSONName(m.Key)
		if other := md.Fields().ByTextName(m.Key); fd == nil && other != nil {
			if w.strict == md.ParentFile().Package() {
				w.misspelled(at, name, m, other)
				continue
			}
			fd = other
		}
		if fd == nil {
			w.at[at] = &place{line: m.Line, column: m.Column, keyLine: m.Line, keyColumn: m.Column, shown: name, member: m}
			w.member(&first, m.Key)
			w.out = append(w.out, "null"...)
			continue
		}
		at = joinField(path, fd.JSONName())
		w.put(at, name, m.Value, m)
		if m.Value.Kind == Null && !isAny(fd) {
			continue // as if it were not there
		}
		start := len(w.out)
		was := first
		w.member(&first, fd.JSONName())
		if !w.field(m.Value, fd, at, name) {
			w.out, first = w.out[:start], was
		}
	}
	w.out = append(w.out, '}')
}

// misspelled reports a key that is written as in the .proto file.
func (w *writer) misspelled(at, shown string, m *Member, fd protoreflect.FieldDescriptor) {
	w.at[at] = &place{line: m.Line, column: m.Column, keyLine: m.Line, keyColumn: m.Column, shown: shown, member: m}
	m.skip = true
	f := w.Fault(at, "unknown key")
	f.Suggestions = []string{fd.JSONName()}
	w.unknown[parent(f.Path)] = true
	w.faults = append(w.faults, f)
}

// member writes the name of a member.
func (w *writer) member(first *bool, name string) {
	if !*first {
		w.out = append(w.out, ',')
	}
	*first = false
	w.out = jsontok.AppendString(w.out, name)
	w.out = append(w.out, ':')
}

// field writes the value of a field. It reports false where there is none.
func (w *writer) field(n *Node, fd protoreflect.FieldDescriptor, path, shown string) bool {
	switch {
	case fd.IsMap():
		return w.mapping(n, fd, path, shown)
	case fd.IsList():
		w.list(n, fd, path, shown)
		return true
	default:
		return w.value(n, fd, path, shown)
	}
}

func (w *writer) list(n *Node, fd protoreflect.FieldDescriptor, path, shown string) {
	items := n.Items
	if n.Kind != List {
		items = []*Node{n} // a single value stands for a list of it
	}
	w.out = append(w.out, '[')
	count := 0
	for i, item := range items {
		if item.skip {
			w.bad[shown] = true
			continue
		}
		// The codec counts what it gets, people what they have written.
		at := path + "[" + strconv.Itoa(count) + "]"
		name := shown
		if n.Kind == List {
			name += "[" + strconv.Itoa(i) + "]"
		}
		w.put(at, name, item, nil)
		start := len(w.out)
		if count > 0 {
			w.out = append(w.out, ',')
		}
		if !w.value(item, fd, at, name) {
			w.out = w.out[:start]
			continue
		}
		count++
	}
	w.out = append(w.out, ']')
}

func (w *writer) mapping(n *Node, fd protoreflect.FieldDescriptor, path, shown string) bool {
	if n.Kind != Map {
		w.wrong(path, n, "a mapping of names to values")
		return false
	}
	w.out = append(w.out, '{')
	first := true
	for _, m := range n.Members {
		if m.skip || m.Value.skip {
			w.bad[shown] = true
			continue
		}
		at := path + "[" + strconv.Quote(clipped(m.Key)) + "]"
		name := shown + plain("["+strconv.Quote(clipped(m.Key))+"]")
		w.put(at, name, m.Value, m)
		start, was := len(w.out), first
		w.member(&first, m.Key)
		if !w.value(m.Value, fd.MapValue(), at, name) {
			w.out, first = w.out[:start], was
		}
	}
	w.out = append(w.out, '}')
	return true
}

// value writes a single value. It reports false where there is none.
func (w *writer) value(n *Node, fd protoreflect.FieldDescriptor, path, shown string) bool {
	md := fd.Message()
	switch {
	case isAny(fd):
		if n.Kind != Map && md.FullName() == structName {
			w.wrong(path, n, "a mapping of names to values")
			return false
		}
		w.any(n, path, shown)
	case md != nil && md.FullName() == durationName:
		w.scalar(n, fd)
	case md != nil:
		if only := valueField(md); only != nil {
			return w.field(n, only, path, shown)
		}
		if n.Kind != Map {
			w.wrong(path, n, "a mapping of keys to values")
			return false
		}
		w.message(n, md, path, shown)
	default:
		w.scalar(n, fd)
	}
	return true
}

// scalar writes a scalar. Where a string is wanted, what people write without
// quotes is one.
func (w *writer) scalar(n *Node, fd protoreflect.FieldDescriptor) {
	switch n.Kind {
	case Null:
		w.out = append(w.out, "null"...)
	case Bool, Number:
		if fd.Kind() == protoreflect.StringKind && n.Source != "" {
			w.out = jsontok.AppendString(w.out, n.Source)
			return
		}
		w.out = append(w.out, n.Text...)
	case String:
		w.out = jsontok.AppendString(w.out, n.Text)
	case List:
		w.out = append(w.out, "[]"...)
	case Map:
		w.out = append(w.out, "{}"...)
	}
}

// maxExact is the largest integer up to which a double holds all.
const maxExact = 1 << 53

// any writes a value of any kind.
func (w *writer) any(n *Node, path, shown string) {
	if n.skip {
		w.bad[shown] = true
		w.out = append(w.out, "null"...)
		return
	}
	switch n.Kind {
	case List:
		w.out = append(w.out, '[')
		for i, item := range n.Items {
			if i > 0 {
				w.out = append(w.out, ',')
			}
			at := path + "[" + strconv.Itoa(i) + "]"
			name := shown + at[len(path):]
			w.put(at, name, item, nil)
			w.any(item, at, name)
		}
		w.out = append(w.out, ']')
	case Map:
		w.out = append(w.out, '{')
		first := true
		for _, m := range n.Members {
			if m.skip || m.Value.skip {
				continue
			}
			at, name := joinField(path, m.Key), joinField(shown, m.Key)
			w.put(at, name, m.Value, m)
			w.member(&first, m.Key)
			w.any(m.Value, at, name)
		}
		w.out = append(w.out, '}')
	case Number:
		if i, err := strconv.ParseInt(n.Text, 10, 64); (err == nil && (i > maxExact || i < -maxExact)) || (err != nil && !strings.ContainsAny(n.Text, ".eE")) {
			w.refuse(path, n, "an integer above 2^53 is not kept exactly; put it in quotes")
			w.out = append(w.out, '0')
			return
		}
		w.out = append(w.out, n.Text...)
	case String:
		w.out = jsontok.AppendString(w.out, n.Text)
	case Bool:
		w.out = append(w.out, n.Text...)
	case Null:
		w.out = append(w.out, "null"...)
	}
}

// Well-known types.
const (
	durationName = "google.protobuf.Duration"
	structName   = "google.protobuf.Struct"
	valueName    = "google.protobuf.Value"
	listName     = "google.protobuf.ListValue"
)

// isAny reports whether the value of a field, or an element of it, is any JSON.
func isAny(fd protoreflect.FieldDescriptor) bool {
	if fd.Message() == nil {
		return false
	}
	switch fd.Message().FullName() {
	case structName, valueName, listName:
		return true
	default:
		return false
	}
}

// valueField returns the field whose JSON is that of a message, or nil.
func valueField(md protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	shape := transcode.ShapeOf(md)
	if shape == nil || len(shape.Value) != 1 {
		return nil
	}
	return shape.Value[0]
}

// joinField adds a name to a path, as violations of the codec have it.
func joinField(path, name string) string {
	name = clipped(name)
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r == ' ' || r == utf8.RuneError || !unicode.IsPrint(r) }) {
		name = strconv.Quote(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// clipped shortens a name, as violations of the codec have it.
func clipped(name string) string { return clip(name) }
