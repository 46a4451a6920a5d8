package eraclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/ways"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// authenticated serves a Handler over a socket. The token "NAME-N" is that of
// the principal NAME, so a refreshed token has another N.
func authenticated(t *testing.T, h protocol.Handler) (url string) {
	t.Helper()
	front, err := streamable.New(streamable.Config{Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, _, ok := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "-"); ok {
			p := protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthJWT, Issuer: "test", Subject: name})
			r = r.WithContext(protocol.WithPrincipal(r.Context(), p))
		}
		front.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		front.Close()
		server.Close()
	})
	return server.URL
}

// post sends a modern request and returns the JSON-RPC response.
func post(t *testing.T, url, token, method, params string) (result, fault map[string]any) {
	t.Helper()
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` +
		`{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}},"io.modelcontextprotocol/clientInfo":{"name":"same","version":"1"}}`
	header := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Authorization", "Bearer " + token}
	var named struct{ Name, TaskID string }
	if err := json.Unmarshal([]byte(params), &named); err != nil {
		t.Fatal(err)
	}
	if name := named.Name + named.TaskID; name != "" {
		header = append(header, "Mcp-Name", name)
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + strings.TrimSuffix(params, "}") + `,` + meta + `}}`
	text := prototest.Do(t, http.MethodPost, url, body, header...).Body
	if _, data, ok := strings.Cut(text, "data: "); ok {
		text, _, _ = strings.Cut(data, "\n")
	}
	var m struct{ Result, Error map[string]any }
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m.Result, m.Error
}

// TestParkedCallsBelongToPrincipals: over real connections, a refreshed token
// takes up a call that waits for input, and another principal does not.
func TestParkedCallsBelongToPrincipals(t *testing.T) {
	t.Parallel()
	for _, way := range []ways.Way{{Transport: ways.Stdio, Revision: "2025-11-25"}, {Transport: ways.HTTP, Revision: "2025-06-18"}} {
		url := authenticated(t, ways.Connect(t, way, sdk(asker(t))))
		res, fault := post(t, url, "ann-1", "tools/call", `{"name":"elicit"}`)
		if res["resultType"] != "input_required" {
			t.Fatalf("%v: %v, %v", way, res, fault)
		}
		key := ""
		for k := range res["inputRequests"].(map[string]any) {
			key = k
		}
		retry := fmt.Sprintf(`{"name":"elicit","requestState":%q,"inputResponses":{%q:{"action":"decline"}}}`, res["requestState"], key)
		if res, fault := post(t, url, "bob-1", "tools/call", retry); fault == nil || fault["code"] != float64(protocol.CodeInvalidParams) {
			t.Errorf("%v: another principal: %v, %v", way, res, fault)
		}
		if res, fault := post(t, url, "ann-2", "tools/call", retry); fault != nil || res["resultType"] != "complete" {
			t.Errorf("%v: a refreshed token: %v, %v", way, res, fault)
		}
	}
}

// TestTasksBelongToPrincipals is the same for tasks.
func TestTasksBelongToPrincipals(t *testing.T) {
	t.Parallel()
	_, c := newTaskServer(t)
	t.Cleanup(c.Close)
	url := authenticated(t, c)
	res, fault := post(t, url, "ann-1", "tools/call", `{"name":"never"}`)
	id, ok := res["taskId"].(string)
	if !ok {
		t.Fatalf("%v, %v", res, fault)
	}
	for _, method := range []string{"tasks/get", "tasks/cancel"} {
		params := `{"taskId":"` + id + `"}`
		if res, fault := post(t, url, "bob-1", method, params); fault == nil || fault["code"] != float64(protocol.CodeInvalidParams) {
			t.Errorf("%s by another principal: %v, %v", method, res, fault)
		}
		if res, fault := post(t, url, "ann-2", method, params); fault != nil {
			t.Errorf("%s with a refreshed token: %v, %v", method, res, fault)
		}
	}
}

// sessionServer is a server of 2025-11-25 over HTTP. Its tool returns the
// session that it is called in.
func sessionServer(t *testing.T) (url string, ended <-chan string) {
	t.Helper()
	var (
		mu   sync.Mutex
		last int
		gone = make(chan string, 100)
	)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session := r.Header.Get("Mcp-Session-Id")
		switch r.Method {
		case http.MethodDelete:
			gone <- session
			return
		case http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err != nil || json.Unmarshal(body, &m) != nil {
			t.Errorf("%s: %v", body, err)
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case m.Method == "initialize":
			mu.Lock()
			last++
			w.Header().Set("Mcp-Session-Id", fmt.Sprint("session-", last))
			mu.Unlock()
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`, m.ID)
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "tools/call":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, m.ID, session)
		default:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, m.ID)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, gone
}

// TestSessionsBelongToPrincipals: two principals never share a session with a
// server, a refreshed token keeps it, and each session of a legacy client in
// front has one of its own, which ends with it.
func TestSessionsBelongToPrincipals(t *testing.T) {
	t.Parallel()
	upstream, ended := sessionServer(t)
	hc := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(hc.CloseIdleConnections)
	c, err := streamable.NewClient(streamable.ClientConfig{URL: upstream, HTTPClient: hc, DisableSSE: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	url := authenticated(t, c)
	session := func(result map[string]any) string {
		text, _ := json.Marshal(result["content"])
		_, name, _ := strings.Cut(string(text), "session-")
		name, _, _ = strings.Cut(name, `"`)
		return name
	}
	modern := func(token string) string {
		res, _ := post(t, url, token, "tools/call", `{"name":"where"}`)
		return session(res)
	}
	// A legacy client.
	open := func(token string) []string {
		r := prototest.Do(t, http.MethodPost, url, prototest.Initialize("2025-11-25"), "Authorization", "Bearer "+token)
		return []string{"Mcp-Session-Id", r.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version", "2025-11-25"}
	}
	legacy := func(token string, opened []string) string {
		text := prototest.Do(t, http.MethodPost, url, prototest.Call("1", "where"), append(opened, "Authorization", "Bearer "+token)...).Body
		_, name, _ := strings.Cut(text, "session-")
		name, _, _ = strings.Cut(name, `"`)
		return name
	}
	first, second := open("ann-1"), open("ann-1")
	where := map[string]string{
		"ann": modern("ann-1"), "bob": modern("bob-1"),
		"ann's first session": legacy("ann-1", first), "ann's second session": legacy("ann-1", second),
	}
	seen := make(map[string]string)
	for who, name := range where {
		if name == "" || seen[name] != "" {
			t.Errorf("%s and %s share session %q", who, seen[name], name)
		}
		seen[name] = who
	}
	if got := modern("ann-2"); got != where["ann"] {
		t.Errorf("a refreshed token is in session %s, want %s", got, where["ann"])
	}
	if got := legacy("ann-2", first); got != where["ann's first session"] {
		t.Errorf("a refreshed token of a legacy client is in session %s, want %s", got, where["ann's first session"])
	}
	prototest.Do(t, http.MethodDelete, url, "", append(first, "Authorization", "Bearer ann-2")...)
	if got, want := prototest.Await(t, ended, "the end of the session"), "session-"+where["ann's first session"]; got != want {
		t.Errorf("%s has ended, want %s", got, want)
	}
}

// TestProbePanics: a panic in what a program plugs in is the error of that call,
// and the next one is asked anew.
func TestProbePanics(t *testing.T) {
	t.Parallel()
	upstream, _ := sessionServer(t)
	hc := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(hc.CloseIdleConnections)
	var (
		mu    sync.Mutex
		calls int
	)
	c, err := streamable.NewClient(streamable.ClientConfig{
		URL: upstream, HTTPClient: hc, DisableSSE: true,
		Token: func(context.Context) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			if calls++; calls == 1 || calls == 3 { // in the probe, and in the handshake
				panic("in the program")
			}
			return "", nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for i, want := range []string{"error: internal error (code -32603)", "error: internal error (code -32603)", "complete"} {
		if got, _ := ask(t, c, request("tools/call", `{"name":"where"}`)); !strings.HasPrefix(got, want) {
			t.Errorf("call %d: %s, want %s", i, got, want)
		}
	}
}
