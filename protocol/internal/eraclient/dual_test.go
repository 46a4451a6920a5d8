package eraclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/ways"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// heard asks a server in a revision, and returns the one that it was asked in.
func heard(t *testing.T, h protocol.Handler, rev protocol.Revision) string {
	t.Helper()
	res, err := h.Handle(t.Context(), &protocol.Request{
		Method: protocol.MethodCallTool, Params: json.RawMessage(`{"name":"meta"}`),
		Meta: protocol.Meta{Revision: rev, Capabilities: json.RawMessage(`{}`)}, Caller: &protocol.Caller{},
	}, protocol.Discard)
	if err != nil {
		return err.Error()
	}
	_, rest, _ := strings.Cut(string(res.Body), "revision ")
	rev2, _, _ := strings.Cut(rest, ",")
	return rev2
}

// probed asks a server who it is, on the program's own account.
func probed(t *testing.T, h protocol.Handler) {
	t.Helper()
	_, err := h.Handle(t.Context(), &protocol.Request{
		Method: protocol.MethodDiscover, Params: json.RawMessage(`{}`),
		Meta: protocol.Meta{Revision: protocol.Revision20260728}, Caller: protocol.InternalCaller(),
	}, protocol.Discard)
	if err != nil {
		t.Error(err)
	}
}

// TestOwnEra: a server that speaks both eras hears each client in the client's
// own, and in one revision where that is pinned.
func TestOwnEra(t *testing.T) {
	t.Parallel()
	const pinned = "the MCP server does not speak revision %s, which is configured for it"
	for _, tt := range []struct {
		pin, only string // only is what the server speaks, if it is not everything
		asked     map[string]string
	}{
		{"", "", map[string]string{"2026-07-28": "2026-07-28", "2025-11-25": "2025-11-25", "2025-06-18": "2025-06-18", "2025-03-26": "2025-03-26", "2024-11-05": "2024-11-05"}},
		{"2026-07-28", "", map[string]string{"2026-07-28": "2026-07-28", "2025-11-25": "2026-07-28", "2024-11-05": "2026-07-28"}},
		{"2025-11-25", "", map[string]string{"2026-07-28": "2025-11-25", "2025-11-25": "2025-11-25", "2025-06-18": "2025-11-25"}},
		{"2025-06-18", "", map[string]string{"2026-07-28": "2025-06-18", "2025-11-25": "2025-06-18"}},
		{"", "2025-06-18", map[string]string{"2026-07-28": "2025-06-18", "2025-11-25": "2025-06-18", "2025-03-26": "2025-06-18"}},
		{"2026-07-28", "2025-06-18", map[string]string{"2026-07-28": fmt.Sprintf(pinned, "2026-07-28"), "2025-11-25": fmt.Sprintf(pinned, "2026-07-28")}},
		{"2025-11-25", "2025-06-18", map[string]string{"2026-07-28": fmt.Sprintf(pinned, "2025-11-25"), "2025-11-25": fmt.Sprintf(pinned, "2025-11-25")}},
	} {
		t.Run("pin "+tt.pin+" only "+tt.only, func(t *testing.T) {
			t.Parallel()
			h := ways.Serve(t, prototest.NewHandler()).HTTP
			if tt.only != "" {
				h = ways.OnlyLegacy(h, tt.only)
			}
			server := httptest.NewServer(h)
			defer server.Close()
			hc := &http.Client{Transport: &http.Transport{}}
			defer hc.CloseIdleConnections()
			c, err := streamable.NewClient(streamable.ClientConfig{
				URL: server.URL, HTTPClient: hc, DisableSSE: true,
				ClientConfig: protocol.ClientConfig{Revision: protocol.Revision(tt.pin)},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for range 2 { // the second time sessions are open
				for rev, want := range tt.asked {
					if got := heard(t, c, protocol.Revision(rev)); got != want {
						t.Errorf("a client of %s is heard as one of %s, want %s", rev, got, want)
					}
				}
			}
		})
	}
}

// processes counts the streams of a server that are open, and notes what each
// stream began with.
type processes struct {
	serve func(ctx context.Context, in io.Reader, out io.Writer) error

	mu    sync.Mutex
	open  int
	first []string // methods
}

func (p *processes) dial(context.Context) (io.ReadWriteCloser, error) {
	p.mu.Lock()
	p.open++
	p.mu.Unlock()
	return &counted{ReadWriteCloser: ways.Dial(p.serve, ways.All), p: p}, nil
}

func (p *processes) running() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

// counted is one stream.
type counted struct {
	io.ReadWriteCloser

	p           *processes
	begun, over sync.Once
}

func (c *counted) Write(line []byte) (int, error) {
	c.begun.Do(func() {
		var m struct{ Method string }
		_ = json.Unmarshal(line, &m) // shows in the test
		c.p.mu.Lock()
		c.p.first = append(c.p.first, m.Method)
		c.p.mu.Unlock()
	})
	return c.ReadWriteCloser.Write(line)
}

func (c *counted) Close() error {
	err := c.ReadWriteCloser.Close()
	c.over.Do(func() {
		c.p.mu.Lock()
		c.p.open--
		c.p.mu.Unlock()
	})
	return err
}

// TestProcessesByEra: a command has one process for each era in use, and a probe
// uses none.
func TestProcessesByEra(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pin   string
		asked []string // revisions
		want  string   // what the server hears
		open  int
	}{
		"legacy":       {"", []string{"2025-06-18", "2025-11-25", "2024-11-05"}, "2025-11-25 2025-11-25 2025-11-25", 1},
		"modern":       {"", []string{"2026-07-28", "2026-07-28"}, "2026-07-28 2026-07-28", 1},
		"both":         {"", []string{"2025-11-25", "2026-07-28", "2025-11-25"}, "2025-11-25 2026-07-28 2025-11-25", 2},
		"modern first": {"", []string{"2026-07-28", "2025-11-25", "2026-07-28"}, "2026-07-28 2025-11-25 2026-07-28", 2},
		"pinned":       {"2025-06-18", []string{"2026-07-28", "2025-11-25"}, "2025-06-18 2025-06-18", 1},
		"pinned new":   {"2026-07-28", []string{"2026-07-28", "2025-11-25"}, "2026-07-28 2026-07-28", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &processes{serve: ways.Serve(t, prototest.NewHandler()).Stdio}
			c, err := stdio.NewClient(stdio.ClientConfig{Dial: p.dial, ClientConfig: protocol.ClientConfig{Revision: protocol.Revision(tt.pin)}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			probed(t, c)
			var got []string
			for _, rev := range tt.asked {
				got = append(got, heard(t, c, protocol.Revision(rev)))
				probed(t, c)
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("the server heard %s, want %s", s, tt.want)
			}
			if n := p.running(); n != tt.open {
				t.Errorf("%d processes, want %d", n, tt.open)
			}
			c.Close()
			if n := p.running(); n != 0 {
				t.Errorf("%d processes are left", n)
			}
		})
	}
}

// TestDecidedByFirstMessage: a server that decides by the first message of a process
// which era it is of is started anew, without a probe, for clients of the other one.
func TestDecidedByFirstMessage(t *testing.T) {
	t.Parallel()
	p := &processes{serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
		first := ""
		return script(func(say func(string), id json.RawMessage, method, line string) {
			if first == "" {
				first = method
			}
			switch {
			case method == "initialize" && first != "initialize":
				say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"too late"}}`, id))
			case method == "server/discover":
				say(result(id, `{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{}}`))
			case method == "initialize":
				say(result(id, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`))
			case id != nil:
				say(result(id, `{"content":[{"type":"text","text":"revision `+map[bool]string{true: "2025-11-25", false: "2026-07-28"}[first == "initialize"]+`,"}]}`))
			}
		})(ctx, in, out)
	}}
	c, err := stdio.NewClient(stdio.ClientConfig{Dial: p.dial})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	probed(t, c)
	for _, rev := range []protocol.Revision{protocol.Revision20251125, protocol.Revision20250618} {
		if got := heard(t, c, rev); got != "2025-11-25" {
			t.Errorf("a client of %s is heard as one of %s", rev, got)
		}
	}
	if n := p.running(); n != 1 {
		t.Errorf("%d processes, want 1", n)
	}
	if got := heard(t, c, protocol.Revision20260728); got != "2026-07-28" {
		t.Errorf("a client of 2026-07-28 is heard as one of %s", got)
	}
	if n := p.running(); n != 2 {
		t.Errorf("%d processes, want 2", n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if got := strings.Join(p.first, " "); got != "server/discover initialize tools/call" {
		t.Errorf("the processes began with %s", got)
	}
}
