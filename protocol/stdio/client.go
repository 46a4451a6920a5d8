package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/secret"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/framed"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
)

// DefaultStopTimeout is how long a process has to end once its input is
// closed, and again once it has been asked to by a signal.
const DefaultStopTimeout = 5 * time.Second

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

	// StopTimeout is how long the program has to end once its input is
	// closed, and again after a signal. Then it is killed.
	StopTimeout time.Duration
	// Capabilities is the ClientCapabilities object of the session with a
	// legacy server, which all callers share. The default is everything that
	// can be carried; a caller that lacks a capability is not asked.
	Capabilities json.RawMessage

	secrets *secret.Values // of Env

	// ClientConfig is for the protocol. Its Logger also gets what the program
	// writes to its standard error. A message is a line; one that is too long ends
	// the connection.
	protocol.ClientConfig
}

// Client is an MCP server behind a pair of streams, as a [protocol.Handler]:
// its requests are answered by that server, whichever revision it speaks. The
// program is started by the first request, and again, with growing pauses,
// where it has ended. Requests under way then fail; none is sent twice. What a
// caller asked for when the program ended, where that tells what is to blame, is
// refused to it for a while, with the time that is left, and others go on.
//
// A legacy server has one session for all callers. Where it asks for input
// while calls of several callers are under way, nobody can tell who is meant,
// and it hears an error.
type Client struct {
	framed  *framed.Client
	secrets *secret.Values
	process atomic.Pointer[process] // the last one
	met     atomic.Bool             // whether the server has ever answered
}

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
	faults = append(faults, cfg.Validate())
	if errors.Join(faults...) != nil {
		return nil, fmt.Errorf("stdio: %w", errors.Join(faults...))
	}
	cfg.ClientConfig = cfg.WithDefaults()
	if cfg.StopTimeout <= 0 {
		cfg.StopTimeout = DefaultStopTimeout
	}
	if cfg.Inherit == nil {
		cfg.Inherit = DefaultInherit()
	}
	// A program may repeat its environment in what it says.
	cfg.secrets = &secret.Values{}
	for _, v := range cfg.Env {
		name, value, _ := strings.Cut(v, "=")
		cfg.secrets.Add(name, value)
	}
	cfg.Logger = cfg.secrets.Logger(cfg.Logger)
	c := &Client{secrets: cfg.secrets}
	c.framed = framed.NewClient(framed.ClientConfig{
		Dial:         func(ctx context.Context) (framed.Stream, error) { return c.connect(ctx, &cfg) },
		Capabilities: cfg.Capabilities,
		Blame:        cfg.Command != "",
		ClientConfig: cfg.ClientConfig,
	})
	return c, nil
}

// Handle asks the server. Where it cannot be asked, the error is a
// [*protocol.UpstreamError].
func (c *Client) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	res, err := c.framed.Handle(ctx, r, n)
	return res, c.unanswered(peer.Redact(c.secrets, err))
}

// unanswered adds to the error of a server that has never answered in time what
// its program has written.
func (c *Client) unanswered(err error) error {
	fault, ok := errors.AsType[*protocol.UpstreamError](err)
	_, answered := errors.AsType[*protocol.Error](err)
	switch {
	case err == nil, !ok && answered:
		c.met.Store(true)
		return err
	case c.process.Load() == nil, c.met.Load(), !errors.Is(err, context.DeadlineExceeded) && (!ok || fault.Kind != protocol.UpstreamTimeout):
		return err
	}
	again := &protocol.UpstreamError{Kind: protocol.UpstreamTimeout, Message: "the MCP server did not answer in time"}
	if ok {
		*again = *fault
	}
	again.Err = &ExitError{Stderr: c.Stderr(), err: err}
	return again
}

// Stderr returns the last lines, at most 20, that the program has written to its
// standard error, without control characters.
func (c *Client) Stderr() []string {
	p := c.process.Load()
	if p == nil {
		return nil
	}
	return p.says.last()
}

// Revisions returns the revisions in which the server has answered, newest first.
func (c *Client) Revisions() []protocol.Revision { return c.framed.Revisions() }

// Restarts returns how often the program, or the stream, has been started again after it had
// ended.
func (c *Client) Restarts() int { return c.framed.Restarts() }

// Close ends the server as the specification asks: its input is closed, and
// where it does not end soon, it and all processes of its group are asked to,
// and then made to. Close returns once nothing of it is left. Requests under
// way fail.
func (c *Client) Close() { c.framed.Close() }

// connect starts the program, or dials.
func (c *Client) connect(ctx context.Context, cfg *ClientConfig) (*lines, error) {
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
	c.process.Store(p)
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
