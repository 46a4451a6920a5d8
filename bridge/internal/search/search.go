// Package search finds tools by words: the index behind a catalog that is too
// long to be shown.
//
// [New] makes an immutable [Index] of documents, and [Index.Search] ranks
// them. A query is read as ideas: a word stands for all its English endings, for
// words that begin with it, and, counting less, for what APIs say instead, as the
// lists vocabulary.txt and phrases.txt have it: "take away" for revoke, "which" at
// the beginning for list. Words that no document has are ignored.
//
// The ranking is BM25F over ideas: an idea counts the more, the fewer documents have
// it and the shorter the text that it stands in; in a name more than in the name of a
// service, there more than in a description, there more than in the comments of
// fields. Equal input gives equal output.
package search

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
)

const (
	// MaxQuery bounds how much of a query is read, in bytes.
	MaxQuery = 1000
	// maxTerms bounds how many of its ideas count.
	maxTerms = 32
	// maxText bounds how much of a text is indexed, in bytes, and maxWords how many
	// texts of a list.
	maxText  = 4 << 10
	maxWords = 500
	// maxJoined bounds the length of two words in one, in bytes.
	maxJoined = 24
	// maxExpansions bounds how many words of the index the beginning of a
	// word stands for, and minPrefix how short that may be, in characters.
	maxExpansions = 40
	minPrefix     = 3
)

// Weights of a word, by where it stands.
const (
	weightName        = 6
	weightVerb        = 4
	weightService     = 2.5
	weightTitle       = 1
	weightDescription = 1
	weightArguments   = 0.6
	weightResults     = 0.25
	weightComments    = 0.2
)

// exactName is what a document gets on top whose name is the query.
const exactName = 1000

// weightPrefix is the weight of a word that a word of the query is the beginning of.
const weightPrefix = 0.6

const (
	// verbShare is how much of what the rarest idea of a query counts a verb
	// counts at least, however many documents have it: a tool that does something
	// else to the right thing is the wrong one.
	verbShare = 0.8
	// impliedShare is how much an idea counts that the query does not say.
	impliedShare = 0.6
	// asideShare is how much a verb counts that says what others do, and verbElsewhere
	// one that a tool has where it does not say what the tool does.
	asideShare    = 0.4
	verbElsewhere = 0.7
	// otherVerb is what is left of the score of a tool that does something else, and
	// otherImplied where the query does not say what it is to do.
	otherVerb    = 0.6
	otherImplied = 0.8
)

// Constants of BM25: how fast more of the same word stops to matter, and how
// much the length of the text does.
const (
	saturation = 1.4
	lengthBias = 0.5
	// fullBest is about what a word counts that stands in a name.
	fullBest = 1.9
)

// Document is a tool, as far as words can find it. Every field but Name may be empty.
type Document struct {
	// Name is unique. It is split at capitals and at whatever is no letter or digit.
	// What comes before the last underscore that a capital follows is its service.
	Name string
	// Title and Description say what it does.
	Title, Description string
	// Arguments and Results are names of fields and values of enums, of what it takes
	// and returns.
	Arguments, Results []string
	// Comments are what is said about those.
	Comments []string
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
	shapes   []nameOf
	byName   []int32 // documents in the order of their names
	overview []int32
	terms    []string // sorted
	postings [][]posting
}

// posting says how much a term counts in a document.
type posting struct {
	document       int32
	weight         float32
	inName, inVerb bool
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
	x.terms, x.postings = b.finish()
	x.shapes = b.names
	return x
}

// Len returns the number of documents.
func (x *Index) Len() int { return len(x.names) }

// Search returns the documents that fit the query best, best first, at most
// limit of them, and how many there are in all. A query without words finds
// every document: those that come first are from as many services as possible.
func (x *Index) Search(query string, limit int) (hits []Hit, total int) {
	limit = max(limit, 0)
	ideas, asked := x.ideas(query)
	if !asked {
		for _, d := range x.overview[:min(limit, len(x.overview))] {
			hits = append(hits, Hit{Name: x.names[d], Document: int(d)})
		}
		return hits, len(x.overview)
	}
	exact := strings.TrimSpace(query)
	for d, score := range x.score(ideas) {
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
	// covered is the weight of the ideas that the document has, named how many words
	// of its name the query has, and verb whether it has one of the query's verbs.
	covered, named float32
	verb           bool
	// best, name and share are those of the idea at hand.
	best, name float32
}

// score returns the score of every document.
func (x *Index) score(ideas []idea) []float32 {
	tallies := make([]tally, len(x.names))
	var touched []int32
	rarities := make([]float32, len(ideas))
	var possible, rarest float32
	for n, i := range ideas {
		rarities[n] = x.rarity(i, tallies)
		rarest = max(rarest, rarities[n])
	}
	penalty := float32(1) // of a tool that does something else
	for n, i := range ideas {
		weight := rarities[n]
		if i.verb {
			weight = max(weight, verbShare*rarest)
			if i.implied {
				penalty = min(penalty, otherImplied)
			} else {
				penalty = min(penalty, otherVerb)
			}
		}
		if i.implied {
			weight *= impliedShare
		}
		if i.aside {
			weight *= asideShare
		}
		touched = touched[:0]
		for _, v := range i.variants {
			for _, p := range x.postings[v.term] {
				t := &tallies[p.document]
				if t.best == 0 {
					touched = append(touched, p.document)
				}
				share := v.weight
				if v.verb && i.verb && !p.inVerb {
					share *= verbElsewhere
				}
				t.best = max(t.best, share*p.weight*(saturation+1)/(p.weight+saturation))
				if p.inName || p.inVerb {
					t.name = max(t.name, v.weight)
				}
				t.verb = t.verb || i.verb && (p.inVerb || p.inName)
			}
		}
		possible += weight
		for _, d := range touched {
			t := &tallies[d]
			t.sum += weight * t.best
			t.covered += weight * min(t.best/fullBest, 1)
			t.named += t.name
			t.best, t.name = 0, 0
		}
	}
	scores := make([]float32, len(x.names))
	for d, t := range tallies {
		if t.sum == 0 {
			continue
		}
		// A document that has all ideas is better than one that has one of them
		// often, and a name that says no more than the query is better than one
		// that does.
		scores[d] = t.sum * (0.25 + 0.75*t.covered/possible) * (1 + 0.5*min(t.named/float32(max(x.shapes[d].words, 1)), 1))
		if x.shapes[d].verb && !t.verb {
			scores[d] *= penalty
		}
	}
	return scores
}

// rarity is what an idea counts by the number of documents that have it, in their own
// words or in others: those that have it in their names more than those that have it
// somewhere. It leaves the tallies as they are.
func (x *Index) rarity(i idea, tallies []tally) float32 {
	var having float64
	for _, v := range i.variants {
		for _, p := range x.postings[v.term] {
			t := &tallies[p.document]
			presence := p.weight / (p.weight + saturation)
			if presence *= presence * v.weight; presence > t.best {
				having += float64(presence - t.best)
				t.best = presence
			}
		}
	}
	for _, v := range i.variants {
		for _, p := range x.postings[v.term] {
			tallies[p.document].best = 0
		}
	}
	all := float64(len(x.names))
	return float32(math.Log(1 + (max(all-having, 0)+0.5)/(having+0.5)))
}

// Service is a service that has documents.
type Service struct {
	// Name is what the names of the documents begin with: "Library" of
	// Library_GetBook.
	Name string
	// Documents counts them.
	Documents int
}

// Services returns the services of the documents, in the order of their names.
// Documents whose names have none, such as read_file, are left out.
func (x *Index) Services() []Service {
	counts := make(map[string]int)
	for _, name := range x.names {
		if service, _ := split(name); service != "" {
			counts[service]++
		}
	}
	out := make([]Service, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, Service{name, counts[name]})
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
		service, own := split(names[d])
		if service == "" {
			service, _, _ = strings.Cut(own, "_")
		}
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
