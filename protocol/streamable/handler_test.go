package streamable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

func TestNewReportsFaults(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	for _, tt := range []struct {
		cfg  streamable.Config
		want string
	}{
		{streamable.Config{}, "streamable: Config.Handler is nil"},
		{
			streamable.Config{Handler: handler, AllowedOrigins: []string{"example.com"}, AllowedHosts: []string{"example.com:80"}},
			"streamable: allowed origin \"example.com\" needs a scheme, such as https://example.com\n" +
				"allowed host \"example.com:80\" must be a host name without scheme and port",
		},
	} {
		if _, err := streamable.New(tt.cfg); err == nil || err.Error() != tt.want {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
}

// ids are ids as they must come back: byte for byte.
var ids = []string{
	`0`, `-1`, `1.0`, `1e2`, `1E+2`, `0.10`, `9007199254740993`, `123456789012345678901234567890`, `-0`,
	`""`, `"1"`, `"a\u0062\n\"\/"`, `"\ud83d\ude00 é 世界"`, `"\ud800"`, `" "`,
	`"` + strings.Repeat("long", 5000) + `"`, strings.Repeat("9", 20000),
}

func TestIDsComeBackByteForByte(t *testing.T) {
	t.Parallel()
	url, _ := start(t, streamable.Config{Handler: prototest.NewHandler()})
	session := open(t, url, "2025-03-26")
	for _, id := range ids {
		want := `"id":` + id + `,`
		checkResponse(t, prototest.Do(t, http.MethodPost, url, prototest.Call(id, "echo"), session...), http.StatusOK, want)
		checkResponse(t, prototest.Do(t, http.MethodPost, url, prototest.Call(id, "plain"), session...), http.StatusOK, want)
		checkResponse(t, prototest.Do(t, http.MethodPost, url, "["+prototest.Call(id, "echo")+"]", session...), http.StatusOK, want)
		modern, header := prototest.ModernCall(id, "echo")
		checkResponse(t, prototest.Do(t, http.MethodPost, url, modern, header...), http.StatusOK, want)
		checkResponse(t, prototest.Do(t, http.MethodPost, url, modern, append(header, "Mcp-Name", "other")...), http.StatusBadRequest, want)
	}
}

func TestSlowCallBecomesAStream(t *testing.T) {
	t.Parallel()
	for rev, primed := range map[string]bool{"2025-03-26": false, "2025-06-18": false, "2025-11-25": true} {
		t.Run(rev, func(t *testing.T) {
			t.Parallel()
			handler := prototest.NewHandler()
			url, _ := start(t, streamable.Config{Handler: handler, StreamAfter: time.Nanosecond})
			for name, header := range map[string][]string{"session": open(t, url, rev), "no session": {"Mcp-Protocol-Version", rev}} {
				s := prototest.Open(t, http.MethodPost, url, prototest.Call("1", "wait"), header...)
				if s.Header.Get("Content-Type") != "text/event-stream" || s.Header.Get("X-Accel-Buffering") != "no" {
					t.Errorf("%s: head %v, want an event stream that is not buffered", name, s.Header)
				}
				handler.Release()
				first := s.Block()
				if is := first == "id: 1-0\nretry: 1000\ndata: \n\n"; is != (primed && name == "session") {
					t.Errorf("%s: the stream begins with %q", name, first)
				}
				if is := strings.Contains(first, "\nid: ") || strings.HasPrefix(first, "id: "); is != (name == "session") {
					t.Errorf("%s: the stream begins with %q: an id without a session is good for nothing", name, first)
				}
			}
		})
	}
	t.Run("client without event streams", func(t *testing.T) {
		t.Parallel()
		handler := prototest.NewHandler()
		url, _ := start(t, streamable.Config{Handler: handler, StreamAfter: time.Nanosecond})
		done := make(chan prototest.Response, 2)
		modern, header := prototest.ModernCall("1", "wait")
		go func() {
			done <- prototest.Do(t, http.MethodPost, url, modern, append(header, "Accept", "application/json")...)
		}()
		go func() {
			done <- prototest.Do(t, http.MethodPost, url, prototest.Call("1", "wait"), "Accept", "application/json")
		}()
		for range 2 {
			prototest.Await(t, handler.Started(), "start")
		}
		for range 2 {
			handler.Release()
			r := prototest.Await(t, done, "response")
			if r.Header.Get("Content-Type") != "application/json" || !strings.Contains(r.Body, "released") {
				t.Errorf("Content-Type %q, body %s", r.Header.Get("Content-Type"), r.Body)
			}
		}
	})
}

func TestSilentStreamsAreKeptAlive(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	url, _ := start(t, streamable.Config{Handler: handler, KeepAlive: time.Millisecond, StreamAfter: time.Nanosecond})
	session := open(t, url, "2025-11-25")
	modern, modernHeader := prototest.ModernCall("1", "wait")
	listen, listenHeader := prototest.ModernRequest("2", "subscriptions/listen", `"notifications":{}`)
	for name, s := range map[string]*prototest.Stream{
		"GET":         prototest.Open(t, http.MethodGet, url, "", session...),
		"legacy call": prototest.Open(t, http.MethodPost, url, prototest.Call("1", "wait"), session...),
		"modern call": prototest.Open(t, http.MethodPost, url, modern, modernHeader...),
		"listen":      prototest.Open(t, http.MethodPost, url, listen, listenHeader...),
	} {
		if s.Header.Get("X-Accel-Buffering") != "no" {
			t.Errorf("%s: X-Accel-Buffering is %q, want no", name, s.Header.Get("X-Accel-Buffering"))
		}
		for comments := 0; comments < 3; {
			if strings.HasPrefix(s.Block(), ":") {
				comments++
			}
		}
	}
}

func TestMessagesHaveALimit(t *testing.T) {
	t.Parallel()
	const limit = 1000
	url, _ := start(t, streamable.Config{Handler: prototest.NewHandler(), MaxMessageBytes: limit})
	head, tail := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"`, `"}}`
	body := head + strings.Repeat("x", limit-len(head)-len(tail)) + tail
	checkResponse(t, prototest.Do(t, http.MethodPost, url, body), http.StatusOK, `"result":{}`)
	checkResponse(t, prototest.Do(t, http.MethodPost, url, body+" "), http.StatusRequestEntityTooLarge, "the message is longer than 1000 bytes")
	batch := "[" + strings.Repeat(`{"jsonrpc":"2.0","id":1},`, 128) + "1]"
	url, _ = start(t, streamable.Config{Handler: prototest.NewHandler()})
	checkResponse(t, prototest.Do(t, http.MethodPost, url, batch), http.StatusBadRequest, "a batch holds at most 128 messages")
	deep := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}}`
	checkResponse(t, prototest.Do(t, http.MethodPost, url, deep), http.StatusBadRequest, "-32700")
	checkResponse(t, prototest.Do(t, http.MethodPost, url, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":\"\xff\"}}"), http.StatusBadRequest, "-32700")
}

func TestPanicIsOneCallsError(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	url, _ := start(t, streamable.Config{Handler: handler, StreamAfter: time.Nanosecond})
	session := open(t, url, "2025-11-25")
	waiting := prototest.Open(t, http.MethodPost, url, prototest.Call("1", "wait"), session...)
	body := prototest.Do(t, http.MethodPost, url, prototest.Call("2", "panic"), append(session, "Accept", "application/json")...)
	checkResponse(t, body, http.StatusOK, `"id":2,"error":{"code":-32603,"message":"internal error"}`)
	modern, header := prototest.ModernCall("3", "panic")
	checkResponse(t, prototest.Do(t, http.MethodPost, url, modern, append(header, "Accept", "application/json")...), http.StatusOK, `"id":3,"error":{"code":-32603,"message":"internal error"}`)
	handler.Release()
	if m := waiting.Message(); !strings.Contains(m, "released") {
		t.Errorf("the other call has %s", m)
	}
}

func TestChallengesAre401(t *testing.T) {
	t.Parallel()
	url, _ := start(t, streamable.Config{Handler: prototest.NewHandler()})
	for _, accept := range []string{"application/json", "text/event-stream", "*/*"} {
		modern, header := prototest.ModernCall("1", "login")
		for _, r := range []prototest.Response{
			prototest.Do(t, http.MethodPost, url, modern, append(header, "Accept", accept)...),
			prototest.Do(t, http.MethodPost, url, prototest.Call("1", "login"), "Accept", accept),
			prototest.Do(t, http.MethodPost, url, prototest.Call("1", "login"), append(open(t, url, "2025-11-25"), "Accept", accept)...),
		} {
			checkResponse(t, r, http.StatusUnauthorized, `"id":1,"error":{"code":-32001,"message":"who are you?"}`)
			if got := r.Header.Get("Www-Authenticate"); got != `Bearer realm="r"` {
				t.Errorf("WWW-Authenticate is %q", got)
			}
		}
	}
}

func TestDuplicateIDInFlight(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	url, _ := start(t, streamable.Config{Handler: handler, StreamAfter: time.Nanosecond})
	session := open(t, url, "2025-03-26")
	waiting := prototest.Open(t, http.MethodPost, url, prototest.Call(`"x"`, "wait"), session...)
	prototest.Await(t, handler.Started(), "start")
	again := append([]string{"Accept", "application/json"}, session...)
	want := `"id":"x","error":{"code":-32600,"message":"a request with id \"x\" is still under way"}`
	checkResponse(t, prototest.Do(t, http.MethodPost, url, prototest.Call(`"x"`, "echo"), again...), http.StatusOK, want)
	checkResponse(t, prototest.Do(t, http.MethodPost, url, "["+prototest.Call(`"x"`, "echo")+"]", again...), http.StatusOK, want)
	// Another client, or a modern one, may use the id as it likes.
	checkResponse(t, prototest.Do(t, http.MethodPost, url, prototest.Call(`"x"`, "echo"), append(again, open(t, url, "2025-03-26")...)...), http.StatusOK, `"result"`)
	modern, header := prototest.ModernCall(`"x"`, "echo")
	checkResponse(t, prototest.Do(t, http.MethodPost, url, modern, append(header, "Accept", "application/json")...), http.StatusOK, `"result"`)
	handler.Release()
	if m := waiting.Message(); !strings.Contains(m, "released") {
		t.Errorf("the first request has %s", m)
	}
	checkResponse(t, prototest.Do(t, http.MethodPost, url, prototest.Call(`"x"`, "echo"), again...), http.StatusOK, `"result"`)
}

func TestSessionsHaveALimit(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	url, _ := start(t, streamable.Config{Handler: handler, MaxSessions: 2, StreamAfter: time.Nanosecond})
	ping := func(session []string) int {
		return prototest.Do(t, http.MethodPost, url, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, session...).Status
	}
	first := open(t, url, "2025-11-25")
	second := open(t, url, "2025-11-25")
	if status := ping(first); status != http.StatusOK { // so the second is idle longer
		t.Fatalf("status %d", status)
	}
	third := open(t, url, "2025-11-25")
	for _, tt := range []struct {
		name    string
		session []string
		want    int
	}{{"first", first, http.StatusOK}, {"second", second, http.StatusNotFound}, {"third", third, http.StatusOK}} {
		if status := ping(tt.session); status != tt.want {
			t.Errorf("%s session: status %d, want %d", tt.name, status, tt.want)
		}
	}

	// Now one session is in use by its GET stream, and one by a call.
	prototest.Open(t, http.MethodGet, url, "", first...)
	prototest.Open(t, http.MethodPost, url, prototest.Call("1", "block"), third...)
	r := prototest.Do(t, http.MethodPost, url, prototest.Initialize("2025-11-25"))
	checkResponse(t, r, http.StatusServiceUnavailable, "too many sessions are open")
	if r.Header.Get("Retry-After") == "" || r.Header.Get("Mcp-Session-Id") != "" {
		t.Errorf("header %v, want Retry-After and no session", r.Header)
	}
}

func TestIdleSessionsExpire(t *testing.T) {
	t.Parallel()
	url, _ := start(t, streamable.Config{Handler: prototest.NewHandler(), SessionIdle: time.Nanosecond})
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	session := open(t, url, "2025-11-25")
	checkResponse(t, prototest.Do(t, http.MethodPost, url, ping, session...), http.StatusNotFound, "there is no such session")
	checkResponse(t, prototest.Do(t, http.MethodDelete, url, "", session...), http.StatusNotFound, "there is no such session")
	open(t, url, "2025-11-25") // sweeps
}

func TestSessionsInUseDoNotExpire(t *testing.T) {
	t.Parallel()
	url, _ := start(t, streamable.Config{Handler: prototest.NewHandler(), SessionIdle: time.Hour, MaxSessions: 1})
	session := open(t, url, "2025-11-25")
	prototest.Open(t, http.MethodGet, url, "", session...)
	checkResponse(t, prototest.Do(t, http.MethodPost, url, prototest.Initialize("2025-11-25")), http.StatusServiceUnavailable, "too many")
	checkResponse(t, prototest.Do(t, http.MethodPost, url, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, session...), http.StatusOK, `"result"`)
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	url, h := start(t, streamable.Config{Handler: handler, StreamAfter: time.Nanosecond})
	session := open(t, url, "2025-11-25")
	get := prototest.Open(t, http.MethodGet, url, "", session...)
	call := prototest.Open(t, http.MethodPost, url, prototest.Call("1", "block"), session...)
	dropped := prototest.Open(t, http.MethodPost, url, prototest.Call("2", "block"), session...)
	for range 2 {
		prototest.Await(t, handler.Started(), "start")
	}
	dropped.Close()
	h.Close()
	if block := get.Block(); block != "" {
		t.Errorf("the GET stream has %q, want its end", block)
	}
	if m := call.Message(); !strings.Contains(m, `"id":1,"error"`) {
		t.Errorf("the call has %s, want an error", m)
	}
	for range 2 {
		_ = prototest.Await(t, handler.Causes(), "end of a call")
	}
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		if r := prototest.Do(t, method, url, prototest.Initialize("2025-11-25"), session...); r.Status != http.StatusServiceUnavailable {
			t.Errorf("%s: status %d, want 503", method, r.Status)
		}
	}
	h.Close() // twice is as good as once
}

// TestConcurrency is for the race detector.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	url, h := start(t, streamable.Config{Handler: handler, StreamAfter: 100 * time.Microsecond, KeepAlive: 100 * time.Microsecond, MaxSessions: 4})
	var wg sync.WaitGroup
	for worker := range 6 {
		session := open(t, url, []string{"2025-03-26", "2025-06-18", "2025-11-25"}[worker%3])
		wg.Go(func() {
			for i := range 20 {
				body, header := prototest.Call(fmt.Sprint(i), []string{"echo", "progress", "block", "panic"}[i%4], `"arguments":{"count":3}`, `"_meta":{"progressToken":1}`), session
				switch {
				case i%5 == 4:
					body, header = prototest.ModernCall(fmt.Sprint(i), "progress", `"arguments":{"count":3}`)
				case i%7 == 6:
					body = "[" + body + "]"
				}
				var inner sync.WaitGroup
				inner.Go(func() {
					s, err := prototest.TryOpen(t, http.MethodPost, url, body, header...)
					if err != nil {
						return // the server may be closed
					}
					defer s.Close()
					if i%3 == 0 {
						return // in the middle of it
					}
					for s.Status == http.StatusOK && s.Header.Get("Content-Type") == "text/event-stream" && s.Block() != "" {
						continue
					}
				})
				cancel := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i)
				inner.Go(func() {
					for range 20 {
						if s, err := prototest.TryOpen(t, http.MethodPost, url, cancel, session...); err == nil {
							s.Close()
						}
					}
					// What no cancellation has met ends with its session.
					if i%4 == 2 {
						if s, err := prototest.TryOpen(t, http.MethodDelete, url, "", session...); err == nil {
							s.Close()
						}
					}
				})
				inner.Wait()
				if i%4 == 2 {
					if s, err := prototest.TryOpen(t, http.MethodPost, url, prototest.Initialize("2025-11-25")); err == nil {
						session = []string{"Mcp-Session-Id", s.Header.Get("Mcp-Session-Id")}
						s.Close()
					}
				}
			}
		})
	}
	wg.Go(func() {
		for range 20 {
			handler.Trigger("notifications/tools/list_changed")
		}
	})
	wg.Wait()
	h.Close()
}

// TestIdleSessionsEnd: sessions that nobody uses go without any request.
func TestIdleSessionsEnd(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	url, _ := start(t, streamable.Config{
		SessionIdle: 20 * time.Millisecond,
		Handler: protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
			if r.Method != protocol.MethodListen {
				return &protocol.Result{Body: json.RawMessage(`{"capabilities":{"tools":{"listChanged":true}}}`)}, nil
			}
			// What all sessions share lasts as long as one of them.
			if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationAcknowledged}); err != nil {
				return nil, err
			}
			<-ctx.Done()
			close(ended)
			return nil, context.Cause(ctx)
		}),
	})
	open(t, url, "2025-11-25")
	<-ended
}
