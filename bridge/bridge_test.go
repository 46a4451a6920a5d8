package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func echo(_ context.Context, request, response *dynamicpb.Message) error {
	text := request.Descriptor().Fields().ByName("text")
	response.Set(response.Descriptor().Fields().ByName("text"), request.Get(text))
	return nil
}

func TestCall(t *testing.T) {
	t.Parallel()
	b := start(t, dynbackend.Start(t, map[string]string{"ping.proto": pingProto}, map[string]dynbackend.Method{"Echo": echo}))
	for _, tt := range []struct {
		name, tool, arguments string
		want                  string // in structured content, or in the error's text
		isError               bool
		code                  int
	}{
		{name: "echo", tool: "Ping_Echo", arguments: `{"text":"hi"}`, want: `{"text":"hi"}`},
		{name: "null arguments", tool: "Ping_Echo", arguments: `null`, want: `{}`},
		{name: "unknown argument", tool: "Ping_Echo", arguments: `{"txt":"hi"}`, want: `"text"`, isError: true},
		{name: "wrong type", tool: "Ping_Echo", arguments: `{"text":{}}`, want: `text`, isError: true},
		{name: "arguments no object", tool: "Ping_Echo", arguments: `[]`, want: "must be an object", code: protocol.CodeInvalidParams},
		{name: "unknown tool", tool: "Ping_Ech", arguments: `{}`, want: `"Ping_Ech"`, code: protocol.CodeInvalidParams},
		{name: "unknown tool with a name of megabytes", tool: strings.Repeat("x", 3<<20), arguments: `{}`, want: strings.Repeat("x", 125) + `..."; tools/list`, code: protocol.CodeInvalidParams},
		{name: "unimplemented", tool: "Ping_Slow", arguments: `{}`, want: "not implemented", isError: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res, err := call(t.Context(), t, b, tt.tool, tt.arguments)
			if tt.code != 0 {
				if fault, ok := errors.AsType[*protocol.Error](err); !ok || fault.Code != tt.code || !strings.Contains(fault.Message, tt.want) {
					t.Errorf("error %v, want code %d and %q", err, tt.code, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case res.IsError != tt.isError:
				t.Errorf("isError is %t: %+v", res.IsError, res)
			case res.IsError && res.StructuredContent != nil:
				t.Errorf("an error has structured content: %s", res.StructuredContent)
			case res.IsError && !strings.Contains(res.Content[0].Text, tt.want):
				t.Errorf("error text %q, want %q in it", res.Content[0].Text, tt.want)
			case !res.IsError && (string(res.StructuredContent) != tt.want || res.Content[0].Text != tt.want):
				t.Errorf("structured %s, text %q, want %s", res.StructuredContent, res.Content[0].Text, tt.want)
			}
		})
	}
}

// A page of tools names the next one; a cursor of another version of the list
// is refused.
func TestPages(t *testing.T) {
	t.Parallel()
	var source strings.Builder
	source.WriteString("syntax = \"proto3\";\npackage many.v1;\nmessage M {}\nservice Many {\n")
	for i := range 25 {
		fmt.Fprintf(&source, "  rpc M%02d(M) returns (M);\n", i)
	}
	source.WriteString("}\n")
	backend := dynbackend.Start(t, map[string]string{"many.proto": source.String()}, nil)
	b := start(t, backend, bridge.WithPageSize(10))
	list := func(cursor string) (names []string, next string, err error) {
		params := `{}`
		if cursor != "" {
			params = `{"cursor":"` + cursor + `"}`
		}
		res, err := b.Handle(t.Context(), request(protocol.MethodListTools, params), protocol.Discard)
		if err != nil {
			return nil, "", err
		}
		var page struct {
			Tools      []struct{ Name string }
			NextCursor string
		}
		if err := json.Unmarshal(res.Body, &page); err != nil {
			t.Fatal(err)
		}
		for _, tool := range page.Tools {
			names = append(names, tool.Name)
		}
		return names, page.NextCursor, nil
	}
	var all []string
	cursor, second := "", ""
	for {
		names, next, err := list(cursor)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, names...)
		if second == "" {
			second = next
		}
		if next == "" {
			break
		}
		cursor = next
	}
	if len(all) != 25 || !slices.IsSorted(all) {
		t.Errorf("got %q", all)
	}
	backend.Change(t, map[string]string{"ping.proto": pingProto}, nil)
	if _, err := b.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, stale := range []string{second, "nonsense", "!", ""} {
		_, _, err := list(stale)
		if fault, ok := errors.AsType[*protocol.Error](err); stale != "" && (!ok || fault.Code != protocol.CodeInvalidParams) {
			t.Errorf("cursor %q: %v", stale, err)
		}
	}
}

// A client that listens hears of a changed API; tools keep their names.
func TestRefresh(t *testing.T) {
	t.Parallel()
	backend := dynbackend.Start(t, map[string]string{"ping.proto": pingProto}, map[string]dynbackend.Method{"Echo": echo})
	b := start(t, backend)
	ctx, cancel := context.WithCancel(t.Context())
	heard := newRecorder()
	ended := make(chan error, 1)
	go func() {
		_, err := b.Handle(ctx, request(protocol.MethodListen, `{"notifications":{"toolsListChanged":true,"promptsListChanged":true}}`), heard)
		ended <- err
	}()
	first := heard.wait(t, 1)[0]
	if want := `{"notifications":{"toolsListChanged":true}}`; first.Method != protocol.NotificationAcknowledged || string(first.Params) != want {
		t.Errorf("first notification %s %s", first.Method, first.Params)
	}
	if changed, err := b.Refresh(t.Context()); changed || err != nil {
		t.Errorf("nothing has changed, and Refresh says %t, %v", changed, err)
	}
	second := strings.NewReplacer("ping.v1", "other.v1").Replace(pingProto)
	backend.Change(t, map[string]string{"ping.proto": pingProto, "other.proto": second}, map[string]dynbackend.Method{"Echo": echo})
	if changed, err := b.Refresh(t.Context()); !changed || err != nil {
		t.Errorf("Refresh says %t, %v", changed, err)
	}
	if n := heard.wait(t, 2)[1]; n.Method != protocol.NotificationToolsChanged {
		t.Errorf("heard %s", n.Method)
	}
	var names []string
	for _, tool := range b.Tools() {
		names = append(names, tool.Name)
	}
	if !slices.Contains(names, "Ping_Echo") || len(names) != 4 {
		t.Errorf("tools are %q", names)
	}
	if res, err := call(t.Context(), t, b, "Ping_Echo", `{"text":"x"}`); err != nil || res.IsError {
		t.Errorf("%+v %v", res, err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("listen ended with %v", err)
	}
}

// With a refresh interval a changed API is found without anybody calling.
func TestRefreshInterval(t *testing.T) {
	t.Parallel()
	backend := dynbackend.Start(t, map[string]string{"ping.proto": pingProto}, nil)
	b := start(t, backend, bridge.WithRefresh(time.Millisecond))
	heard := newRecorder()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = b.Handle(ctx, request(protocol.MethodListen, `{"notifications":{"toolsListChanged":true}}`), heard)
	}()
	heard.wait(t, 1)
	backend.Change(t, map[string]string{"ping.proto": strings.Replace(pingProto, "rpc Slow", "rpc Fast", 1)}, nil)
	heard.wait(t, 2)
	if names := b.Tools(); names[1].Name != "Ping_Fast" {
		t.Errorf("tools are %v", names)
	}
	cancel()
	<-ended
}

// A backend that does not know a method any more is asked for its API again.
func TestUnimplementedRefreshes(t *testing.T) {
	t.Parallel()
	backend := dynbackend.Start(t, map[string]string{"ping.proto": pingProto}, map[string]dynbackend.Method{"Echo": echo})
	b := start(t, backend)
	heard := newRecorder()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = b.Handle(ctx, request(protocol.MethodListen, `{"notifications":{"toolsListChanged":true}}`), heard)
	}()
	heard.wait(t, 1)
	backend.Change(t, map[string]string{"ping.proto": strings.Replace(pingProto, "rpc Echo", "rpc Repeat", 1)}, map[string]dynbackend.Method{"Repeat": echo})
	if res, err := call(t.Context(), t, b, "Ping_Echo", `{}`); err != nil || !res.IsError {
		t.Errorf("%+v %v", res, err)
	}
	heard.wait(t, 2)
	if res, err := call(t.Context(), t, b, "Ping_Repeat", `{"text":"x"}`); err != nil || res.IsError {
		t.Errorf("%+v %v", res, err)
	}
	cancel()
	<-ended
}

// A backend that goes away and comes back with another API: calls fail as long
// as it is away, then go on over a new connection, and the tools follow.
func TestBackendRestarts(t *testing.T) {
	t.Parallel()
	methods := map[string]dynbackend.Method{"Echo": echo, "Repeat": echo}
	backend := dynbackend.Start(t, map[string]string{"ping.proto": pingProto}, methods)
	b := start(t, backend)
	heard := newRecorder()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = b.Handle(ctx, request(protocol.MethodListen, `{"notifications":{"toolsListChanged":true}}`), heard)
	}()
	heard.wait(t, 1)
	backend.Kill()
	if res, err := call(t.Context(), t, b, "Ping_Echo", `{}`); err != nil || !res.IsError || !strings.Contains(res.Content[0].Text, "UNAVAILABLE") || strings.Contains(res.Content[0].Text, backend.Addr) {
		t.Errorf("%+v %v", res, err)
	}
	if _, err := b.Refresh(t.Context()); err == nil {
		t.Error("a backend that is away was read")
	}
	if len(b.Tools()) != 2 {
		t.Errorf("the tools went with the backend: %v", b.Tools())
	}
	dynbackend.StartAt(t, backend.Addr, map[string]string{"ping.proto": strings.Replace(pingProto, "rpc Echo", "rpc Repeat", 1)}, methods)
	// Until the connection is there again calls fail; then the old method is
	// unknown, which makes the Bridge look again.
	for len(heard.seen()) < 2 {
		if res, err := call(t.Context(), t, b, "Ping_Echo", `{}`); err != nil && !strings.Contains(err.Error(), "no tool") || err == nil && !res.IsError {
			t.Fatalf("%+v %v", res, err)
		}
	}
	if res, err := call(t.Context(), t, b, "Ping_Repeat", `{"text":"x"}`); err != nil || res.IsError {
		t.Errorf("%+v %v", res, err)
	}
	cancel()
	<-ended
}

// The Bridge's end is a graceful end of its subscriptions.
func TestCloseEndsSubscriptions(t *testing.T) {
	t.Parallel()
	b := start(t, dynbackend.Start(t, map[string]string{"ping.proto": pingProto}, nil))
	heard := newRecorder()
	type end struct {
		res *protocol.Result
		err error
	}
	ended := make(chan end, 1)
	go func() {
		res, err := b.Handle(t.Context(), request(protocol.MethodListen, `{"notifications":{}}`), heard)
		ended <- end{res, err}
	}()
	heard.wait(t, 1)
	b.Close()
	if e := <-ended; e.err != nil || e.res == nil {
		t.Errorf("listen ended with %v, %v", e.res, e.err)
	}
}

func TestBackendFails(t *testing.T) {
	t.Parallel()
	t.Run("hangs", func(t *testing.T) {
		t.Parallel()
		cancelled := make(chan struct{})
		b := start(t, dynbackend.Start(t, map[string]string{"ping.proto": pingProto}, map[string]dynbackend.Method{
			"Slow": func(ctx context.Context, _, _ *dynamicpb.Message) error {
				<-ctx.Done()
				close(cancelled)
				return ctx.Err()
			},
		}), bridge.WithTimeout(50*time.Millisecond))
		res, err := call(t.Context(), t, b, "Ping_Slow", `{}`)
		if err != nil || !res.IsError || !strings.Contains(strings.ToLower(res.Content[0].Text), "deadline") {
			t.Errorf("%+v %v", res, err)
		}
		<-cancelled // the deadline has reached the backend
	})
	t.Run("dies in the middle", func(t *testing.T) {
		t.Parallel()
		called := make(chan struct{})
		backend := dynbackend.Start(t, map[string]string{"ping.proto": pingProto}, map[string]dynbackend.Method{
			"Slow": func(ctx context.Context, _, _ *dynamicpb.Message) error {
				close(called)
				<-ctx.Done()
				return ctx.Err()
			},
		})
		b := start(t, backend)
		go func() {
			<-called
			backend.Kill()
		}()
		res, err := call(t.Context(), t, b, "Ping_Slow", `{}`)
		if err != nil || !res.IsError || res.Content[0].Text == "" {
			t.Errorf("%+v %v", res, err)
		}
	})
	t.Run("sends 5 MB", func(t *testing.T) {
		t.Parallel()
		backend := dynbackend.Start(t, map[string]string{"ping.proto": pingProto}, map[string]dynbackend.Method{
			"Echo": func(_ context.Context, _, response *dynamicpb.Message) error {
				response.Set(response.Descriptor().Fields().ByName("text"), protoreflect.ValueOfString(strings.Repeat("x", 5<<20)))
				return nil
			},
		})
		res, err := call(t.Context(), t, start(t, backend, bridge.WithMaxResultBytes(6<<20)), "Ping_Echo", `{}`)
		if err != nil || res.IsError || len(res.StructuredContent) < 5<<20 {
			t.Errorf("%d bytes, isError %t, %v", len(res.StructuredContent), res.IsError, err)
		}
		res, err = call(t.Context(), t, start(t, backend), "Ping_Echo", `{}`)
		if err != nil || !res.IsError || !strings.Contains(res.Content[0].Text, "The call succeeded, but its result is longer than 1048576 bytes") {
			t.Errorf("%+v, %v", res, err)
		}
	})
	t.Run("panics nobody", func(t *testing.T) {
		t.Parallel()
		_, err := bridge.New(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), "no upstream") {
			t.Error(err)
		}
		_, err = bridge.New(t.Context(), []bridge.Upstream{{}}, bridge.WithTimeout(-1), bridge.WithPageSize(0), bridge.WithLogger(nil))
		for _, want := range []string{"timeout", "page size", "logger"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v does not mention the %s", err, want)
			}
		}
	})
}

// The client's cancellation reaches the backend.
func TestCancel(t *testing.T) {
	t.Parallel()
	called, cancelled := make(chan struct{}), make(chan struct{})
	b := start(t, dynbackend.Start(t, map[string]string{"ping.proto": pingProto}, map[string]dynbackend.Method{
		"Slow": func(ctx context.Context, _, _ *dynamicpb.Message) error {
			close(called)
			<-ctx.Done()
			close(cancelled)
			return ctx.Err()
		},
	}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-called
		cancel()
	}()
	if _, err := call(ctx, t, b, "Ping_Slow", `{}`); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	<-cancelled
}

// Metadata goes both ways under an allow list, and credentials are those of
// the request that brought them.
func TestMetadata(t *testing.T) {
	t.Parallel()
	b := start(t, dynbackend.Start(t, map[string]string{"ping.proto": pingProto}, map[string]dynbackend.Method{
		"Echo": func(ctx context.Context, request, response *dynamicpb.Message) error {
			md, _ := metadata.FromIncomingContext(ctx)
			if auth := md.Get("authorization"); len(auth) != 1 || auth[0] != "Bearer good" {
				return status.Error(codes.Unauthenticated, "bad token")
			}
			if md.Get("x-secret") != nil || md.Get("cookie") != nil {
				return status.Error(codes.Internal, "a header was forwarded that is not allowed")
			}
			if md.Get("traceparent") == nil {
				return status.Error(codes.Internal, "no trace context")
			}
			return echo(ctx, request, response)
		},
	}), bridge.WithForwardedHeaders("Authorization"))
	r := func(token string) *protocol.Request {
		r := request(protocol.MethodCallTool, `{"name":"Ping_Echo","arguments":{"text":"x"}}`)
		r.Meta.TraceParent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
		r.Caller.Header = http.Header{"Authorization": {token}, "X-Secret": {"s"}, "Cookie": {"c"}}
		return r
	}
	if _, err := b.Handle(t.Context(), r("Bearer good"), protocol.Discard); err != nil {
		t.Error(err)
	}
	_, err := b.Handle(t.Context(), r("Bearer bad"), protocol.Discard)
	if fault, ok := errors.AsType[*protocol.Error](err); !ok || !strings.HasPrefix(fault.Challenge, "Bearer") {
		t.Errorf("a refused token of the caller's own: %v", err)
	}
	res, err := b.Handle(t.Context(), r("Bearer good"), protocol.Discard)
	if err != nil || strings.Contains(string(res.Body), "isError") {
		t.Errorf("%s %v", res.Body, err)
	}
}

// Arguments, results and headers are logged at debug at most, and there is a
// log message for a client that asks for it.
func TestLogging(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelInfo}))
	b := start(t, dynbackend.Start(t, map[string]string{"ping.proto": pingProto}, map[string]dynbackend.Method{
		"Echo": echo,
		"Slow": func(context.Context, *dynamicpb.Message, *dynamicpb.Message) error {
			return status.Error(codes.NotFound, "no s3cret here")
		},
	}), bridge.WithLogger(log), bridge.WithForwardedHeaders("authorization"))
	for _, tt := range []struct {
		tool  string
		level protocol.LogLevel
		want  int
	}{
		{"Ping_Echo", protocol.LogNone, 0},
		{"Ping_Echo", protocol.LogDebug, 1},
		{"Ping_Echo", protocol.LogInfo, 0},
		{"Ping_Slow", protocol.LogWarning, 1},
		{"Ping_Slow", protocol.LogError, 0},
	} {
		r := request(protocol.MethodCallTool, `{"name":"`+tt.tool+`","arguments":{"text":"s3cret"}}`)
		r.Meta.LogLevel = tt.level
		r.Caller.Header = http.Header{"Authorization": {"Bearer s3cret"}}
		heard := newRecorder()
		if _, err := b.Handle(t.Context(), r, heard); err != nil {
			t.Fatal(err)
		}
		if len(heard.all) != tt.want {
			t.Errorf("%s at %v: %d log messages, want %d", tt.tool, tt.level, len(heard.all), tt.want)
		}
		for _, n := range heard.all {
			if n.Method != protocol.NotificationMessage || strings.Contains(string(n.Params), "s3cret") {
				t.Errorf("%s %s", n.Method, n.Params)
			}
		}
	}
	if strings.Contains(logged.String(), "s3cret") {
		t.Errorf("logged: %s", &logged)
	}
}

func TestDiscover(t *testing.T) {
	t.Parallel()
	b := start(t, dynbackend.Start(t, map[string]string{"ping.proto": pingProto}, nil),
		bridge.WithServerInfo("s", "1"), bridge.WithTitle("S"), bridge.WithInstructions("Use \"it\"."))
	res, err := b.Handle(t.Context(), request(protocol.MethodDiscover, `{}`), protocol.Discard)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"resultType":"complete","ttlMs":60000,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","title":"S","version":"1"}},` +
		`"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"capabilities":{"logging":{},"tools":{"listChanged":true}},"instructions":"Use \"it\".\n\n` +
		`The tools are the methods of these services.\n- ping.v1.Ping\n\nThese conventions hold for all tools:\n- A result leaves out fields that are unset or empty."}`
	if got := string(protocol.AppendResult(nil, res, protocol.Revision20260728)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, method := range []string{"prompts/list", "resources/read", "nonsense"} {
		_, err := b.Handle(t.Context(), request(method, `{}`), protocol.Discard)
		if fault, ok := errors.AsType[*protocol.Error](err); !ok || fault.Code != protocol.CodeMethodNotFound {
			t.Errorf("%s: %v", method, err)
		}
	}
}
