package demo

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	libraryv1 "github.com/mcp-bridge/mcp-bridge/gen/library/v1"
)

// defaultPageSize is how many books a page has where the request does not say.
const defaultPageSize = 10

// ListBooks returns one page of books. Pages stay in step while books come and
// go: a page begins after the last name of the one before, whether or not that
// book is still there.
func (l *Library) ListBooks(_ context.Context, req *libraryv1.ListBooksRequest) (*libraryv1.ListBooksResponse, error) {
	after, ok := readPageToken(req)
	if !ok {
		return nil, badRequest(violation("page_token",
			"not a token of this list; use next_page_token of the page before, with the same parent and genre"))
	}
	size := int(req.GetPageSize())
	if size == 0 {
		size = defaultPageSize
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if shelf := req.GetParent(); shelf != "" && !isShelf(shelf) {
		return nil, noShelf(shelf)
	}
	resp := &libraryv1.ListBooksResponse{}
	for _, name := range l.order {
		book := l.books[name]
		if !onShelf(name, req.GetParent()) || !isGenre(book, req.GetGenre()) {
			continue
		}
		resp.TotalSize++
		if after != "" && compareNames(name, after) <= 0 {
			continue
		}
		if len(resp.GetBooks()) < size {
			resp.Books = append(resp.Books, book)
		} else if resp.GetNextPageToken() == "" {
			resp.NextPageToken = pageToken(req, resp.GetBooks()[size-1].GetName())
		}
	}
	return resp, nil
}

func isGenre(book *libraryv1.Book, genres ...libraryv1.Genre) bool {
	return slices.Contains(genres, book.GetGenre()) || slices.Contains(genres, libraryv1.Genre_GENRE_UNSPECIFIED)
}

// pageToken returns the token of the page that begins after a book. It holds
// what the list was restricted to, so that it cannot be used for another list.
func pageToken(req *libraryv1.ListBooksRequest, after string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(listKey(req) + after))
}

// readPageToken returns the name after which the page begins, which is empty
// for the first page.
func readPageToken(req *libraryv1.ListBooksRequest) (after string, ok bool) {
	if req.GetPageToken() == "" {
		return "", true
	}
	token, err := base64.RawURLEncoding.DecodeString(req.GetPageToken())
	if err != nil {
		return "", false
	}
	after, ok = strings.CutPrefix(string(token), listKey(req))
	return after, ok && after != ""
}

func listKey(req *libraryv1.ListBooksRequest) string {
	return req.GetParent() + " " + req.GetGenre().String() + " "
}
