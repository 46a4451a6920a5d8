package peer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns a channel and what it sends.
func open(t testing.TB, log *slog.Logger) (*peer.Channel, chan string) {
	t.Helper()
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	sent := make(chan string, 100)
	c := peer.NewChannel(log, func(ctx context.Context, m []byte, _ http.Header) error {
		select {
		case sent <- string(m):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}, func() {})
	t.Cleanup(c.Close)
	return c, sent
}

type outcome struct {
	result string
	err    error
}

// begin makes a call, which hands what it receives to receive.
func begin(t *testing.T, c *peer.Channel, sent <-chan string, call *peer.Call, receive func(string)) <-chan outcome {
	t.Helper()
	call.ID = c.NextID()
	call.Receive = func(_ context.Context, m *jsonrpc.Message) { receive(m.Method + " " + string(m.Params)) }
	done := make(chan outcome, 1)
	ctx := t.Context()
	go func() {
		m, err := c.Call(ctx, call)
		if err != nil {
			done <- outcome{err: err}
			return
		}
		done <- outcome{result: string(m.Result) + string(m.Error)}
	}()
	prototest.Await(t, sent, "the request")
	return done
}

func TestCorrelation(t *testing.T) {
	t.Parallel()
	c, sent := open(t, nil)
	var stray []string
	c.OnStray(func(m *jsonrpc.Message) { stray = append(stray, m.Method+" "+string(m.Params)) })
	var got [3][]string
	receive := func(i int) func(string) { return func(s string) { got[i] = append(got[i], s) } }
	one := begin(t, c, sent, &peer.Call{Method: "tools/call", Exclusive: true}, receive(0))
	two := begin(t, c, sent, &peer.Call{Method: "subscriptions/listen"}, receive(1))
	for _, line := range []string{
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"1","progress":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"one"}}`,
		`{"jsonrpc":"2.0","method":"x/changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}`,
		`{"jsonrpc":"2.0","method":"x/changed","params":[1]}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`,
		`{"jsonrpc":"2.0","id":77,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":"1","result":{}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`,
	} {
		c.Receive([]byte(line))
	}
	three := begin(t, c, sent, &peer.Call{Method: "tools/call", Exclusive: true}, receive(2))
	c.Receive([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"whose?"}}`))
	c.Receive([]byte(`[{"jsonrpc":"2.0","id":1,"result":{"n":1}},{"jsonrpc":"2.0","id":2,"error":{"code":2,"message":"m"}},{"jsonrpc":"2.0","id":1,"result":{"n":"late"}}]`))
	if o := prototest.Await(t, one, "the response"); o.err != nil || o.result != `{"n":1}` {
		t.Errorf("%+v", o)
	}
	if o := prototest.Await(t, two, "the response"); o.err != nil || o.result != `{"code":2,"message":"m"}` {
		t.Errorf("%+v", o)
	}
	why := errors.New("why")
	c.Fail(why)
	c.Fail(errors.New("later"))
	if o := prototest.Await(t, three, "the end"); !errors.Is(o.err, why) {
		t.Errorf("%+v", o)
	}
	for i, want := range []string{
		`notifications/progress {"progressToken":1,"progress":1}` + "\n" + `notifications/message {"data":"one"}`,
		`x/changed {"_meta":{"io.modelcontextprotocol/subscriptionId":2}}` + "\n" + `notifications/cancelled {"requestId":2}`,
		``,
	} {
		if s := strings.Join(got[i], "\n"); s != want {
			t.Errorf("call %d received\n%s\nwant\n%s", i+1, s, want)
		}
	}
	want := `notifications/progress {"progressToken":"1","progress":1}` + "\n" + `x/changed [1]` + "\n" +
		`notifications/cancelled {"requestId":1}` + "\n" + `ping ` + "\n" + `notifications/message {"data":"whose?"}`
	if s := strings.Join(stray, "\n"); s != want {
		t.Errorf("strays\n%s\nwant\n%s", s, want)
	}
	if err := c.Send(t.Context(), []byte("{}"), nil); !errors.Is(err, why) {
		t.Errorf("send after the end: %v", err)
	}
}

// TestUnsent: a call that has not been made says so.
func TestUnsent(t *testing.T) {
	t.Parallel()
	c, _ := open(t, nil)
	c.Fail(peer.Unavailable(nil, "gone"))
	_, err := c.Call(t.Context(), &peer.Call{ID: c.NextID(), Method: "x"})
	if fault, ok := errors.AsType[*protocol.UpstreamError](err); !ok || !fault.Unsent {
		t.Errorf("error %v", err)
	}
	if fault, ok := errors.AsType[*protocol.UpstreamError](c.Err()); !ok || fault.Unsent {
		t.Error("the channel's own error has changed")
	}
}

// TestSlowCaller: one that takes nothing loses notifications, never the
// response, and holds up nobody.
func TestSlowCaller(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c, sent := open(t, slog.New(slog.NewTextHandler(&log, nil)))
	hold := make(chan struct{})
	n := 0
	slow := begin(t, c, sent, &peer.Call{Method: "slow"}, func(string) {
		<-hold
		n++
	})
	for i := range 3 * peer.MaxQueued {
		c.Receive(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":%d}}`, i))
	}
	c.Receive([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	fast := begin(t, c, sent, &peer.Call{Method: "fast"}, func(string) {})
	c.Receive([]byte(`{"jsonrpc":"2.0","id":2,"result":{}}`))
	if o := prototest.Await(t, fast, "the other call"); o.err != nil {
		t.Error(o.err)
	}
	close(hold)
	if o := prototest.Await(t, slow, "the call"); o.err != nil || o.result != "{}" {
		t.Errorf("%+v", o)
	}
	if n < peer.MaxQueued || n > peer.MaxQueued+1 {
		t.Errorf("%d notifications arrived", n)
	}
	if !strings.Contains(log.String(), "notifications of a call were dropped") {
		t.Errorf("log %s", &log)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	c, sent := open(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, quiet := range []bool{false, true} {
		id := c.NextID()
		_, err := c.Call(ctx, &peer.Call{ID: id, Method: "x", Uncancellable: quiet})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	}
	for {
		if got := prototest.Await(t, sent, "the cancellation"); strings.Contains(got, "cancelled") {
			if got != `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` {
				t.Error(got)
			}
			break
		}
	}
}

func FuzzReceive(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `[{"jsonrpc":"2.0","id":1,"error":{}}]`, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`,
		`{"jsonrpc":"2.0","method":"x","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`, `{"jsonrpc":"2.0","method":"x","params":7}`, "\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, _ := open(t, nil)
		c.OnStray(func(m *jsonrpc.Message) {
			if m.Kind() == jsonrpc.KindResponse {
				t.Errorf("a response is a stray: %s", data)
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = c.Call(ctx, &peer.Call{ID: json.RawMessage("1"), Method: "subscriptions/listen", Exclusive: true, Uncancellable: true})
		}()
		c.Receive(data)
		cancel()
		<-done
	})
}
