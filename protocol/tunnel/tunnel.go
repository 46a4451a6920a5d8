// Package tunnel serves MCP on any stream of whole messages that go both ways,
// such as a stream of an RPC: JSON-RPC, untouched, in any revision, sessions
// and all (basic/transports, Custom Transports). [Serve] is the server's side
// of one stream, [Client] makes a server of one. Where messages are lines of
// bytes, use package stdio.
package tunnel

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/framed"
)

// Stream carries JSON-RPC messages both ways.
type Stream interface {
	// Receive returns the next message, which is the caller's to keep. The
	// error is io.EOF where the peer has ended the stream in order, and may be
	// [ErrTooLong]. It is called by one goroutine at a time.
	Receive() ([]byte, error)
	// Send sends a message. It is called by one goroutine at a time, and does
	// not keep the message. Where it fails, the peer has not got the whole of
	// it, and the stream is of no more use.
	Send(message []byte) error
	// Close ends the stream, so that Receive and Send return, and waits for
	// what belongs to it. It may be called more than once.
	Close()
}

// ErrTooLong is the error of Receive for a message that is longer than the
// limit of the stream and has been skipped.
var ErrTooLong = framed.ErrTooLong

// Defaults of [Config] and [ClientConfig].
const (
	// DefaultMaxMessageBytes is the longest message of a client.
	DefaultMaxMessageBytes = 4 << 20
	// DefaultDrainTimeout is how long requests that are under way may go on
	// once the client sends nothing more.
	DefaultDrainTimeout = 10 * time.Second
)

// Config configures [Serve]. The zero value of every field but Handler means
// its default.
type Config struct {
	// Handler answers the requests.
	Handler protocol.Handler
	// Caller is whom they come from.
	Caller *protocol.Caller
	// Logger gets what goes wrong. The default discards.
	Logger *slog.Logger
	// MaxMessageBytes is the limit that the stream has, for messages to
	// people.
	MaxMessageBytes int
	// DrainTimeout bounds the time for requests under way once the client
	// sends nothing more.
	DrainTimeout time.Duration
}

// Serve answers the messages of a stream until the client ends it or ctx does,
// and closes it. Requests that are under way at the end finish, within the
// drain timeout, and Serve returns nil, or the error of the stream. Where ctx
// ends first they are cancelled, and Serve returns ctx's error.
func Serve(ctx context.Context, s Stream, cfg Config) error {
	defer s.Close()
	if cfg.Handler == nil {
		return errors.New("tunnel: Config.Handler is nil")
	}
	if cfg.Caller == nil {
		cfg.Caller = protocol.NewCaller(ctx, "tunnel", nil, "")
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
	return framed.Serve(ctx, s, framed.ServerConfig{
		Handler:         cfg.Handler,
		Caller:          cfg.Caller,
		Logger:          cfg.Logger,
		MaxMessageBytes: cfg.MaxMessageBytes,
		DrainTimeout:    cfg.DrainTimeout,
	})
}
