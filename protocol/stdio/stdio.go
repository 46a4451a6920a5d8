// Package stdio serves MCP over a pair of byte streams, usually a process's
// standard input and output: one JSON-RPC message a line, all revisions
// (basic/transports/stdio). [Serve] is the server's side, [Client] owns a
// process that is a server.
package stdio

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/framed"
)

// Defaults of [Config].
const (
	// DefaultMaxMessageBytes is the longest line that is read.
	DefaultMaxMessageBytes = 4 << 20
	// DefaultDrainTimeout is how long requests that are under way may go on
	// after the end of input.
	DefaultDrainTimeout = 10 * time.Second
)

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
	return framed.Serve(ctx, newLines(in, out, cfg.MaxMessageBytes), framed.ServerConfig{
		Handler:         cfg.Handler,
		Caller:          protocol.NewCaller(ctx, "stdio", nil, ""),
		Logger:          cfg.Logger,
		MaxMessageBytes: cfg.MaxMessageBytes,
		DrainTimeout:    cfg.DrainTimeout,
	})
}
