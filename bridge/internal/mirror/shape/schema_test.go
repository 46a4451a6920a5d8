// Package shape_test holds mcp.v1 against the JSON of MCP: that every type of
// every revision has its place, and that its values stay what they are.
package shape_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/mcpschema"
)

// revisions are those of MCP, from the first to the last.
var revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// object is a schema, or a part of one.
type object = map[string]any

// schemaDir is where MCP's schemas are. It skips the test where they are not.
func schemaDir(tb testing.TB) string {
	tb.Helper()
	dir, err := mcpschema.Dir()
	if errors.Is(err, mcpschema.ErrAbsent) {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

// definitions are those of a file.
func definitions(tb testing.TB, file string) object {
	tb.Helper()
	f, err := os.Open(file)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	d := json.NewDecoder(f)
	d.UseNumber()
	var doc object
	if err := d.Decode(&doc); err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	for _, keyword := range []string{"definitions", "$defs"} {
		if defs, ok := doc[keyword].(object); ok {
			return defs
		}
	}
	tb.Fatalf("%s has no definitions", file)
	return nil
}

// ofRevision are the definitions of a revision.
func ofRevision(tb testing.TB, dir, revision string) object {
	tb.Helper()
	return definitions(tb, filepath.Join(dir, revision+".schema.json"))
}

// refName returns the definition that a schema refers to, or nothing.
func refName(schema object) string {
	ref, _ := schema["$ref"].(string)
	return ref[strings.LastIndexByte(ref, '/')+1:]
}

// resolve follows references, and merges the parts of allOf.
func resolve(defs, schema object) object {
	for refName(schema) != "" {
		schema, _ = defs[refName(schema)].(object)
	}
	parts, ok := schema["allOf"].([]any)
	if !ok {
		return schema
	}
	merged := object{}
	properties := object{}
	var required []any
	for _, part := range append([]any{withoutAllOf(schema)}, parts...) {
		part := resolve(defs, part.(object))
		maps.Copy(merged, part)
		if p, ok := part["properties"].(object); ok {
			maps.Copy(properties, p)
		}
		r, _ := part["required"].([]any)
		required = append(required, r...)
	}
	merged["properties"], merged["required"] = properties, required
	return merged
}

func withoutAllOf(schema object) object {
	out := maps.Clone(schema)
	delete(out, "allOf")
	return out
}

// alternatives are the schemas of which a value fits one.
func alternatives(defs, schema object) []object {
	schema = resolve(defs, schema)
	choices, ok := schema["anyOf"].([]any)
	if types, several := schema["type"].([]any); several && !ok {
		for _, t := range types {
			one := maps.Clone(schema)
			one["type"] = t
			choices = append(choices, one)
		}
	}
	if choices == nil {
		return []object{schema}
	}
	var out []object
	for _, alternative := range choices {
		out = append(out, alternatives(defs, alternative.(object))...)
	}
	return out
}

// sortedKeys makes the order of tests and of random values a fixed one.
func sortedKeys(m object) []string { return slices.Sorted(maps.Keys(m)) }
