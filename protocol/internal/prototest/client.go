package prototest

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Initialize is an initialize request of a revision.
func Initialize(rev string) string {
	return `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"` + rev + `","capabilities":{},"clientInfo":{"name":"client","version":"1"}}}`
}

// Call is a tools/call request of a legacy client. id is raw JSON; members are
// further members of params, such as "arguments".
func Call(id, tool string, members ...string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{` + strings.Join(append([]string{`"name":` + quote(tool)}, members...), ",") + `}}`
}

// ModernCall is [Call] for a modern client, with the headers that belong to it.
func ModernCall(id, tool string, members ...string) (body string, header []string) {
	return Call(id, tool, append(members, meta)...), []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool}
}

// ModernRequest is a request of a modern client without params of its own,
// with the headers that belong to it.
func ModernRequest(id, method string, members ...string) (body string, header []string) {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":` + quote(method) + `,"params":{` + strings.Join(append(members, meta), ",") + `}}`,
		[]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}
}

// Response is a response that has been read to its end.
type Response struct {
	Status int
	Header http.Header
	Body   string
}

// Do sends a request and reads its response. header is keys and values; the
// Content-Type and an Accept header for everything are there without.
func Do(t *testing.T, method, url, body string, header ...string) Response {
	t.Helper()
	s := Open(t, method, url, body, header...)
	defer s.Close()
	data, err := io.ReadAll(s.body)
	if err != nil {
		t.Fatalf("%s: body after %q: %v", method, data, err)
	}
	return Response{Status: s.Status, Header: s.Header, Body: string(data)}
}

// Stream is a response that is being read.
type Stream struct {
	Status int
	Header http.Header

	t      *testing.T
	body   *bufio.Reader
	closer io.Closer
	cancel context.CancelFunc
}

// Open sends a request and returns when the head of the response is there.
func Open(t *testing.T, method, url, body string, header ...string) *Stream {
	t.Helper()
	s, err := TryOpen(t, method, url, body, header...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TryOpen is [Open] for requests that may fail, and for goroutines. The caller
// closes the Stream.
func TryOpen(t *testing.T, method, url, body string, header ...string) (*Stream, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		cancel()
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(r) //nolint:bodyclose // Stream.Close does
	if err != nil {
		cancel()
		return nil, err
	}
	return &Stream{
		Status: response.StatusCode, Header: response.Header,
		t: t, body: bufio.NewReader(response.Body), closer: response.Body, cancel: cancel,
	}, nil
}

// Block returns the lines up to the next empty one: an event or a comment. At
// the end of the stream it returns "".
func (s *Stream) Block() string {
	s.t.Helper()
	var block []byte
	for {
		line, err := s.body.ReadBytes('\n')
		if err == io.EOF && len(block)+len(line) == 0 {
			return ""
		}
		if err != nil {
			s.t.Fatalf("the stream breaks off after %q: %v", append(block, line...), err)
		}
		block = append(block, line...)
		if len(line) == 1 {
			return string(block)
		}
	}
}

// Message returns the data of the next event that has any.
func (s *Stream) Message() string {
	s.t.Helper()
	for {
		block := s.Block()
		if block == "" {
			s.t.Fatal("the stream has ended")
		}
		var data []byte
		for line := range strings.Lines(block) {
			if rest, ok := strings.CutPrefix(line, "data: "); ok {
				data = append(data, rest...)
			}
		}
		if data = bytes.TrimSpace(data); len(data) > 0 {
			return string(data)
		}
	}
}

// Close closes the connection, as a client does that goes away.
func (s *Stream) Close() {
	s.cancel()
	_ = s.closer.Close() // what is left of the body does not matter
}

// Await receives from c. It is for what must come.
func Await[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case v := <-c:
		return v
	case <-timeout.C:
		t.Fatalf("%s: nothing comes", what)
		panic("unreachable")
	}
}
