package streamable_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// mirroring is a server with a tool whose parameter goes into a header.
type mirroring struct {
	name  atomic.Pointer[string] // of the header
	lists atomic.Int32
}

func (m *mirroring) Handle(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
	switch r.Method {
	case protocol.MethodListTools:
		m.lists.Add(1)
		if strings.Contains(r.Caller.Header.Get("X-Caller"), "nobody") {
			return nil, protocol.Errorf(protocol.CodeInvalidRequest, "not for you")
		}
		if !strings.Contains(string(r.Params), "cursor") {
			return &protocol.Result{Body: json.RawMessage(`{"tools":[{"name":"plain"}],"nextCursor":"2"}`)}, nil
		}
		if r.Caller.Header.Get("X-Caller") == "other" {
			return &protocol.Result{Body: json.RawMessage(`{"tools":[{"name":"query","inputSchema":{"type":"object"}}]}`)}, nil
		}
		return &protocol.Result{Body: json.RawMessage(
			`{"tools":[{"name":"query","inputSchema":{"properties":{"region":{"type":"string","x-mcp-header":"` + *m.name.Load() + `"}}}},` +
				`{"name":"bad","inputSchema":{"x-mcp-header":"A"}}]}`)}, nil
	case protocol.MethodCallTool:
		return &protocol.Result{Body: json.RawMessage(`{"content":[]}`)}, nil
	}
	return nil, protocol.MethodNotFound(r.Method)
}

// TestParamHeaders: a call whose Mcp-Param headers do not go with its
// arguments does not reach the Handler, whether the client has listed the tools
// or not.
func TestParamHeaders(t *testing.T) {
	t.Parallel()
	server := new(mirroring)
	region, zone := "Region", "Zone"
	server.name.Store(&region)
	url, _ := start(t, streamable.Config{Handler: server})
	call := func(tool, args string, header ...string) prototest.Response {
		body, own := prototest.ModernCall("1", tool, `"arguments":`+args)
		return prototest.Do(t, http.MethodPost, url, body, append(own, header...)...)
	}
	const mismatch = `"code":-32020`
	checkResponse(t, call("query", `{"region":"us"}`), http.StatusBadRequest, `the Mcp-Param-Region header is missing; the body has \"us\"`)
	if n := server.lists.Load(); n != 4 { // two pages, once more to be sure
		t.Errorf("%d lists", n)
	}
	checkResponse(t, call("query", `{"region":"us"}`, "Mcp-Param-Region", "us"), http.StatusOK, `"content"`)
	checkResponse(t, call("query", `{}`), http.StatusOK, `"content"`)
	checkResponse(t, call("plain", `{"region":"us"}`, "Mcp-Param-Region", "eu"), http.StatusOK, `"content"`)
	checkResponse(t, call("bad", `{}`), http.StatusOK, `"content"`)
	checkResponse(t, call("unknown", `{}`), http.StatusOK, `"content"`)
	if n := server.lists.Load(); n != 4 {
		t.Errorf("%d lists after calls that are right", n)
	}
	checkResponse(t, call("query", `{"region":"us"}`, "Mcp-Param-Region", "eu"), http.StatusBadRequest, mismatch)
	// What one caller sees of a tool says nothing about what another one sees.
	checkResponse(t, call("query", `{"region":"us"}`, "X-Caller", "other"), http.StatusOK, `"content"`)
	// Who cannot list is told by the call.
	checkResponse(t, call("query", `{"region":"us"}`, "X-Caller", "nobody"), http.StatusOK, `"content"`)

	// The tool changes, and its client has heard of it.
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
