package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/internal/printable"
)

// maxSuggestions is how many names an error proposes.
const maxSuggestions = 3

// noTool returns the error for a name that is no tool of an upstream. It
// proposes the nearest names, and understands names of methods.
func noTool(all []bridge.Tool, tools []mcpTool, from, name string) error {
	wanted := strings.NewReplacer("/", ".").Replace(strings.TrimPrefix(name, "/"))
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	for _, t := range all {
		if t.Method == wanted {
			if t.NotCallable != "" {
				return failf("%s is no tool: %s", t.Method, t.NotCallable)
			}
			return failf("there is no tool %s", quote(name)).hint("the tool of this method is %s", t.Name)
		}
		if t.Name != "" && !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	f := failf("there is no tool %s", quote(name))
	if near := nearest(name, names); len(near) > 0 {
		f = f.hint("did you mean %s?", strings.Join(near, ", "))
	}
	return f.hint("all tools: mcp-bridge tools %s", from)
}

// nearest returns the names that are most like name, the best first.
func nearest(name string, names []string) []string {
	type scored struct {
		name  string
		score int
	}
	if len(name) > maxCompared {
		return nil
	}
	wanted := strings.ToLower(name)
	var found []scored
	for _, candidate := range names {
		if len(candidate) > maxCompared {
			continue
		}
		lower := strings.ToLower(candidate)
		_, method, _ := strings.Cut(lower, "_")
		score := min(distance(wanted, lower), distance(wanted, method))
		if len(wanted) > 2 && strings.Contains(lower, wanted) {
			score = min(score, 1)
		}
		if score <= max(2, len(wanted)/3) {
			found = append(found, scored{candidate, score})
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.name, b.name))
	})
	var near []string
	for _, f := range found[:min(len(found), maxSuggestions)] {
		near = append(near, printable.Name(f.name))
	}
	return near
}

// quote quotes a name that the user gave, or an upstream.
func quote(name string) string {
	if shown := printable.Name(name); shown != name {
		return shown
	}
	return strconv.Quote(name)
}

// maxCompared bounds the names that are compared, and so the time it takes.
const maxCompared = 128

// distance is the number of bytes to insert, delete or replace to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
