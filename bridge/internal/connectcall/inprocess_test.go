package connectcall_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectcall"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/rpctest"
)

func transport(t *testing.T, handler http.HandlerFunc) *connectcall.InProcessTransport {
	t.Helper()
	in := connectcall.InProcess(handler)
	t.Cleanup(func() { _ = in.Close() })
	return in
}

func post(t *testing.T, ctx context.Context, body io.Reader) *http.Request { //nolint:revive // t comes first
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://user@host/a/b?c=d", body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestInProcessRequest(t *testing.T) {
	t.Parallel()
	type key struct{}
	in := transport(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != "hello" {
			t.Errorf("body %q, error %v", body, err)
		}
		if r.URL.String() != "/a/b?c=d" || r.RequestURI != "/a/b?c=d" || r.Host != "host" || !r.ProtoAtLeast(2, 0) || r.Header.Get("X-A") != "b" {
			t.Errorf("request %+v", r)
		}
		if r.Context().Value(key{}) != nil {
			t.Error("the handler sees the client's context")
		}
		w.Header().Set("X-B", "c")
		w.Header().Set("Trailer", "X-Declared")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusTeapot)
		w.WriteHeader(http.StatusOK)
		w.Header().Set("X-Late", "x")
		_, _ = w.Write([]byte("body"))
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		w.Header().Set("X-Declared", "d")
		w.Header().Set(http.TrailerPrefix+"x-prefixed", "p")
	})
	request := post(t, context.WithValue(t.Context(), key{}, 1), strings.NewReader("hello"))
	request.Header.Set("X-A", "b")
	response, err := in.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != "body" || response.StatusCode != http.StatusTeapot || response.ProtoMajor != 2 {
		t.Errorf("body %q, error %v, response %+v", body, err, response)
	}
	if want := (http.Header{"X-B": {"c"}}); !reflect.DeepEqual(response.Header, want) {
		t.Errorf("header %v, want %v", response.Header, want)
	}
	if want := (http.Header{"X-Declared": {"d"}, "X-Prefixed": {"p"}}); !reflect.DeepEqual(response.Trailer, want) {
		t.Errorf("trailer %v, want %v", response.Trailer, want)
	}
}

func TestInProcessPanic(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		after   bool
		handler func()
		want    string
	}{
		{"before the header", false, func() { panic("oops") }, "the in-process handler panicked: oops"},
		{"after the header", true, func() { panic("oops") }, "the in-process handler panicked: oops"},
		{"abort", false, func() { panic(http.ErrAbortHandler) }, http.ErrAbortHandler.Error()},
		{"abort after the header", true, func() { panic(http.ErrAbortHandler) }, http.ErrAbortHandler.Error()},
		{"exit", false, runtime.Goexit, http.ErrAbortHandler.Error()},
		{"exit after the header", true, runtime.Goexit, http.ErrAbortHandler.Error()},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := transport(t, func(w http.ResponseWriter, _ *http.Request) {
				if test.after {
					_, _ = w.Write([]byte("x"))
				}
				test.handler()
			})
			response, err := in.RoundTrip(post(t, t.Context(), http.NoBody))
			if err == nil {
				_, err = io.ReadAll(response.Body)
				_ = response.Body.Close()
			}
			if err == nil || err.Error() != test.want {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestInProcessPanicCall(t *testing.T) {
	t.Parallel()
	for _, protocol := range []connectcall.Protocol{connectcall.ProtocolConnect, connectcall.ProtocolGRPC, connectcall.ProtocolGRPCWeb} {
		caller, err := connectcall.NewInProcess(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oops") }), protocol)
		closing(t, caller, err)
		for _, method := range []string{"Echo", "Count", "Join", "Chat"} {
			_, err := caller.Call(t.Context(), rpctest.NewCall(method, nil, ""), ignore)
			rpctest.WantStatus(t, err, code.Code_INTERNAL, true, "the in-process server panicked")
			if failure, ok := errors.AsType[*connectcall.PanicError](err); !ok || failure.Value != "oops" {
				t.Errorf("%s: error %v does not carry the panic", method, err)
			}
		}
	}
}

// TestInProcessEnds wants each of three events to end the handler's context,
// and to free it from reading and writing.
func TestInProcessEnds(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"context", "body", "transport"} {
		for _, wait := range []string{"reading", "writing", "waiting"} {
			t.Run(end+", "+wait, func(t *testing.T) {
				t.Parallel()
				ended := make(chan error, 1)
				in := transport(t, func(w http.ResponseWriter, r *http.Request) {
					w.WriteHeader(http.StatusOK)
					var err error
					switch wait {
					case "reading":
						_, err = r.Body.Read(make([]byte, 1))
					case "writing":
						_, err = w.Write(make([]byte, 1))
					}
					<-r.Context().Done()
					ended <- err
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				reader, writer := io.Pipe()
				response, err := in.RoundTrip(post(t, ctx, reader))
				if err != nil {
					t.Fatal(err)
				}
				switch end {
				case "context":
					cancel()
				case "body":
					_ = response.Body.Close()
				case "transport":
					_ = in.Close()
				}
				if err := <-ended; err == nil && wait != "waiting" {
					t.Errorf("%s ended without an error", wait)
				}
				_ = in.Close()
				if _, err := response.Body.Read(make([]byte, 1)); err == nil || err == io.EOF {
					t.Errorf("reading the response ended with %v", err)
				}
				_ = response.Body.Close()
				if _, err := writer.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("the request's body was not closed: %v", err)
				}
			})
		}
	}
}

func TestInProcessClosed(t *testing.T) {
	t.Parallel()
	in := transport(t, func(http.ResponseWriter, *http.Request) { t.Error("called") })
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	response, err := in.RoundTrip(post(t, t.Context(), http.NoBody))
	if err == nil {
		_ = response.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "the in-process transport is closed") {
		t.Errorf("error %v", err)
	}
}
