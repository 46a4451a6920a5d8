// Package stdio serves MCP over a pair of byte streams, usually a process's
// standard input and output: one JSON-RPC message a line, all revisions
// (basic/transports/stdio). [Serve] is the server's side, [Client] owns a
// process that is a server.
package stdio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/duplex"
	"github.com/mcp-bridge/mcp-bridge/protocol/legacy"
)

// Defaults of [Config].
const (
	// DefaultMaxMessageBytes is the longest line that is read.
	DefaultMaxMessageBytes = 4 << 20
	// DefaultDrainTimeout is how long requests that are under way may go on
	// after the end of input.
	DefaultDrainTimeout = 10 * time.Second
)

// stopTimeout bounds the wait for the last responses once the context has
// ended: a write to a peer that does not read has no end of its own.
const stopTimeout = time.Second

// Config configures [Serve]. The zero value of every field but Handler means
// its default.
type Config struct {
	// Handler answers the requests.
	Handler protocol.Handler
	// Logger gets what goes wrong. It must not write to the stream that
	// carries the messages. The default discards.
	Logger *slog.Logger
	// MaxMessageBytes bounds one message. A longer one is answered with an
	// error and skipped.
	MaxMessageBytes int
	// DrainTimeout bounds the time for requests under way once the input has
	// ended.
	DrainTimeout time.Duration
}

// Serve answers the messages on in, on out, until in ends or ctx does. At the
// end of input it lets requests that are under way finish, within the drain
// timeout, and returns nil. Where ctx ends first it cancels them and returns
// ctx's error; in then still has a reader until it yields or is closed, and
// out a writer where the peer does not read, so the process should exit.
func Serve(ctx context.Context, in io.Reader, out io.Writer, cfg Config) error {
	if cfg.Handler == nil {
		return errors.New("stdio: Config.Handler is nil")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxMessageBytes <= 0 {
		cfg.MaxMessageBytes = DefaultMaxMessageBytes
	}
	if cfg.DrainTimeout <= 0 {
		cfg.DrainTimeout = DefaultDrainTimeout
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	served := make(chan error, 1)
	go func() { served <- serve(ctx, cancel, in, out, cfg) }()
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

func serve(ctx context.Context, cancel context.CancelCauseFunc, in io.Reader, out io.Writer, cfg Config) error {
	l := legacy.NewServer(cfg.Handler, cfg.Logger)
	defer l.Close()
	conn := duplex.New(cfg.Handler, l, cfg.Logger, func(msg []byte) error {
		line := append(jsontok.AppendCompact(make([]byte, 0, len(msg)+1), msg), '\n')
		if _, err := out.Write(line); err != nil {
			cancel(fmt.Errorf("stdio: write: %w", err))
			return err
		}
		return nil
	})

	lines := make(chan []byte)
	ended := make(chan error, 1)
	go read(ctx, in, cfg.MaxMessageBytes, lines, ended)
	caller := &protocol.Caller{Transport: "stdio"}
	for {
		select {
		case line := <-lines:
			if line == nil {
				conn.Oversized(cfg.MaxMessageBytes)
				continue
			}
			conn.Receive(ctx, line, caller)
		case err := <-ended:
			drain(conn, cancel, cfg.DrainTimeout)
			return err
		case <-ctx.Done():
			conn.Close()
			return context.Cause(ctx)
		}
	}
}

// errInputEnded is the cause of contexts that outlive the input.
var errInputEnded = errors.New("stdio: the input has ended")

// drain waits for requests under way, at most for timeout.
func drain(conn *duplex.Conn, cancel context.CancelCauseFunc, timeout time.Duration) {
	conn.EndInput()
	timer := time.AfterFunc(timeout, func() { cancel(errInputEnded) })
	defer timer.Stop()
	conn.Close()
}

// read sends every line of in to lines, nil for one that is too long, and in
// the end the read error, or nil for the end of input, to ended.
func read(ctx context.Context, in io.Reader, limit int, lines chan<- []byte, ended chan<- error) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, tooLong, err := readLine(r, limit)
		if tooLong || len(bytes.TrimSpace(line)) > 0 {
			if tooLong {
				line = nil
			}
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			} else {
				err = fmt.Errorf("stdio: read: %w", err)
			}
			ended <- err
			return
		}
	}
}

// readLine reads up to and including the next newline. A line of more than
// limit bytes without it is skipped, and tooLong then.
func readLine(r *bufio.Reader, limit int) (line []byte, tooLong bool, err error) {
	for {
		chunk, err := r.ReadSlice('\n')
		if len(line)+len(bytes.TrimSuffix(chunk, []byte{'\n'})) > limit {
			tooLong, line = true, nil
		}
		if !tooLong {
			line = append(line, chunk...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}
