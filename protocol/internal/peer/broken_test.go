package peer_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
)

func TestBroken(t *testing.T) {
	t.Parallel()
	open := []string{"1", "2", `"three"`}
	for _, tt := range []struct{ line, many, one string }{
		{`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"te`, "1", "1"},
		{`{"jsonrpc":"2.0","id":"three","result":{,}}`, `"three"`, `"three"`},
		{`{"jsonrpc":"2.0", "id" : 2 , "result":{"a":NaN}}`, "2", "2"},
		{`{"result":{"id":2,"x":"}{"},"id":1,"jsonrpc":"2.0",}`, "1", "1"},
		{`{"jsonrpc":"2.0","result":{]},"id":2}`, "2", "2"},
		{`{"jsonrpc":"2.0","result":{"a":[},"id":2}`, "2", "2"},
		{`{"jsonrpc":"2.0","id":1,"id":2,"result":{}}`, "1 2", "1 2"},
		{`{"id":1,"result":{}}`, "1", "1"},
		{`{"jsonrpc":"2.0","id":1}`, "1", "1"},
		{`{"jsonrpc":"2.0","id":9,"result":{"id":1,}}`, "", ""},
		{`{"jsonrpc":"2.0","id":9,"result":{,}}`, "", ""},
		{`[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":`, "1 2", "1 2"},
		// Only where there is one call can these be its response.
		{`{"jsonrpc":"2.0","result":{"content":[`, "", "1"},
		{`{"jsonrpc":"2.0","id":1`, "", "1"},
		{`{"jsonrpc":"2.0","id":"thr`, "", "1"},
		{`{"error":{"message":"oh no}`, "", "1"},
		// These are none.
		{`{"jsonrpc":"2.0","id":1,"method":"roots/list","params":[`, "", ""},
		{`{"jsonrpc":"2.0","method":"notifications/progress","params":{"id":1,`, "", ""},
		{`Server started {"id":1}`, "", ""},
		{`{starting}`, "", ""},
		{`[INFO] ready`, "", ""},
		{``, "", ""},
	} {
		b := peer.ReadBroken([]byte(tt.line))
		known := func(id string) bool { return slices.Contains(open, id) }
		if got := strings.Join(b.Answered(known, ""), " "); got != tt.many {
			t.Errorf("of many calls %s answers %q, want %q", tt.line, got, tt.many)
		}
		if got := strings.Join(b.Answered(known, "1"), " "); got != tt.one {
			t.Errorf("of one call %s answers %q, want %q", tt.line, got, tt.one)
		}
	}
}

func TestBrokenResponseFailsItsCall(t *testing.T) {
	t.Parallel()
	c, sent := open(t, nil)
	var heard []string
	one := begin(t, c, sent, &peer.Call{Method: "tools/call"}, func(s string) { heard = append(heard, s) })
	two := begin(t, c, sent, &peer.Call{Method: "tools/call"}, func(string) {})
	c.Receive([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`))
	c.Receive([]byte(`{"jsonrpc":"2.0","id":1,"result":{"content":`))
	const want = "the MCP server's response to the request is no valid JSON-RPC message: invalid JSON: at byte 44: want a value, got the end of the text (code -32700)"
	got := prototest.Await(t, one, "the call that was answered")
	if fault, ok := errors.AsType[*protocol.UpstreamError](got.err); !ok || fault.Kind != protocol.UpstreamMalformed || fault.Error() != want {
		t.Errorf("%v, want %s", got.err, want)
	}
	if len(heard) != 1 {
		t.Errorf("before it came %q", heard)
	}
	c.Receive([]byte(`Listening on port 80`))
	c.Receive([]byte(`{"jsonrpc":"2.0","id":2,"result":{}}`))
	if got := prototest.Await(t, two, "the other call"); got.err != nil {
		t.Error(got.err)
	}
	three := begin(t, c, sent, &peer.Call{Method: "tools/call"}, func(string) {})
	c.Receive([]byte(`{"jsonrpc":"2.0","result":{"content":[`))
	if got := prototest.Await(t, three, "the only call"); got.err == nil {
		t.Error("the only call has a result")
	}
}

func FuzzReadBroken(f *testing.F) {
	for _, s := range []string{`{"id":1,"result":`, `{"jsonrpc":"2.0","id":"a\"`, `[{"id":1}`, `{"id":`, `{"id":"\`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, id := range peer.ReadBroken(data).Answered(func(string) bool { return true }, "only") {
			if id != "only" && !strings.Contains(string(data), id) {
				t.Errorf("the id %q is not in %q", id, data)
			}
		}
	})
}
