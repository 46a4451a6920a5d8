package search

import (
	"slices"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
)

// fields of a document, by which words are weighed.
const (
	fieldName = iota
	fieldTitle
	fieldDescription
	fieldWords
	numFields
)

var weights = [numFields]float32{weightName, weightTitle, weightDescription, weightWords}

// builder collects the terms of documents. The lengths of all texts must be
// known before a term can be weighed.
type builder struct {
	ids     map[string]int32
	counts  []count
	lengths [][numFields]int32
	names   []uint8 // how many words the names have, apart from versions
	sums    [numFields]int
	// at is where counts has a term of the document at hand, by term.
	at []int32
}

// count says how often a document has a term, by field.
type count struct {
	term, document int32
	times          [numFields]uint8
}

func newBuilder(documents int) *builder {
	return &builder{
		ids:     make(map[string]int32, 1024),
		counts:  make([]count, 0, documents),
		lengths: make([][numFields]int32, 0, documents),
	}
}

func (b *builder) add(d Document) {
	first := len(b.counts)
	var lengths [numFields]int32
	b.names = append(b.names, 0)
	text := func(field int, s string) {
		for w := range words(s) {
			if field == fieldDescription && stop[w] {
				continue
			}
			lengths[field]++
			b.count(w, field, first)
		}
	}
	text(fieldName, clip.Head(d.Name, maxText))
	// Two words of a name may be one elsewhere, as in "check out".
	last := ""
	for w := range words(clip.Head(d.Name, maxText)) {
		if last != "" && len(last)+len(w) <= maxJoined {
			b.count(last+w, fieldWords, first)
		}
		last = w
	}
	text(fieldTitle, clip.Head(d.Title, maxText))
	text(fieldDescription, clip.Head(d.Description, maxText))
	for _, w := range d.Words[:min(len(d.Words), maxWords)] {
		text(fieldWords, clip.Head(w, maxText))
	}
	for f, n := range lengths {
		b.sums[f] += int(n)
	}
	b.lengths = append(b.lengths, lengths)
}

// count counts a word of the document at hand, whose counts begin at first.
func (b *builder) count(word string, field, first int) {
	id, ok := b.ids[word]
	if !ok {
		id = int32(len(b.at)) //nolint:gosec // there is no room for 2^31 words
		b.ids[strings.Clone(word)] = id
		b.at = append(b.at, -1)
	}
	at := int(b.at[id])
	if at < first {
		at = len(b.counts)
		b.at[id] = int32(at)                                                          //nolint:gosec // as above
		b.counts = append(b.counts, count{term: id, document: int32(len(b.lengths))}) //nolint:gosec // as above
	}
	times := &b.counts[at].times
	if field == fieldName {
		// A name that says a word twice is not twice as good.
		if last := len(b.names) - 1; times[field] == 0 && b.names[last] < 255 && !version(word) {
			b.names[last]++
		}
		times[field] = 1
	} else if times[field] < 255 {
		times[field]++
	}
}

// version reports whether a word is the version of an API, such as v1beta2.
func version(word string) bool {
	return len(word) > 1 && word[0] == 'v' && '0' <= word[1] && word[1] <= '9'
}

// finish returns the terms, sorted, where they stand, and how many words the
// documents' names have.
func (b *builder) finish() (terms []string, lists [][]posting, names []uint8) {
	var average [numFields]float32
	for f, sum := range b.sums {
		average[f] = max(float32(sum)/float32(max(len(b.lengths), 1)), 1)
	}
	terms = make([]string, 0, len(b.ids))
	for term := range b.ids {
		terms = append(terms, term)
	}
	slices.Sort(terms)
	place := make([]int32, len(terms)) // by id
	for i, term := range terms {
		place[b.ids[term]] = int32(i)
	}
	// All lists are in one piece of memory.
	sizes := make([]int, len(terms))
	for _, c := range b.counts {
		sizes[place[c.term]]++
	}
	all := make([]posting, len(b.counts))
	lists = make([][]posting, len(terms))
	for i, n := range sizes {
		lists[i], all = all[:0:n], all[n:]
	}
	for _, c := range b.counts {
		var weight float32
		for f, n := range c.times {
			if n > 0 {
				length := float32(b.lengths[c.document][f]) / average[f]
				weight += weights[f] * float32(n) / (1 - lengthBias + lengthBias*length)
			}
		}
		i := place[c.term]
		lists[i] = append(lists[i], posting{c.document, weight, c.times[fieldName] > 0})
	}
	return terms, lists, b.names
}
