package framed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
)

// link is a channel over a stream.
type link struct {
	*peer.Channel
	stream Stream
	stop   func() // closes the stream, once
	writes chan write
	over   chan struct{} // closed once nothing more is written
	failed sync.Once
	accuse func([]*peer.Call) bool
	known  bool          // what accuse has said when the link failed
	idle   chan struct{} // closed once the writer has returned
	served chan struct{} // closed once serve has returned
	left   atomic.Bool   // its user has ended it, and wants another one
}

type write struct {
	message []byte
	done    chan error // has room for the outcome
}

// newLink returns a link over a stream. serve must be called. When the stream
// fails, accuse is told which calls are under way, before they fail, and says
// whether it knows which one is to blame.
func newLink(log *slog.Logger, stream Stream, accuse func([]*peer.Call) bool) *link {
	l := &link{
		stream: stream, stop: sync.OnceFunc(stream.Close), accuse: accuse,
		writes: make(chan write), over: make(chan struct{}), idle: make(chan struct{}), served: make(chan struct{}),
	}
	l.Channel = peer.NewChannel(log, l.write, func() {
		l.stop()
		<-l.served
	})
	go l.writer()
	return l
}

// brokenGrace is how long after a failed write the reader has to say why the
// stream has ended, which it knows better.
const brokenGrace = 5 * time.Second

// writer writes one message at a time. A server that does not read blocks it,
// and nobody else, until the stream is ended. A write that fails ends the link.
func (l *link) writer() {
	defer close(l.idle)
	for {
		select {
		case w := <-l.writes:
			err := l.stream.Send(w.message)
			w.done <- err
			if err != nil {
				l.broken(err)
				<-l.over
				return
			}
		case <-l.over:
			return
		}
	}
}

// broken ends the link after a write that failed, unless it ends by itself.
func (l *link) broken(err error) {
	timer := time.NewTimer(brokenGrace)
	defer timer.Stop()
	select {
	case <-l.Done():
	case <-timer.C:
		l.fail(peer.Unavailable(err, "the MCP server takes no messages any more"))
	}
}

func (l *link) write(ctx context.Context, message []byte, _ http.Header) error {
	w := write{message: message, done: make(chan error, 1)}
	select {
	case l.writes <- w:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.Done():
		return peer.NotSent(l.Err())
	}
	select {
	case err := <-w.done:
		if err == nil {
			return nil
		}
		// The message has not gone out whole. The writer ends the link.
		select {
		case <-l.Done():
			return peer.NotSent(l.Err())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.Done():
		return l.Err()
	}
}

// fail ends the link, unless it has been closed.
func (l *link) fail(err error) {
	l.failed.Do(func() {
		if l.Err() == nil {
			l.known = l.accuse(l.InFlight())
			l.Fail(err)
		}
	})
}

// serve reads until the stream ends, leaves nothing behind, and calls ended with
// the reason and what accuse has said.
func (l *link) serve(limit int, ended func(why error, known bool)) {
	defer close(l.served)
	err := l.read()
	switch fault, ok := errors.AsType[*protocol.UpstreamError](err); {
	case ok:
		l.fail(fault)
	case errors.Is(err, ErrTooLong):
		l.fail(&protocol.UpstreamError{
			Kind:    protocol.UpstreamTooLarge,
			Message: fmt.Sprintf("the MCP server sent a message of more than %d bytes", limit),
			Err:     err,
		})
	case errors.Is(err, io.EOF):
		l.fail(peer.Unavailable(nil, "the MCP server has ended the connection"))
	default:
		l.fail(peer.Unavailable(err, "the connection to the MCP server broke"))
	}
	l.stop()
	close(l.over)
	<-l.idle
	ended(l.Err(), l.known)
}

func (l *link) read() error {
	for {
		message, err := l.stream.Receive()
		if message = bytes.TrimSpace(message); len(message) > 0 {
			l.Receive(message)
		}
		if err != nil {
			return err
		}
	}
}
