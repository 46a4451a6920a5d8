package schema

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	keyPattern = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	// keywords are those of the portable profile, with the types they belong to.
	keywords = map[string][]string{
		"type": nil, "description": nil, "enum": nil, "examples": nil,
		"properties": {"object"}, "required": {"object"}, "additionalProperties": {"object"},
		"minProperties": {"object"}, "maxProperties": {"object"},
		"items": {"array"}, "minItems": {"array"}, "maxItems": {"array"}, "uniqueItems": {"array"},
		"pattern": {"string"}, "format": {"string"}, "contentEncoding": {"string"}, "minLength": {"string"}, "maxLength": {"string"},
		"minimum": {"integer", "number"}, "maximum": {"integer", "number"},
		"exclusiveMinimum": {"integer", "number"}, "exclusiveMaximum": {"integer", "number"},
	}
)

// portable returns how a schema breaks the rules of the portable profile.
func portable(schema []byte) []string {
	var root map[string]any
	if err := json.Unmarshal(schema, &root); err != nil {
		return []string{err.Error()}
	}
	var problems []string
	if root["type"] != "object" || root["properties"] == nil {
		problems = append(problems, "root is no object with properties")
	}
	var walk func(path string, node any)
	walk = func(path string, node any) {
		bad := func(format string, args ...any) {
			problems = append(problems, path+": "+fmt.Sprintf(format, args...))
		}
		s, ok := node.(map[string]any)
		if !ok || len(s) == 0 {
			bad("not a schema with content: %v", node)
			return
		}
		var types []string
		switch typ := s["type"].(type) {
		case string:
			types = []string{typ}
		case []any:
			for _, one := range typ {
				types = append(types, fmt.Sprint(one))
			}
		default:
			if s["description"] != "Any JSON value." || !strings.HasSuffix(path, "[]") {
				bad("no type")
			}
		}
		for k := range s {
			of, ok := keywords[k]
			switch {
			case !ok:
				bad("keyword %q", k)
			case of != nil && !slices.ContainsFunc(types, func(one string) bool { return slices.Contains(of, one) }):
				bad("keyword %q with types %v", k, types)
			}
		}
		if len(types) > 2 && len(types) != 6 {
			bad("types %v", types)
		}
		if slices.Contains(types, "array") != (s["items"] != nil) {
			bad("types %v with items %v", types, s["items"])
		}
		if d, ok := s["description"].(string); ok && (d == "" || len(d) > 2048) {
			bad("description of %d bytes", len(d))
		}
		if items, ok := s["items"]; ok {
			walk(path+"[]", items)
		}
		if values, ok := s["additionalProperties"]; ok {
			walk(path+"{}", values)
		}
		props, _ := s["properties"].(map[string]any)
		for name, p := range props {
			if !keyPattern.MatchString(name) {
				bad("key %q", name)
			}
			walk(path+"."+name, p)
		}
		required, _ := s["required"].([]any)
		for _, name := range required {
			if _, ok := props[fmt.Sprint(name)]; !ok {
				bad("required %v is no property", name)
			}
		}
	}
	walk("$", root)
	return problems
}
