package eraclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/ways"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
)

// front is the session of a client in front.
type front struct {
	protocol.ClientSession

	told chan string
	end  func()
}

func newFront(id string) *front {
	done := make(chan struct{})
	f := &front{told: make(chan string, 10), end: func() { close(done) }}
	f.ClientSession = protocol.ClientSession{ID: id, Done: done, Tell: func(n *protocol.Notification) { f.told <- n.Method + " " + string(n.Params) }}
	return f
}

// TestOutsideCalls: what the server of a process says outside any call reaches the
// client that alone uses the process, and nobody where there are several.
func TestOutsideCalls(t *testing.T) {
	t.Parallel()
	var speak func(string)
	serve := script(func(say func(string), id json.RawMessage, method, _ string) {
		switch {
		case method == "initialize":
			say(result(id, `{"protocolVersion":"2025-11-25","capabilities":{"logging":{}},"serverInfo":{"name":"s","version":"1"}}`))
		case method == "tools/call":
			speak = say
			say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":%s}}`, id))
			say(result(id, `{"content":[]}`))
		case id != nil:
			say(unknown(id))
		}
	})
	c, err := stdio.NewClient(stdio.ClientConfig{Dial: func(context.Context) (io.ReadWriteCloser, error) { return ways.Dial(serve, ways.All), nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	call := func(f *front) string {
		n := make(notes, 10)
		r := request("tools/call", `{"name":"t"}`, func(m *protocol.Meta) {
			m.Revision, m.LogLevel = protocol.Revision20251125, protocol.LogUnset
			if f != nil {
				m.Session = &f.ClientSession
			}
		})
		if _, err := c.Handle(t.Context(), r, n); err != nil {
			t.Error(err)
		}
		return n.all()
	}
	const line = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"idle"}}`
	const told = `notifications/message {"level":"info","data":"idle"}`
	one, two := newFront("1"), newFront("2")
	if got := call(one); got == "" {
		t.Error("a client that has set no level hears no log message during its call")
	}
	speak(line)
	if got := prototest.Await(t, one.told, "the log message"); got != told {
		t.Errorf("told %s", got)
	}
	speak(`{"jsonrpc":"2.0","method":"notifications/example.com","params":{}}`)
	if got := prototest.Await(t, one.told, "the notification"); got != `notifications/example.com {}` {
		t.Errorf("told %s", got)
	}
	call(two)
	speak(line)
	call(two) // the server has been heard
	one.end()
	speak(line)
	if got := prototest.Await(t, two.told, "the log message"); got != told {
		t.Errorf("told %s", got)
	}
	call(nil)
	speak(line)
	call(two)
	if len(one.told)+len(two.told) > 0 {
		t.Error("a message reached one of several clients")
	}
}
