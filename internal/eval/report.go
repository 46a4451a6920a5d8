package main

import (
	"fmt"
	"strings"
)

// bytesPerToken is by what bytes of JSON are divided to estimate tokens. Tokenizers
// differ; of English and JSON, a token has about four bytes.
const bytesPerToken = 4

// score is what the runs of a class, or all, come to.
type score struct {
	runs, done int
	// first counts the runs whose first call came as far as the backend; calls those
	// that called at all.
	first, calls int
	// repaired counts the calls that were refused before the backend and whose next call
	// in the run was not, of all that were refused.
	repaired, refused int
	// silent counts the failures in which no call failed: nothing told the model.
	silent int
	// list and read are bytes.
	list, read int
}

// add adds a run.
func (s *score) add(r *run) {
	s.runs++
	s.list = max(s.list, r.list)
	s.read += r.read
	if r.err == nil {
		s.done++
	}
	failed := false
	for i, result := range r.results {
		failed = failed || result.failed
		if i == 0 {
			s.calls++
			if result.reached {
				s.first++
			}
		}
		if !result.reached {
			s.refused++
			if i+1 < len(r.results) && r.results[i+1].reached {
				s.repaired++
			}
		}
	}
	if r.err != nil && len(r.results) > 0 && !failed {
		s.silent++
	}
}

// report returns the outcome of runs as a table in Markdown, and the failures.
func report(runs []*run) string {
	var all score
	by := make(map[class]*score)
	for _, r := range runs {
		if by[r.task.class] == nil {
			by[r.task.class] = &score{}
		}
		by[r.task.class].add(r)
		all.add(r)
	}
	var b strings.Builder
	b.WriteString("| tasks | done | first call valid | repaired at once | silent errors | tokens of results, a task |\n|---|---|---|---|---|---|\n")
	row := func(name string, s *score) {
		fmt.Fprintf(&b, "| %s | %d of %d | %d of %d | %d of %d | %d | %d |\n",
			name, s.done, s.runs, s.first, s.calls, s.repaired, s.refused, s.silent, tokens(s.read/max(s.runs, 1)))
	}
	for _, c := range classes {
		if s := by[c]; s != nil {
			row(string(c), s)
		}
	}
	row("all", &all)
	fmt.Fprintf(&b, "\nThe list of tools has about %d tokens. Tokens are estimated as a quarter of the bytes.\n", tokens(all.list))
	for _, r := range runs {
		if r.err != nil {
			fmt.Fprintf(&b, "\n- %s: %v", r.task.id, r.err)
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// tokens estimates the tokens of so many bytes.
func tokens(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }
