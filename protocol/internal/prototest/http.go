package prototest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcp-bridge/mcp-bridge/internal/mcpschema"
)

// HTTP plays the transcripts below dir against HTTP servers. start returns
// the URL of a new one that answers with h.
//
// The sections of a transcript are its steps, in order:
//
//   - "POST", "GET" and so on: a request with the headers and, after an empty
//     line, the body that the section holds. A query may follow the method.
//     With "& NAME" behind it the request goes on under that name while the
//     steps that follow happen.
//   - "response": the response to the request before it.
//   - "head NAME", "read NAME N", "rest NAME": the head of a named response;
//     its next N blocks, each an event or comment; and all the blocks until
//     the server ends it.
//   - "close NAME": the client closes the connection.
//   - "trigger METHOD", "update URI", "release", "endlisten", "started", "cause": see
//     [Handler].
//
// A header without value takes away the one that the settings ask for.
// $SESSION stands for the id that the server has given last, $META for modern
// metadata. All that the client receives is checked against the schema of the
// setting revision.
func HTTP(t *testing.T, dir string, start func(t *testing.T, h *Handler, s Settings) (url string)) {
	t.Helper()
	each(t, dir, func(t *testing.T, s Settings, a *txtar.Archive) *txtar.Archive {
		h := NewHandler()
		p := &player{
			t: t, handler: h, settings: s,
			url:      start(t, h, s),
			named:    make(map[string]*exchange),
			recorder: mcpschema.Record(t, s["revision"]),
		}
		defer p.closeAll()
		out := &txtar.Archive{Comment: a.Comment}
		for _, f := range a.Files {
			out.Files = append(out.Files, p.step(f)...)
		}
		return out
	})
}

// player is the client of one transcript.
type player struct {
	t        *testing.T
	handler  *Handler
	settings Settings
	url      string
	session  string
	named    map[string]*exchange
	recorder *mcpschema.Recorder
}

// exchange is a request that is under way or answered.
type exchange struct {
	cancel   context.CancelFunc
	answered chan struct{} // closed when response and err are set
	response *http.Response
	err      error
	body     *bufio.Reader
}

func (p *player) closeAll() {
	for _, e := range p.named {
		e.close()
	}
}

func (e *exchange) close() {
	e.cancel()
	<-e.answered
	if e.response != nil {
		_ = e.response.Body.Close() // what is left of it does not matter
	}
}

// step takes one step, and returns the sections that it makes.
func (p *player) step(f txtar.File) []txtar.File {
	p.t.Helper()
	fields := strings.Fields(f.Name)
	if len(fields) == 0 {
		p.t.Fatal("a step has no name")
	}
	switch fields[0] {
	case "response":
		return nil // made anew by its request
	case "POST", "GET", "DELETE", "PUT":
		return p.request(fields, f)
	case "head":
		e := p.exchange(fields)
		return []txtar.File{{Name: f.Name, Data: p.head(e)}}
	case "rest":
		e := p.exchange(fields)
		return []txtar.File{{Name: f.Name, Data: p.rest(e)}}
	case "read":
		e := p.exchange(fields[:2])
		n, err := strconv.Atoi(fields[2])
		if err != nil {
			p.t.Fatalf("step %q: %v", f.Name, err)
		}
		var data []byte
		for range n {
			block, err := p.block(e)
			if err != nil {
				p.t.Fatalf("step %q: %v", f.Name, err)
			}
			data = append(data, block...)
		}
		return []txtar.File{{Name: f.Name, Data: data}}
	case "close":
		p.exchange(fields).close()
		return []txtar.File{{Name: f.Name}}
	}
	said, ok := act(p.t, p.handler, fields)
	if !ok {
		p.t.Fatalf("there is no step %q", f.Name)
	}
	return []txtar.File{{Name: f.Name, Data: []byte(said)}}
}

// exchange returns the one that a step names, once it is answered.
func (p *player) exchange(fields []string) *exchange {
	p.t.Helper()
	if len(fields) != 2 || p.named[fields[1]] == nil {
		p.t.Fatalf("step %q names no request", fields)
	}
	e := p.named[fields[1]]
	<-e.answered
	if e.err != nil {
		p.t.Fatalf("step %q: %v", fields, e.err)
	}
	return e
}

func (p *player) request(fields []string, f txtar.File) []txtar.File {
	p.t.Helper()
	e := p.send(fields, string(f.Data))
	if len(fields) > 2 && fields[len(fields)-2] == "&" {
		p.named[fields[len(fields)-1]] = e
		return []txtar.File{f}
	}
	<-e.answered
	defer e.close()
	if e.err != nil {
		p.t.Fatalf("step %q: %v", f.Name, e.err)
	}
	response := append(p.head(e), '\n')
	if response = append(response, p.rest(e)...); bytes.HasSuffix(response, []byte("\n\n")) {
		response = response[:len(response)-1]
	}
	return []txtar.File{f, {Name: "response", Data: response}}
}

// send starts a request.
func (p *player) send(fields []string, text string) *exchange {
	p.t.Helper()
	text = strings.NewReplacer("$SESSION", p.session, "$META", meta).Replace(text)
	head, body, _ := strings.Cut(text, "\n\n")
	if strings.HasPrefix(text, "\n") || strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		head, body = "", text
	}
	body = strings.TrimSpace(body)

	url := p.url
	if len(fields) > 1 && strings.HasPrefix(fields[1], "?") {
		url += strings.ReplaceAll(fields[1], "$SESSION", p.session)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.t.Context()), patience)
	r, err := http.NewRequestWithContext(ctx, fields[0], url, strings.NewReader(body))
	if err != nil {
		cancel()
		p.t.Fatal(err)
	}
	for key, value := range p.settings {
		value = strings.ReplaceAll(value, "$SESSION", p.session)
		if strings.ToLower(key) != key && value != "" {
			r.Header.Set(key, value)
		}
	}
	seen := make(map[string]bool)
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ":")
		key, value = http.CanonicalHeaderKey(key), strings.TrimPrefix(value, " ")
		if !seen[key] {
			r.Header.Del(key)
		}
		seen[key] = true
		if value != "" {
			r.Header.Add(key, value)
		}
		if key == "Host" {
			r.Host = value
		}
	}
	p.recorder.Sent([]byte(body))
	e := &exchange{cancel: cancel, answered: make(chan struct{})}
	go func() {
		defer close(e.answered)
		//nolint:bodyclose // exchange.close does
		if e.response, e.err = http.DefaultClient.Do(r); e.err == nil {
			e.body = bufio.NewReader(e.response.Body)
		}
	}()
	return e
}

// head returns the status and the headers that matter.
func (p *player) head(e *exchange) []byte {
	out := fmt.Appendln(nil, e.response.Status)
	for _, key := range []string{"Allow", "Cache-Control", "Content-Type", "Mcp-Session-Id", "Retry-After", "Www-Authenticate", "X-Accel-Buffering"} {
		for _, value := range e.response.Header.Values(key) {
			if key == "Mcp-Session-Id" {
				p.session = value
				value = "$SESSION"
			}
			out = fmt.Appendf(out, "%s: %s\n", key, value)
		}
	}
	return out
}

// rest returns the body up to its end.
func (p *player) rest(e *exchange) []byte {
	p.t.Helper()
	if !strings.HasPrefix(e.response.Header.Get("Content-Type"), "text/event-stream") {
		body, err := io.ReadAll(e.body)
		if err != nil {
			p.t.Fatal(err)
		}
		if strings.HasPrefix(e.response.Header.Get("Content-Type"), "application/json") {
			p.recorder.Received(body)
		}
		if len(body) > 0 && body[len(body)-1] != '\n' {
			body = append(body, '\n')
		}
		return body
	}
	var out []byte
	for {
		block, err := p.block(e)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			p.t.Fatal(err)
		}
		out = append(out, block...)
	}
}

var endpointSession = regexp.MustCompile(`(?m)^data: .*[?&]sessionId=([A-Z2-7]+)$`)

// block returns the lines up to and including the next empty one.
func (p *player) block(e *exchange) ([]byte, error) {
	var block, data []byte
	for {
		line, err := e.body.ReadBytes('\n')
		if err != nil {
			if len(block) > 0 || len(line) > 0 {
				return nil, fmt.Errorf("the stream breaks off after %q: %w", append(block, line...), err)
			}
			return nil, err
		}
		block = append(block, line...)
		if rest, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			data = append(data, rest...)
		}
		if len(line) == 1 {
			break
		}
	}
	if m := endpointSession.FindSubmatch(block); m != nil {
		p.session = string(m[1])
		return bytes.ReplaceAll(block, m[1], []byte("$SESSION")), nil
	}
	if len(bytes.TrimSpace(data)) > 0 {
		p.recorder.Received(data)
	}
	return block, nil
}
