package framed

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/duplex"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eraserver"
)

// ServerConfig configures [Serve]. All fields must be set.
type ServerConfig struct {
	// Handler answers the requests, which come from Caller.
	Handler protocol.Handler
	Caller  *protocol.Caller
	Logger  *slog.Logger
	// MaxMessageBytes is the limit of the stream, for messages to people.
	MaxMessageBytes int
	// DrainTimeout bounds the time for requests under way once the client
	// sends nothing more.
	DrainTimeout time.Duration
}

// stopTimeout bounds the wait for the last responses once the context has
// ended: a write to a peer that does not read has no end of its own.
const stopTimeout = time.Second

// Serve answers the messages of a stream until the client ends it or ctx does.
// At the end it lets requests that are under way finish, within the drain
// timeout, and returns nil, or the error of the stream. Where ctx ends first
// it cancels them and returns ctx's error; the stream may then still be in
// use, until it is closed. Serve does not close it.
func Serve(ctx context.Context, s Stream, cfg ServerConfig) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	served := make(chan error, 1)
	go func() { served <- serve(ctx, cancel, s, cfg) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case err := <-served:
		return err
	case <-timer.C:
		return context.Cause(ctx)
	}
}

func serve(ctx context.Context, cancel context.CancelCauseFunc, s Stream, cfg ServerConfig) error {
	l := eraserver.NewServer(cfg.Handler, cfg.Logger)
	defer l.Close()
	conn := duplex.New(cfg.Handler, l, cfg.Logger, func(message []byte) error {
		err := s.Send(message)
		if err != nil {
			cancel(err)
		}
		return err
	})
	messages := make(chan []byte)
	ended := make(chan error, 1)
	go receive(ctx, s, messages, ended)
	for {
		select {
		case message := <-messages:
			if message == nil {
				conn.Oversized(cfg.MaxMessageBytes)
				continue
			}
			conn.Receive(ctx, message, cfg.Caller)
		case err := <-ended:
			drain(conn, cancel, cfg.DrainTimeout)
			return err
		case <-ctx.Done():
			conn.Close()
			return context.Cause(ctx)
		}
	}
}

// errInputEnded is the cause of contexts that outlive the input, and what the
// callers of those hear who still listen.
var errInputEnded = protocol.Errorf(protocol.CodeInternalError, "the request was cut off, because the input had ended")

// drain waits for requests under way, at most for timeout.
func drain(conn *duplex.Conn, cancel context.CancelCauseFunc, timeout time.Duration) {
	conn.EndInput()
	timer := time.AfterFunc(timeout, func() { cancel(errInputEnded) })
	defer timer.Stop()
	conn.Close()
}

// receive sends every message to messages, nil for one that is too long, and
// in the end the error, or nil for the end of the stream, to ended.
func receive(ctx context.Context, s Stream, messages chan<- []byte, ended chan<- error) {
	for {
		message, err := s.Receive()
		tooLong := errors.Is(err, ErrTooLong)
		switch {
		case errors.Is(err, io.EOF):
			ended <- nil
			return
		case err != nil && !tooLong:
			ended <- err
			return
		case tooLong:
			message = nil
		case len(bytes.TrimSpace(message)) == 0:
			continue
		}
		select {
		case messages <- message:
		case <-ctx.Done():
			return
		}
	}
}
