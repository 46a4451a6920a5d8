package demo

import (
	"cmp"
	"strings"
)

// shelfOf returns the "shelves/1" of "shelves/1/books/2".
func shelfOf(book string) string {
	shelf, _, _ := strings.Cut(book, "/books/")
	return shelf
}

// onShelf reports whether a book stands on a shelf. Every book stands on the
// shelf without a name.
func onShelf(book, shelf string) bool {
	return shelf == "" || shelfOf(book) == shelf
}

// compareNames orders the names of books by shelf and then by id, short before
// long, so that 2 comes before 10.
func compareNames(a, b string) int {
	shelfA, idA, _ := strings.Cut(a, "/books/")
	shelfB, idB, _ := strings.Cut(b, "/books/")
	return cmp.Or(compareShort(shelfA, shelfB), compareShort(idA, idB))
}

func compareShort(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}
