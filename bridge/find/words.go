package find

import (
	"errors"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/search"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

const (
	// maxWords bounds the names of fields, the values of enums, and the comments that
	// a tool is found by, each, and maxDepth how deep in a schema they may be.
	maxWords = 400
	maxDepth = 24
)

// document returns what words can find of a tool.
func document(t tool) search.Document {
	d := search.Document{Name: t.name, Title: stringIn(t.raw, "title"), Description: t.description}
	if schema, ok := jsontok.Lookup(t.raw, "inputSchema"); ok {
		(&schemaWords{names: &d.Arguments, comments: &d.Comments}).schema(schema, 0)
	}
	if schema, ok := jsontok.Lookup(t.raw, "outputSchema"); ok {
		(&schemaWords{names: &d.Results, comments: &d.Comments}).schema(schema, 0)
	}
	return d
}

// schemaWords collects what a JSON Schema says.
type schemaWords struct {
	names, comments *[]string
}

// errEnough ends the collection.
var errEnough = errors.New("enough words")

// schema collects the words of a schema and of those inside it. What cannot be read ends
// it: the words so far still find the tool.
func (w *schemaWords) schema(raw []byte, depth int) {
	if depth > maxDepth || jsontok.KindOf(raw) != jsontok.KindObject {
		return
	}
	_ = jsontok.Object(raw, func(key, value []byte) error {
		switch string(key) {
		case "properties", "$defs", "definitions":
			return w.properties(value, string(key) == "properties", depth)
		case "description":
			return add(w.comments, value)
		case "enum":
			if jsontok.KindOf(value) == jsontok.KindArray {
				return jsontok.Array(value, func(_ int, one []byte) error { return add(w.names, one) })
			}
		case "const":
			return add(w.names, value)
		case "items", "additionalProperties", "not":
			w.schema(value, depth+1)
		case "anyOf", "oneOf", "allOf", "prefixItems":
			if jsontok.KindOf(value) == jsontok.KindArray {
				return jsontok.Array(value, func(_ int, one []byte) error {
					w.schema(one, depth+1)
					return nil
				})
			}
		}
		return nil
	})
}

// properties collects the words of schemas that have names.
func (w *schemaWords) properties(raw []byte, fields bool, depth int) error {
	if jsontok.KindOf(raw) != jsontok.KindObject {
		return nil
	}
	return jsontok.Object(raw, func(key, value []byte) error {
		if fields {
			if len(*w.names) >= maxWords {
				return errEnough
			}
			*w.names = append(*w.names, string(key))
		}
		w.schema(value, depth+1)
		return nil
	})
}

// add adds a JSON string to a list.
func add(list *[]string, raw []byte) error {
	if len(*list) >= maxWords {
		return errEnough
	}
	if s, ok := jsontok.String(raw); ok {
		*list = append(*list, s)
	}
	return nil
}
