package matrix

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// rpcPaths are the RPCs by which the tool "echo" of a server is called over
// Connect with JSON, and what their requests look like around the arguments.
func rpcPaths(service *bridge.TypedService) map[string]struct{ path, before, after string } {
	return map[string]struct{ path, before, after string }{
		"McpService":       {"/" + bridge.GRPCService + "/CallTool", `{"name":"echo","arguments":`, `}`},
		"Google's service": {"/" + bridge.GoogleService + "/CallTool", `{"request":{"name":"echo","arguments":`, `}}`},
		"typed service":    {"/" + service.Name() + "/Echo", ``, ``},
	}
}

// rpcServer serves a Handler by every service of RPCs, behind an HTTP handler of
// the test's.
func rpcServer(t *testing.T, h protocol.Handler, wrap func(http.Handler) http.Handler) (*httptest.Server, *bridge.TypedService) {
	t.Helper()
	service, err := bridge.NewTypedService(t.Context(), bridge.TypedConfig{Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	front, err := bridge.NewGRPCHandler(bridge.GRPCConfig{Handler: h, Typed: []*bridge.TypedService{service}})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	front.Mount(mux)
	server := httptest.NewServer(wrap(mux))
	t.Cleanup(func() {
		service.Close()
		front.Close()
		server.Close()
	})
	return server, service
}

func same(h http.Handler) http.Handler { return h }

// toolServer is a server with the tool "echo", which is called by call.
func toolServer(call func(ctx context.Context, r *protocol.Request) (*protocol.Result, error)) protocol.Handler {
	return protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		switch r.Method {
		case protocol.MethodListTools:
			return result(`{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}]}`), nil
		case protocol.MethodCallTool:
			return call(ctx, r)
		default:
			return nil, protocol.MethodNotFound(r.Method)
		}
	})
}

// postJSON calls an RPC over Connect, and returns its status and response.
func postJSON(t *testing.T, url, body string, header map[string]string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for key, value := range header {
		r.Header.Set(key, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// TestMembersThatOccurTwice: who checks a request and who runs it must not read
// different values of it.
func TestMembersThatOccurTwice(t *testing.T) {
	t.Parallel()
	server, service := rpcServer(t, toolServer(func(_ context.Context, r *protocol.Request) (*protocol.Result, error) {
		return text(string(r.Params)), nil
	}), same)
	for name, rpc := range rpcPaths(service) {
		for arguments, ok := range map[string]bool{`{"a":"x"}`: true, `{"a":"x","a":"y"}`: false, `{"a":"x","\u0061":"y"}`: false} {
			code, body := postJSON(t, server.URL+rpc.path, rpc.before+arguments+rpc.after, nil)
			if (code == http.StatusOK) != ok || !ok && !strings.Contains(body, `"invalid_argument"`) {
				t.Errorf("%s: %s: %d %s", name, arguments, code, body)
			}
		}
	}
	for _, body := range []string{`{"name":"echo","name":"echo"}`, `{"name":"echo","arguments":{},"arguments":{"a":"x"}}`} {
		if code, text := postJSON(t, server.URL+"/"+bridge.GRPCService+"/CallTool", body, nil); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, code, text)
		}
		if code, text := postJSON(t, server.URL+"/"+bridge.GoogleService+"/CallTool", `{"request":`+body+`}`, nil); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, code, text)
		}
	}
}

// TestDeadlinesOfRPCs: the Handler has the deadline of the client, whose call ends
// with it.
func TestDeadlinesOfRPCs(t *testing.T) {
	t.Parallel()
	server, service := rpcServer(t, toolServer(func(ctx context.Context, _ *protocol.Request) (*protocol.Result, error) {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("the call has no deadline")
			return text(""), nil
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}), same)
	for name, rpc := range rpcPaths(service) {
		code, body := postJSON(t, server.URL+rpc.path, rpc.before+`{}`+rpc.after, map[string]string{"Connect-Timeout-Ms": "20"})
		if code != http.StatusGatewayTimeout || !strings.Contains(body, `"deadline_exceeded"`) {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
}

// TestNobodyIsInternal: no front takes a client's request for one of the program's
// own, even if middleware says so.
func TestNobodyIsInternal(t *testing.T) {
	t.Parallel()
	seen := make(chan *protocol.Principal, 1)
	server, service := rpcServer(t, toolServer(func(_ context.Context, r *protocol.Request) (*protocol.Result, error) {
		seen <- r.Caller.Principal
		return text(""), nil
	}), func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p := protocol.InternalPrincipal()
			if r.Header.Get("X-Who") != "" {
				p = protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthAPIKey, Subject: r.Header.Get("X-Who")})
			}
			next.ServeHTTP(w, r.WithContext(protocol.WithPrincipal(r.Context(), p)))
		})
	})
	for name, rpc := range rpcPaths(service) {
		for _, who := range []string{"", "ann"} {
			if code, body := postJSON(t, server.URL+rpc.path, rpc.before+`{}`+rpc.after, map[string]string{"X-Who": who}); code != http.StatusOK {
				t.Fatalf("%s: %d %s", name, code, body)
			}
			if p := <-seen; p.Internal() || p.Authenticated() != (who != "") || p.Subject != who {
				t.Errorf("%s: %q comes as %+v", name, who, p)
			}
		}
	}
}

// TestLongNames: an error repeats a part of a long name.
func TestLongNames(t *testing.T) {
	t.Parallel()
	server, _ := rpcServer(t, toolServer(func(_ context.Context, r *protocol.Request) (*protocol.Result, error) {
		return text(""), nil
	}), same)
	long := strings.Repeat("x", 1<<20)
	name, err := json.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	for path, body := range map[string]string{
		bridge.GRPCService + "/CallTool":      `{"name":` + string(name) + `}`,
		bridge.GoogleService + "/CallTool":    `{"request":{"name":` + string(name) + `}}`,
		bridge.GRPCService + "/ReadResource":  `{` + string(name) + `:1}`,
		bridge.GoogleService + "/GetPrompt":   `{"name":{` + string(name) + `:1}}`,
		bridge.GRPCService + "/GetTask":       `{"taskId":` + string(name) + `}`,
		bridge.GRPCService + "/Complete":      `{"ref":{"prompt":{"name":` + string(name) + `}}}`,
		bridge.GoogleService + "/Complete":    `{"promptReference":{"name":` + string(name) + `}}`,
		bridge.GoogleService + "/ListPrompts": `{"common":{"metadata":{"io.modelcontextprotocol/logLevel":` + string(name) + `}}}`,
	} {
		code, text := postJSON(t, server.URL+"/"+path, body, map[string]string{"Mcp-Name": "other", "Mcp_tool": "other", "Mcp_prompt": "other", "Mcp_resource": "other"})
		if code == http.StatusOK || len(text) > 5000 {
			t.Errorf("%s: %d, %d bytes: %.300s", path, code, len(text), text)
		}
	}
}

// TestStreamsEnd: a subscription ends at the Handler once its client has left.
func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	for _, w := range allWays() {
		t.Run(w.String(), func(t *testing.T) {
			t.Parallel()
			ended := make(chan struct{}, 1)
			origin := newFixture(t)
			n := newNode(t, protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
				res, err := origin.Handle(ctx, r, n)
				if r.Method == protocol.MethodListen && strings.Contains(string(r.Params), resourceURI) {
					ended <- struct{}{}
				}
				return res, err
			}))
			c := n.connect(t, w)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			listening, stop := context.WithCancel(ctx)
			heard, done := make(heard, 16), make(chan error, 1)
			go func() {
				_, err := c.Handle(listening, request(protocol.MethodListen, `{"notifications":{"resourceSubscriptions":["`+resourceURI+`"]}}`), heard)
				done <- err
			}()
			if method, _, err := heard.next(ctx); err != nil || method != protocol.NotificationAcknowledged {
				t.Fatalf("%s, %v", method, err)
			}
			stop()
			<-done
			select {
			case <-ended:
			case <-ctx.Done():
				t.Error("the subscription goes on")
			}
		})
	}
}
