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
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eraserver"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eventstream"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

const sessionHeader = "Mcp-Session-Id"

// retryAfter is how soon a client should come back to a broken stream.
const retryAfter = time.Second

// find returns the session that a legacy request belongs to: the one it
// names, or one for this request alone where it names none. An unknown id, and
// that of a session of somebody else, is a 404, never a new session.
func (h *Handler) find(w http.ResponseWriter, r *http.Request, caller *protocol.Caller, id json.RawMessage) (_ *eraserver.Session, _ *session, release func(), ok bool) {
	version := protocol.Revision(r.Header.Get("Mcp-Protocol-Version"))
	if version != "" && !version.Known() {
		fault := protocol.UnsupportedVersion(string(version))
		fault.Code = protocol.CodeInvalidRequest // what legacy revisions have for it
		writeError(w, http.StatusBadRequest, id, fault, protocol.LatestLegacy)
		return nil, nil, nil, false
	}
	if sid := r.Header.Get(sessionHeader); sid != "" {
		s, ok := h.sessions.Get(sid)
		if !ok || s.key != front.SessionKey(caller.Principal) {
			writeError(w, http.StatusNotFound, id, protocol.Errorf(protocol.CodeInvalidRequest, "there is no such session; send initialize to open one"), headerRevision(version))
			return nil, nil, nil, false
		}
		return s.Session, s, s.use(), true
	}
	rev := headerRevision(version)
	if rev.Modern() {
		rev = protocol.LatestLegacy
	}
	return h.legacy.Stateless(rev), nil, func() {}, true
}

// legacyPost answers one message of a legacy client.
func (h *Handler) legacyPost(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message, caller *protocol.Caller, accept accept) {
	if m.Method == protocol.MethodInitialize && m.Kind() == jsonrpc.KindRequest && r.Header.Get(sessionHeader) == "" {
		h.initialize(w, r, m, caller, accept)
		return
	}
	ls, s, release, ok := h.find(w, r, caller, m.ID)
	if !ok {
		return
	}
	defer release()
	if m.Kind() != jsonrpc.KindRequest {
		h.hear(r.Context(), ls, m)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	h.run(w, r, ls, s, accept, func(ctx context.Context, st eraserver.Stream) eraserver.Response {
		return ls.Call(ctx, m, caller, st)
	})
}

// hear takes a message of the client that gets no response.
func (h *Handler) hear(ctx context.Context, ls *eraserver.Session, m *jsonrpc.Message) {
	switch {
	case m.Kind() == jsonrpc.KindNotification:
		ls.Notified(m)
	case !ls.Answered(m):
		h.log.DebugContext(ctx, "a response to no request was ignored", "id", string(m.ID))
	}
}

func (h *Handler) initialize(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message, caller *protocol.Caller, accept accept) {
	s := newSession(caller.Principal, h.accounts)
	ls, res, fault := h.legacy.Open(r.Context(), m, caller, s.post)
	if fault != nil {
		s.end()
		writeError(w, http.StatusOK, m.ID, fault, protocol.LatestLegacy)
		return
	}
	s.Session = ls
	if !h.sessions.Add(s.id, caller.Principal.Quota(), s) {
		s.end()
		w.Header().Set("Retry-After", "10")
		writeError(w, http.StatusServiceUnavailable, m.ID, protocol.Errorf(protocol.CodeInternalError, "too many sessions are open; try again later"), ls.Revision)
		return
	}
	w.Header().Set(sessionHeader, s.id)
	body := jsonrpc.AppendResult(nil, m.ID, res, ls.Revision)
	if accept.json {
		writeJSON(w, http.StatusOK, body)
		return
	}
	eventstream.Begin(w)
	// The client is gone where this fails, and its session will time out.
	_ = eventstream.WriteFlush(w, http.NewResponseController(w), eventstream.AppendEvent(nil, eventstream.Event{Data: body}))
}

// legacyBatch answers a batch, which only revision 2025-03-26 has on this
// transport.
func (h *Handler) legacyBatch(w http.ResponseWriter, r *http.Request, body []byte, caller *protocol.Caller, accept accept) {
	ls, s, release, ok := h.find(w, r, caller, nil)
	if !ok {
		return
	}
	defer release()
	if ls.Revision != protocol.Revision20250326 {
		writeError(w, http.StatusBadRequest, nil, protocol.Errorf(protocol.CodeInvalidRequest, "JSON-RPC batches exist only in revision 2025-03-26"), ls.Revision)
		return
	}
	raw, fault := jsonrpc.SplitBatch(body, MaxBatch)
	if fault != nil {
		writeError(w, http.StatusBadRequest, nil, fault, ls.Revision)
		return
	}
	var (
		responses [][]byte // one a request, or an error
		requests  []*jsonrpc.Message
	)
	for _, data := range raw {
		m, fault := jsonrpc.Parse(data)
		switch {
		case fault == nil && m.Kind() == jsonrpc.KindRequest && m.Method == protocol.MethodInitialize:
			fault = protocol.Errorf(protocol.CodeInvalidRequest, "initialize must not be part of a batch")
			fallthrough
		case fault != nil:
			responses = append(responses, jsonrpc.AppendError(nil, m.ID, fault, ls.Revision))
		case m.Kind() == jsonrpc.KindRequest:
			requests = append(requests, m)
		default:
			h.hear(r.Context(), ls, m)
		}
	}
	if len(responses)+len(requests) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	h.run(w, r, ls, s, accept, func(ctx context.Context, st eraserver.Stream) eraserver.Response {
		answered := make([][]byte, len(requests))
		var wg sync.WaitGroup
		for i, m := range requests {
			wg.Go(func() { answered[i] = ls.Call(ctx, m, caller, st).Body })
		}
		wg.Wait()
		var batch mcpjson.Array
		for _, response := range append(responses, answered...) {
			if response != nil { // not cancelled
				batch.Add(response)
			}
		}
		if batch.Empty() {
			return eraserver.Response{}
		}
		return eraserver.Response{Body: batch.JSON()}
	})
}

// run answers a legacy request: with one JSON object where the response is
// there soon and nothing comes before it, otherwise with an event stream. The
// call goes on when the connection breaks, because that is no cancellation
// (2025-11-25 basic/transports, Sending Messages to the Server), and its
// stream can be resumed in a session.
func (h *Handler) run(w http.ResponseWriter, r *http.Request, ls *eraserver.Session, s *session, accept accept, call func(context.Context, eraserver.Stream) eraserver.Response) {
	var (
		ctx       = r.Context()
		st        *stream
		challenge string
	)
	if s != nil {
		st = s.newStream()
		ctx = s.ctx // the caller's values are in the Request
	} else {
		st = newStream("1", nil)
	}
	out := eraserver.Stream{Notifier: protocol.NotifierFunc(func(_ context.Context, n *protocol.Notification) error {
		if accept.stream {
			st.append(jsonrpc.AppendNotification(nil, n))
		}
		return nil
	})}
	if s != nil && accept.stream {
		out.Send = func(_ context.Context, message []byte) error {
			st.append(message)
			return nil
		}
	}
	h.workers.run(func() {
		if s != nil {
			defer s.use()()
		}
		response := call(ctx, out)
		challenge = response.Challenge // read after the stream is over
		st.finish(response.Body)
	})

	timer := time.NewTimer(h.cfg.StreamAfter)
	defer timer.Stop()
	late := timer.C
	if !accept.stream {
		late = nil
	}
	for {
		idle, wake := st.idle()
		if !idle {
			break
		}
		select {
		case <-wake:
			continue
		case <-late:
		case <-r.Context().Done():
			if s != nil {
				s.forget(st) // the client has no event id to come back with
			}
			return
		}
		break
	}
	if body, ok := st.only(); ok && (accept.json || challenge != "") {
		if s != nil {
			s.forget(st)
		}
		status := http.StatusOK
		if challenge != "" {
			w.Header().Set("Www-Authenticate", challenge)
			status = http.StatusUnauthorized
		}
		writeJSON(w, status, body)
		return
	}
	eventstream.Begin(w)
	h.pump(w, r, ls, s, st, 0, true)
}

// get opens the session's stream for what belongs to no request, or resumes a
// stream from the event that Last-Event-ID names.
func (h *Handler) get(w http.ResponseWriter, r *http.Request) {
	if a := parseAccept(r.Header); !a.stream {
		http.Error(w, "Accept must list text/event-stream", http.StatusNotAcceptable)
		return
	}
	ls, s, release, ok := h.find(w, r, newCaller(r), nil)
	if !ok {
		return
	}
	defer release()
	if s == nil {
		w.Header().Set("Allow", "POST")
		http.Error(w, "GET needs the Mcp-Session-Id of an open session", http.StatusMethodNotAllowed)
		return
	}
	st, from := s.out, s.out.unsent()
	if id := r.Header.Get("Last-Event-Id"); id != "" {
		name, n, ok := parseEventID(id)
		if ok {
			st = s.resume(name)
		}
		if !ok || st == nil {
			http.Error(w, "Last-Event-ID names no stream that can be resumed", http.StatusBadRequest)
			return
		}
		from = n
	}
	eventstream.Begin(w)
	h.pump(w, r, ls, s, st, from, false)
}

// pump writes the events of st after number from, until the stream is over,
// the client is gone, or another connection takes over.
func (h *Handler) pump(w http.ResponseWriter, r *http.Request, ls *eraserver.Session, s *session, st *stream, from int, opening bool) {
	rc := http.NewResponseController(w)
	reader := st.attach()
	defer func() {
		switch {
		case !st.detach(reader): // another connection has it
		case s == nil || st == s.out:
		default:
			s.keep(st)
		}
	}()
	var buf []byte
	if opening && s != nil && ls.Revision >= protocol.Revision20251125 {
		// Prime the client to come back (2025-11-25 basic/transports).
		buf = eventstream.AppendEvent(buf, eventstream.Event{ID: st.eventID(0), HasID: true, Retry: retryAfter})
	}
	keepAlive := time.NewTicker(h.cfg.KeepAlive)
	defer keepAlive.Stop()
	for {
		events, over, wake := st.after(from, reader)
		for _, e := range events {
			if s == nil {
				buf = eventstream.AppendEvent(buf, eventstream.Event{Data: e.data})
			} else {
				buf = st.appendEvent(buf, e)
			}
			from = e.n
		}
		untake := st.take(from)
		// Even an empty buffer is flushed: it sends the head.
		if err := eventstream.WriteFlush(w, rc, buf); err != nil {
			untake()
			return
		}
		st.forget()
		buf = buf[:0]
		if over {
			return
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-wake:
		case <-keepAlive.C:
			buf = eventstream.AppendComment(buf, "")
		case <-r.Context().Done():
			return
		}
	}
}

// delete ends a session at its client's wish.
func (h *Handler) delete(w http.ResponseWriter, r *http.Request) {
	_, s, release, ok := h.find(w, r, newCaller(r), nil)
	if !ok {
		return
	}
	release()
	if s == nil {
		w.Header().Set("Allow", "POST")
		http.Error(w, "DELETE needs the Mcp-Session-Id of an open session", http.StatusMethodNotAllowed)
		return
	}
	if s, ok := h.sessions.Remove(s.id); ok {
		s.end()
	}
	w.WriteHeader(http.StatusNoContent)
}
