// Package fieldpath turns the paths by which protobuf names the fields of a
// message into those by which its JSON form names them, such as
// book.authors[2].name or labels["env"].
//
// It is the one place for that: a backend's own violations, in the details of
// a status, and those that the bridge finds before a call read alike.
package fieldpath

import (
	"strconv"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
)

const (
	// maxPath bounds the paths that are converted, in bytes or elements.
	maxPath = 1000
	// maxKey bounds how much of a map key is shown, in bytes.
	maxKey = 80
)

// FromText returns a path that is written with proto names, such as
// book.author_names[2] or labels["a.b"].display_name, with the names that JSON
// has. From the first name on that md does not know, it stays as it is. A nil
// md knows no names.
func FromText(path string, md protoreflect.MessageDescriptor) string {
	if md == nil || len(path) > maxPath {
		return path
	}
	var out strings.Builder
	rest := path
	for rest != "" {
		name, after := cutName(rest)
		var fd protoreflect.FieldDescriptor
		if md != nil {
			if fd = md.Fields().ByTextName(name); fd == nil {
				fd = md.Fields().ByJSONName(name)
			}
		}
		if fd == nil {
			return out.String() + rest
		}
		out.WriteString(fd.JSONName())
		rest = after
		md = fd.Message()
		if fd.IsMap() {
			md = fd.MapValue().Message()
		}
		// A map key or an index stands in brackets, or else is a name of its
		// own.
		for strings.HasPrefix(rest, "[") {
			n := bracketEnd(rest)
			out.WriteString(rest[:n])
			rest = rest[n:]
		}
		if key, found := strings.CutPrefix(rest, "."); found && (fd.IsMap() || fd.IsList() && isIndex(key)) && !strings.HasSuffix(out.String(), "]") {
			name, rest = cutName(key)
			out.WriteString("." + name)
		}
		if after, found := strings.CutPrefix(rest, "."); found {
			out.WriteByte('.')
			rest = after
		} else if rest != "" {
			return out.String() + rest
		}
	}
	return out.String()
}

// cutName cuts the name at the beginning of a path from what follows.
func cutName(path string) (name, rest string) {
	if n := strings.IndexAny(path, ".["); n >= 0 {
		return path[:n], path[n:]
	}
	return path, ""
}

func isIndex(path string) bool {
	name, _ := cutName(path)
	_, err := strconv.ParseUint(name, 10, 32)
	return err == nil
}

// bracketEnd returns where the bracket that path begins with ends.
func bracketEnd(path string) int {
	var quote byte
	for i := 1; i < len(path); i++ {
		switch c := path[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ']':
			return i + 1
		}
	}
	return len(path)
}

// FromProto returns the path of a protovalidate violation with the names that
// JSON has. Names that md does not know stay as they are, and so do all where
// md is nil. Long map keys are shortened.
func FromProto(path *validate.FieldPath, md protoreflect.MessageDescriptor) string {
	var out strings.Builder
	for i, e := range path.GetElements() {
		if i == maxPath {
			out.WriteString("...")
			break
		}
		name := e.GetFieldName()
		var fd protoreflect.FieldDescriptor
		if md != nil {
			fd = md.Fields().ByNumber(protoreflect.FieldNumber(e.GetFieldNumber()))
		}
		md = nil
		if fd != nil {
			name = fd.JSONName()
			md = fd.Message()
			if fd.IsMap() {
				md = fd.MapValue().Message()
			}
		}
		if i > 0 {
			out.WriteByte('.')
		}
		out.WriteString(name)
		switch e.WhichSubscript() {
		case validate.FieldPathElement_Index_case:
			out.WriteString("[" + strconv.FormatUint(e.GetIndex(), 10) + "]")
		case validate.FieldPathElement_BoolKey_case:
			out.WriteString("[" + strconv.Quote(strconv.FormatBool(e.GetBoolKey())) + "]")
		case validate.FieldPathElement_IntKey_case:
			out.WriteString("[" + strconv.Quote(strconv.FormatInt(e.GetIntKey(), 10)) + "]")
		case validate.FieldPathElement_UintKey_case:
			out.WriteString("[" + strconv.Quote(strconv.FormatUint(e.GetUintKey(), 10)) + "]")
		case validate.FieldPathElement_StringKey_case:
			out.WriteString("[" + strconv.Quote(clip.Text(e.GetStringKey(), maxKey)) + "]")
		}
	}
	return out.String()
}
