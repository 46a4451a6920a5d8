package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"buf.build/go/protovalidate"
	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	libraryv1 "github.com/mcp-bridge/mcp-bridge/gen/library/v1"
)

var testNow = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func newLibrary() *Library {
	return New(WithClock(func() time.Time { return testNow }))
}

func TestSeed(t *testing.T) {
	t.Parallel()
	books := seed()
	if !slices.EqualFunc(books, seed(), func(a, b *libraryv1.Book) bool { return proto.Equal(a, b) }) {
		t.Error("two seeds differ")
	}
	for _, book := range books {
		if err := protovalidate.Validate(book); err != nil {
			t.Errorf("%s: %v", book.GetName(), err)
		}
		if isbn := book.GetIsbn(); isbn != 0 && !validISBN(isbn) {
			t.Errorf("%s: the check digit of ISBN %d is wrong", book.GetTitle(), isbn)
		}
		if !isShelf(shelfOf(book.GetName())) {
			t.Errorf("%s stands on no shelf", book.GetName())
		}
		if data := book.GetCoverThumbnail(); data != nil {
			if _, err := png.Decode(bytes.NewReader(data)); err != nil {
				t.Errorf("%s: %v", book.GetName(), err)
			}
		}
	}
}

func validISBN(isbn int64) bool {
	sum := int64(0)
	for i := range 13 {
		weight := int64(1 + i%2*2)
		sum += isbn % 10 * weight
		isbn /= 10
	}
	return sum%10 == 0
}

func TestListBooks(t *testing.T) {
	t.Parallel()
	l := newLibrary()
	for _, tt := range []struct {
		name  string
		req   *libraryv1.ListBooksRequest
		want  int
		first string
		last  string
	}{
		{"all", &libraryv1.ListBooksRequest{PageSize: 3}, 28, "shelves/1/books/1", "shelves/4/books/6"},
		{"default size", &libraryv1.ListBooksRequest{}, 28, "shelves/1/books/1", "shelves/4/books/6"},
		{"one shelf", &libraryv1.ListBooksRequest{Parent: "shelves/2", PageSize: 8}, 8, "shelves/2/books/1", "shelves/2/books/8"},
		{"one genre", &libraryv1.ListBooksRequest{Genre: libraryv1.Genre_GENRE_SCIENCE, PageSize: 1}, 2, "shelves/4/books/5", "shelves/4/books/6"},
		{"nothing", &libraryv1.ListBooksRequest{Parent: "shelves/1", Genre: libraryv1.Genre_GENRE_DRAMA}, 0, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			names := listAll(t, l, tt.req)
			if len(names) != tt.want {
				t.Fatalf("%d books, want %d: %q", len(names), tt.want, names)
			}
			if len(names) > 0 && (names[0] != tt.first || names[len(names)-1] != tt.last) {
				t.Errorf("from %s to %s, want from %s to %s", names[0], names[len(names)-1], tt.first, tt.last)
			}
			if !slices.IsSortedFunc(names, compareNames) {
				t.Errorf("out of order: %q", names)
			}
		})
	}
}

// listAll follows the pages to the end.
func listAll(t *testing.T, l *Library, req *libraryv1.ListBooksRequest) []string {
	t.Helper()
	var names []string
	for {
		resp, err := l.ListBooks(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, book := range resp.GetBooks() {
			names = append(names, book.GetName())
		}
		if resp.GetNextPageToken() == "" {
			if int(resp.GetTotalSize()) != len(names) {
				t.Errorf("total_size %d, but %d books", resp.GetTotalSize(), len(names))
			}
			return names
		}
		req = proto.CloneOf(req)
		req.PageToken = resp.GetNextPageToken()
	}
}

// TestListBooksWhileDeleting deletes the last book of a page before it asks for
// the next.
func TestListBooksWhileDeleting(t *testing.T) {
	t.Parallel()
	l := newLibrary()
	page, err := l.ListBooks(t.Context(), &libraryv1.ListBooksRequest{PageSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.DeleteBook(t.Context(), &libraryv1.DeleteBookRequest{Name: "shelves/1/books/2"}); err != nil {
		t.Fatal(err)
	}
	page, err = l.ListBooks(t.Context(), &libraryv1.ListBooksRequest{PageSize: 2, PageToken: page.GetNextPageToken()})
	if err != nil {
		t.Fatal(err)
	}
	if got := page.GetBooks()[0].GetName(); got != "shelves/1/books/3" {
		t.Errorf("the second page begins with %s", got)
	}
}

func TestSearchBooks(t *testing.T) {
	t.Parallel()
	l := newLibrary()
	for _, tt := range []struct {
		name  string
		req   *libraryv1.SearchBooksRequest
		want  string
		total int32
	}{
		{"title", &libraryv1.SearchBooksRequest{Query: "frankenstein"}, "shelves/2/books/1 1.00 [title]", 1},
		{"author", &libraryv1.SearchBooksRequest{Query: "BRONTË"}, "shelves/1/books/2 1.00 [authors]; shelves/1/books/3 1.00 [authors]", 2},
		{"best first", &libraryv1.SearchBooksRequest{Query: "war wells"}, "shelves/2/books/4 1.00 [title authors]; shelves/2/books/3 0.50 [authors]", 2},
		{"repeated word", &libraryv1.SearchBooksRequest{Query: "wells, wells", Limit: 1}, "shelves/2/books/3 1.00 [authors]", 2},
		{"label", &libraryv1.SearchBooksRequest{Query: "grc", PublishedBefore: proto.Int32(0)}, "shelves/4/books/2 1.00 [labels]", 1},
		{"genre", &libraryv1.SearchBooksRequest{Query: "the", Genres: []libraryv1.Genre{libraryv1.Genre_GENRE_MYSTERY}}, "shelves/2/books/7 1.00 [title]", 1},
		{"years", &libraryv1.SearchBooksRequest{Query: "the", PublishedAfter: proto.Int32(1898), PublishedBefore: proto.Int32(1899)}, "shelves/2/books/4 1.00 [title]", 1},
		{"nothing", &libraryv1.SearchBooksRequest{Query: "cookery"}, "", 0},
		{"no word", &libraryv1.SearchBooksRequest{Query: "!?"}, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp, err := l.SearchBooks(t.Context(), tt.req)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range resp.GetMatches() {
				got = append(got, fmt.Sprintf("%s %.2f %v", m.GetBook().GetName(), m.GetScore(), m.GetMatchedFields()))
			}
			if s := strings.Join(got, "; "); s != tt.want || resp.GetTotalSize() != tt.total {
				t.Errorf("%d matches: %s\nwant %d: %s", resp.GetTotalSize(), s, tt.total, tt.want)
			}
		})
	}
}

func TestCreateBook(t *testing.T) {
	t.Parallel()
	l := newLibrary()
	created, err := l.CreateBook(t.Context(), &libraryv1.CreateBookRequest{
		Parent: "shelves/1",
		Book: &libraryv1.Book{
			Name: "shelves/9/books/9", Title: "Emma", Authors: by("Jane Austen", 1775, 1817),
			Loans: []*libraryv1.Loan{{Book: "shelves/1/books/1"}}, CreateTime: timestamppb.Now(),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &libraryv1.Book{
		Name: "shelves/1/books/8", Title: "Emma", Authors: by("Jane Austen", 1775, 1817),
		CreateTime: timestamppb.New(testNow), UpdateTime: timestamppb.New(testNow),
	}
	if !proto.Equal(created, want) {
		t.Errorf("created %v\nwant %v", created, want)
	}
	found, err := l.SearchBooks(t.Context(), &libraryv1.SearchBooksRequest{Query: "emma"})
	if err != nil || found.GetTotalSize() != 1 {
		t.Errorf("search: %v, error %v", found, err)
	}
	for _, id := range []string{"9", "a-book"} {
		if _, err := l.CreateBook(t.Context(), &libraryv1.CreateBookRequest{Parent: "shelves/1", BookId: &id, Book: &libraryv1.Book{}}); err != nil {
			t.Fatal(err)
		}
	}
	next, err := l.CreateBook(t.Context(), &libraryv1.CreateBookRequest{Parent: "shelves/1", Book: &libraryv1.Book{}})
	if err != nil || next.GetName() != "shelves/1/books/10" {
		t.Errorf("after a taken number comes %q, error %v", next.GetName(), err)
	}
	names := listAll(t, l, &libraryv1.ListBooksRequest{Parent: "shelves/1"})
	if got := names[len(names)-3:]; !slices.Equal(got, []string{"shelves/1/books/9", "shelves/1/books/10", "shelves/1/books/a-book"}) {
		t.Errorf("the last books are %q", got)
	}
}

func TestUpdateBook(t *testing.T) {
	t.Parallel()
	const name = "shelves/1/books/1"
	for _, tt := range []struct {
		name  string
		book  *libraryv1.Book
		paths []string
		want  func(*libraryv1.Book)
	}{
		{
			"without a mask", &libraryv1.Book{Title: "First Impressions", Isbn: 9780000000002, CreateTime: timestamppb.Now()}, nil,
			func(b *libraryv1.Book) { b.Title, b.Isbn = "First Impressions", 9780000000002 },
		},
		{
			"a mask sets and clears", &libraryv1.Book{Title: "ignored", Genre: libraryv1.Genre_GENRE_DRAMA}, []string{"genre", "rating", "labels"},
			func(b *libraryv1.Book) { b.Genre, b.Rating, b.Labels = libraryv1.Genre_GENRE_DRAMA, nil, nil },
		},
		{
			"maps are replaced", &libraryv1.Book{Stock: map[string]int32{"annex": 4}}, []string{"stock"},
			func(b *libraryv1.Book) { b.Stock = map[string]int32{"annex": 4} },
		},
		{"nothing", &libraryv1.Book{}, nil, nil},
		{"the same", &libraryv1.Book{Title: "Pride and Prejudice"}, []string{"title"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLibrary()
			want := proto.CloneOf(l.books[name])
			if tt.want != nil {
				tt.want(want)
				want.UpdateTime = timestamppb.New(testNow)
			}
			tt.book.Name = name
			got, err := l.UpdateBook(t.Context(), &libraryv1.UpdateBookRequest{Book: tt.book, UpdateMask: &fieldmaskpb.FieldMask{Paths: tt.paths}})
			if err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
		})
	}
}

func TestCheckOutBook(t *testing.T) {
	t.Parallel()
	l := newLibrary()
	// The first book has one copy, at the main branch, and is lent for 14 days.
	resp, err := l.CheckOutBook(t.Context(), &libraryv1.CheckOutBookRequest{
		Name:     "shelves/1/books/1",
		Borrower: &libraryv1.CheckOutBookRequest_MemberId{MemberId: "M-000001"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &libraryv1.CheckOutBookResponse{Loan: &libraryv1.Loan{
		Book:         "shelves/1/books/1",
		Borrower:     &libraryv1.Loan_MemberId{MemberId: "M-000001"},
		Branch:       "main",
		CheckOutTime: timestamppb.New(testNow),
		DueTime:      timestamppb.New(testNow.AddDate(0, 0, 14)),
	}}
	if !proto.Equal(resp, want) {
		t.Errorf("got %v\nwant %v", resp, want)
	}
	if loans := l.books["shelves/1/books/1"].GetLoans(); len(loans) != 1 || !proto.Equal(loans[0], want.GetLoan()) {
		t.Errorf("loans %v", loans)
	}
	guest := &libraryv1.Guest{Name: "Ada", Email: "ada@example.com"}
	resp, err = l.CheckOutBook(t.Context(), &libraryv1.CheckOutBookRequest{
		Name:     "shelves/1/books/2",
		Borrower: &libraryv1.CheckOutBookRequest_Guest{Guest: guest},
		Due:      &libraryv1.CheckOutBookRequest_LoanPeriod{LoanPeriod: durationpb.New(time.Hour)},
		Branch:   new("riverside"),
	})
	if err != nil {
		t.Fatal(err)
	}
	loan := resp.GetLoan()
	if !proto.Equal(loan.GetGuest(), guest) || loan.GetBranch() != "riverside" ||
		!loan.GetDueTime().AsTime().Equal(testNow.Add(time.Hour)) || resp.GetCopiesLeft() != 2 {
		t.Errorf("got %v", resp)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	l := newLibrary()
	l.capacity = 28
	roomy := newLibrary()
	gone := &libraryv1.GetBookRequest{Name: "shelves/1/books/999"}
	for _, tt := range []struct {
		name    string
		call    func(context.Context) (proto.Message, error)
		want    string
		details []proto.Message
	}{
		{
			"no book", func(ctx context.Context) (proto.Message, error) { return l.GetBook(ctx, gone) },
			`not_found: there is no book "shelves/1/books/999"; ListBooks and SearchBooks tell which there are`,
			[]proto.Message{bookInfo("shelves/1/books/999", "There is no such book.")},
		},
		{
			"no book to update", func(ctx context.Context) (proto.Message, error) {
				return l.UpdateBook(ctx, &libraryv1.UpdateBookRequest{Book: &libraryv1.Book{Name: "shelves/1/books/x"}})
			},
			`not_found: there is no book "shelves/1/books/x"; ListBooks and SearchBooks tell which there are`,
			[]proto.Message{bookInfo("shelves/1/books/x", "There is no such book.")},
		},
		{
			"no shelf", func(ctx context.Context) (proto.Message, error) {
				return l.ListBooks(ctx, &libraryv1.ListBooksRequest{Parent: "shelves/7"})
			},
			`not_found: there is no shelf "shelves/7"; the shelves are shelves/1 to shelves/4`,
			[]proto.Message{&errdetails.ResourceInfo{ResourceType: shelfType, ResourceName: "shelves/7", Description: "There is no such shelf."}},
		},
		{
			"token of nothing", func(ctx context.Context) (proto.Message, error) {
				return l.ListBooks(ctx, &libraryv1.ListBooksRequest{PageToken: "&"})
			},
			`invalid_argument: page_token: not a token of this list; use next_page_token of the page before, with the same parent and genre`,
			nil,
		},
		{
			"token of another list", func(ctx context.Context) (proto.Message, error) {
				page, err := l.ListBooks(ctx, &libraryv1.ListBooksRequest{Parent: "shelves/1", PageSize: 1})
				if err != nil {
					return nil, err
				}
				return l.ListBooks(ctx, &libraryv1.ListBooksRequest{PageSize: 1, PageToken: page.GetNextPageToken()})
			},
			`invalid_argument: page_token: not a token of this list; use next_page_token of the page before, with the same parent and genre`,
			nil,
		},
		{
			"full", func(ctx context.Context) (proto.Message, error) {
				return l.CreateBook(ctx, &libraryv1.CreateBookRequest{Parent: "shelves/1"})
			},
			`resource_exhausted: the library is full: it holds 28 books; delete one first`,
			[]proto.Message{&errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{Subject: "library", Description: "at most 28 books"}}}},
		},
		{
			"taken", func(ctx context.Context) (proto.Message, error) {
				return roomy.CreateBook(ctx, &libraryv1.CreateBookRequest{Parent: "shelves/1", BookId: new("1")})
			},
			`already_exists: there is a book "shelves/1/books/1" already; choose another book_id or leave it out`,
			[]proto.Message{bookInfo("shelves/1/books/1", "The name is taken.")},
		},
		{
			"mask", func(ctx context.Context) (proto.Message, error) {
				return l.UpdateBook(ctx, &libraryv1.UpdateBookRequest{
					Book: &libraryv1.Book{Name: "shelves/1/books/1"}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"titel", "title", "loans"}},
				})
			},
			`invalid_argument: update_mask: a book has no field titel; update_mask: loans cannot be changed`,
			[]proto.Message{&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
				violation("update_mask", "a book has no field titel"), violation("update_mask", "loans cannot be changed"),
			}}},
		},
		{
			"lent", func(ctx context.Context) (proto.Message, error) {
				return l.DeleteBook(ctx, &libraryv1.DeleteBookRequest{Name: LentBook})
			},
			`failed_precondition: 2 of the copies of "shelves/1/books/3" are lent; wait for them, or set force`,
			[]proto.Message{
				precondition("LENT", LentBook, "Copies of the book are lent."),
				bookInfo(LentBook, "The book has loans."),
			},
		},
		{
			"all out", func(ctx context.Context) (proto.Message, error) {
				return l.CheckOutBook(ctx, &libraryv1.CheckOutBookRequest{Name: LentBook})
			},
			`failed_precondition: every copy of "shelves/1/books/3" is out; the first is due back on 2026-02-04`,
			[]proto.Message{
				precondition("ALL_COPIES_OUT", LentBook, "Every copy of the book is out."),
				&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Hour)},
				&errdetails.ResourceInfo{ResourceType: bookType, ResourceName: LentBook, Owner: "M-000042", Description: "Every copy of the book is out."},
			},
		},
		{
			"not at this branch", func(ctx context.Context) (proto.Message, error) {
				return l.CheckOutBook(ctx, &libraryv1.CheckOutBookRequest{Name: "shelves/1/books/1", Branch: new("riverside")})
			},
			`failed_precondition: branch "riverside" has no copy of "shelves/1/books/1"; there are copies at: main`,
			[]proto.Message{
				precondition("NO_COPY_AT_BRANCH", "shelves/1/books/1", "The branch has no copy of the book."),
				bookInfo("shelves/1/books/1", "Other branches have copies of the book."),
			},
		},
		{
			"due in the past", func(ctx context.Context) (proto.Message, error) {
				return l.CheckOutBook(ctx, &libraryv1.CheckOutBookRequest{
					Name: "shelves/1/books/1", Due: &libraryv1.CheckOutBookRequest_DueTime{DueTime: timestamppb.New(testNow)},
				})
			},
			`invalid_argument: due_time: must be in the future and at most 90 days ahead; it is now 2026-03-01T12:00:00Z`,
			[]proto.Message{&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
				violation("due_time", "must be in the future and at most 90 days ahead; it is now 2026-03-01T12:00:00Z"),
			}}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tt.call(t.Context())
			if err == nil || err.Error() != tt.want {
				t.Fatalf("error %v\nwant  %s", err, tt.want)
			}
			if tt.details != nil {
				checkDetails(t, err, tt.details)
			}
		})
	}
}

func checkDetails(t *testing.T, err error, want []proto.Message) {
	t.Helper()
	fault, ok := errors.AsType[*connect.Error](err)
	if !ok {
		t.Fatalf("%v is a %T", err, err)
	}
	got := make([]proto.Message, len(fault.Details()))
	for i, detail := range fault.Details() {
		m, err := detail.Value()
		if err != nil {
			t.Fatal(err)
		}
		got[i] = m
	}
	if !slices.EqualFunc(got, want, proto.Equal) {
		t.Errorf("details %v\nwant %v", got, want)
	}
}

func TestReindex(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New()
		started := time.Now()
		resp, err := l.Reindex(t.Context(), &libraryv1.ReindexRequest{Delay: durationpb.New(5 * time.Minute)})
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(started); waited != 5*time.Minute {
			t.Errorf("it took %s", waited)
		}
		if resp.GetBooks() != 28 || int(resp.GetWords()) != len(l.index) || resp.GetGeneration() != 2 {
			t.Errorf("got %v", resp)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = l.Reindex(ctx, &libraryv1.ReindexRequest{Delay: durationpb.New(time.Minute)})
		if connect.CodeOf(err) != connect.CodeDeadlineExceeded {
			t.Errorf("after the deadline: %v", err)
		}
		if waited := time.Since(started); waited != 5*time.Minute+time.Second {
			t.Errorf("it did not end at the deadline but after %s", waited)
		}
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = l.Reindex(ctx, &libraryv1.ReindexRequest{Delay: durationpb.New(time.Minute)})
		if connect.CodeOf(err) != connect.CodeCanceled {
			t.Errorf("after the cancellation: %v", err)
		}
		if l.generation != 2 {
			t.Errorf("calls that ended early built the index: generation %d", l.generation)
		}
	})
}

func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New()
		ctx, cancel := context.WithCancel(t.Context())
		var got []string
		done := make(chan error)
		go func() {
			done <- l.Watch(ctx, &libraryv1.WatchBooksRequest{Parent: "shelves/4", IncludeExisting: true}, func(r *libraryv1.WatchBooksResponse) error {
				got = append(got, r.GetChange().String()+" "+r.GetBook().GetName())
				return nil
			})
		}()
		synctest.Wait()
		if len(got) != 6 {
			t.Errorf("existing books %q", got)
		}
		for _, name := range []string{"shelves/4/books/1", "shelves/1/books/1"} {
			if _, err := l.CheckOutBook(ctx, &libraryv1.CheckOutBookRequest{Name: name}); err != nil {
				t.Error(err)
			}
			if _, err := l.UpdateBook(ctx, &libraryv1.UpdateBookRequest{Book: &libraryv1.Book{Name: name, Title: "x"}}); err != nil {
				t.Error(err)
			}
			if _, err := l.DeleteBook(ctx, &libraryv1.DeleteBookRequest{Name: name, Force: true}); err != nil {
				t.Error(err)
			}
			if _, err := l.CreateBook(ctx, &libraryv1.CreateBookRequest{Parent: shelfOf(name), Book: &libraryv1.Book{}}); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		want := []string{
			"CHANGE_CHECKED_OUT shelves/4/books/1", "CHANGE_UPDATED shelves/4/books/1",
			"CHANGE_REMOVED shelves/4/books/1", "CHANGE_ADDED shelves/4/books/7",
		}
		if !slices.Equal(got[6:], want) {
			t.Errorf("changes %q, want %q", got[6:], want)
		}
		cancel()
		if err := <-done; connect.CodeOf(err) != connect.CodeCanceled {
			t.Errorf("after the cancellation: %v", err)
		}
		if len(l.watchers) != 0 {
			t.Errorf("%d watchers are left", len(l.watchers))
		}
	})
}

func TestWatchErrors(t *testing.T) {
	t.Parallel()
	l := newLibrary()
	err := l.Watch(t.Context(), &libraryv1.WatchBooksRequest{Parent: "shelves/7"}, nil)
	if connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("no shelf: %v", err)
	}
	wantErr := errors.New("the line is dead")
	err = l.Watch(t.Context(), &libraryv1.WatchBooksRequest{IncludeExisting: true}, func(*libraryv1.WatchBooksResponse) error { return wantErr })
	if !errors.Is(err, wantErr) {
		t.Errorf("send fails: %v", err)
	}
}

// TestWatchSlowly changes books while the receiver does not receive.
func TestWatchSlowly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New()
		release := make(chan struct{})
		received := 0
		done := make(chan error)
		go func() {
			done <- l.Watch(t.Context(), &libraryv1.WatchBooksRequest{}, func(*libraryv1.WatchBooksResponse) error {
				<-release
				received++
				return nil
			})
		}()
		synctest.Wait()
		for i := range 2 * watchBuffer {
			title := fmt.Sprint(i)
			if _, err := l.UpdateBook(t.Context(), &libraryv1.UpdateBookRequest{Book: &libraryv1.Book{Name: LentBook, Title: title}}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		close(release)
		err := <-done
		if want := "resource_exhausted: the stream is more than 64 changes behind; watch again and read faster"; err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
		if received != watchBuffer+1 {
			t.Errorf("%d changes arrived", received)
		}
	})
}

// TestConcurrently lets the race detector see every method at once.
func TestConcurrently(t *testing.T) {
	t.Parallel()
	l := New()
	ctx, cancel := context.WithCancel(t.Context())
	var watching, working sync.WaitGroup
	watching.Go(func() {
		_ = l.Watch(ctx, &libraryv1.WatchBooksRequest{IncludeExisting: true}, func(r *libraryv1.WatchBooksResponse) error {
			_, err := proto.Marshal(r)
			return err
		})
	})
	for range 4 {
		working.Go(func() {
			for range 50 {
				created, err := l.CreateBook(ctx, &libraryv1.CreateBookRequest{
					Parent: "shelves/3", Book: &libraryv1.Book{Title: "Poems", Stock: map[string]int32{"main": 1}},
				})
				if err != nil {
					t.Error(err)
					return
				}
				name := created.GetName()
				_, updated := l.UpdateBook(ctx, &libraryv1.UpdateBookRequest{Book: &libraryv1.Book{Name: name, Title: "More poems"}})
				_, lent := l.CheckOutBook(ctx, &libraryv1.CheckOutBookRequest{Name: name})
				page, listed := l.ListBooks(ctx, &libraryv1.ListBooksRequest{Parent: "shelves/3"})
				_, searched := l.SearchBooks(ctx, &libraryv1.SearchBooksRequest{Query: "poems"})
				_, indexed := l.Reindex(ctx, &libraryv1.ReindexRequest{})
				_, encoded := proto.Marshal(page)
				_, deleted := l.DeleteBook(ctx, &libraryv1.DeleteBookRequest{Name: name, Force: true})
				if err := errors.Join(updated, lent, listed, searched, indexed, encoded, deleted); err != nil {
					t.Error(err)
				}
			}
		})
	}
	working.Wait()
	cancel()
	watching.Wait()
}
