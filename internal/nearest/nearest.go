// Package nearest finds the names that somebody may have meant who wrote one that
// does not exist.
package nearest

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

const (
	maxSuggestions = 3
	// maxSuggestInput and maxSuggestNames bound the work that a wrong name
	// costs.
	maxSuggestInput = 64
	maxSuggestNames = 2000
)

// Names returns the names that are nearest to seen, if any is near: what an error
// suggests, at most three. Case and underscores do not count, nor does a prefix that
// names may have.
func Names(seen string, names iter.Seq[string], prefix string) []string {
	if len(seen) > maxSuggestInput {
		return nil
	}
	type candidate struct {
		name     string
		distance int
	}
	prefix = fold(prefix)
	plain := strings.TrimPrefix(fold(seen), prefix)
	limit := max(1, len(plain)/3)
	var found []candidate
	n := 0
	for name := range names {
		if n++; n > maxSuggestNames {
			break
		}
		other := strings.TrimPrefix(fold(name), prefix)
		d := limit + 1
		switch {
		case len(other) > maxSuggestInput:
		case plain == other:
			d = 0
		case len(plain) >= 4 && (strings.Contains(other, plain) || len(other) >= 4 && strings.Contains(plain, other)):
			d = limit
			fallthrough
		default:
			d = min(d, distance(plain, other))
		}
		if d <= limit {
			found = append(found, candidate{name, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var out []string
	for _, c := range found[:min(len(found), maxSuggestions)] {
		if c.distance == found[0].distance {
			out = append(out, c.name)
		}
	}
	return out
}

// fold makes names comparable that differ in style only.
func fold(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(s))
}

// distance is how many bytes must be inserted, deleted, replaced or exchanged
// with their neighbour to make b of a. Neither is longer than
// maxSuggestInput.
func distance(a, b string) int {
	var rows [3][maxSuggestInput + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
