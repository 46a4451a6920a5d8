package connectcall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
)

// PanicError is a panic of an in-process handler.
type PanicError struct {
	// Value is what the handler panicked with.
	Value any
}

// Error shows the value, which is for logs and not for clients.
func (e *PanicError) Error() string {
	return fmt.Sprintf("the in-process handler panicked: %v", e.Value)
}

// errClosed is the error of a request after Close.
var errClosed = errors.New("the in-process transport is closed")

// InProcessTransport calls an [http.Handler] without a network hop. It streams
// both ways like HTTP/2, with trailers. The handler sees a request of its own:
// nothing of the client's context is in it but its end.
//
// It is used concurrently.
type InProcessTransport struct {
	handler http.Handler

	mu       sync.Mutex
	closed   bool
	handlers sync.WaitGroup
	// ctx ends with Close.
	ctx    context.Context //nolint:containedctx // the lifetime of the transport
	cancel context.CancelFunc
}

var _ http.RoundTripper = (*InProcessTransport)(nil)

// InProcess returns a transport that calls the handler. Close it to wait for
// handlers that still run.
func InProcess(handler http.Handler) *InProcessTransport {
	ctx, cancel := context.WithCancel(context.Background())
	return &InProcessTransport{handler: handler, ctx: ctx, cancel: cancel}
}

// Close ends the requests in flight and waits until their handlers have
// returned.
func (t *InProcessTransport) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.cancel()
	t.handlers.Wait()
	return nil
}

// RoundTrip runs the handler in a goroutine of its own and returns when it has
// sent its headers. The goroutine ends when the handler returns; the handler's
// context ends with the request's, when the body of the response is closed, and
// with Close.
func (t *InProcessTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	closeRequest := func() error {
		if request.Body == nil {
			return nil
		}
		return request.Body.Close()
	}
	ctx, cancel := context.WithCancel(t.ctx)
	if !t.add() {
		cancel()
		return nil, errors.Join(errClosed, closeRequest())
	}
	reader, writer := io.Pipe()
	w := &responseWriter{
		header: http.Header{},
		body:   writer,
		ready:  make(chan struct{}),
		response: &http.Response{
			Proto: "HTTP/2.0", ProtoMajor: 2,
			ContentLength: -1,
			Trailer:       http.Header{},
			Request:       request,
		},
	}
	w.response.Body = &responseBody{PipeReader: reader, writer: w, cancel: cancel}
	// The end of either context frees everything that the two sides wait for.
	stopClient := context.AfterFunc(request.Context(), cancel)
	ended := func() error {
		if ctx.Err() == nil {
			return nil
		}
		return cmp.Or(context.Cause(request.Context()), context.Canceled)
	}
	stopPipes := context.AfterFunc(ctx, func() {
		_ = writer.CloseWithError(ended())
		_ = closeRequest()
	})
	go func() {
		defer t.handlers.Done()
		// Deferred, so that a handler may also end by runtime.Goexit. A
		// response that was cut short does not look complete.
		defer func() {
			stopClient()
			stopPipes()
			_ = writer.CloseWithError(cmp.Or(w.err, ended()))
			_ = closeRequest()
			cancel()
		}()
		w.serve(t.handler, serverRequest(ctx, request))
	}()
	select {
	case <-w.ready:
		return w.result()
	case <-ctx.Done():
		return w.endedWith(request)
	}
}

// add counts a handler, unless the transport is closed.
func (t *InProcessTransport) add() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.handlers.Add(1)
	return true
}

// localAddr is the address that requests arrive on: nothing that a web page could
// reach.
type localAddr struct{}

// Network returns "in-process".
func (localAddr) Network() string { return "in-process" }

// String returns "in-process".
func (localAddr) String() string { return "in-process" }

// serverRequest returns the request as the server of a network would see it.
func serverRequest(ctx context.Context, client *http.Request) *http.Request {
	host := client.Host
	if host == "" {
		host = client.URL.Host
	}
	url := *client.URL
	url.Scheme, url.Host, url.User = "", "", nil
	body := client.Body
	if body == nil {
		body = http.NoBody
	}
	return (&http.Request{
		Method:        client.Method,
		URL:           &url,
		Proto:         "HTTP/2.0",
		ProtoMajor:    2,
		Header:        client.Header.Clone(),
		Body:          body,
		ContentLength: client.ContentLength,
		Host:          host,
		Trailer:       client.Trailer,
		RemoteAddr:    "in-process",
		RequestURI:    url.RequestURI(),
	}).WithContext(context.WithValue(ctx, http.LocalAddrContextKey, net.Addr(localAddr{})))
}

// responseBody is the client's end of a response.
type responseBody struct {
	*io.PipeReader

	writer *responseWriter
	cancel context.CancelFunc
}

// Read reads what the handler writes. With the end come the trailers, in the
// client's goroutine, which may look at them from then on.
func (b *responseBody) Read(p []byte) (int, error) {
	n, err := b.PipeReader.Read(p)
	if err == io.EOF { //nolint:errorlint // pipes return io.EOF itself
		maps.Copy(b.writer.response.Trailer, b.writer.trailer)
	}
	return n, err
}

// Close tells the handler that nobody reads any more.
func (b *responseBody) Close() error {
	err := b.PipeReader.Close()
	b.cancel()
	return err
}

// responseWriter is the handler's end. As with net/http, it belongs to the
// handler's goroutine.
type responseWriter struct {
	header http.Header
	body   *io.PipeWriter
	wrote  bool
	// response is the client's as soon as ready is closed.
	response *http.Response
	ready    chan struct{}
	// failed is why there is no response; final when ready is closed.
	failed error
	// err and trailer are how the response ends; final when body is closed.
	err     error
	trailer http.Header
}

var (
	_ http.ResponseWriter = (*responseWriter)(nil)
	_ http.Flusher        = (*responseWriter)(nil)
)

// result returns the response when ready is closed.
func (w *responseWriter) result() (*http.Response, error) {
	if w.failed != nil {
		return nil, w.failed
	}
	return w.response, nil
}

// endedWith returns what a round trip returns whose context has ended, while
// the handler may have answered.
func (w *responseWriter) endedWith(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	select {
	case <-w.ready:
		return w.result()
	default:
		return nil, errClosed
	}
}

// serve runs the handler and turns a panic into an error.
func (w *responseWriter) serve(handler http.Handler, r *http.Request) {
	returned := false
	defer func() {
		switch value := recover(); {
		case returned:
			w.WriteHeader(http.StatusOK)
			w.setTrailer()
			return
		case value == nil || value == http.ErrAbortHandler: //nolint:errorlint // net/http compares like this
			w.err = http.ErrAbortHandler
		default:
			w.err = &PanicError{Value: value}
		}
		if !w.wrote {
			w.wrote = true
			w.failed = w.err
			close(w.ready)
		}
	}()
	handler.ServeHTTP(w, r)
	returned = true
}

// Header returns the header that the first write sends.
func (w *responseWriter) Header() http.Header { return w.header }

// WriteHeader sends the header. Informational responses are left out.
func (w *responseWriter) WriteHeader(statusCode int) {
	if w.wrote || statusCode < http.StatusOK {
		return
	}
	w.wrote = true
	w.response.StatusCode = statusCode
	w.response.Status = fmt.Sprintf("%d %s", statusCode, http.StatusText(statusCode))
	head := w.header.Clone()
	maps.DeleteFunc(head, func(key string, _ []string) bool { return strings.HasPrefix(key, http.TrailerPrefix) })
	for _, key := range declaredTrailers(head) {
		delete(head, key)
	}
	delete(head, "Trailer")
	w.response.Header = head
	close(w.ready)
}

// Write writes to the client, and blocks until it reads.
func (w *responseWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if len(p) == 0 {
		return 0, nil
	}
	return w.body.Write(p)
}

// Flush sends the header; the body is never held back.
func (w *responseWriter) Flush() { w.WriteHeader(http.StatusOK) }

// EnableFullDuplex says to [http.ResponseController] that reading and writing
// at the same time is possible, as it always is.
func (w *responseWriter) EnableFullDuplex() error { return nil }

// setTrailer collects the trailers, both those that were declared and
// those with [http.TrailerPrefix].
func (w *responseWriter) setTrailer() {
	w.trailer = http.Header{}
	for _, key := range declaredTrailers(w.header) {
		if values, ok := w.header[key]; ok {
			w.trailer[key] = values
		}
	}
	for key, values := range w.header {
		if name, ok := strings.CutPrefix(key, http.TrailerPrefix); ok {
			w.trailer[http.CanonicalHeaderKey(name)] = values
		}
	}
}

func declaredTrailers(h http.Header) []string {
	var keys []string
	for _, value := range h["Trailer"] {
		for key := range strings.SplitSeq(value, ",") {
			keys = append(keys, http.CanonicalHeaderKey(strings.TrimSpace(key)))
		}
	}
	return keys
}
