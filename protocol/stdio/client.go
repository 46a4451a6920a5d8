package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/framed"
)

// Defaults of [ClientConfig].
const (
	// DefaultClientMaxMessageBytes is the longest line that is read from a
	// server.
	DefaultClientMaxMessageBytes = framed.DefaultClientMaxMessageBytes
	// DefaultStopTimeout is how long a process has to end once its input is
	// closed, and again once it has been asked to by a signal.
	DefaultStopTimeout = 5 * time.Second
)

// DefaultInherit are the environment variables that a server's process gets
// from this one: what programs need to run at all, and no secrets.
func DefaultInherit() []string {
	return []string{
		"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
		"APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMFILES",
		"SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
	}
}

// ClientConfig configures a [Client]. Either Command or Dial must be set; the
// zero value of every other field means its default.
type ClientConfig struct {
	// Command and Args are the program that is the server. It is looked up in
	// PATH, and no shell is involved.
	Command string
	Args    []string
	// Dir is the directory that the program runs in. The default is this
	// process's.
	Dir string
	// Env are further environment variables of the program, as NAME=VALUE.
	Env []string
	// Inherit are the names of the environment variables that the program
	// gets from this process. Nil means [DefaultInherit]; an empty list none.
	Inherit []string

	// Dial, in the place of Command, connects to a server over any stream of
	// bytes, such as a socket. It is called again where the stream has ended.
	// Close must end a Read or Write that is under way.
	Dial func(ctx context.Context) (io.ReadWriteCloser, error)

	// Logger gets what goes wrong, and what the program writes to its
	// standard error. The default discards.
	Logger *slog.Logger
	// MaxMessageBytes bounds one line of the server. A longer one ends the
	// connection.
	MaxMessageBytes int
	// StopTimeout is how long the program has to end once its input is
	// closed, and again after a signal. Then it is killed.
	StopTimeout time.Duration
	// ProbeTimeout is how long a server has to answer server/discover before
	// it is taken for one that opens with initialize.
	ProbeTimeout time.Duration
	// HandshakeTimeout bounds the start of a server and initialize.
	HandshakeTimeout time.Duration
	// ParkTimeout and MaxParked bound the calls to legacy servers that wait
	// for their callers' input, in time and in number.
	ParkTimeout time.Duration
	MaxParked   int
	// ClientInfo is the Implementation object that legacy servers see, and
	// modern ones of callers that have none.
	ClientInfo json.RawMessage
	// Capabilities is the ClientCapabilities object of the session with a
	// legacy server, which all callers share. The default is everything that
	// can be carried; a caller that lacks a capability is not asked.
	Capabilities json.RawMessage
}

// Client is an MCP server behind a pair of streams, as a [protocol.Handler]:
// its requests are answered by that server, whichever revision it speaks. The
// program is started by the first request, and again, with growing pauses,
// where it has ended. Requests under way then fail; none is sent twice.
//
// A legacy server has one session for all callers. Where it asks for input
// while calls of several callers are under way, nobody can tell who is meant,
// and it hears an error.
type Client struct{ framed *framed.Client }

var _ protocol.Handler = (*Client)(nil)

// NewClient returns a Client. Nothing is started yet.
func NewClient(cfg ClientConfig) (*Client, error) {
	var faults []error
	if (cfg.Command == "") == (cfg.Dial == nil) {
		faults = append(faults, errors.New("one of Command and Dial must be set"))
	}
	for _, v := range cfg.Env {
		name, _, ok := strings.Cut(v, "=")
		if !ok || name == "" || strings.ContainsRune(v, 0) {
			faults = append(faults, fmt.Errorf("environment variable %q must be NAME=VALUE", name))
		}
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("stdio: %w", errors.Join(faults...))
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxMessageBytes <= 0 {
		cfg.MaxMessageBytes = DefaultClientMaxMessageBytes
	}
	if cfg.StopTimeout <= 0 {
		cfg.StopTimeout = DefaultStopTimeout
	}
	if cfg.Inherit == nil {
		cfg.Inherit = DefaultInherit()
	}
	return &Client{framed.NewClient(framed.ClientConfig{
		Dial:             func(ctx context.Context) (framed.Stream, error) { return connect(ctx, &cfg) },
		Logger:           cfg.Logger,
		MaxMessageBytes:  cfg.MaxMessageBytes,
		ProbeTimeout:     cfg.ProbeTimeout,
		HandshakeTimeout: cfg.HandshakeTimeout,
		ParkTimeout:      cfg.ParkTimeout,
		MaxParked:        cfg.MaxParked,
		ClientInfo:       cfg.ClientInfo,
		Capabilities:     cfg.Capabilities,
	})}, nil
}

// Handle asks the server. Where it cannot be asked, the error is a
// [*protocol.UpstreamError].
func (c *Client) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	return c.framed.Handle(ctx, r, n)
}

// Close ends the server as the specification asks: its input is closed, and
// where it does not end soon, it and all processes of its group are asked to,
// and then made to. Close returns once nothing of it is left. Requests under
// way fail.
func (c *Client) Close() { c.framed.Close() }

// connect starts the program, or dials.
func connect(ctx context.Context, cfg *ClientConfig) (*lines, error) {
	if cfg.Dial != nil {
		rwc, err := cfg.Dial(ctx)
		if err != nil {
			return nil, err
		}
		l := newLines(rwc, rwc, cfg.MaxMessageBytes)
		l.stop = func() { _ = rwc.Close() } // nothing to be done about it
		return l, nil
	}
	p, err := startProcess(cfg)
	if err != nil {
		return nil, err
	}
	l := newLines(p.stdout, p.stdin, cfg.MaxMessageBytes)
	l.why, l.stop = p.why, p.stop
	return l, nil
}

// environment returns the environment of the program.
func environment(cfg *ClientConfig) []string {
	env := []string{}
	for _, name := range cfg.Inherit {
		if v, ok := os.LookupEnv(name); ok && !strings.HasPrefix(v, "()") { // an exported shell function is code
			env = append(env, name+"="+v)
		}
	}
	return append(env, cfg.Env...)
}
