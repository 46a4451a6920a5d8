package httpbody_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol/internal/httpbody"
)

// request is one whose body says that it is length bytes long, or nothing where
// that is negative.
func request(body io.Reader, length int64) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", body)
	r.ContentLength = length
	return r
}

func TestRead(t *testing.T) {
	t.Parallel()
	limits := httpbody.Limits{Bytes: 100_000, Timeout: time.Minute}
	for _, n := range []int{0, 1, 4095, 4096, 4097, 16_384, 65_537, 100_000} {
		want := bytes.Repeat([]byte("x"), n)
		for name, r := range map[string]*http.Request{
			"length":     request(bytes.NewReader(want), int64(n)),
			"no length":  request(bytes.NewReader(want), -1),
			"bytewise":   request(iotest.OneByteReader(bytes.NewReader(want)), int64(n)),
			"early end":  request(iotest.DataErrReader(bytes.NewReader(want)), int64(n)),
			"in between": request(iotest.HalfReader(bytes.NewReader(want)), -1),
		} {
			got, err := httpbody.Read(httptest.NewRecorder(), r, limits)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s, %d bytes: %d bytes, error %v", name, n, len(got), err)
			}
		}
	}
	_, err := httpbody.Read(httptest.NewRecorder(), request(strings.NewReader(strings.Repeat("x", 100_001)), -1), limits)
	if _, ok := errors.AsType[*http.MaxBytesError](err); !ok {
		t.Errorf("error %v, want a *http.MaxBytesError", err)
	}
	broken := errors.New("broken")
	if _, err := httpbody.Read(httptest.NewRecorder(), request(iotest.ErrReader(broken), 5), limits); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the reader", err)
	}
}

// A client that announces megabytes and sends a byte gets no memory for them.
// The test is not parallel, because it measures.
func TestAnnouncedLengthCostsNothing(t *testing.T) {
	const requests, announced = 100, 4 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range requests {
		r := request(io.MultiReader(strings.NewReader("{"), iotest.ErrReader(io.ErrUnexpectedEOF)), announced)
		if _, err := httpbody.Read(httptest.NewRecorder(), r, httpbody.Limits{Bytes: announced, Timeout: time.Minute}); err == nil {
			t.Fatal("a broken body is read")
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / requests; each > 64<<10 {
		t.Errorf("one byte of %d takes %d bytes of memory", announced, each)
	}
}

// serve answers with what Read returns, over HTTP/1.1 and HTTP/2.
func serve(t *testing.T, limits httpbody.Limits) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := httpbody.Read(w, r, limits)
		if errors.Is(err, httpbody.ErrTooSlow) {
			http.Error(w, err.Error(), http.StatusRequestTimeout)
			return
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, len(body))
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// Clients that begin a body and never go on are all told so, and their
// connections end.
func TestBodiesThatNeverArrive(t *testing.T) {
	t.Parallel()
	const clients = 200
	server := httptest.NewServer(serve(t, httpbody.Limits{Bytes: 4 << 20, Timeout: 200 * time.Millisecond}).Config.Handler)
	defer server.Close()
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			length := "Content-Length: 4194304\r\n\r\n{"
			switch i % 3 {
			case 1:
				length = "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"
			case 2:
				length = "Content-Length: 10\r\n\r\n"
			}
			fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\n%s", length)
			answer, err := io.ReadAll(conn) // until the server closes
			if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") {
				t.Errorf("answer %q, error %v", answer, err)
			}
		})
	}
	wg.Wait()
}

// The same over HTTP/2, whose other streams go on.
func TestStreamsThatNeverArrive(t *testing.T) {
	t.Parallel()
	server := serve(t, httpbody.Limits{Bytes: 4 << 20, Timeout: 200 * time.Millisecond})
	for range 3 {
		body, feed := io.Pipe()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, body)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = feed.Write([]byte("{")) }()
		response, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		feed.Close()
		if response.StatusCode != http.StatusRequestTimeout || response.ProtoMajor != 2 {
			t.Errorf("%s, status %d", response.Proto, response.StatusCode)
		}
	}
}

// A slow body that keeps coming is read to its end, and what follows it on the
// connection has no deadline.
func TestSlowBodiesArrive(t *testing.T) {
	t.Parallel()
	const timeout = 300 * time.Millisecond
	server := serve(t, httpbody.Limits{Bytes: 4 << 20, Timeout: timeout})
	part := bytes.Repeat([]byte("x"), 8<<10) // two seconds more each
	body, feed := io.Pipe()
	go func() {
		defer feed.Close()
		for range 4 {
			if _, err := feed.Write(part); err != nil {
				t.Error(err)
			}
			<-time.After(timeout / 2)
		}
	}()
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, server.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || string(text) != fmt.Sprint(4*len(part)) {
		t.Errorf("answer %q, error %v", text, err)
	}
}

func TestUnsupported(t *testing.T) {
	t.Parallel()
	const (
		media  = "Content-Type must be application/json"
		coding = "Content-Encoding must be identity: send the message as it is, without compression"
	)
	for _, tt := range []struct {
		header http.Header
		want   string
	}{
		{http.Header{"Content-Type": {"application/json"}}, ""},
		{http.Header{"Content-Type": {"application/json; charset=utf-8"}, "Content-Encoding": {"Identity", ""}}, ""},
		{http.Header{}, media},
		{http.Header{"Content-Type": {"text/plain"}, "Content-Encoding": {"gzip"}}, media},
		{http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, coding},
		{http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"identity, br"}}, coding},
		{http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"identity", "zstd"}}, coding},
	} {
		w := httptest.NewRecorder()
		accepted := ""
		if tt.want == coding {
			accepted = "identity"
		}
		if got := httpbody.Unsupported(w, &http.Request{Header: tt.header}); got != tt.want || w.Header().Get("Accept-Encoding") != accepted {
			t.Errorf("%v: %q and %v, want %q", tt.header, got, w.Header(), tt.want)
		}
	}
}
