package httpsse_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/httpsse"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
)

// userHeader names who sends a request of these tests. It is what a verified
// credential would be.
const userHeader = "X-User"

// startWithUsers serves behind authentication, which trusts userHeader.
func startWithUsers(t *testing.T, cfg httpsse.Config) string {
	t.Helper()
	h, err := httpsse.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user := r.Header.Get(userHeader); user != "" {
			p := protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthAPIKey, Subject: user})
			r = r.WithContext(protocol.WithPrincipal(r.Context(), p))
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		h.Close()
		server.Close()
	})
	return server.URL + "/sse"
}

// connectAs opens a stream of a user.
func connectAs(t *testing.T, url string, header ...string) (stream *prototest.Stream, post string) {
	t.Helper()
	stream = prototest.Open(t, http.MethodGet, url, "", header...)
	endpoint, ok := strings.CutPrefix(stream.Block(), "event: endpoint\ndata: /sse?")
	if stream.Status != http.StatusOK || !ok {
		t.Fatalf("status %d, and no endpoint", stream.Status)
	}
	return stream, url + "?" + strings.TrimSpace(endpoint)
}

// Whoever posts to the stream of somebody else gets what an unknown one gets.
func TestStreamsAnswerTheirOwnPrincipal(t *testing.T) {
	t.Parallel()
	url := startWithUsers(t, httpsse.Config{Handler: prototest.NewHandler()})
	unknown := prototest.Do(t, http.MethodPost, url+"?sessionId=of-nobody", prototest.Call("1", "echo"))
	ann := []string{userHeader, "ann", "Authorization", "Bearer old"}
	for name, tt := range map[string]struct {
		author, friend []string
		others         [][]string
	}{
		"authenticated": {ann, []string{userHeader, "ann", "Authorization", "Bearer new"}, [][]string{{userHeader, "bob"}, {"Authorization", "Bearer old"}, nil}},
		"anonymous":     {nil, []string{"Authorization", "Bearer any"}, [][]string{ann}},
	} {
		stream, post := connectAs(t, url, tt.author...)
		initialize(t, stream, post, tt.author...)
		for _, other := range tt.others {
			for _, message := range []string{prototest.Call("1", "echo"), `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`} {
				if r := prototest.Do(t, http.MethodPost, post, message, other...); r.Status != http.StatusNotFound || r.Body != unknown.Body {
					t.Errorf("%s: %q gets status %d, body %q; want what an unknown stream gets: %q", name, other, r.Status, r.Body, unknown.Body)
				}
			}
		}
		send(t, post, prototest.Call("2", "echo"), tt.friend...)
		checkMessage(t, stream, `"id":2,"result"`)
	}
}

// A caller with too many streams opens no more, and others do.
func TestConnectionsPerCaller(t *testing.T) {
	t.Parallel()
	url := startWithUsers(t, httpsse.Config{Handler: prototest.NewHandler(), MaxConnectionsPerCaller: 2})
	first, post := connectAs(t, url, userHeader, "ann")
	connectAs(t, url, userHeader, "ann")
	r := prototest.Do(t, http.MethodGet, url, "", userHeader, "ann")
	if r.Status != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" || !strings.Contains(r.Body, "too many connections are open") {
		t.Errorf("status %d, header %v, body %s; want 503 with Retry-After", r.Status, r.Header, r.Body)
	}
	connectAs(t, url, userHeader, "bob")
	connectAs(t, url)
	first.Close()
	for prototest.Do(t, http.MethodPost, post, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, userHeader, "ann").Status != http.StatusNotFound {
		continue // until the server has noticed
	}
	connectAs(t, url, userHeader, "ann")
}

// A body that never arrives is refused.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	url := startWithUsers(t, httpsse.Config{Handler: prototest.NewHandler(), BodyTimeout: 100 * time.Millisecond})
	_, post := connectAs(t, url)
	address, path, _ := strings.Cut(strings.TrimPrefix(post, "http://"), "/")
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", path, address)
	if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") {
		t.Errorf("answer %q, error %v", answer, err)
	}
}
