package streamable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// mirroring is a server with a tool whose parameter goes into a header.
type mirroring struct {
	private bool                   // whether the list depends on the caller
	name    atomic.Pointer[string] // of the header
	lists   atomic.Int32
	calls   atomic.Int32

	mu   sync.Mutex
	asks []string // who has listed: the method of the principal, credentials and message id
}

func (m *mirroring) Handle(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
	token := r.Caller.Header.Get("Authorization")
	switch r.Method {
	case protocol.MethodListTools:
		m.lists.Add(1)
		m.mu.Lock()
		m.asks = append(m.asks, fmt.Sprintf("%s %q %s", r.Caller.Principal.Method, token, r.ID))
		m.mu.Unlock()
		cache := &protocol.Cache{TTLMillis: 1000, Private: m.private}
		if token == "Bearer nobody" || m.private && r.Caller.Principal.Internal() {
			return nil, protocol.Errorf(protocol.CodeInvalidRequest, "not for you")
		}
		if !strings.Contains(string(r.Params), "cursor") {
			return &protocol.Result{Body: json.RawMessage(`{"tools":[{"name":"plain"}],"nextCursor":"2"}`), Cache: cache}, nil
		}
		if token == "Bearer other" {
			return &protocol.Result{Body: json.RawMessage(`{"tools":[{"name":"query","inputSchema":{"type":"object"}}]}`), Cache: cache}, nil
		}
		return &protocol.Result{Cache: cache, Body: json.RawMessage(
			`{"tools":[{"name":"query","inputSchema":{"properties":{"region":{"type":"string","x-mcp-header":"` + *m.name.Load() + `"}}}},` +
				`{"name":"bad","inputSchema":{"x-mcp-header":"A"}}]}`)}, nil
	case protocol.MethodCallTool:
		m.calls.Add(1)
		return &protocol.Result{Body: json.RawMessage(`{"content":[]}`)}, nil
	}
	return nil, protocol.MethodNotFound(r.Method)
}

// startMirroring returns the server's URL, and a function that calls its tools.
func startMirroring(t *testing.T, server *mirroring) (url string, call func(tool, args string, header ...string) prototest.Response) {
	t.Helper()
	region := "Region"
	server.name.Store(&region)
	url, _ = start(t, streamable.Config{Handler: server})
	return url, func(tool, args string, header ...string) prototest.Response {
		body, own := prototest.ModernCall("7", tool, `"arguments":`+args)
		return prototest.Do(t, http.MethodPost, url, body, append(own, header...)...)
	}
}

const mismatch = `"code":-32020`

// TestParamHeaders: a call whose Mcp-Param headers do not go with its
// arguments does not reach the Handler, whether the client has listed the tools
// or not. A public list is read once, with nobody's credentials.
func TestParamHeaders(t *testing.T) {
	t.Parallel()
	server := new(mirroring)
	url, call := startMirroring(t, server)
	ann := []string{"Authorization", "Bearer ann"}
	checkResponse(t, call("query", `{"region":"us"}`, ann...), http.StatusBadRequest, `the Mcp-Param-Region header is missing; the body has \"us\"`)
	checkResponse(t, call("query", `{"region":"us"}`, "Mcp-Param-Region", "us"), http.StatusOK, `"content"`)
	checkResponse(t, call("query", `{}`), http.StatusOK, `"content"`)
	checkResponse(t, call("plain", `{"region":"us"}`, "Mcp-Param-Region", "eu"), http.StatusOK, `"content"`)
	checkResponse(t, call("bad", `{}`), http.StatusOK, `"content"`)
	checkResponse(t, call("unknown", `{}`), http.StatusOK, `"content"`)
	checkResponse(t, call("query", `{"region":"us"}`, "Mcp-Param-Region", "eu"), http.StatusBadRequest, mismatch)
	checkResponse(t, call("query", `{"region":"us"}`, "Authorization", "Bearer nobody"), http.StatusBadRequest, mismatch)
	for _, by := range server.asks {
		if by != `internal "" ` {
			t.Errorf("the list was read by %s, want nobody's credentials", by)
		}
	}

	// The tool changes, and its client has heard of it.
	zone := "Zone"
	server.name.Store(&zone)
	list, own := prototest.ModernRequest("2", protocol.MethodListTools, `"cursor":"2"`)
	checkResponse(t, prototest.Do(t, http.MethodPost, url, list, own...), http.StatusOK, `"Zone"`)
	n := server.lists.Load()
	checkResponse(t, call("query", `{"region":"us"}`, "Mcp-Param-Zone", "us"), http.StatusOK, `"content"`)
	if server.lists.Load() != n {
		t.Error("the tools were listed again")
	}
	checkResponse(t, call("query", `{"region":"us"}`, "Mcp-Param-Region", "us"), http.StatusBadRequest, mismatch)
}

// What depends on the caller is read for each caller by itself, with its own
// credentials and as part of its own message.
func TestPrivateParamHeaders(t *testing.T) {
	t.Parallel()
	server := &mirroring{private: true}
	_, call := startMirroring(t, server)
	checkResponse(t, call("query", `{"region":"us"}`, "Authorization", "Bearer ann"), http.StatusBadRequest, mismatch)
	// What one caller sees of a tool says nothing about what another one sees.
	for range 2 {
		checkResponse(t, call("query", `{"region":"us"}`, "Authorization", "Bearer other"), http.StatusOK, `"content"`)
		// Who cannot list is told by the call.
		checkResponse(t, call("query", `{"region":"us"}`, "Authorization", "Bearer nobody"), http.StatusOK, `"content"`)
	}
	checkResponse(t, call("query", `{"region":"us"}`, "Authorization", "Bearer ann", "Mcp-Param-Region", "us"), http.StatusOK, `"content"`)
	want := []string{
		`internal "" `, `anonymous "Bearer ann" 7`, `anonymous "Bearer ann" 7`,
		`anonymous "Bearer other" 7`, `anonymous "Bearer other" 7`, `anonymous "Bearer nobody" 7`,
	}
	if got := strings.Join(server.asks, ", "); got != strings.Join(want, ", ") {
		t.Errorf("the list was read by %s\nwant %s", got, strings.Join(want, ", "))
	}
}

// Arguments that two readers read in two ways do not pass the check.
func TestParamHeadersDuplicate(t *testing.T) {
	t.Parallel()
	server := new(mirroring)
	_, call := startMirroring(t, server)
	for _, args := range []string{
		`{"region":"us","region":"eu"}`, `{"region":"eu","region":"us"}`, `{"region":"us","r\u0065gion":"eu"}`,
		`{"region":"us","a":[{"b":{"c":1,"c":2}}]}`,
	} {
		r := call("query", args, "Mcp-Param-Region", "us")
		if r.Status != http.StatusBadRequest || !strings.Contains(r.Body, "occurs twice") && !strings.Contains(r.Body, mismatch) {
			t.Errorf("%s: status %d, body %s", args, r.Status, r.Body)
		}
	}
	if n := server.calls.Load(); n != 0 {
		t.Errorf("%d calls have reached the server", n)
	}
}

// While a list cannot be read, calls do not queue behind it.
func TestParamHeadersOfListThatHangs(t *testing.T) {
	t.Parallel()
	var lists atomic.Int32
	url, _ := start(t, streamable.Config{Handler: protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		if r.Method == protocol.MethodListTools {
			lists.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return &protocol.Result{}, nil
	})})
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			body, header := prototest.ModernCall("1", "t")
			checkResponse(t, prototest.Do(t, http.MethodPost, url, body, header...), http.StatusOK, `"result"`)
		})
	}
	wg.Wait()
	if n := lists.Load(); n != 2 { // without credentials, and for the caller
		t.Errorf("%d lists", n)
	}
}

// TestParamHeadersWithoutTools: a Handler that lists no tools is not asked
// again.
func TestParamHeadersWithoutTools(t *testing.T) {
	t.Parallel()
	var lists atomic.Int32
	url, _ := start(t, streamable.Config{Handler: protocol.HandlerFunc(func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		if r.Method == protocol.MethodListTools {
			lists.Add(1)
			return nil, protocol.MethodNotFound(r.Method)
		}
		return &protocol.Result{}, nil
	})})
	for range 3 {
		body, header := prototest.ModernCall("1", "t")
		checkResponse(t, prototest.Do(t, http.MethodPost, url, body, header...), http.StatusOK, `"result"`)
	}
	if n := lists.Load(); n != 1 {
		t.Errorf("%d lists", n)
	}
}
