package streamable_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// No error repeats a name of megabytes.
func TestErrorsClipNames(t *testing.T) {
	t.Parallel()
	url, _ := start(t, streamable.Config{Handler: prototest.NewHandler()})
	long := strings.Repeat("x", 3<<20)
	session := open(t, url, "2025-11-25")
	modern, header := prototest.ModernRequest("1", "tools/call", `"name":"`+long+`"`)
	header = append(header, "Mcp-Name", "echo")
	for name, r := range map[string]prototest.Response{
		"tool":     prototest.Do(t, http.MethodPost, url, modern, header...),
		"method":   prototest.Do(t, http.MethodPost, url, `{"jsonrpc":"2.0","id":1,"method":"`+long+`"}`, session...),
		"revision": prototest.Do(t, http.MethodPost, url, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"`+long+`"}}}`),
		"member":   prototest.Do(t, http.MethodPost, url, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"`+long+`":1,"`+long+`":2}}`, session...),
	} {
		if !strings.Contains(r.Body, `"error"`) || len(r.Body) > 1000 {
			t.Errorf("%s: %d bytes: %.300s", name, len(r.Body), r.Body)
		}
	}
}

// A compressed message is refused, and the client told what to do.
func TestCompressedMessage(t *testing.T) {
	t.Parallel()
	url, _ := start(t, streamable.Config{Handler: prototest.NewHandler()})
	modern, header := prototest.ModernCall("1", "echo")
	for _, h := range [][]string{nil, header, open(t, url, "2025-11-25")} {
		r := prototest.Do(t, http.MethodPost, url, modern, append(h, "Content-Encoding", "gzip")...)
		if r.Status != http.StatusUnsupportedMediaType || r.Header.Get("Accept-Encoding") != "identity" || !strings.Contains(r.Body, "without compression") {
			t.Errorf("%d %v %s", r.Status, r.Header, r.Body)
		}
	}
}

// POSTs that send one byte of a body that they announce are answered, and their
// connections end.
func TestBodiesThatNeverArrive(t *testing.T) {
	t.Parallel()
	const clients = 300
	url, _ := start(t, streamable.Config{Handler: prototest.NewHandler(), BodyTimeout: 200 * time.Millisecond})
	address, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 4000000\r\n\r\n{", address)
			answer, err := io.ReadAll(conn) // until the server closes
			if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") || !strings.Contains(string(answer), "the body did not arrive in time") {
				t.Errorf("answer %q, error %v", answer, err)
			}
		})
	}
	wg.Wait()
}

// A call may take longer than its body may.
func TestBodyTimeoutDoesNotCutCalls(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	url, _ := start(t, streamable.Config{Handler: handler, BodyTimeout: 50 * time.Millisecond})
	modern, header := prototest.ModernCall("1", "wait")
	done := make(chan prototest.Response, 1)
	go func() { done <- prototest.Do(t, http.MethodPost, url, modern, header...) }()
	prototest.Await(t, handler.Started(), "start")
	select {
	case err := <-handler.Causes():
		t.Fatalf("the call is cut off: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	handler.Release()
	if r := prototest.Await(t, done, "response"); !strings.Contains(r.Body, "released") {
		t.Errorf("body %s", r.Body)
	}
}

// A client cannot have megabytes of its description kept for a session.
func TestInitializeKeepsLittle(t *testing.T) {
	t.Parallel()
	url, _ := start(t, streamable.Config{Handler: prototest.NewHandler()})
	initialize := func(capabilities, info int) prototest.Response {
		return prototest.Do(t, http.MethodPost, url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",`+
			`"capabilities":{"experimental":{"a":"`+strings.Repeat("x", capabilities)+`"}},"clientInfo":{"name":"`+strings.Repeat("x", info)+`","version":"1"}}}`)
	}
	const want = "together they may have 65536"
	checkResponse(t, initialize(3_500_000, 1), http.StatusOK, want)
	checkResponse(t, initialize(1, 3_500_000), http.StatusOK, want)
	checkResponse(t, initialize(33_000, 33_000), http.StatusOK, want)
	checkResponse(t, initialize(32_000, 32_000), http.StatusOK, `"result"`)
}
