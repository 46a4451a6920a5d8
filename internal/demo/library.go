package demo

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	libraryv1 "github.com/mcp-bridge/mcp-bridge/gen/library/v1"
	"github.com/mcp-bridge/mcp-bridge/gen/library/v1/libraryv1connect"
)

// defaultCapacity is how many books a library holds at most, so that a client
// that creates them in a loop cannot exhaust the memory.
const defaultCapacity = 10_000

// Library implements library.v1.Library. It is safe for concurrent use.
//
// Its methods expect requests that the rules of the API accept; [Handler] and
// package demogrpc check them first. Errors are of type [*connect.Error]. The
// books in responses are shared and must not be modified.
type Library struct {
	now      func() time.Time
	capacity int
	// reindexing is called, where it is set, when Reindex begins to wait.
	reindexing func()

	mu sync.RWMutex
	// books are never modified, only replaced. order holds their names.
	books      map[string]*libraryv1.Book
	order      []string
	lastID     map[string]int // by shelf
	index      wordIndex
	generation int64
	watchers   map[*watcher]struct{}
}

var _ libraryv1connect.LibraryHandler = (*Library)(nil)

// Option configures a [Library].
type Option func(*Library)

// WithClock sets what tells the time. The default is [time.Now].
func WithClock(now func() time.Time) Option {
	return func(l *Library) { l.now = now }
}

// New returns a library with the same public-domain books every time. One of
// them, [LentBook], has no copy left.
func New(opts ...Option) *Library {
	l := &Library{
		now:      time.Now,
		capacity: defaultCapacity,
		books:    make(map[string]*libraryv1.Book),
		lastID:   make(map[string]int),
		index:    make(wordIndex),
		watchers: make(map[*watcher]struct{}),
	}
	for _, opt := range opts {
		opt(l)
	}
	for _, book := range seed() {
		shelf := shelfOf(book.GetName())
		l.lastID[shelf]++
		l.put(book)
	}
	l.generation = 1
	return l
}

// GetBook returns one book.
func (l *Library) GetBook(_ context.Context, req *libraryv1.GetBookRequest) (*libraryv1.Book, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.find(req.GetName())
}

// CreateBook puts a new book on a shelf.
func (l *Library) CreateBook(_ context.Context, req *libraryv1.CreateBookRequest) (*libraryv1.Book, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	shelf := req.GetParent()
	if !isShelf(shelf) {
		return nil, noShelf(shelf)
	}
	if len(l.books) >= l.capacity {
		return nil, fault(connect.CodeResourceExhausted,
			fmt.Sprintf("the library is full: it holds %d books; delete one first", len(l.books)),
			&errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{
				Subject:     "library",
				Description: fmt.Sprintf("at most %d books", l.capacity),
			}}},
		)
	}
	var name string
	if req.BookId != nil {
		name = shelf + "/books/" + req.GetBookId()
		if _, taken := l.books[name]; taken {
			return nil, fault(connect.CodeAlreadyExists,
				fmt.Sprintf("there is a book %q already; choose another book_id or leave it out", name),
				bookInfo(name, "The name is taken."))
		}
	} else {
		for taken := true; taken; _, taken = l.books[name] {
			l.lastID[shelf]++
			name = fmt.Sprintf("%s/books/%d", shelf, l.lastID[shelf])
		}
	}
	book := proto.CloneOf(req.GetBook())
	book.Name = name
	book.Loans = nil
	book.CreateTime = timestamppb.New(l.now())
	book.UpdateTime = book.GetCreateTime()
	l.put(book)
	l.publish(libraryv1.WatchBooksResponse_CHANGE_ADDED, book)
	return book, nil
}

// UpdateBook changes the fields of a book that the mask names, or all that are
// present in the request. An update that changes nothing leaves the times alone.
func (l *Library) UpdateBook(_ context.Context, req *libraryv1.UpdateBookRequest) (*libraryv1.Book, error) {
	fields, err := fieldsToUpdate(req)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before, err := l.find(req.GetBook().GetName())
	if err != nil {
		return nil, err
	}
	after := proto.CloneOf(before)
	to, from := after.ProtoReflect(), proto.CloneOf(req.GetBook()).ProtoReflect()
	for _, fd := range fields {
		if from.Has(fd) {
			to.Set(fd, from.Get(fd))
		} else {
			to.Clear(fd)
		}
	}
	if proto.Equal(before, after) {
		return before, nil
	}
	after.UpdateTime = timestamppb.New(l.now())
	l.put(after)
	l.publish(libraryv1.WatchBooksResponse_CHANGE_UPDATED, after)
	return after, nil
}

// DeleteBook deletes a book. One that is lent is deleted only by force.
func (l *Library) DeleteBook(_ context.Context, req *libraryv1.DeleteBookRequest) (*libraryv1.DeleteBookResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	book, err := l.find(req.GetName())
	if err != nil {
		return nil, err
	}
	if lent := len(book.GetLoans()); lent > 0 && !req.GetForce() {
		return nil, fault(connect.CodeFailedPrecondition,
			fmt.Sprintf("%d of the copies of %q are lent; wait for them, or set force", lent, book.GetName()),
			precondition("LENT", book.GetName(), "Copies of the book are lent."),
			bookInfo(book.GetName(), "The book has loans."))
	}
	l.remove(book)
	l.publish(libraryv1.WatchBooksResponse_CHANGE_REMOVED, book)
	return &libraryv1.DeleteBookResponse{}, nil
}

// find returns the book of that name. The lock must be held.
func (l *Library) find(name string) (*libraryv1.Book, error) {
	book, ok := l.books[name]
	if !ok {
		return nil, fault(connect.CodeNotFound,
			fmt.Sprintf("there is no book %q; ListBooks and SearchBooks tell which there are", name),
			bookInfo(name, "There is no such book."))
	}
	return book, nil
}

// put stores a book, in place of one with its name if there is one. The lock
// must be held for writing.
func (l *Library) put(book *libraryv1.Book) {
	name := book.GetName()
	if before, ok := l.books[name]; ok {
		l.index.remove(before)
	} else {
		at, _ := slices.BinarySearchFunc(l.order, name, compareNames)
		l.order = slices.Insert(l.order, at, name)
	}
	l.books[name] = book
	l.index.add(book)
}

// remove drops a book. The lock must be held for writing.
func (l *Library) remove(book *libraryv1.Book) {
	name := book.GetName()
	l.index.remove(book)
	delete(l.books, name)
	if at, ok := slices.BinarySearchFunc(l.order, name, compareNames); ok {
		l.order = slices.Delete(l.order, at, at+1)
	}
}
