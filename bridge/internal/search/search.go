// Package search finds tools by words: the index behind a catalog that is too
// long to be shown.
//
// [New] makes an immutable [Index] of documents, and [Index.Search] ranks
// them. Words are compared without regard to case, plural and some endings,
// beginnings of words count, and so do the usual synonyms of the verbs that
// methods begin with, each less than the word itself. Words that no document
// has are ignored.
//
// The ranking is BM25F: a word counts the more, the fewer documents have it
// and the shorter the text that it stands in; in a name more than in a title,
// in a title more than in a description. Equal input gives equal output.
package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

const (
	// MaxQuery bounds how much of a query is read, in bytes.
	MaxQuery = 1000
	// maxTerms bounds how many of its words count.
	maxTerms = 32
	// maxText bounds how much of a title or a description is indexed, in
	// bytes, and maxWords how many of a document's further words.
	maxText  = 4 << 10
	maxWords = 500
	// maxJoined bounds the length of two words in one, in bytes.
	maxJoined = 24
	// maxExpansions bounds how many words of the index the beginning of a
	// word stands for.
	maxExpansions = 40
)

// Weights of a word, by where it stands.
const (
	weightName        = 5
	weightTitle       = 2
	weightDescription = 1
	weightWords       = 0.4
)

// exactName is what a document gets on top whose name is the query.
const exactName = 1000

// Weights of a word of the index that is not the very word of the query.
const (
	weightPrefix  = 0.6
	weightSynonym = 0.35
)

// verbShare is how much of what the rarest word of a query counts a verb
// counts at least, however many documents have it: a tool that does something
// else to the right thing is the wrong one.
const verbShare = 0.8

// Constants of BM25: how fast more of the same word stops to matter, and how
// much the length of the text does.
const (
	saturation = 1.4
	lengthBias = 0.5
)

// Document is a tool, as far as words can find it.
type Document struct {
	// Name is unique. It is split at capitals and at whatever is no letter
	// or digit.
	Name string
	// Title and Description may be empty.
	Title, Description string
	// Words are further names that count a little, such as those of fields.
	Words []string
}

// Hit is a document that was found.
type Hit struct {
	// Name is the document's, and Document its place in what New was given.
	Name     string
	Document int
	// Score is larger for better hits. It compares within one search only.
	Score float64
}

// Index is an immutable set of documents. It is used concurrently.
type Index struct {
	names    []string
	lengths  []uint8 // of the names, in words
	byName   []int32 // documents in the order of their names
	overview []int32
	terms    []string // sorted
	postings [][]posting
}

// posting says how much a term counts in a document.
type posting struct {
	document int32
	weight   float32
	inName   bool
}

// New returns the Index of documents. It keeps their names, and none of
// their other texts.
func New(documents []Document) *Index {
	x := &Index{names: make([]string, len(documents))}
	b := newBuilder(len(documents))
	for i, d := range documents {
		x.names[i] = d.Name
		x.byName = append(x.byName, int32(i))
		b.add(d)
	}
	slices.SortStableFunc(x.byName, func(a, b int32) int { return strings.Compare(x.names[a], x.names[b]) })
	x.overview = overview(x.names, x.byName)
	x.terms, x.postings, x.lengths = b.finish()
	return x
}

// Len returns the number of documents.
func (x *Index) Len() int { return len(x.names) }

// Search returns the documents that fit the query best, best first, at most
// limit of them, and how many there are in all. A query without words finds
// every document: those that come first are from as many services as possible.
func (x *Index) Search(query string, limit int) (hits []Hit, total int) {
	limit = max(limit, 0)
	terms := queryTerms(query)
	if len(terms) == 0 {
		for _, d := range x.overview[:min(limit, len(x.overview))] {
			hits = append(hits, Hit{Name: x.names[d], Document: int(d)})
		}
		return hits, len(x.overview)
	}
	exact := strings.TrimSpace(query)
	for d, score := range x.score(terms) {
		if strings.EqualFold(x.names[d], exact) {
			score += exactName
		}
		if score == 0 {
			continue
		}
		total++
		hit := Hit{Name: x.names[d], Document: d, Score: float64(score)}
		if len(hits) == limit {
			if limit == 0 || compareHits(hit, hits[limit-1]) > 0 {
				continue
			}
			hits = hits[:limit-1]
		}
		at, _ := slices.BinarySearchFunc(hits, hit, compareHits)
		hits = slices.Insert(hits, at, hit)
	}
	return hits, total
}

func compareHits(a, b Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Name, b.Name), cmp.Compare(a.Document, b.Document))
}

// tally is what a search knows of a document.
type tally struct {
	sum float32
	// covered is the weight of the words that the document has, and named
	// how many words of its name the query has.
	covered, named float32
	// best and name are those of the word at hand.
	best, name float32
}

// score returns the score of every document.
func (x *Index) score(terms []string) []float32 {
	tallies := make([]tally, len(x.names))
	var touched []int32
	var possible, rarest float32
	variants := make([][]variant, len(terms))
	for i, term := range terms {
		variants[i] = x.variants(term)
		for _, v := range variants[i] {
			rarest = max(rarest, v.weight*x.rarity(v.term))
		}
	}
	for i, term := range terms {
		touched = touched[:0]
		var weight float32
		for _, v := range variants[i] {
			list := x.postings[v.term]
			rarity := x.rarity(v.term)
			if synonyms[term] != nil {
				rarity = max(rarity, verbShare*rarest)
			}
			weight = max(weight, rarity*v.weight)
			for _, p := range list {
				t := &tallies[p.document]
				if t.best == 0 {
					touched = append(touched, p.document)
				}
				t.best = max(t.best, v.weight*rarity*p.weight*(saturation+1)/(p.weight+saturation))
				if p.inName {
					t.name = max(t.name, v.weight)
				}
			}
		}
		possible += weight
		for _, d := range touched {
			t := &tallies[d]
			t.sum += t.best
			t.covered += weight
			t.named += t.name
			t.best, t.name = 0, 0
		}
	}
	scores := make([]float32, len(x.names))
	for d, t := range tallies {
		if t.sum > 0 {
			// A document that has all words is better than one that has one
			// of them often, and a name that says no more than the query is
			// better than one that does.
			scores[d] = t.sum * (0.25 + 0.75*t.covered/possible) * (1 + 0.5*min(t.named/float32(max(x.lengths[d], 1)), 1))
		}
	}
	return scores
}

// rarity is what a term counts by the number of documents that have it.
func (x *Index) rarity(term int) float32 {
	all, having := float64(len(x.names)), float64(len(x.postings[term]))
	return float32(math.Log(1 + (all-having+0.5)/(having+0.5)))
}

// variant is a term of the index that a word of a query stands for.
type variant struct {
	term   int
	weight float32
}

// variants returns the terms of the index that a word of a query stands for.
func (x *Index) variants(term string) []variant {
	var out []variant
	add := func(i int, weight float32) {
		if !slices.ContainsFunc(out, func(v variant) bool { return v.term == i }) {
			out = append(out, variant{i, weight})
		}
	}
	start, exact := slices.BinarySearch(x.terms, term)
	if exact {
		add(start, 1)
	}
	for _, s := range synonyms[term] {
		if i, ok := slices.BinarySearch(x.terms, s); ok {
			add(i, weightSynonym)
		}
	}
	length := len([]rune(term))
	if length < 2 {
		return out
	}
	for i := start; i < len(x.terms) && i < start+maxExpansions && strings.HasPrefix(x.terms[i], term); i++ {
		add(i, weightPrefix*float32(len(term))/float32(len(x.terms[i])))
	}
	// What the index has without an ending, such as "create" for "creating".
	for _, ending := range []string{"ing", "ed", "er", "ation", "ion"} {
		base, ok := strings.CutSuffix(term, ending)
		if !ok || len(base) < 3 {
			continue
		}
		for _, s := range []string{base, base + "e", base + "ate", strings.TrimSuffix(base, base[len(base)-1:])} {
			if i, ok := slices.BinarySearch(x.terms, s); ok && len(s) >= 3 {
				add(i, weightPrefix)
			}
		}
	}
	return out
}

// overview orders documents so that the first ones are from as many services
// as possible: one of each, then another of each.
func overview(names []string, byName []int32) []int32 {
	rounds := make(map[string]int)
	type ranked struct {
		document int32
		round    int
	}
	all := make([]ranked, len(byName))
	for i, d := range byName {
		service, _, _ := strings.Cut(names[d], "_")
		all[i] = ranked{d, rounds[service]}
		rounds[service]++
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(a.round, b.round) })
	out := make([]int32, len(all))
	for i, r := range all {
		out[i] = r.document
	}
	return out
}
