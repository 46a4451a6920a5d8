package search

import (
	_ "embed" // of the two lists
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed vocabulary.txt
var vocabularyText string

//go:embed phrases.txt
var phrasesText string

// vocabulary is what words stand for, by their stems.
type vocabulary struct {
	synonyms map[string][]synonym
	verbs    map[string]bool
	light    map[string]bool // verbs that say little beside others
	// phrases are by their first word, longest first.
	phrases map[string][]phrase
}

// synonym is a stem that stands for another one, and how much it counts.
type synonym struct {
	stem   string
	weight float32
}

// phrase is a run of words that is read as something else.
type phrase struct {
	words []string // not stemmed
	ideas [][]string
	first bool // at the beginning of a query only; the first idea is implied
	asks  bool // verbs after it do not say what the tool does
}

// known returns what the two lists have, which a test reads through.
var known = sync.OnceValue(func() *vocabulary {
	v := &vocabulary{synonyms: make(map[string][]synonym), verbs: make(map[string]bool), light: make(map[string]bool), phrases: make(map[string][]phrase)}
	for line := range entries(vocabularyText) {
		if light, ok := strings.CutPrefix(line, "~"); ok {
			for word := range strings.FieldsSeq(light) {
				v.light[stem(word)] = true
			}
			continue
		}
		rest, verbs := strings.CutPrefix(line, "!")
		group := strings.Fields(rest)
		percent, _ := strconv.Atoi(group[0])
		v.group(group[1:], float32(percent)/100, verbs)
	}
	for line := range entries(phrasesText) {
		rest, first := strings.CutPrefix(line, "^")
		rest, asks := strings.CutPrefix(rest, "?")
		said, meant, _ := strings.Cut(rest, "=>")
		p := phrase{words: strings.Fields(said), first: first, asks: asks}
		for idea := range strings.SplitSeq(meant, "+") {
			if words := strings.Fields(idea); len(words) > 0 {
				p.ideas = append(p.ideas, words)
			}
		}
		v.phrases[p.words[0]] = append(v.phrases[p.words[0]], p)
	}
	for _, list := range v.phrases {
		slices.SortStableFunc(list, func(a, b phrase) int { return len(b.words) - len(a.words) })
	}
	return v
})

// entries yields the lines of a list that are no comments.
func entries(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' && !yield(line) {
				return
			}
		}
	}
}

// group notes words that stand for each other.
func (v *vocabulary) group(words []string, weight float32, verbs bool) {
	for i, word := range words {
		words[i] = stem(word)
		if verbs {
			v.verbs[words[i]] = true
		}
	}
	for _, a := range words {
		for _, b := range words {
			if a == b {
				continue
			}
			list := v.synonyms[a]
			if i := slices.IndexFunc(list, func(s synonym) bool { return s.stem == b }); i >= 0 {
				list[i].weight = max(list[i].weight, weight)
			} else {
				v.synonyms[a] = append(list, synonym{b, weight})
			}
		}
	}
}

// phraseAt returns the phrase that words begin with. first is true at the beginning of a
// query.
func (v *vocabulary) phraseAt(words []string, first bool) (phrase, bool) {
	for _, p := range v.phrases[words[0]] {
		if (first || !p.first) && len(p.words) <= len(words) && slices.Equal(p.words, words[:len(p.words)]) {
			return p, true
		}
	}
	return phrase{}, false
}

// stop has the words that say nothing of what a tool does.
var stop = func() map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(`a an the of in on at to for from with without into by and or but as than then is are be been was were
		it its this that these those there here them they he she his her which what who whom whose how do does did can could would should one
		may might will shall must i me my mine we us our you your please want need like some any each every all one if when where while has
		have had not no so also just only very more much many under over after before about between within out up down off something one
		thing things`) {
		m[w] = true
	}
	return m
}()
