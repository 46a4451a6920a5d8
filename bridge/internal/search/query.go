package search

import (
	"slices"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
)

// idea is one thing that a query asks for: words of the index that stand for it.
type idea struct {
	variants []variant
	verb     bool // says what the tool does
	implied  bool // is not said in so many words
	light    bool // a verb that says little beside others
	aside    bool // a verb that says what others do
}

// variant is a term of the index that stands for an idea, and how much it counts.
type variant struct {
	term   int
	weight float32
	verb   bool // the term is a verb
}

// ideas returns what a query asks for, and whether it has any words that count.
func (x *Index) ideas(query string) (ideas []idea, asked bool) {
	query = clip.Head(query, MaxQuery)
	var said []string
	for w := range words(query) {
		said = append(said, w)
	}
	v := known()
	seen := make(map[string]bool)
	var stopped []string
	asks := false
	add := func(verb, implied bool, alternatives ...string) {
		key := strings.Join(alternatives, " ")
		if seen[key] || len(ideas) == maxTerms {
			return
		}
		seen[key], asked = true, true
		i := idea{verb: verb && !asks, implied: implied, aside: verb && asks}
		for _, word := range alternatives {
			x.expand(&i, word)
		}
		if i.variants != nil {
			ideas = append(ideas, i)
		}
	}
	for i := 0; i < len(said); {
		if p, ok := v.phraseAt(said[i:], i == 0); ok {
			for n, alternatives := range p.ideas {
				add(v.verbs[stem(alternatives[0])], p.first && n == 0, alternatives...)
			}
			asks = asks || p.asks
			stopped = append(stopped, p.words...)
			i += len(p.words)
			continue
		}
		word := said[i]
		i++
		if i < len(said) && len(word)+len(said[i]) <= maxJoined {
			// Two words of a query may be one in an API, as in "time stamp".
			if _, ok := slices.BinarySearch(x.terms, stem(word+said[i])); ok {
				add(false, false, word+said[i])
			}
		}
		if stop[word] {
			stopped = append(stopped, word)
			continue
		}
		before := len(ideas)
		add(v.verbs[stem(word)], false, word)
		if len(ideas) > before {
			ideas[before].light = v.light[stem(word)]
		}
	}
	if slices.ContainsFunc(ideas, func(i idea) bool { return i.verb && !i.implied && !i.light }) {
		for n := range ideas {
			ideas[n].implied = ideas[n].implied || ideas[n].light
		}
	}
	if !asked {
		for _, word := range stopped { // perhaps a tool is called so
			add(false, false, word)
		}
	}
	return ideas, asked
}

// expand adds the terms of the index that a word stands for.
func (x *Index) expand(i *idea, word string) {
	add := func(term int, weight float32) {
		for n := range i.variants {
			if i.variants[n].term == term {
				i.variants[n].weight = max(i.variants[n].weight, weight)
				return
			}
		}
		i.variants = append(i.variants, variant{term, weight, known().verbs[x.terms[term]]})
	}
	base := stem(word)
	if term, ok := slices.BinarySearch(x.terms, base); ok {
		add(term, 1)
	}
	for _, s := range known().synonyms[base] {
		if term, ok := slices.BinarySearch(x.terms, s.stem); ok {
			add(term, s.weight)
		}
	}
	if len([]rune(word)) < minPrefix {
		return
	}
	start, _ := slices.BinarySearch(x.terms, base)
	for term := start; term < len(x.terms) && term < start+maxExpansions && strings.HasPrefix(x.terms[term], base); term++ {
		add(term, weightPrefix*float32(len(base))/float32(len(x.terms[term])))
	}
}
