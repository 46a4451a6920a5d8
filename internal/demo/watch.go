package demo

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	libraryv1 "github.com/mcp-bridge/mcp-bridge/gen/library/v1"
)

// watchBuffer is how many changes a watcher may be behind before it is cut off.
const watchBuffer = 64

// watcher is one call of WatchBooks. Its channel is closed when the caller falls
// too far behind.
type watcher struct {
	parent  string
	changes chan *libraryv1.WatchBooksResponse
}

// WatchBooks serves the stream for Connect. See [Library.Watch].
func (l *Library) WatchBooks(ctx context.Context, req *libraryv1.WatchBooksRequest, stream *connect.ServerStream[libraryv1.WatchBooksResponse]) error {
	// Send the headers now: the first change may be a long time away.
	if err := stream.Send(nil); err != nil {
		return err
	}
	return l.Watch(ctx, req, stream.Send)
}

// Watch hands changes to send, one after the other, until ctx ends, send fails
// or the receiver is more than 64 changes behind.
func (l *Library) Watch(ctx context.Context, req *libraryv1.WatchBooksRequest, send func(*libraryv1.WatchBooksResponse) error) error {
	shelf := req.GetParent()
	if shelf != "" && !isShelf(shelf) {
		return noShelf(shelf)
	}
	w := &watcher{parent: shelf, changes: make(chan *libraryv1.WatchBooksResponse, watchBuffer)}
	var existing []*libraryv1.Book
	l.mu.Lock()
	l.watchers[w] = struct{}{}
	if req.GetIncludeExisting() {
		for _, name := range l.order {
			if onShelf(name, shelf) {
				existing = append(existing, l.books[name])
			}
		}
	}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.watchers, w)
		l.mu.Unlock()
	}()

	for _, book := range existing {
		if err := send(&libraryv1.WatchBooksResponse{Change: libraryv1.WatchBooksResponse_CHANGE_ADDED, Book: book}); err != nil {
			return err
		}
	}
	for {
		select {
		case <-ctx.Done():
			return contextFault(ctx)
		case change, ok := <-w.changes:
			if !ok {
				return fault(connect.CodeResourceExhausted,
					fmt.Sprintf("the stream is more than %d changes behind; watch again and read faster", watchBuffer))
			}
			if err := send(change); err != nil {
				return err
			}
		}
	}
}

// publish tells the watchers about a change. The lock must be held for writing.
func (l *Library) publish(change libraryv1.WatchBooksResponse_Change, book *libraryv1.Book) {
	event := &libraryv1.WatchBooksResponse{Change: change, Book: book}
	for w := range l.watchers {
		if !onShelf(book.GetName(), w.parent) {
			continue
		}
		select {
		case w.changes <- event:
		default:
			close(w.changes)
			delete(l.watchers, w)
		}
	}
}
