package protocol

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"
)

// Defaults of [ClientConfig].
const (
	DefaultClientMaxMessageBytes = 10 << 20
	DefaultHandshakeTimeout      = 60 * time.Second
	DefaultParkTimeout           = 5 * time.Minute
	DefaultMaxParked             = 1000
	DefaultMaxParkedPerCaller    = 100
	DefaultSessionIdle           = 30 * time.Minute
	DefaultMaxSessions           = 1000
	DefaultMaxSessionsPerCaller  = 250
)

// ClientConfig is what the clients of all transports have in common: how this
// module asks an MCP server. The zero value of every field means its default.
//
// Limits per caller count by [Principal.Quota]. Beyond one, the oldest of the
// same caller makes room; beyond a total, the request fails.
type ClientConfig struct {
	// Logger gets what goes wrong. The default discards.
	Logger *slog.Logger
	// MaxMessageBytes bounds one message of the server.
	MaxMessageBytes int
	// ProbeTimeout bounds server/discover, by which the first request finds out
	// which revisions the server speaks. On a stream, a server that has not
	// answered by then is taken for one that opens with initialize. The default is
	// 10 s there, and a minute over HTTP.
	ProbeTimeout time.Duration
	// HandshakeTimeout bounds the opening of a session: the connection, or the
	// start of a program, and initialize.
	HandshakeTimeout time.Duration
	// ParkTimeout is how long a call to a legacy server waits for its caller's
	// input. MaxParked and MaxParkedPerCaller bound the calls that wait.
	ParkTimeout                   time.Duration
	MaxParked, MaxParkedPerCaller int
	// SessionIdle is how long a session with a legacy server is kept that nobody
	// uses. MaxSessions and MaxSessionsPerCaller bound the sessions. A server
	// behind a stream has one, which is always kept.
	SessionIdle                       time.Duration
	MaxSessions, MaxSessionsPerCaller int
	// ClientInfo is the Implementation object for callers that have none.
	ClientInfo json.RawMessage
	// Revision is the revision to speak with the server, whatever its clients speak.
	// Empty means that of each client, as far as the server speaks it: a server of
	// both eras hears a client of 2026-07-28 by requests that stand alone, and others
	// by sessions that open with initialize. A server that does not speak the
	// revision cannot be asked.
	Revision Revision
}

// Validate returns an error if the configuration cannot be meant.
func (c ClientConfig) Validate() error {
	if c.Revision != "" && !c.Revision.Known() {
		return fmt.Errorf("revision %q is none of %s", string(c.Revision), AppendRevisions(nil))
	}
	return nil
}

// WithDefaults returns the configuration with the defaults in place. It leaves
// ProbeTimeout and ClientInfo alone, whose defaults depend on the transport.
func (c ClientConfig) WithDefaults() ClientConfig {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	for _, n := range []struct {
		value *int
		means int
	}{
		{&c.MaxMessageBytes, DefaultClientMaxMessageBytes},
		{&c.MaxParked, DefaultMaxParked},
		{&c.MaxParkedPerCaller, DefaultMaxParkedPerCaller},
		{&c.MaxSessions, DefaultMaxSessions},
		{&c.MaxSessionsPerCaller, DefaultMaxSessionsPerCaller},
	} {
		if *n.value <= 0 {
			*n.value = n.means
		}
	}
	for _, d := range []struct {
		value *time.Duration
		means time.Duration
	}{
		{&c.HandshakeTimeout, DefaultHandshakeTimeout},
		{&c.ParkTimeout, DefaultParkTimeout},
		{&c.SessionIdle, DefaultSessionIdle},
	} {
		if *d.value <= 0 {
			*d.value = d.means
		}
	}
	return c
}

// HTTPClientConfig is what the clients of the transports over HTTP have in common:
// packages streamable and httpsse. The zero value of every field but URL means its
// default.
type HTTPClientConfig struct {
	// URL is the MCP endpoint of the server.
	URL string
	// HTTPClient sends the requests. Its Timeout would end streams, so it
	// should have none; its CheckRedirect is not used: redirects are followed
	// within the origin only. The default has a connection pool of its own.
	HTTPClient *http.Client
	// Header goes on every request. What the transport sets itself, such as
	// Accept and all of Mcp-, cannot be given.
	Header http.Header
	// Token returns the bearer token, or "" for none. It is asked for every
	// HTTP request, and must be safe for concurrent use.
	Token func(ctx context.Context) (string, error)
	// Forward returns headers for one request of a caller, for example the
	// caller's own Authorization. Callers whose headers differ never share a
	// session. What the transport sets itself is left out.
	Forward func(ctx context.Context, r *Request) (http.Header, error)
	// DisableSSE keeps a client of Streamable HTTP from trying HTTP+SSE where the
	// server has no Streamable HTTP. Package httpsse does not look at it.
	DisableSSE bool

	ClientConfig
}
