package streamable

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/answer"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eventstream"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// modern answers one message of a modern client. The client's going away
// cancels the request (basic/transports/streamable-http, Cancellation).
func (h *Handler) modern(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message, meta *protocol.Meta, caller *protocol.Caller, accept accept) {
	switch m.Kind() {
	case jsonrpc.KindRequest:
	case jsonrpc.KindNotification:
		w.WriteHeader(http.StatusAccepted)
		return
	case jsonrpc.KindResponse:
		writeError(w, http.StatusBadRequest, nil, protocol.Errorf(protocol.CodeInvalidRequest, "clients of revision 2026-07-28 send no responses"), protocol.Revision20260728)
		return
	}
	fault := checkHeaders(r.Header, m, meta)
	if fault == nil {
		fault = answer.CheckModern(meta, m.Method)
	}
	if fault != nil {
		writeError(w, modernStatus(fault, http.StatusBadRequest), m.ID, fault, protocol.Revision20260728)
		return
	}
	out := newModernWriter(w, accept, h.cfg.StreamAfter, h.cfg.KeepAlive)
	res, fault := answer.Modern(r.Context(), h.log, h.cfg.Handler, m.ID, &protocol.Request{
		Method: m.Method, Params: m.Params, Meta: *meta, Caller: caller,
	}, out)
	if r.Context().Err() != nil {
		out.abandon()
		return
	}
	out.finish(m.ID, res, fault, meta.Revision)
}

// modernStatus is the HTTP status that goes with a JSON-RPC error.
func modernStatus(fault *protocol.Error, otherwise int) int {
	switch fault.Code {
	case protocol.CodeMethodNotFound:
		return http.StatusNotFound
	case protocol.CodeHeaderMismatch, protocol.CodeMissingClientCapability, protocol.CodeUnsupportedProtocolVersion:
		return http.StatusBadRequest
	}
	return otherwise
}

// checkHeaders compares the headers that mirror the body with the body
// (basic/transports/streamable-http, Server Validation).
func checkHeaders(header http.Header, m *jsonrpc.Message, meta *protocol.Meta) *protocol.Error {
	if meta.Revision == "" {
		return nil // CheckModern says what is missing
	}
	if fault := match(header, "Mcp-Protocol-Version", string(meta.Revision), false); fault != nil {
		return fault
	}
	if !meta.Revision.Known() {
		return nil // unsupported, and so are the rules for its headers
	}
	if fault := match(header, "Mcp-Method", m.Method, false); fault != nil {
		return fault
	}
	info, _ := protocol.LookupMethod(m.Method)
	if info.NameParam == "" {
		return nil
	}
	raw, ok := jsontok.Lookup(m.Params, info.NameParam)
	if !ok {
		return nil // the Handler says what is missing
	}
	name, ok := jsontok.String(raw)
	if !ok {
		return nil
	}
	return match(header, "Mcp-Name", name, true)
}

func match(header http.Header, key, want string, encoded bool) *protocol.Error {
	values := header.Values(key)
	if len(values) == 0 {
		return protocol.Errorf(protocol.CodeHeaderMismatch, "the %s header is missing; the body has %q", key, want)
	}
	if len(values) > 1 {
		return protocol.Errorf(protocol.CodeHeaderMismatch, "the %s header is there %d times", key, len(values))
	}
	got := strings.Trim(values[0], " \t")
	if strings.ContainsFunc(got, func(r rune) bool { return r != '\t' && (r < ' ' || r > '~') }) {
		return protocol.Errorf(protocol.CodeHeaderMismatch, "the %s header has characters other than visible ASCII; encode it as =?base64?...?=", key)
	}
	if encoded {
		decoded, ok := decodeSentinel(got)
		if !ok {
			return protocol.Errorf(protocol.CodeHeaderMismatch, "the %s header is not valid base64 between =?base64? and ?=", key)
		}
		got = decoded
	}
	if got != want {
		return protocol.Errorf(protocol.CodeHeaderMismatch, "the %s header has %q, the body %q", key, got, want)
	}
	return nil
}

// decodeSentinel undoes the encoding of values that are no plain ASCII
// (basic/transports/streamable-http, Value Encoding).
func decodeSentinel(v string) (string, bool) {
	rest, ok := strings.CutPrefix(v, "=?base64?")
	if !ok {
		return v, true
	}
	if rest, ok = strings.CutSuffix(rest, "?="); !ok {
		return v, true
	}
	b, err := base64.StdEncoding.Strict().DecodeString(rest)
	return string(b), err == nil
}

// modernWriter writes the response to one request: one JSON object, or an
// event stream once there is a notification or the request takes long. It is
// the request's Notifier.
type modernWriter struct {
	keepAlive time.Duration
	accept    accept
	rc        *http.ResponseController

	mu        sync.Mutex
	w         http.ResponseWriter
	timer     *time.Timer
	streaming bool
	done      bool
	err       error
	buf       []byte
}

func newModernWriter(w http.ResponseWriter, accept accept, streamAfter, keepAlive time.Duration) *modernWriter {
	o := &modernWriter{w: w, rc: http.NewResponseController(w), accept: accept, keepAlive: keepAlive}
	o.mu.Lock() // tick may run before AfterFunc returns
	defer o.mu.Unlock()
	o.timer = time.AfterFunc(streamAfter, o.tick)
	return o
}

// Notify sends a notification as an event. A client that accepts no event
// stream cannot be told, and is not.
func (o *modernWriter) Notify(ctx context.Context, n *protocol.Notification) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil || o.done || !o.accept.stream {
		return o.err
	}
	o.event(jsonrpc.AppendNotification(nil, n))
	return o.err
}

// tick turns a response that is not there yet into an event stream, and later
// keeps that stream alive.
func (o *modernWriter) tick() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done || o.err != nil || !o.accept.stream {
		return
	}
	o.start()
	o.buf = eventstream.AppendComment(o.buf[:0], "")
	o.flush()
	o.timer.Reset(o.keepAlive)
}

func (o *modernWriter) finish(id json.RawMessage, res *protocol.Result, fault *protocol.Error, rev protocol.Revision) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end()
	if !o.streaming && (o.accept.json || fault != nil) {
		if fault != nil {
			writeError(o.w, modernStatus(fault, http.StatusOK), id, fault, rev)
			return
		}
		writeJSON(o.w, http.StatusOK, jsonrpc.AppendResult(nil, id, res, rev))
		return
	}
	o.event(answer.Response(nil, id, res, fault, rev))
}

// abandon ends the writer of a request whose client is gone.
func (o *modernWriter) abandon() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end()
}

func (o *modernWriter) end() {
	o.done = true
	o.timer.Stop()
}

// start sends the head of an event stream, once.
func (o *modernWriter) start() {
	if !o.streaming {
		o.streaming = true
		eventstream.Begin(o.w)
	}
}

func (o *modernWriter) event(msg []byte) {
	o.start()
	o.buf = eventstream.AppendEvent(o.buf[:0], eventstream.Event{Data: msg})
	o.flush()
}

func (o *modernWriter) flush() { o.err = eventstream.WriteFlush(o.w, o.rc, o.buf) }
