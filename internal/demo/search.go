package demo

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	libraryv1 "github.com/mcp-bridge/mcp-bridge/gen/library/v1"
)

// defaultLimit is how many matches are returned where the request does not say.
const defaultLimit = 5

// A field is a field of a book in which words are looked for. Fields are bits
// of a set.
type field uint8

const (
	fieldTitle field = 1 << iota
	fieldAuthors
	fieldLabels
)

var fieldNames = []struct {
	field field
	name  string
}{{fieldTitle, "title"}, {fieldAuthors, "authors"}, {fieldLabels, "labels"}}

// wordIndex holds, by word and by the name of a book, the fields in which the
// word stands.
type wordIndex map[string]map[string]field

func (x wordIndex) add(book *libraryv1.Book) {
	for word, fields := range wordsOf(book) {
		if x[word] == nil {
			x[word] = make(map[string]field)
		}
		x[word][book.GetName()] = fields
	}
}

func (x wordIndex) remove(book *libraryv1.Book) {
	for word := range wordsOf(book) {
		delete(x[word], book.GetName())
		if len(x[word]) == 0 {
			delete(x, word)
		}
	}
}

// wordsOf returns the words of a book, each with the fields in which it stands.
func wordsOf(book *libraryv1.Book) map[string]field {
	found := make(map[string]field)
	note := func(in field, text string) {
		for _, word := range words(text) {
			found[word] |= in
		}
	}
	note(fieldTitle, book.GetTitle())
	for _, author := range book.GetAuthors() {
		note(fieldAuthors, author.GetName())
	}
	for key, value := range book.GetLabels() {
		note(fieldLabels, key+" "+value)
	}
	return found
}

// words splits a text into its words, in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// SearchBooks returns the books that have a word of the query. The score of a
// book is the share of the query's words that it has.
func (l *Library) SearchBooks(_ context.Context, req *libraryv1.SearchBooksRequest) (*libraryv1.SearchBooksResponse, error) {
	query := words(req.GetQuery())
	slices.Sort(query)
	query = slices.Compact(query)
	limit := int(req.GetLimit())
	if limit == 0 {
		limit = defaultLimit
	}

	l.mu.RLock()
	defer l.mu.RUnlock()
	type hit struct {
		count  int
		fields field
	}
	hits := make(map[string]hit)
	for _, word := range query {
		for name, fields := range l.index[word] {
			if wanted(l.books[name], req) {
				hits[name] = hit{hits[name].count + 1, hits[name].fields | fields}
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(hits), func(a, b string) int {
		return cmp.Or(cmp.Compare(hits[b].count, hits[a].count), compareNames(a, b))
	})
	resp := &libraryv1.SearchBooksResponse{TotalSize: int32(len(names))} //nolint:gosec // at most the capacity
	for _, name := range names[:min(limit, len(names))] {
		match := &libraryv1.SearchBooksResponse_Match{
			Book:  l.books[name],
			Score: float64(hits[name].count) / float64(len(query)),
		}
		for _, f := range fieldNames {
			if hits[name].fields&f.field != 0 {
				match.MatchedFields = append(match.MatchedFields, f.name)
			}
		}
		resp.Matches = append(resp.Matches, match)
	}
	return resp, nil
}

// wanted reports whether a book is of a genre and from a year that are looked
// for. A book of unknown year is left out where years are asked for.
func wanted(book *libraryv1.Book, req *libraryv1.SearchBooksRequest) bool {
	if genres := req.GetGenres(); len(genres) > 0 && !isGenre(book, genres...) {
		return false
	}
	if req.PublishedAfter == nil && req.PublishedBefore == nil {
		return true
	}
	year := book.GetFirstPublished()
	return book.FirstPublished != nil &&
		(req.PublishedAfter == nil || year >= req.GetPublishedAfter()) &&
		(req.PublishedBefore == nil || year <= req.GetPublishedBefore())
}

// Reindex waits as long as the request says and then builds the index anew. It
// returns early, with nothing changed, when ctx ends.
func (l *Library) Reindex(ctx context.Context, req *libraryv1.ReindexRequest) (*libraryv1.ReindexResponse, error) {
	if l.reindexing != nil {
		l.reindexing()
	}
	timer := time.NewTimer(req.GetDelay().AsDuration())
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil, contextFault(ctx)
	case <-timer.C:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.index = make(wordIndex, len(l.index))
	for _, book := range l.books {
		l.index.add(book)
	}
	l.generation++
	return &libraryv1.ReindexResponse{
		Books:      int32(len(l.books)), //nolint:gosec // at most the capacity
		Words:      int32(len(l.index)), //nolint:gosec // at most a few hundred a book
		Generation: l.generation,
	}, nil
}
