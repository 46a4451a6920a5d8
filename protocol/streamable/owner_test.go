package streamable_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// userHeader names who sends a request of these tests. It is what a verified
// credential would be.
const userHeader = "X-User"

// startWithUsers serves behind authentication, which trusts userHeader. The
// address of anonymous callers is what X-Address says.
func startWithUsers(t *testing.T, cfg streamable.Config) string {
	t.Helper()
	h, err := streamable.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if address := r.Header.Get("X-Address"); address != "" {
			r.RemoteAddr = address
		}
		if user := r.Header.Get(userHeader); user != "" {
			p := protocol.NewPrincipal(protocol.Principal{
				Method: protocol.AuthJWT, Issuer: "https://idp.example.com", Subject: user, Expiry: time.Now().Add(time.Hour),
			})
			r = r.WithContext(protocol.WithPrincipal(r.Context(), p))
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		h.Close()
		server.Close()
	})
	return server.URL + "/mcp"
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// Whoever has the id of somebody else's session gets what an unknown id gets,
// whatever they send, and does nothing to the session.
func TestSessionsAnswerTheirOwnPrincipal(t *testing.T) {
	t.Parallel()
	var (
		ann     = []string{userHeader, "ann", "Authorization", "Bearer old"}
		renewed = []string{userHeader, "ann", "Authorization", "Bearer new"}
		bob     = []string{userHeader, "bob", "Authorization", "Bearer old"}
		nobody  = []string{"Authorization", "Bearer old"}
	)
	for _, tt := range []struct {
		name            string
		author          []string
		friends, others [][]string
	}{
		{"authenticated", ann, [][]string{renewed}, [][]string{bob, nobody, nil}},
		{"anonymous", nobody, [][]string{nil, {"Authorization", "Bearer new"}}, [][]string{ann}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			handler := prototest.NewHandler()
			url := startWithUsers(t, streamable.Config{Handler: handler, StreamAfter: time.Nanosecond})
			init := strings.Replace(prototest.Initialize("2025-11-25"), `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1)
			opened := prototest.Do(t, http.MethodPost, url, init, tt.author...)
			id := opened.Header.Get("Mcp-Session-Id")
			session := func(who []string, header ...string) []string {
				return append(append([]string{"Mcp-Session-Id", id, "Mcp-Protocol-Version", "2025-11-25"}, header...), who...)
			}
			call := prototest.Open(t, http.MethodPost, url,
				prototest.Call("7", "input", `"arguments":{"rounds":[{"q":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}}]}`),
				session(tt.author)...)
			asked := call.Message()
			question := between(asked, `"id":`, `,`)
			if question == "" {
				t.Fatalf("the call asks %s", asked)
			}
			answer := `{"jsonrpc":"2.0","id":` + question + `,"result":{"action":"decline"}}`
			for _, other := range tt.others {
				for name, r := range map[string]prototest.Response{
					"request":       prototest.Do(t, http.MethodPost, url, ping, session(other)...),
					"answer":        prototest.Do(t, http.MethodPost, url, answer, session(other)...),
					"cancellation":  prototest.Do(t, http.MethodPost, url, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, session(other)...),
					"GET":           prototest.Do(t, http.MethodGet, url, "", session(other)...),
					"Last-Event-ID": prototest.Do(t, http.MethodGet, url, "", session(other, "Last-Event-Id", "1-0")...),
					"DELETE":        prototest.Do(t, http.MethodDelete, url, "", session(other)...),
				} {
					header := append([]string{"Mcp-Session-Id", "of-nobody", "Mcp-Protocol-Version", "2025-11-25"}, other...)
					method, body := http.MethodPost, ping
					switch name {
					case "GET", "DELETE":
						method, body = name, ""
					case "Last-Event-ID":
						method, body = http.MethodGet, ""
					case "answer", "cancellation":
						body = answer
					}
					unknown := prototest.Do(t, method, url, body, header...)
					if name == "cancellation" {
						unknown = prototest.Do(t, method, url, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, header...)
					}
					if r.Status != http.StatusNotFound || r.Body != unknown.Body || fmt.Sprint(keys(r.Header)) != fmt.Sprint(keys(unknown.Header)) {
						t.Errorf("%q, %s: status %d, body %s, header %v\nwant what an unknown id gets: %s, header %v", other, name, r.Status, r.Body, r.Header, unknown.Body, unknown.Header)
					}
				}
			}
			// Nothing of that has reached the session.
			for _, friend := range tt.friends {
				checkResponse(t, prototest.Do(t, http.MethodPost, url, ping, session(friend)...), http.StatusOK, `"result":{}`)
			}
			friend := tt.friends[0]
			call.Close()
			resumed := prototest.Open(t, http.MethodGet, url, "", session(friend, "Last-Event-Id", "1-0")...)
			if again := resumed.Message(); again != asked {
				t.Errorf("the resumed stream begins with %s, want %s", again, asked)
			}
			checkResponse(t, prototest.Do(t, http.MethodPost, url, answer, session(friend)...), http.StatusAccepted, "")
			if m := resumed.Message(); !strings.Contains(m, `"id":7`) || !strings.Contains(m, "decline") {
				t.Errorf("the call ends with %s", m)
			}
			checkResponse(t, prototest.Do(t, http.MethodDelete, url, "", session(friend)...), http.StatusNoContent, "")
			checkResponse(t, prototest.Do(t, http.MethodPost, url, ping, session(tt.author)...), http.StatusNotFound, "there is no such session")
		})
	}
}

func between(s, before, after string) string {
	_, s, _ = strings.Cut(s, before)
	s, _, _ = strings.Cut(s, after)
	return s
}

func keys(h http.Header) map[string]bool {
	all := make(map[string]bool)
	for k := range h {
		all[k] = true
	}
	return all
}

// More sessions of one client than there may be in total cost its own oldest
// ones, and nobody else's.
func TestFloodOfSessionsEvictsItsAuthor(t *testing.T) {
	t.Parallel()
	const limit, flood = 500, 600
	for name, flooder := range map[string][]string{
		"user":    {userHeader, "mallory"},
		"address": {"X-Address", "[2001:db8::1]:1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := startWithUsers(t, streamable.Config{Handler: prototest.NewHandler(), MaxSessions: limit, MaxSessionsPerCaller: limit / 8})
			victims := [][]string{
				open(t, url, "2025-11-25", userHeader, "ann"),
				open(t, url, "2025-11-25", "X-Address", "192.0.2.1:1"),
			}
			victims[0] = append(victims[0], userHeader, "ann")
			var first, last []string
			for i := range flood {
				s := open(t, url, "2025-11-25", flooder...)
				if first == nil {
					first = append(s, flooder...)
				}
				if i == flood-1 {
					last = append(s, flooder...)
				}
			}
			for _, session := range append(victims, last) {
				checkResponse(t, prototest.Do(t, http.MethodPost, url, ping, session...), http.StatusOK, `"result"`)
			}
			checkResponse(t, prototest.Do(t, http.MethodPost, url, ping, first...), http.StatusNotFound, "there is no such session")
		})
	}
}

// One principal that has all its sessions in use gets an error, and others do
// not.
func TestSessionsPerPrincipal(t *testing.T) {
	t.Parallel()
	url := startWithUsers(t, streamable.Config{Handler: prototest.NewHandler(), MaxSessionsPerCaller: 2})
	for range 2 {
		session := open(t, url, "2025-11-25", userHeader, "ann")
		prototest.Open(t, http.MethodGet, url, "", append(session, userHeader, "ann")...)
	}
	r := prototest.Do(t, http.MethodPost, url, prototest.Initialize("2025-11-25"), userHeader, "ann")
	checkResponse(t, r, http.StatusServiceUnavailable, "too many sessions are open")
	open(t, url, "2025-11-25", userHeader, "bob")
	open(t, url, "2025-11-25")
}

// Where there are too many sessions in total, who has the most of them pays.
func TestSessionsInTotal(t *testing.T) {
	t.Parallel()
	url := startWithUsers(t, streamable.Config{Handler: prototest.NewHandler(), MaxSessions: 4, MaxSessionsPerCaller: 3})
	bob := append(open(t, url, "2025-11-25", userHeader, "bob"), userHeader, "bob")
	var ann [][]string
	for range 3 {
		ann = append(ann, append(open(t, url, "2025-11-25", userHeader, "ann"), userHeader, "ann"))
	}
	carl := append(open(t, url, "2025-11-25", userHeader, "carl"), userHeader, "carl")
	for i, session := range [][]string{bob, ann[1], ann[2], carl, ann[0]} {
		want := http.StatusOK
		if i == 4 {
			want = http.StatusNotFound
		}
		if r := prototest.Do(t, http.MethodPost, url, ping, session...); r.Status != want {
			t.Errorf("session %d: status %d, want %d", i, r.Status, want)
		}
	}
}

// What the streams of one principal hold for it has a limit in all its sessions
// together. The oldest goes first, and others keep theirs.
func TestBufferedBytesPerPrincipal(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	const each = 100 << 10
	url := startWithUsers(t, streamable.Config{Handler: handler, StreamAfter: time.Nanosecond, MaxBufferedBytes: 5 * each / 2})
	// leave makes a call that answers with many bytes, and reads no more of it
	// than its first event.
	leave := func(user string) []string {
		session := append(open(t, url, "2025-11-25", userHeader, user), userHeader, user)
		s := prototest.Open(t, http.MethodPost, url, prototest.Call("1", "echo", `"arguments":{"a":"`+strings.Repeat("x", each)+`"}`), session...)
		for s.Message() == "" { // until the result is there
			continue
		}
		s.Close()
		return append(session, "Last-Event-Id", "1-0")
	}
	bob := leave("bob")
	var ann [][]string
	for range 4 {
		ann = append(ann, leave("ann"))
	}
	status := func(session []string) int {
		s := prototest.Open(t, http.MethodGet, url, "", session...)
		s.Close()
		return s.Status
	}
	if status(bob) != http.StatusOK || status(ann[3]) != http.StatusOK {
		t.Error("the newest stream, or that of somebody else, cannot be resumed")
	}
	if status(ann[0]) == http.StatusOK {
		t.Error("the oldest stream can still be resumed")
	}
}
