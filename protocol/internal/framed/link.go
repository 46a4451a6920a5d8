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
	idle   chan struct{} // closed once the writer has returned
	served chan struct{} // closed once serve has returned
}

type write struct {
	message []byte
	done    chan error // has room for the outcome
}

// newLink returns a link over a stream. serve must be called.
func newLink(log *slog.Logger, stream Stream) *link {
	l := &link{
		stream: stream, stop: sync.OnceFunc(stream.Close),
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
		l.Fail(peer.Unavailable(err, "the MCP server takes no messages any more"))
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

// serve reads until the stream ends, leaves nothing behind, and calls ended.
func (l *link) serve(limit int, ended func(error)) {
	defer close(l.served)
	err := l.read()
	switch fault, ok := errors.AsType[*protocol.UpstreamError](err); {
	case ok:
		l.Fail(fault)
	case errors.Is(err, ErrTooLong):
		l.Fail(&protocol.UpstreamError{
			Kind:    protocol.UpstreamTooLarge,
			Message: fmt.Sprintf("the MCP server sent a message of more than %d bytes", limit),
			Err:     err,
		})
	case errors.Is(err, io.EOF):
		l.Fail(peer.Unavailable(nil, "the MCP server has ended the connection"))
	default:
		l.Fail(peer.Unavailable(err, "the connection to the MCP server broke"))
	}
	l.stop()
	close(l.over)
	<-l.idle
	ended(l.Err())
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
