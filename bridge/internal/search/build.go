package search

import (
	"slices"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
)

// fields of a document, by which words are weighed.
const (
	fieldName = iota
	fieldVerb
	fieldService
	fieldTitle
	fieldDescription
	fieldArguments
	fieldResults
	fieldComments
	numFields
)

var weights = [numFields]float32{weightName, weightVerb, weightService, weightTitle, weightDescription, weightArguments, weightResults, weightComments}

// most bounds how often a word of a field counts. A name that says a word twice is not
// twice as good.
var most = [numFields]uint8{1, 1, 1, 1, 3, 1, 1, 2}

// builder collects the terms of documents. The lengths of all texts must be
// known before a term can be weighed.
type builder struct {
	ids     map[string]int32 // of stems
	said    map[string]int32 // of words, as they are written
	counts  []count
	lengths [][numFields]int32
	names   []nameOf
	sums    [numFields]int
	// at is where counts has a term of the document at hand, by term.
	at []int32
}

// count says how often a document has a term, by field.
type count struct {
	term, document int32
	times          [numFields]uint8
}

// nameOf is what is known of a document's name.
type nameOf struct {
	words uint8 // of what it is called, without its service and versions
	verb  bool  // one of them says what it does
}

func newBuilder(documents int) *builder {
	return &builder{
		ids:     make(map[string]int32, 1024),
		said:    make(map[string]int32, 2048),
		counts:  make([]count, 0, 32*documents),
		lengths: make([][numFields]int32, 0, documents),
		names:   make([]nameOf, 0, documents),
	}
}

func (b *builder) add(d Document) {
	first := len(b.counts)
	var lengths [numFields]int32
	b.lengths, b.names = append(b.lengths, lengths), append(b.names, nameOf{})
	text := func(field int, s string) {
		for w := range words(clip.Head(s, maxText)) {
			if field >= fieldDescription && stop[w] {
				continue
			}
			lengths[field]++
			b.count(w, field, first)
		}
	}
	service, own := split(clip.Head(d.Name, maxText))
	text(fieldService, service)
	b.name(own, first, &lengths)
	text(fieldTitle, d.Title)
	text(fieldDescription, d.Description)
	list := func(field int, all []string) {
		for _, s := range all[:min(len(all), maxWords)] {
			text(field, s)
		}
	}
	list(fieldArguments, d.Arguments)
	list(fieldResults, d.Results)
	list(fieldComments, d.Comments)
	for f, n := range lengths {
		b.sums[f] += int(n)
	}
	b.lengths[len(b.lengths)-1] = lengths
}

// name counts the words of what a document is called in its service.
func (b *builder) name(own string, first int, lengths *[numFields]int32) {
	name := &b.names[len(b.names)-1]
	last := ""
	for w := range words(own) {
		field := fieldName
		switch {
		case version(w):
			field = fieldArguments
		case !name.verb && known().verbs[stem(w)]:
			field, name.verb = fieldVerb, true
		}
		if field != fieldArguments && !stop[w] {
			name.words = min(name.words, 254) + 1
		}
		lengths[field]++
		b.count(w, field, first)
		// Two words of a name may be one elsewhere, as in "check out".
		if last != "" && len(last)+len(w) <= maxJoined {
			b.count(last+w, fieldArguments, first)
		}
		last = w
	}
}

// split splits the name of a tool into the service and what it is called there:
// Library_GetBook. Names such as read_file are of no service.
func split(name string) (service, own string) {
	if at := strings.LastIndexByte(name, '_'); at > 0 && len(name)-at == len("_12345678") && strings.Trim(name[at+1:], "0123456789abcdef") == "" {
		name = name[:at] // the end of a name that was too long
	}
	at := strings.LastIndexByte(name, '_')
	if at < 0 || at+1 == len(name) || name[at+1] < 'A' || name[at+1] > 'Z' {
		return "", name
	}
	return name[:at], name[at+1:]
}

// count counts a word of the document at hand, whose counts begin at first.
func (b *builder) count(word string, field, first int) {
	id, ok := b.said[word]
	if !ok {
		base := stem(word)
		if id, ok = b.ids[base]; !ok {
			id = int32(len(b.at)) //nolint:gosec // there is no room for 2^31 words
			b.ids[strings.Clone(base)] = id
			b.at = append(b.at, -1)
		}
		b.said[strings.Clone(word)] = id
	}
	at := int(b.at[id])
	if at < first {
		at = len(b.counts)
		b.at[id] = int32(at)                                                              //nolint:gosec // as above
		b.counts = append(b.counts, count{term: id, document: int32(len(b.lengths)) - 1}) //nolint:gosec // as above
	}
	times := &b.counts[at].times
	times[field] = min(times[field]+1, most[field])
}

// version reports whether a word is the version of an API, such as v1beta2.
func version(word string) bool {
	return len(word) > 1 && word[0] == 'v' && '0' <= word[1] && word[1] <= '9'
}

// finish returns the terms, sorted, and where they stand.
func (b *builder) finish() (terms []string, lists [][]posting) {
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
		lists[i] = append(lists[i], posting{c.document, weight, c.times[fieldName] > 0, c.times[fieldVerb] > 0})
	}
	return terms, lists
}
