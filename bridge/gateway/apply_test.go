package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/gateway"
	"github.com/mcp-bridge/mcp-bridge/bridge/mux"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// slow is an MCP server whose calls last until they are released.
type slow struct{ called, release chan struct{} }

func (s *slow) Handle(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
	switch r.Method {
	case protocol.MethodDiscover:
		return &protocol.Result{Body: json.RawMessage(`{"capabilities":{"tools":{}}}`)}, nil
	case protocol.MethodListTools:
		return &protocol.Result{Body: json.RawMessage(`{"tools":[{"name":"wait","inputSchema":{"type":"object"}}]}`)}, nil
	case protocol.MethodCallTool:
		s.called <- struct{}{}
		<-s.release
		return &protocol.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":"waited"}]}`)}, nil
	}
	return nil, protocol.MethodNotFound(r.Method)
}

func (s *slow) Close() {}

// TestApplyListeners: a configuration with other addresses opens those before it closes
// the ones that are gone, where calls under way end as they would have. One that cannot
// be opened changes nothing.
func TestApplyListeners(t *testing.T) {
	t.Parallel()
	up := &slow{called: make(chan struct{}), release: make(chan struct{})}
	g := newGateway(t, local(), gateway.WithUpstream("slow", func(context.Context) (mux.Server, error) { return up, nil }))
	base := serve(t, g)
	old := strings.TrimPrefix(base, "http://")
	c := browser(t)
	const wait = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}`
	answered := make(chan string, 1)
	go func() {
		r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, base+"/mcp", strings.NewReader(wait))
		if err != nil {
			answered <- err.Error()
			return
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		res, err := c.Do(r)
		if err != nil {
			answered <- err.Error()
			return
		}
		var body bytes.Buffer
		_, err = body.ReadFrom(res.Body)
		answered <- fmt.Sprint(res.StatusCode, body.String(), errors.Join(err, res.Body.Close()))
	}()
	<-up.called

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cfg := local()
	cfg.Server.Listen = []string{"127.0.0.1:0", taken.Addr().String()}
	if _, ok := errors.AsType[*gateway.ListenError](g.Apply(t.Context(), cfg)); !ok || len(g.Addrs()) != 1 {
		t.Errorf("an address that is in use: listens on %v", g.Addrs())
	}
	if status, _ := post(t, browser(t), base+"/mcp", listTools); status != http.StatusOK {
		t.Errorf("the old address after a fault: %d", status)
	}

	socket := filepath.Join(t.TempDir(), "s")
	cfg.Server.Listen = []string{"unix:" + socket}
	if err := g.Apply(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if addrs := g.Addrs(); len(addrs) != 1 || addrs[0].String() != socket {
		t.Errorf("listens on %v", addrs)
	}
	local := browser(t)
	local.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	if status, body := post(t, local, "http://localhost/mcp", listTools); status != http.StatusOK || !strings.Contains(body, `"name":"wait"`) {
		t.Errorf("the new address: %d %s", status, body)
	}
	for refused := false; !refused; { // it is closed in the background
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", old)
		if refused = err != nil; !refused {
			_ = conn.Close()
		}
	}
	select {
	case got := <-answered:
		t.Errorf("the call under way has ended with its listener: %s", got)
	default:
	}
	close(up.release)
	if got := <-answered; !strings.HasPrefix(got, "200") || !strings.Contains(got, "waited") {
		t.Errorf("the call under way: %s", got)
	}
}

// TestMaxConnections: a connection beyond the bound is served once another one is closed,
// and another configuration has another bound.
func TestMaxConnections(t *testing.T) {
	t.Parallel()
	var room atomic.Bool
	early := make(chan struct{}, 100)
	cfg := local()
	cfg.Server.MaxConnections = 1
	g := newGateway(t, cfg, gateway.WithUpstream("library", library), gateway.WithMiddleware(func(next protocol.Handler) protocol.Handler {
		return protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
			if string(r.ID) == `"second"` && !room.Load() {
				early <- struct{}{}
			}
			return next.Handle(ctx, r, n)
		})
	}))
	base := serve(t, g)
	const second = `{"jsonrpc":"2.0","id":"second","method":"tools/list"}`
	for _, raise := range []bool{false, true} {
		room.Store(false)
		first, other := browser(t), browser(t)
		if status, _ := post(t, first, base+"/mcp", listTools); status != http.StatusOK { // and stays connected
			t.Fatalf("status %d", status)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if status, _ := post(t, other, base+"/mcp", second); status != http.StatusOK {
				t.Errorf("the second connection: %d", status)
			}
		}()
		for range 50 {
			post(t, first, base+"/mcp", listTools)
		}
		room.Store(true)
		if raise {
			cfg.Server.MaxConnections = 2
			if err := g.Apply(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
		} else {
			first.CloseIdleConnections()
		}
		<-done
		first.CloseIdleConnections()
		other.CloseIdleConnections()
	}
	if len(early) > 0 {
		t.Error("a second connection is served beside the first")
	}
}

// TestKeys: the id of an API's task is good after a restart, if the configuration has
// the key that has sealed it, be it the first one or not.
func TestKeys(t *testing.T) {
	t.Parallel()
	files := dynbackend.LongRunning()
	files["jobs.proto"] = `
syntax = "proto3";
package jobs.v1;
import "google/longrunning/operations.proto";
service Jobs {
  rpc Bake(Job) returns (google.longrunning.Operation) { option (google.longrunning.operation_info) = {response_type: "Job" metadata_type: "Job"}; }
}
message Job { string name = 1; }
`
	running := func(_ context.Context, _, response *dynamicpb.Message) error {
		response.Set(response.Descriptor().Fields().ByName("name"), protoreflect.ValueOfString("operations/1"))
		return nil
	}
	backend := dynbackend.Start(t, files, map[string]dynbackend.Method{"Bake": running, "GetOperation": running})
	dir := t.TempDir()
	for _, name := range []string{"old", "new"} {
		if err := os.WriteFile(filepath.Join(dir, name), bytes.Repeat([]byte(name+"!"), 10), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(keys []string, method, params string) string {
		t.Helper()
		cfg := local()
		cfg.Upstreams = map[string]*configv1.Upstream{"jobs": {Url: "grpc://" + backend.Addr}}
		for _, key := range keys {
			cfg.Keys = append(cfg.Keys, &configv1.Key{File: filepath.Join(dir, key)})
		}
		g, err := gateway.New(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		if down := g.Ready(t.Context()); len(down) > 0 {
			t.Fatal(down)
		}
		res, err := g.Handle(t.Context(), &protocol.Request{
			Method: method, Params: json.RawMessage(params), Caller: &protocol.Caller{},
			Meta: protocol.Meta{Revision: protocol.Revision20260728, Capabilities: json.RawMessage(`{"extensions":{"` + protocol.ExtensionTasks + `":{}}}`)},
		}, protocol.Discard)
		if err != nil {
			return err.Error()
		}
		return string(res.Body)
	}
	var task struct{ TaskID string }
	made := ask([]string{"old"}, protocol.MethodCallTool, `{"name":"Jobs_Bake","arguments":{}}`)
	if err := json.Unmarshal([]byte(made), &task); err != nil || task.TaskID == "" {
		t.Fatalf("%s: %v", made, err)
	}
	for keys, want := range map[string]string{"old": `"taskId"`, "new old": `"taskId"`, "new": "there is no task", "": "there is no task"} {
		if got := ask(strings.Fields(keys), protocol.MethodGetTask, `{"taskId":"`+task.TaskID+`"}`); !strings.Contains(got, want) {
			t.Errorf("with the keys %q: %s, want %s", keys, got, want)
		}
	}
}
