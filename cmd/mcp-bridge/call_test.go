package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

func TestTools(t *testing.T) {
	t.Parallel()
	url := reflective(t)
	t.Run("list", func(t *testing.T) {
		t.Parallel()
		got := mcpBridge(t, "tools", url).ok(t)
		contains(t, got,
			"Library_GetBook       Returns one book by its name.\n", "Library_WatchBooks    ")
		if strings.Contains(got, "\x1b") {
			t.Error("colours without a terminal")
		}
		for line := range strings.Lines(got) {
			if len(line) > defaultWidth+1 {
				t.Errorf("%d characters: %s", len(line), line)
			}
		}
	})
	t.Run("list as JSON", func(t *testing.T) {
		t.Parallel()
		var got struct {
			Tools []struct {
				Name        string         `json:"name"`
				InputSchema map[string]any `json:"inputSchema"`
			} `json:"tools"`
			NotCallable []notCallable `json:"notCallable"`
		}
		if err := json.Unmarshal([]byte(mcpBridge(t, "tools", "--json", url).ok(t)), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Tools) != 9 || got.Tools[0].Name != "Library_CheckOutBook" || got.Tools[0].InputSchema["type"] != "object" {
			t.Errorf("tools %+v", got.Tools)
		}
		if got.NotCallable == nil || len(got.NotCallable) != 0 {
			t.Errorf("not callable %+v", got.NotCallable)
		}
	})
	t.Run("one", func(t *testing.T) {
		t.Parallel()
		contains(t, mcpBridge(t, "tools", url, "Library_GetBook").ok(t),
			"Library_GetBook  Get book\nlibrary.v1.Library.GetBook\n", "Returns one book by its name.", "\nInput:\n{\n", "\nOutput:\n{\n")
	})
	t.Run("one as JSON", func(t *testing.T) {
		t.Parallel()
		contains(t, mcpBridge(t, "tools", "--json", url, "Library_GetBook").ok(t), `{"name":"Library_GetBook",`, `"outputSchema":{`)
	})
	t.Run("unknown", func(t *testing.T) {
		t.Parallel()
		got := mcpBridge(t, "tools", url, "library_getbok")
		if got.status != 1 {
			t.Errorf("exit status %d", got.status)
		}
		contains(t, got.stderr, `there is no tool "library_getbok"`, "did you mean Library_GetBook")
	})
}

func TestCall(t *testing.T) {
	t.Parallel()
	url := reflective(t)
	for name, tt := range map[string]struct {
		stdin          string
		args           []string
		status         int
		stdout, stderr []string
	}{
		"argument":     {"", []string{"Library_GetBook", demoArguments}, 0, []string{"{\n  \"name\": \"shelves/1/books/1\",\n"}, nil},
		"stdin":        {demoArguments, []string{"Library_GetBook", "-"}, 0, []string{`"Pride and Prejudice"`}, nil},
		"no arguments": {"", []string{"Library_ListBooks"}, 0, []string{`"books": [`}, nil},
		"JSON": {
			"", []string{"Library_GetBook", demoArguments, "--json"}, 0,
			[]string{`{"resultType":"complete","_meta":{`, `"structuredContent":{"name":"shelves/1/books/1",`}, nil,
		},
		"failure": {
			"", []string{"Library_GetBook", `{"name": "shelves/1/books/999"}`}, 1, nil,
			[]string{"mcp-bridge: Library_GetBook: ", "NOT_FOUND", `there is no book "shelves/1/books/999"`},
		},
		"failure as JSON": {
			"", []string{"Library_GetBook", `{"name": "shelves/1/books/999"}`, "--json"}, 1,
			[]string{`"isError":true`}, []string{"NOT_FOUND"},
		},
		"bad argument":    {"", []string{"Library_GetBook", `{"nome": "x"}`}, 1, nil, []string{"nome", "name"}},
		"unknown tool":    {"", []string{"Library_FindBook"}, 1, nil, []string{`there is no tool "Library_FindBook"`, "did you mean ", "all tools: mcp-bridge tools grpc://"}},
		"method name":     {"", []string{"/library.v1.Library/GetBook"}, 1, nil, []string{"the tool of this method is Library_GetBook"}},
		"stream":          {"", []string{"Library_WatchBooks", `{"includeExisting":true,"_limits":{"messages":2}}`}, 0, []string{`"count": 2`, `"stopReason": "limit"`}, nil},
		"stream's time":   {"", []string{"--stream-time", "1ns", "Library_WatchBooks"}, 0, []string{`"complete": false`, `"stopReason": "deadline"`}, nil},
		"no such limit":   {"", []string{"Library_WatchBooks", `{"_limits":{"messages":0}}`}, 1, nil, []string{"_limits.messages: no such limit; want a whole number from 1 up to 10000, got 0"}},
		"invalid stdin":   {"{\n  \"name\": \n}", []string{"Library_GetBook", "-"}, 2, nil, []string{"standard input is not valid JSON: line 3, column 1", "}\n  ^"}},
		"time is up":      {"", []string{"--timeout", "1ns", "Library_GetBook", demoArguments}, 1, nil, []string{"DEADLINE_EXCEEDED"}},
		"large response":  {"", []string{"--max-message-bytes", "4096", "Library_ListBooks", `{"pageSize": 100}`}, 1, nil, []string{"4096"}},
		"negative number": {"", []string{"--", "Library_GetBook", "-1"}, 2, nil, []string{"must be a JSON object, such as {}, but is a number"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"call", url}, tt.args...)
			if name == "large response" {
				args = append(args, "--descriptors", descriptorSet(t))
			}
			got := mcpBridgeIn(t, tt.stdin, args...)
			if got.status != tt.status {
				t.Errorf("exit status %d, want %d", got.status, tt.status)
			}
			contains(t, got.stdout, tt.stdout...)
			contains(t, got.stderr, tt.stderr...)
			if tt.stdout == nil && got.stdout != "" {
				t.Errorf("stdout: %s", got.stdout)
			}
			if tt.stderr == nil && got.stderr != "" {
				t.Errorf("stderr: %s", got.stderr)
			}
		})
	}
}

func TestCallInterrupted(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	url := reflective(t, g.option())
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-g.entered
		cancel()
	}()
	var stdout, stderr strings.Builder
	if status := run(ctx, []string{"call", url, "Library_Reindex"}, nil, &stdout, &stderr); status != 1 {
		t.Errorf("exit status %d", status)
	}
	if stderr.String() != "mcp-bridge: interrupted\n" {
		t.Errorf("stderr: %s", stderr.String())
	}
}

// TestMetadata holds that --header reaches the upstream, also with reflection,
// and that its value is shown nowhere.
func TestMetadata(t *testing.T) {
	t.Parallel()
	const secret = "Bearer hunter2"
	var unauthorized atomic.Int32
	check := func(ctx context.Context) {
		md, _ := metadata.FromIncomingContext(ctx)
		if values := md.Get("authorization"); len(values) != 1 || values[0] != secret {
			unauthorized.Add(1)
		}
		if values := md.Get("x-raw-bin"); len(values) != 1 || values[0] != "\x00\xff" {
			unauthorized.Add(1)
		}
	}
	url := reflective(t,
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			check(ctx)
			if err := grpc.SetHeader(ctx, metadata.Pairs("x-request-id", "42")); err != nil {
				return nil, err
			}
			return handler(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			check(stream.Context())
			return handler(srv, stream)
		}))
	got := mcpBridge(t, "call", "--log-level", "debug", "--json", "--return-header", "x-request-id",
		"--header", "authorization: "+secret, "--header", "x-raw-bin: AP8=", url, "Library_GetBook", demoArguments)
	contains(t, got.ok(t), `"x-request-id"`, `"42"`)
	contains(t, got.stderr, "level=DEBUG")
	if n := unauthorized.Load(); n > 0 {
		t.Errorf("%d headers are missing", n)
	}
	if strings.Contains(got.stdout+got.stderr, "hunter2") {
		t.Errorf("the secret is shown:\n%s%s", got.stdout, got.stderr)
	}
}

func TestParseArguments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{`{}`, ""},
		{" {\"a\": 1e400} ", ""},
		{"", "it is empty\nleave it out, or write {}, for no arguments"},
		{`[1]`, "it must be a JSON object, such as {}, but is an array"},
		{`null`, "it must be a JSON object, such as {}, but is null"},
		{`"x"`, "it must be a JSON object, such as {}, but is a string"},
		{`true`, "it must be a JSON object, such as {}, but is a boolean"},
		{`{"a":1`, "it is not valid JSON: line 1, column 7: unexpected end of JSON input\n{\"a\":1\n      ^"},
		{`{"a":1}}`, "it is not valid JSON: line 1, column 8: invalid character '}' after top-level value\n{\"a\":1}}\n       ^"},
		{`{name: x}`, "it is not valid JSON: line 1, column 2: invalid character 'n' looking for beginning of object key string\n" +
			"names and strings need double quotes: '{\"name\": \"value\"}'\n{name: x}\n ^"},
		{"{\n\"ä\": 'x'}", "it is not valid JSON: line 2, column 6: invalid character '\\'' looking for beginning of value\n\"ä\": 'x'}\n     ^"},
	} {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			got, err := parseArguments([]byte(tt.in), "it")
			if tt.want == "" {
				if err != nil || string(got) != tt.in {
					t.Errorf("got %q, %v", got, err)
				}
				return
			}
			f, ok := errors.AsType[*failure](err)
			if !ok {
				t.Fatalf("got %q, %v", got, err)
			}
			if text := strings.Join(append([]string{f.Error()}, f.hints...), "\n"); text != tt.want {
				t.Errorf("got  %q\nwant %q", text, tt.want)
			}
		})
	}
	long := `{"` + strings.Repeat("x", 1000) + `": }`
	_, err := parseArguments([]byte(long), "it")
	if f, ok := errors.AsType[*failure](err); !ok || len(f.hints[0]) > 3*excerptWidth {
		t.Errorf("the excerpt is not one: %v", err)
	}
	a := &app{stdin: iotest.ErrReader(errors.New("broken"))}
	if _, err := a.arguments([]string{"-"}); err == nil || err.Error() != "standard input: broken" {
		t.Errorf("got %v", err)
	}
}

func FuzzParseArguments(f *testing.F) {
	for _, seed := range []string{`{"a": 1}`, `{`, "{\n\n\"ä\":'", "\xff{", "[", "{\"a\":\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if _, err := parseArguments(raw, "it"); err != nil && err.Error() == "" {
			t.Error("an error without text")
		}
	})
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"Library_CreateBook", "Library_DeleteBook", "Library_GetBook", "Library_ListBooks", "Shelf_Get"}
	for _, tt := range []struct{ name, want string }{
		{"Library_GetBok", "Library_GetBook"},
		{"getbook", "Library_GetBook"},
		{"book", "Library_CreateBook,Library_DeleteBook,Library_GetBook"},
		{"shelf", "Shelf_Get"},
		{"Telephone", ""},
		{strings.Repeat("x", 1000), ""},
		{"", ""},
	} {
		if got := strings.Join(nearest(tt.name, names), ","); got != tt.want {
			t.Errorf("nearest(%.20q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	s := style{width: 40}
	long := strings.Repeat("n", maxNameColumn+1)
	got := s.table([]row{
		{"a", "one two three four five six seven eight nine"},
		{"bb", "evil\x1b[31m\x07 text\u009b"},
		{long, "below"},
		{"c", ""},
	})
	want := "a   one two three four five six seven\n" +
		"    eight nine\n" +
		"bb  evil text\n" +
		long + "\n    below\n" +
		"c\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := (style{colour: true}).bold("x"); got != "\x1b[1mx\x1b[0m" {
		t.Errorf("bold %q", got)
	}
}

func TestHeaderFlags(t *testing.T) {
	t.Setenv("MCP_BRIDGE_TEST_TOKEN", "s3cret")
	f := &upstreamFlags{headers: scoped[string]{parse: anyText}}
	for _, text := range []string{
		"a: 1", "A:2 ", "b-bin: AP8", "c: x: y", "authorization: Bearer ${MCP_BRIDGE_TEST_TOKEN}", "one=d: 1", "two=d: 2", "e: $PATH ${",
	} {
		if err := f.headers.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	h, err := f.header(&target{name: "one"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"a": {"1", "2"}, "b-bin": {"AP8"}, "c": {"x: y"}, "authorization": {"Bearer s3cret"}, "d": {"1"}, "e": {"$PATH ${"},
	}
	for key, values := range want {
		if got := h[key].GetValues(); strings.Join(got, "|") != strings.Join(values, "|") {
			t.Errorf("%s: %q, want %q", key, got, values)
		}
	}
	if len(h) != len(want) {
		t.Errorf("got %v", h)
	}
}
