// Package ways has the ways to an MCP server, for tests: every transport with
// every revision that it carries, through this module's own fronts and clients.
package ways

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/httpsse"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// Modern is the newest revision.
const Modern = string(protocol.Revision20260728)

// All stands for a server that serves every revision.
const All = "all revisions"

// Way is a transport and the revision that is spoken over it, or [All].
type Way struct{ Transport, Revision string }

func (w Way) String() string { return w.Transport + " " + w.Revision }

// The transports. Fallback is SSE for a client that tries Streamable HTTP first.
const (
	Stdio    = "stdio"
	HTTP     = "http"
	SSE      = "sse"
	Fallback = "fallback"
)

// JSONRPC returns all ways that carry JSON-RPC itself.
func JSONRPC() []Way {
	return []Way{
		{Stdio, "2024-11-05"}, {Stdio, "2025-03-26"}, {Stdio, "2025-06-18"}, {Stdio, "2025-11-25"}, {Stdio, Modern},
		{HTTP, "2025-03-26"}, {HTTP, "2025-06-18"}, {HTTP, "2025-11-25"}, {HTTP, Modern},
		{SSE, "2024-11-05"}, {Fallback, "2024-11-05"},
	}
}

// Client is what the clients of all transports are.
type Client interface {
	protocol.Handler
	Close()
}

// Server is the fronts of a server.
type Server struct {
	Stdio func(ctx context.Context, in io.Reader, out io.Writer) error
	HTTP  http.Handler
	SSE   http.Handler
}

// Serve serves a Handler by this module's fronts.
func Serve(t *testing.T, h protocol.Handler) Server {
	t.Helper()
	web, err := streamable.New(streamable.Config{Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	sse, err := httpsse.New(httpsse.Config{Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close(); sse.Close() })
	return Server{
		Stdio: func(ctx context.Context, in io.Reader, out io.Writer) error {
			return stdio.Serve(ctx, in, out, stdio.Config{Handler: h})
		},
		HTTP: web, SSE: sse,
	}
}

// Connect returns a client of a server that serves no revision but that of the
// way, whatever it could do.
func Connect(t *testing.T, w Way, s Server) Client {
	t.Helper()
	var (
		c   Client
		err error
	)
	switch w.Transport {
	case Stdio:
		c, err = stdio.NewClient(stdio.ClientConfig{Dial: func(context.Context) (io.ReadWriteCloser, error) {
			return Dial(s.Stdio, w.Revision), nil
		}})
	default:
		h := s.HTTP
		if w.Transport != HTTP {
			h = s.SSE
		}
		switch w.Revision {
		case All:
		case Modern:
			h = OnlyModern(h)
		default:
			h = OnlyLegacy(h, w.Revision)
		}
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		hc := &http.Client{Transport: &http.Transport{}}
		t.Cleanup(hc.CloseIdleConnections)
		if w.Transport == SSE {
			c, err = httpsse.NewClient(httpsse.ClientConfig{URL: server.URL, HTTPClient: hc})
		} else {
			c, err = streamable.NewClient(streamable.ClientConfig{URL: server.URL, HTTPClient: hc})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
