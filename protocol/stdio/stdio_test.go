package stdio_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/mcpschema"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
)

// dial serves cfg on pipes and returns the client.
func dial(t *testing.T, cfg stdio.Config) *prototest.StdioClient {
	t.Helper()
	return prototest.DialStdio(t, func(ctx context.Context, in io.Reader, out io.Writer) error {
		return stdio.Serve(ctx, in, out, cfg)
	})
}

// dialSession is dial with a session of a revision.
func dialSession(t *testing.T, cfg stdio.Config, rev string) *prototest.StdioClient {
	t.Helper()
	c := dial(t, cfg)
	c.Send(prototest.Initialize(rev))
	if m := c.Receive(); !strings.Contains(m, `"protocolVersion":"`+rev+`"`) {
		t.Fatalf("initialize: %s", m)
	}
	return c
}

func modern(id, tool string, members ...string) string {
	body, _ := prototest.ModernCall(id, tool, members...)
	return body
}

func checkMessage(t *testing.T, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("message %s, want one with %s", got, want)
	}
}

func TestServeNeedsAHandler(t *testing.T) {
	t.Parallel()
	err := stdio.Serve(t.Context(), strings.NewReader(""), io.Discard, stdio.Config{})
	if err == nil || err.Error() != "stdio: Config.Handler is nil" {
		t.Errorf("error %v", err)
	}
}

func TestIDsComeBackByteForByte(t *testing.T) {
	t.Parallel()
	c := dialSession(t, stdio.Config{Handler: prototest.NewHandler()}, "2025-03-26")
	for _, id := range []string{
		`0`, `-1`, `1.0`, `1e2`, `0.10`, `9007199254740993`, `123456789012345678901234567890`,
		`""`, `"a\u0062\n\"\/"`, `"\ud83d\ude00 é 世界"`, `"\ud800"`,
		`"` + strings.Repeat("long", 50_000) + `"`, strings.Repeat("9", 100_000),
	} {
		for _, request := range []string{prototest.Call(id, "echo"), prototest.Call(id, "plain"), modern(id, "echo"), "[" + prototest.Call(id, "echo") + "]"} {
			c.Send(request)
			if m := c.Receive(); !strings.Contains(m, `"id":`+id+`,`) {
				t.Errorf("request %.100s has the response %.200s", request, m)
			}
		}
	}
}

func TestNotificationsAreNeverAnswered(t *testing.T) {
	t.Parallel()
	c := dialSession(t, stdio.Config{Handler: prototest.NewHandler()}, "2025-11-25")
	for _, message := range []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/unknown","params":7}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":null}`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"panic"}}`,
		`{"jsonrpc":"2.0","method":"initialize"}`,
		`{"jsonrpc":"2.0","id":5,"result":{}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`,
	} {
		c.Send(message)
	}
	if rest, err := c.End(); len(rest) != 0 || err != nil {
		t.Errorf("they are answered with %q, and the server ends with %v", rest, err)
	}
}

func TestWhatIsNoMessage(t *testing.T) {
	t.Parallel()
	c := dial(t, stdio.Config{Handler: prototest.NewHandler()})
	for _, tt := range []struct{ line, want string }{
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", `-32700`},
		{"\ufeff{}", `-32700`},
		{`{"jsonrpc":"2.0","id":12`, `{"jsonrpc":"2.0","error":{"code":-32700`},
		{`{"jsonrpc":"2.0","method":"ping"`, `{"jsonrpc":"2.0","error":{"code":-32700`},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, `{"jsonrpc":"2.0","error":{"code":-32600`},
		{`{"jsonrpc":"2.0","method":"ping","method":"ping","id":1}`, `{"jsonrpc":"2.0","error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":1}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602`},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, `{"jsonrpc":"2.0","error":{"code":-32600`},
		{strings.Repeat("[", 1000), `-32600`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + strings.Repeat("[", 1000), `-32700`},
		{"\t {\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"} \r", `"id":3,"result":{}`},
	} {
		c.Send(tt.line)
		checkMessage(t, c.Receive(), tt.want)
	}
}

// TestOneMessageALine: a Handler may return JSON with line breaks, and they
// must not reach the wire.
func TestOneMessageALine(t *testing.T) {
	t.Parallel()
	c := dialSession(t, stdio.Config{Handler: prototest.NewHandler()}, "2025-11-25")
	c.Send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if m := c.Receive(); m != `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}` {
		t.Errorf("message %s", m)
	}
}

func TestEndOfInputLetsCallsFinish(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	c := dialSession(t, stdio.Config{Handler: handler, DrainTimeout: time.Hour}, "2025-11-25")
	c.Send(prototest.Call("1", "wait"))
	c.Send(modern("2", "wait"))
	listen, _ := prototest.ModernRequest("3", "subscriptions/listen", `"notifications":{}`)
	c.Send(listen)
	checkMessage(t, c.Receive(), "acknowledged")
	for range 2 {
		prototest.Await(t, handler.Started(), "start")
	}
	go func() {
		for range 2 {
			handler.Release()
		}
	}()
	rest, err := c.End()
	if err != nil || len(rest) != 2 || !strings.Contains(rest[0]+rest[1], `"id":1,"result"`) || !strings.Contains(rest[0]+rest[1], `"id":2,"result"`) {
		t.Errorf("messages %q, error %v; want both results and no error", rest, err)
	}
}

func TestLastLineNeedsNoNewline(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	in := "\n \r\n" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	if err := stdio.Serve(t.Context(), strings.NewReader(in), &out, stdio.Config{Handler: prototest.NewHandler()}); err != nil {
		t.Fatal(err)
	}
	if want := `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"; out.String() != want {
		t.Errorf("output %q, want %q", out.String(), want)
	}
}

func TestEndOfInputEndsStuckCalls(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	c := dial(t, stdio.Config{Handler: handler, DrainTimeout: time.Nanosecond})
	c.Send(modern("1", "block"))
	prototest.Await(t, handler.Started(), "start")
	rest, err := c.End()
	if len(rest) != 1 || !strings.Contains(rest[0], `"id":1,"error"`) {
		t.Errorf("messages %q, error %v; want one error", rest, err)
	}
	if cause := prototest.Await(t, handler.Causes(), "cause"); !strings.Contains(cause.Error(), "the request was cut off, because the input had ended") {
		t.Errorf("the call ends because of %v", cause)
	}
}

func TestContextEndsTheServer(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	ctx, cancel := context.WithCancelCause(t.Context())
	c := prototest.DialStdio(t, func(_ context.Context, in io.Reader, out io.Writer) error {
		return stdio.Serve(ctx, in, out, stdio.Config{Handler: handler})
	})
	c.Send(modern("1", "block"))
	prototest.Await(t, handler.Started(), "start")
	stop := errors.New("stop")
	cancel(stop)
	if cause := prototest.Await(t, handler.Causes(), "cause"); !errors.Is(cause, stop) {
		t.Errorf("the call ends because of %v, want %v", cause, stop)
	}
	if _, err := c.End(); !errors.Is(err, stop) {
		t.Errorf("the server ends with %v, want %v", err, stop)
	}
}

// TestClientThatDoesNotRead: a server that is told to stop does, even where
// its writes hang.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	in, clientOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	clientIn, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() {
		served <- stdio.Serve(ctx, in, out, stdio.Config{Handler: prototest.NewHandler()})
	}()
	// More than a pipe holds, so the write hangs.
	if _, err := io.WriteString(clientOut, modern("1", "echo", `"arguments":{"a":"`+strings.Repeat("x", 1<<20)+`"}`)+"\n"+modern("2", "echo")+"\n"); err != nil {
		t.Fatal(err)
	}
	one := make([]byte, 1)
	if _, err := io.ReadFull(clientIn, one); err != nil { // so the write has begun
		t.Fatal(err)
	}
	cancel()
	if err := prototest.Await(t, served, "end of the server"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	for _, f := range []*os.File{clientIn, clientOut, in, out} {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestClientThatIsGone(t *testing.T) {
	t.Parallel()
	in, clientOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	clientIn, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := clientIn.Close(); err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() {
		served <- stdio.Serve(context.Background(), in, out, stdio.Config{Handler: prototest.NewHandler()})
	}()
	if _, err := io.WriteString(clientOut, modern("1", "echo")+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := prototest.Await(t, served, "end of the server"); err == nil || !strings.HasPrefix(err.Error(), "stdio: write: ") {
		t.Errorf("error %v, want that of the write", err)
	}
	for _, f := range []*os.File{clientOut, in, out} {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	in, clientOut := io.Pipe()
	broken := errors.New("broken")
	clientOut.CloseWithError(broken)
	err := stdio.Serve(t.Context(), in, io.Discard, stdio.Config{Handler: prototest.NewHandler()})
	if !errors.Is(err, broken) || err.Error() != "stdio: read: broken" {
		t.Errorf("error %v, want stdio: read: broken", err)
	}
}

func TestMessagesHaveALimit(t *testing.T) {
	t.Parallel()
	const limit = 200_000 // more than the reader's buffer
	c := dial(t, stdio.Config{Handler: prototest.NewHandler(), MaxMessageBytes: limit})
	for _, tt := range []struct {
		length int
		want   string
	}{
		{limit - 1, `"result":{}`}, {limit, `"result":{}`}, {limit + 1, "the message is longer than 200000 bytes"},
		{5 * limit, "the message is longer than 200000 bytes"}, {100, `"result":{}`},
	} {
		head, tail := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"`, `"}}`
		c.Send(head + strings.Repeat("x", tt.length-len(head)-len(tail)) + tail)
		checkMessage(t, c.Receive(), tt.want)
	}
}

func TestRequestsInFlightHaveALimit(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	c := dialSession(t, stdio.Config{Handler: handler}, "2025-11-25")
	const limit = 1024
	for i := range limit {
		if i%2 == 0 {
			c.Send(prototest.Call(fmt.Sprint(i), "block"))
		} else {
			c.Send(modern(fmt.Sprint(i), "block"))
		}
	}
	c.Send(prototest.Call("1024", "echo"))
	checkMessage(t, c.Receive(), `"id":1024,"error":{"code":-32603,"message":"more than 1024 requests are under way; wait for their responses"}`)
	for i := range limit {
		c.Send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
	}
	for range limit {
		_ = prototest.Await(t, handler.Causes(), "cancellation")
	}
	if rest, err := c.End(); len(rest) != 0 || err != nil {
		t.Errorf("cancelled calls are answered with %q, and the server ends with %v", rest, err)
	}
}

func TestBatchesHaveALimit(t *testing.T) {
	t.Parallel()
	c := dialSession(t, stdio.Config{Handler: prototest.NewHandler()}, "2025-03-26")
	c.Send("[" + strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"ping"},`, 128) + "1]")
	checkMessage(t, c.Receive(), "a batch holds at most 128 messages")
}

func TestBatchIsAnsweredOnceAndWhole(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	c := dialSession(t, stdio.Config{Handler: handler}, "2025-03-26")
	c.Send("[" + prototest.Call("1", "wait") + "," + prototest.Call("2", "block") + "," + prototest.Call("3", "panic") + "]")
	for range 2 {
		prototest.Await(t, handler.Started(), "start")
	}
	c.Send(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	checkMessage(t, c.Receive(), `"id":4`)
	c.Send(`[{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}]`)
	_ = prototest.Await(t, handler.Causes(), "cancellation")
	handler.Release()
	m := c.Receive()
	if !strings.HasPrefix(m, "[{") || strings.Count(m, `"id":`) != 2 || !strings.Contains(m, `"id":1,"result"`) || !strings.Contains(m, `"id":3,"error"`) {
		t.Errorf("message %s, want one batch with the result of 1 and the error of 3", m)
	}
	c.Send("[" + prototest.Call("5", "block") + `,{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}]`)
	_ = prototest.Await(t, handler.Causes(), "cancellation")
	if rest, err := c.End(); len(rest) != 0 || err != nil {
		t.Errorf("a batch that is all cancelled is answered with %q, and the server ends with %v", rest, err)
	}
}

// TestCancelRightBehindTheRequest: the next line may cancel what no goroutine
// has begun yet.
func TestCancelRightBehindTheRequest(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	c := dialSession(t, stdio.Config{Handler: handler}, "2025-11-25")
	for i := range 200 {
		request := prototest.Call(fmt.Sprint(i), "block")
		if i%2 == 0 {
			request = modern(fmt.Sprint(i), "block")
		}
		c.Send(request + "\n" + fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
		_ = prototest.Await(t, handler.Causes(), "cancellation")
	}
}

func TestPanicIsOneCallsError(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	c := dialSession(t, stdio.Config{Handler: handler}, "2025-11-25")
	c.Send(prototest.Call("1", "wait"))
	prototest.Await(t, handler.Started(), "start")
	c.Send(prototest.Call("2", "panic"))
	checkMessage(t, c.Receive(), `"id":2,"error":{"code":-32603,"message":"internal error"}`)
	handler.Release()
	checkMessage(t, c.Receive(), `"id":1,"result"`)
}

func TestNothingFollowsTheResponse(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	c := dialSession(t, stdio.Config{Handler: handler}, "2025-11-25")
	c.Send(prototest.Call("1", "late"))
	checkMessage(t, c.Receive(), "to be continued")
	c.Send(modern("2", "late"))
	checkMessage(t, c.Receive(), "to be continued")
	if err := handler.NotifyLate(t.Context()); err == nil {
		t.Error("a Notifier accepts notifications after the response")
	}
	if rest, err := c.End(); len(rest) != 0 || err != nil {
		t.Errorf("after the responses come %q, and the server ends with %v", rest, err)
	}
}

// TestConcurrency is for the race detector. Every message is checked.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	c := dial(t, stdio.Config{Handler: handler})
	c.Send(`{"jsonrpc":"2.0","id":"early","method":"tools/list"}`)
	c.Send(prototest.Initialize("2025-03-26"))
	checkMessage(t, c.Receive()+c.Receive(), `"protocolVersion":"2025-03-26"`)
	recorder := mcpschema.Record(t, "2025-03-26")
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 50 {
			handler.Trigger("notifications/tools/list_changed")
		}
	})
	const n = 300
	for i := range n {
		tool := []string{"echo", "progress", "block", "panic", "log"}[i%5]
		request := prototest.Call(fmt.Sprint(i), tool, `"arguments":{"count":2,"level":"error"}`, `"_meta":{"progressToken":1}`)
		switch {
		case i%3 == 0:
			request = modern(fmt.Sprint(i), tool)
		case i%7 == 0:
			request = "[" + request + "]"
		}
		c.Send(request)
		if i%5 == 2 {
			c.Send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
		}
	}
	wg.Wait()
	rest, err := c.End()
	if err != nil {
		t.Error(err)
	}
	responses := 0
	for _, m := range rest {
		recorder.Received([]byte(m))
		if strings.Contains(m, `"id":`) {
			responses++
		}
	}
	if want := n - n/5; responses != want {
		t.Errorf("%d responses, want %d", responses, want)
	}
}
