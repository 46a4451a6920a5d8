package inflate_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/inflate"
)

const limit = 4 << 20

// bomb returns 1 GiB of zeros, as the bytes of a message, in 1 MiB.
func bomb(t *testing.T) []byte {
	t.Helper()
	var part bytes.Buffer
	w := gzip.NewWriter(&part)
	if _, err := w.Write(make([]byte, 16<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return bytes.Repeat(part.Bytes(), 64) // members of one stream (RFC 1952, section 2.2)
}

// envelope is a compressed message of gRPC.
func envelope(data []byte) []byte {
	n := len(data)
	return append([]byte{1, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, data...)
}

// used returns how many bytes f allocates.
func used(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestBombs is about memory, so it runs alone.
func TestBombs(t *testing.T) { //nolint:paralleltest // see above
	data := bomb(t)
	const procedure = "/test.v1.Test/Echo"
	type value = wrapperspb.BytesValue
	handler := connect.NewUnaryHandler(procedure, func(context.Context, *connect.Request[value]) (*connect.Response[value], error) {
		return connect.NewResponse(&value{}), nil
	}, connect.WithReadMaxBytes(limit), inflate.Handler(limit))
	server := httptest.NewServer(handler)
	defer server.Close()
	for name, tt := range map[string]struct {
		header http.Header
		body   []byte
	}{
		"Connect":  {http.Header{"Content-Type": {"application/proto"}, "Content-Encoding": {"gzip"}}, data},
		"gRPC-Web": {http.Header{"Content-Type": {"application/grpc-web+proto"}, "Grpc-Encoding": {"gzip"}}, envelope(data)},
	} {
		t.Run("request of "+name, func(t *testing.T) {
			var text string
			n := used(func() {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+procedure, bytes.NewReader(tt.body))
				if err != nil {
					t.Fatal(err)
				}
				r.Header = tt.header
				response, err := server.Client().Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				body, err := io.ReadAll(response.Body)
				if err != nil {
					t.Fatal(err)
				}
				text = string(body) + response.Trailer.Get("Grpc-Message") + response.Header.Get("Grpc-Message")
			})
			if !strings.Contains(text, "decompression has stopped there") {
				t.Errorf("the answer is %s", text)
			}
			if n > 10*limit {
				t.Errorf("%d bytes were allocated", n)
			}
		})
	}
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if kind := r.Header.Get("Content-Type"); kind == "application/proto" {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(data)
			return
		}
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		w.Header().Set("Grpc-Encoding", "gzip")
		_, _ = w.Write(envelope(data))
	}))
	defer evil.Close()
	for name, opts := range map[string][]connect.ClientOption{"Connect": nil, "gRPC-Web": {connect.WithGRPCWeb()}} {
		t.Run("response of "+name, func(t *testing.T) {
			opts = append(opts, connect.WithReadMaxBytes(limit), inflate.Client(limit))
			client := connect.NewClient[value, value](evil.Client(), evil.URL+procedure, opts...)
			var err error
			n := used(func() { _, err = client.CallUnary(t.Context(), connect.NewRequest(&value{})) })
			failure, ok := errors.AsType[*connect.Error](err)
			if !ok || failure.Code() != connect.CodeResourceExhausted || !strings.Contains(failure.Message(), "decompression has stopped there") {
				t.Errorf("error %v", err)
			}
			if n > 10*limit {
				t.Errorf("%d bytes were allocated", n)
			}
		})
	}
	// What is compressed and not too large passes, also in a reused reader.
	client := connect.NewClient[value, value](server.Client(), server.URL+procedure, connect.WithSendGzip())
	for range 3 {
		if _, err := client.CallUnary(t.Context(), connect.NewRequest(&value{Value: make([]byte, limit-100)})); err != nil {
			t.Error(err)
		}
	}
}
