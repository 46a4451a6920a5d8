package tunnel_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/tunnel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// end is one end of a stream in memory.
type end struct {
	in, out chan []byte
	closed  chan struct{} // both ends'
	close   func()
}

func (e *end) Receive() ([]byte, error) {
	select {
	case m := <-e.in:
		return m, nil
	case <-e.closed:
		return nil, io.EOF
	}
}

func (e *end) Send(m []byte) error {
	select {
	case e.out <- m:
		return nil
	case <-e.closed:
		return io.ErrClosedPipe
	}
}

func (e *end) Close() { e.close() }

func pipe() (*end, *end) {
	a, b, closed := make(chan []byte), make(chan []byte), make(chan struct{})
	stop := sync.OnceFunc(func() { close(closed) })
	return &end{a, b, closed, stop}, &end{b, a, closed, stop}
}

// connect returns a client of h, and a function that returns its latest stream.
func connect(t *testing.T, h protocol.Handler) (*tunnel.Client, func() tunnel.Stream) {
	t.Helper()
	var (
		mu   sync.Mutex
		last tunnel.Stream
		wg   sync.WaitGroup
	)
	c, err := tunnel.NewClient(tunnel.ClientConfig{Dial: func(context.Context) (tunnel.Stream, error) {
		ours, theirs := pipe()
		wg.Go(func() {
			_ = tunnel.Serve(context.Background(), theirs, tunnel.Config{Handler: h, DrainTimeout: time.Millisecond})
		})
		mu.Lock()
		defer mu.Unlock()
		last = ours
		return ours, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(wg.Wait)
	t.Cleanup(c.Close)
	return c, func() tunnel.Stream {
		mu.Lock()
		defer mu.Unlock()
		return last
	}
}

func call(tool, arguments string) *protocol.Request {
	return &protocol.Request{
		Method: protocol.MethodCallTool, Params: json.RawMessage(`{"name":"` + tool + `","arguments":` + arguments + `}`),
		Meta:   protocol.Meta{Revision: protocol.Revision20260728, ProgressToken: json.RawMessage(`"p"`)},
		Caller: &protocol.Caller{},
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	c, _ := connect(t, prototest.NewHandler())
	res, err := c.Handle(t.Context(), call("echo", `{"a":1.0}`), protocol.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"content":[{"type":"text","text":"{\"a\":1.0}"}]}`; string(res.Body) != want {
		t.Errorf("got %s\nwant %s", res.Body, want)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	h := prototest.NewHandler()
	c, _ := connect(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := c.Handle(ctx, call("block", `{}`), protocol.Discard)
		done <- err
	}()
	prototest.Await(t, h.Started(), "start")
	cancel()
	if err := prototest.Await(t, done, "return"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	_ = prototest.Await(t, h.Causes(), "cause")
}

// TestStreamEnds: the calls of a stream fail with it, and the next one opens
// another.
func TestStreamEnds(t *testing.T) {
	t.Parallel()
	h := prototest.NewHandler()
	c, stream := connect(t, h)
	done := make(chan error, 1)
	go func() {
		_, err := c.Handle(t.Context(), call("block", `{}`), protocol.Discard)
		done <- err
	}()
	prototest.Await(t, h.Started(), "start")
	stream().Close()
	err := prototest.Await(t, done, "return")
	if fault, ok := errors.AsType[*protocol.UpstreamError](err); !ok || fault.Kind != protocol.UpstreamUnavailable || fault.Unsent {
		t.Errorf("error %v", err)
	}
	_ = prototest.Await(t, h.Causes(), "cause")
	if _, err := c.Handle(t.Context(), call("echo", `{}`), protocol.Discard); err != nil {
		t.Errorf("after the stream has ended: %v", err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	if _, err := tunnel.NewClient(tunnel.ClientConfig{}); err == nil {
		t.Error("no Dial is no error")
	}
	one, _ := pipe()
	if err := tunnel.Serve(t.Context(), one, tunnel.Config{}); err == nil {
		t.Error("no Handler is no error")
	}
}
