package demo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	libraryv1 "github.com/mcp-bridge/mcp-bridge/gen/library/v1"
)

const (
	// defaultLoan is for how long a copy is lent where neither the request nor
	// the book says.
	defaultLoan = 28 * 24 * time.Hour
	// longestLoan is for how long a copy is lent at most.
	longestLoan = 90 * 24 * time.Hour
	// returnsEvery is how often the desk takes books back, and so when to try
	// again where every copy is out.
	returnsEvery = time.Hour
)

// CheckOutBook lends a copy of a book.
func (l *Library) CheckOutBook(_ context.Context, req *libraryv1.CheckOutBookRequest) (*libraryv1.CheckOutBookResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, err := l.find(req.GetName())
	if err != nil {
		return nil, err
	}
	now := l.now()
	due, err := dueTime(req, before, now)
	if err != nil {
		return nil, err
	}
	branch, err := chooseBranch(req, before)
	if err != nil {
		return nil, err
	}
	loan := &libraryv1.Loan{
		Book:         before.GetName(),
		Branch:       branch,
		CheckOutTime: timestamppb.New(now),
		DueTime:      timestamppb.New(due),
	}
	switch borrower := req.GetBorrower().(type) {
	case *libraryv1.CheckOutBookRequest_MemberId:
		loan.Borrower = &libraryv1.Loan_MemberId{MemberId: borrower.MemberId}
	case *libraryv1.CheckOutBookRequest_Guest:
		loan.Borrower = &libraryv1.Loan_Guest{Guest: proto.CloneOf(borrower.Guest)}
	}
	after := proto.CloneOf(before)
	after.Stock[branch]--
	after.Loans = append(after.Loans, loan)
	after.UpdateTime = loan.GetCheckOutTime()
	l.put(after)
	l.publish(libraryv1.WatchBooksResponse_CHANGE_CHECKED_OUT, after)
	return &libraryv1.CheckOutBookResponse{Loan: loan, CopiesLeft: copies(after)}, nil
}

// dueTime returns when a copy that is lent now is to be back.
func dueTime(req *libraryv1.CheckOutBookRequest, book *libraryv1.Book, now time.Time) (time.Time, error) {
	switch asked := req.GetDue().(type) {
	case *libraryv1.CheckOutBookRequest_DueTime:
		if err := asked.DueTime.CheckValid(); err != nil {
			return time.Time{}, badRequest(violation("due_time", err.Error()))
		}
		due := asked.DueTime.AsTime()
		if !due.After(now) || due.After(now.Add(longestLoan)) {
			return time.Time{}, badRequest(violation("due_time",
				"must be in the future and at most 90 days ahead; it is now "+now.UTC().Format(time.RFC3339)))
		}
		return due, nil
	case *libraryv1.CheckOutBookRequest_LoanPeriod:
		return now.Add(asked.LoanPeriod.AsDuration()), nil
	}
	if book.LoanPeriod != nil {
		return now.Add(book.GetLoanPeriod().AsDuration()), nil
	}
	return now.Add(defaultLoan), nil
}

// chooseBranch returns the branch to take a copy from: the one that is asked
// for, or the one with the most copies.
func chooseBranch(req *libraryv1.CheckOutBookRequest, book *libraryv1.Book) (string, error) {
	stock := book.GetStock()
	var available []string
	for _, branch := range slices.Sorted(maps.Keys(stock)) {
		if stock[branch] > 0 {
			available = append(available, branch)
		}
	}
	switch {
	case len(available) == 0:
		return "", noCopy(book)
	case req.Branch == nil:
		return slices.MaxFunc(available, func(a, b string) int {
			return cmp.Or(cmp.Compare(stock[a], stock[b]), cmp.Compare(b, a))
		}), nil
	case !slices.Contains(available, req.GetBranch()):
		return "", fault(connect.CodeFailedPrecondition,
			fmt.Sprintf("branch %q has no copy of %q; there are copies at: %s", req.GetBranch(), book.GetName(), strings.Join(available, ", ")),
			precondition("NO_COPY_AT_BRANCH", book.GetName(), "The branch has no copy of the book."),
			bookInfo(book.GetName(), "Other branches have copies of the book."))
	}
	return req.GetBranch(), nil
}

func noCopy(book *libraryv1.Book) *connect.Error {
	message := fmt.Sprintf("every copy of %q is out", book.GetName())
	info := bookInfo(book.GetName(), "Every copy of the book is out.")
	if loans := book.GetLoans(); len(loans) > 0 {
		first := slices.MinFunc(loans, func(a, b *libraryv1.Loan) int {
			return a.GetDueTime().AsTime().Compare(b.GetDueTime().AsTime())
		})
		message += "; the first is due back on " + first.GetDueTime().AsTime().Format(time.DateOnly)
		info.Owner = first.GetMemberId()
	}
	return fault(connect.CodeFailedPrecondition, message,
		precondition("ALL_COPIES_OUT", book.GetName(), "Every copy of the book is out."),
		&errdetails.RetryInfo{RetryDelay: durationpb.New(returnsEvery)},
		info)
}

// copies returns how many copies stand on the shelf, over all branches.
func copies(book *libraryv1.Book) int32 {
	var n int32
	for _, at := range book.GetStock() {
		n += at
	}
	return n
}
