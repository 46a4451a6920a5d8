package typedserve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/export"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typedserve"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// others are tools in the place of [tools]: one is new, one is gone, and one has
// changed.
const others = `[
	{"name":"add","inputSchema":{"type":"object","properties":{"a":{"type":"integer"},"c":{"type":"string"},"flag":{"const":true}},"required":["flag"]},
		"outputSchema":{"type":"object","properties":{"sum":{"type":"integer"},"carry":{"type":"boolean"}}}},
	{"name":"subtract","inputSchema":{"type":"object"}}
]`

// logs keeps what is logged, and tells of it.
type logs struct {
	mu   sync.Mutex
	b    bytes.Buffer
	more chan struct{}
}

func newLogs() *logs { return &logs{more: make(chan struct{}, 1)} }

func (l *logs) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// wait waits for a service to follow a change, the n-th one.
func (l *logs) wait(t *testing.T, n int) {
	t.Helper()
	for strings.Count(l.String(), "has followed a change") < n {
		select {
		case <-l.more:
		case <-t.Context().Done():
			t.Fatalf("there was no change: %s", l)
		}
	}
}

// TestListChanged tests that a service without files is what the server offers,
// and that calls do not notice.
func TestListChanged(t *testing.T) {
	t.Parallel()
	f := newFake(tools)
	called, leave := make(chan struct{}), make(chan struct{})
	f.call = func(ctx context.Context, params json.RawMessage, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
		if strings.Contains(string(params), `"say"`) {
			close(called)
			<-leave
		}
		return echoing(ctx, params, r, n)
	}
	log := newLogs()
	s, addr := serve(t, typedserve.Config{Handler: f, Logger: log.logger()})
	c := connect(t, "grpc://"+addr, s.Service())
	service := c.find()
	add, say := method(t, service, "Add"), method(t, service, "Say")

	var wg sync.WaitGroup
	wg.Go(func() {
		got, _, err := c.call(t.Context(), say, `{}`, nil)
		if err != nil || len(got) != 1 {
			t.Errorf("the call that was under way: %s, %v", got, err)
		}
	})
	<-called
	f.setTools(others)
	log.wait(t, 1)
	service = c.find()
	method(t, service, "Subtract")
	close(leave)
	wg.Wait()

	// The field of a tool that is as it was has the number that it had.
	now := method(t, service, "Add")
	if a, b := add.Input().Fields().ByName("a"), now.Input().Fields().ByName("a"); a.Number() != b.Number() {
		t.Errorf("a was %d and is %d", a.Number(), b.Number())
	}
	got, _, err := c.call(t.Context(), now, `{"a":"1","c":"x"}`, nil)
	if err != nil || !strings.Contains(got[0], `\"arguments\":{\"a\":1,\"c\":\"x\",\"flag\":true}`) {
		t.Errorf("after the change: %s, %v", got, err)
	}
	_, _, err = c.call(t.Context(), say, `{}`, nil)
	if failed, ok := errors.AsType[*rpc.StatusError](err); !ok || failed.Code() != code.Code_UNIMPLEMENTED {
		t.Errorf("the tool that is gone: %v", err)
	}
}

// write writes an export of what a server offers.
func write(t *testing.T, f *fake, dir, pkg string) {
	t.Helper()
	server, err := export.List(t.Context(), f, nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := export.Make(t.Context(), server, export.Options{Dir: dir, Package: pkg})
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range e.Files {
		path = filepath.Join(dir, filepath.FromSlash(path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestByFiles tests that the service of an export is what its files say, however
// the server changes.
func TestByFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := newFake(tools)
	f.call = echoing
	write(t, f, dir, "acme.v1")
	log := newLogs()
	s, addr := serve(t, typedserve.Config{Handler: f, Dir: dir, Logger: log.logger()})
	if s.Service() != "acme.v1.FakeTools" {
		t.Errorf("the service is %s", s.Service())
	}
	c := connect(t, "grpc://"+addr, s.Service())
	before := c.find()
	call := func(name, request string) (string, error) {
		got, _, err := c.call(t.Context(), method(t, before, name), request, nil)
		return strings.Join(got, "\n"), err
	}
	if got, err := call("Add", `{"a":"1","mode":"MODE_FAST_MODE"}`); err != nil || !strings.Contains(got, `{\"a\":1,\"mode\":\"fast mode\",\"version\":2}`) {
		t.Errorf("got %s, %v", got, err)
	}

	f.setTools(others)
	log.wait(t, 1)
	for _, want := range []string{
		`the tool \"subtract\" is not in acme/v1/fake.proto and so has no RPC; export again to have one`,
		`the server has changed since acme/v1/fake.proto was written; export again to have that: field AddRequest.b (2) is gone; `,
		`field AddRequest.c (5) is new; `,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q has not been logged: %s", want, log)
		}
	}
	after := c.find()
	if after.Methods().ByName("Subtract") != nil || after.Methods().ByName("Say") == nil || fields(after) != fields(before) {
		t.Error("the service has changed")
	}
	// What must always be there is what the server says now.
	if got, err := call("Add", `{"a":"1"}`); err != nil || !strings.Contains(got, `{\"a\":1,\"flag\":true}`) {
		t.Errorf("got %s, %v", got, err)
	}
	_, err := call("Say", `{}`)
	if failed, ok := errors.AsType[*rpc.StatusError](err); !ok || failed.Code() != code.Code_UNIMPLEMENTED || !strings.Contains(failed.Status.GetMessage(), "does not offer what Say stands for") {
		t.Errorf("the tool that is gone: %v", err)
	}
	f.setTools(tools)
	log.wait(t, 2)
	if _, err := call("Say", `{}`); err != nil {
		t.Error(err)
	}
}

// fields are the names of a service's request fields.
func fields(service protoreflect.ServiceDescriptor) string {
	var b strings.Builder
	for i := range service.Methods().Len() {
		in := service.Methods().Get(i).Input()
		for j := range in.Fields().Len() {
			b.WriteString(string(in.Fields().Get(j).FullName()) + "\n")
		}
	}
	return b.String()
}

func TestExportsThatCannotBeServed(t *testing.T) {
	t.Parallel()
	one, two, other, unlocked := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	f := newFake(tools)
	write(t, f, one, "acme.v1")
	write(t, f, two, "acme.v1")
	write(t, f, two, "acme.v2")
	// Prompts and resource templates are the same everywhere.
	onlyTools := protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
		if r.Method != protocol.MethodListTools && r.Method != protocol.MethodListen {
			return nil, protocol.MethodNotFound(r.Method)
		}
		return f.Handle(ctx, r, n)
	})
	write(t, f, unlocked, "acme.v1")
	if err := os.Remove(filepath.Join(unlocked, "acme", "v1", "fake.mcp.lock.json")); err != nil {
		t.Fatal(err)
	}
	write(t, newFake(`[{"name":"unknown","inputSchema":{"type":"object"}}]`), other, "acme.v1")
	lost := filepath.Join(one, "acme", "v1", "fake.proto")
	for _, tt := range []struct {
		name string
		cfg  typedserve.Config
		want string
	}{
		{"none", typedserve.Config{Dir: t.TempDir()}, "there is no export of the server below"},
		{"two", typedserve.Config{Dir: two}, "there are several exports of this server"},
		{"two of another name", typedserve.Config{Dir: two, Name: "x"}, "none of the exports below"},
		{"one of two", typedserve.Config{Dir: two, Package: "acme.v2"}, ""},
		{"one of two, by its directory", typedserve.Config{Dir: filepath.Join(two, "acme", "v2")}, ""},
		{"one of two, by its file", typedserve.Config{Dir: filepath.Join(two, "acme", "v1", "fake.proto"), Name: "x"}, ""},
		{"without its lock", typedserve.Config{Dir: unlocked}, ""},
		{"without its lock, of another name", typedserve.Config{Dir: unlocked, Name: "x"}, ""},
		{"the only one", typedserve.Config{Dir: one, Name: "x"}, ""},
		{"no package", typedserve.Config{Package: "Not A Package"}, "no name of a protobuf package"},
		{"another server's", typedserve.Config{Dir: other, Handler: onlyTools}, "the export acme/v1/fake.proto is of another server"},
		{"lost", typedserve.Config{Dir: one}, "acme.v1 is missing"},
	} {
		if tt.name == "lost" {
			if err := os.Remove(lost); err != nil {
				t.Fatal(err)
			}
		}
		if tt.cfg.Logger = slog.New(slog.DiscardHandler); tt.cfg.Handler == nil {
			tt.cfg.Handler = f
		}
		s, err := typedserve.New(t.Context(), tt.cfg)
		if err == nil {
			s.Close()
		}
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
}
