package stdio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
)

// link is a channel over a pair of streams.
type link struct {
	*peer.Channel
	in     io.Reader
	why    func() error // why the streams have ended, if more is known
	stop   func()       // ends the streams, and returns once they are ended
	writes chan write
	over   chan struct{} // closed once nothing more is written
	idle   chan struct{} // closed once the writer has returned
	served chan struct{} // closed once serve has returned
}

type write struct {
	line []byte
	done chan error // has room for the outcome
}

// newLink returns a link that reads in and writes out. serve must be called.
func newLink(log *slog.Logger, in io.Reader, out io.Writer, why func() error, stop func()) *link {
	l := &link{
		in: in, why: why, stop: sync.OnceFunc(stop),
		writes: make(chan write), over: make(chan struct{}), idle: make(chan struct{}), served: make(chan struct{}),
	}
	l.Channel = peer.NewChannel(log, l.write, func() {
		l.stop()
		<-l.served
	})
	go l.writer(out)
	return l
}

// writer writes one line at a time. A server that does not read blocks it, and
// nobody else, until the streams are ended.
func (l *link) writer(out io.Writer) {
	defer close(l.idle)
	for {
		select {
		case w := <-l.writes:
			_, err := out.Write(w.line)
			w.done <- err
		case <-l.over:
			return
		}
	}
}

func (l *link) write(ctx context.Context, message []byte, _ http.Header) error {
	line := append(jsontok.AppendCompact(make([]byte, 0, len(message)+1), message), '\n')
	w := write{line: line, done: make(chan error, 1)}
	select {
	case l.writes <- w:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.Done():
		return l.Err()
	}
	select {
	case err := <-w.done:
		if err != nil {
			return peer.Unavailable(err, "the MCP server takes no messages any more")
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.Done():
		return l.Err()
	}
}

// serve reads until the stream ends, leaves nothing behind, and calls ended.
func (l *link) serve(limit int, ended func(error)) {
	defer close(l.served)
	err := l.read(limit)
	if err == nil || !errors.Is(err, errTooLong) {
		if why := l.why(); why != nil {
			err = why
		}
	}
	switch fault, ok := errors.AsType[*protocol.UpstreamError](err); {
	case ok:
		l.Fail(fault)
	case err != nil:
		l.Fail(peer.Unavailable(err, "the connection to the MCP server broke"))
	default:
		l.Fail(peer.Unavailable(nil, "the MCP server has ended the connection"))
	}
	l.stop()
	close(l.over)
	<-l.idle
	ended(l.Err())
}

var errTooLong = errors.New("too long a line")

func (l *link) read(limit int) error {
	r := bufio.NewReaderSize(l.in, 64<<10)
	for {
		line, tooLong, err := readLine(r, limit)
		if tooLong {
			return &protocol.UpstreamError{
				Kind:    protocol.UpstreamTooLarge,
				Message: fmt.Sprintf("the MCP server sent a message of more than %d bytes", limit),
				Err:     errTooLong,
			}
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			l.Receive(line)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}
