package streamable

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/front"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
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
	fault := mcpjson.CheckHeaders(r.Header, m.Method, m.Params, meta.Revision, true)
	if fault == nil {
		fault = front.CheckModern(meta, m.Method)
	}
	request := &protocol.Request{ID: m.ID, Method: m.Method, Params: m.Params, Meta: *meta, Caller: caller}
	if fault == nil && m.Method == protocol.MethodCallTool {
		fault = h.params.check(r.Context(), request)
	}
	if fault != nil {
		writeError(w, modernStatus(fault, http.StatusBadRequest), m.ID, fault, protocol.Revision20260728)
		return
	}
	out := newModernWriter(w, accept, h.cfg.StreamAfter, h.cfg.KeepAlive)
	res, fault := h.core.Modern(r.Context(), request, out)
	if r.Context().Err() != nil {
		out.abandon()
		return
	}
	if fault == nil && m.Method == protocol.MethodListTools {
		h.params.learned(caller, res)
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
	o.event(jsonrpc.AppendResponse(nil, id, res, fault, rev))
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
