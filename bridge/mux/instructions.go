package mux

import (
	"slices"
	"strings"
)

// saying is the instructions of an upstream.
type saying struct{ name, text string }

// said are the instructions of several upstreams.
type said []saying

// text returns all instructions as one text. Paragraphs of several upstreams that begin
// with the same line, and that with a colon at its end, such as lists of conventions, are
// one paragraph at the end, with every line once.
func (s said) text() string {
	shared := make(map[string]*joined)
	var heads []string
	for _, one := range s {
		for _, p := range paragraphs(one.text) {
			head, _, _ := strings.Cut(p, "\n")
			if !strings.HasSuffix(head, ":") {
				continue
			}
			if shared[head] == nil {
				shared[head] = &joined{}
				heads = append(heads, head)
			}
			shared[head].add(one.name, p)
		}
	}
	var out []string
	for _, one := range s {
		own := slices.DeleteFunc(paragraphs(one.text), func(p string) bool {
			head, _, _ := strings.Cut(p, "\n")
			return shared[head] != nil && len(shared[head].names) > 1
		})
		if len(own) > 0 {
			out = append(out, one.name+": "+strings.Join(own, "\n\n"))
		}
	}
	for _, head := range heads {
		if l := shared[head]; len(l.names) > 1 {
			out = append(out, strings.Join(l.names, ", ")+": "+strings.Join(l.lines, "\n"))
		}
	}
	return strings.Join(out, "\n\n")
}

// joined is a paragraph, and the names of the upstreams that have it.
type joined struct{ names, lines []string }

// add adds the lines of a paragraph that are not there yet.
func (l *joined) add(name, paragraph string) {
	if !slices.Contains(l.names, name) {
		l.names = append(l.names, name)
	}
	for line := range strings.SplitSeq(paragraph, "\n") {
		if !slices.Contains(l.lines, line) {
			l.lines = append(l.lines, line)
		}
	}
}

// paragraphs splits a text where lines are empty.
func paragraphs(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n\n"), func(p string) bool { return strings.TrimSpace(p) == "" })
}
