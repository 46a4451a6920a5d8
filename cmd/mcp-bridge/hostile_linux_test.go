package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// hostile steers a terminal in every way there is: it clears the screen, sets
// the title, writes the clipboard, reverses text, and hides some.
const hostile = "A\x1b[2JB\x1b]0;owned\x07C\x1b]52;c;ZXZpbA==\x1b\\D\u009b31mE\u202eF\u2066G\u200bH\x08\x7f"

// startHostile serves an MCP server whose every word is hostile.
func startHostile(t *testing.T) (url string) {
	t.Helper()
	text, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	handler := protocol.HandlerFunc(func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		res := &protocol.Result{Server: json.RawMessage(`{"name":` + string(text) + `,"version":` + string(text) + `}`)}
		switch r.Method {
		case protocol.MethodDiscover:
			res.Body = json.RawMessage(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":` + string(text) + `}`)
		case protocol.MethodListTools:
			schema := `{"type":"object","description":` + string(text) + `}`
			tool := func(name string) string {
				return `{"name":` + name + `,"title":` + string(text) + `,"description":` + string(text) + `,"inputSchema":` + schema + `,"outputSchema":` + schema + `}`
			}
			res.Body = json.RawMessage(`{"tools":[` + tool(string(text)) + `,` + tool(`"text"`) + `,` + tool(`"structured"`) + `,` + tool(`"fails"`) + `,` + tool(`"refuses"`) + `]}`)
		case protocol.MethodCallTool:
			block := `"content":[{"type":"text","text":` + string(text) + `}]`
			switch {
			case bytes.Contains(r.Params, []byte(`"structured"`)):
				res.Body = json.RawMessage(`{` + block + `,"structuredContent":{` + string(text) + `:` + string(text) + `}}`)
			case bytes.Contains(r.Params, []byte(`"fails"`)):
				res.Body = json.RawMessage(`{` + block + `,"isError":true}`)
			case bytes.Contains(r.Params, []byte(`"refuses"`)):
				return nil, protocol.Errorf(protocol.CodeInvalidParams, "%s", hostile)
			default:
				res.Body = json.RawMessage(`{` + block + `}`)
			}
		default:
			return nil, protocol.MethodNotFound(r.Method)
		}
		return res, nil
	})
	h, err := streamable.New(streamable.Config{Handler: handler})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Close()
		server.Close()
	})
	return server.URL + "/mcp"
}

// onTerminal runs the program with its output and its errors on a terminal, and
// returns what that got. Where until is not empty, the program is told to end as
// soon as that has been read.
func onTerminal(t *testing.T, until string, args ...string) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals: ", err)
	}
	defer master.Close()
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Skip("there are no terminals: ", err)
	}
	terminal, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals: ", err)
	}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Stdout, cmd.Stderr = terminal, terminal
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	err = cmd.Start()
	_ = terminal.Close()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	buffer := make([]byte, 4096)
	told := false
	for {
		n, err := master.Read(buffer)
		out.Write(buffer[:n])
		if until != "" && !told && strings.Contains(out.String(), until) {
			told = true
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
		}
		if errors.Is(err, syscall.EIO) || errors.Is(err, io.EOF) { // nobody has the terminal open any more
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait() // some of the commands fail
	return strings.ReplaceAll(out.String(), "\r\n", "\n")
}

func TestNoPeerSteersTheTerminal(t *testing.T) {
	t.Parallel()
	url := startHostile(t)
	dir := t.TempDir()
	for _, tt := range []struct {
		name, until string
		args        []string
		want        string
	}{
		{"tools", "", []string{"tools", url}, "ABCDEFGH"},
		{"tools, JSON", "", []string{"tools", "--json", url}, `A\u001b[2JB`},
		{"tools NAME", "", []string{"tools", url, hostile}, "ABCDEFGH"},
		{"tools NAME, JSON", "", []string{"tools", "--json", url, hostile}, `E\u202eF`},
		{"no such tool", "", []string{"tools", url, hostile + "x"}, `A\x1b[2JB`},
		{"text", "", []string{"call", url, "text"}, "ABCDEFGH"},
		{"structured", "", []string{"call", url, "structured"}, `E\u202eF`},
		{"structured, JSON", "", []string{"call", "--json", url, "structured"}, `E\u202eF`},
		{"isError", "", []string{"call", url, "fails"}, "ABCDEFGH"},
		{"error", "", []string{"call", url, "refuses"}, "ABCDEFGH"},
		{"serve", "Service", []string{"serve", "--listen", "127.0.0.1:0", url}, "ABCDEFGH ABCDEFGH, by http://"},
		{"serve several", "two", []string{"serve", "--listen", "127.0.0.1:0", "one=" + url, "two=" + url}, "Listening on"},
		{"serve a hostile URL", "", []string{"serve", "--listen", "127.0.0.1:0", "one=" + url, "two=" + url + "?q=" + hostile}, "invalid control character in URL"},
		{"export", "", []string{"export", "-o", dir, url}, "wrote "},
		{"hostile command line", "", []string{hostile}, `no command "A\x1b[2JB`},
		{"hostile flag", "", []string{"tools", "--" + hostile, url}, "unknown flag: --ABC"},
		{"hostile URL", "", []string{"tools", "grpc://" + hostile}, `A\x1b[2JB`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := onTerminal(t, tt.until, tt.args...)
			contains(t, got, tt.want)
			if i := strings.IndexFunc(got, func(r rune) bool {
				return r != '\n' && r != '\t' && r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200b
			}); i >= 0 {
				t.Errorf("%q is on the terminal, in\n%q", got[i:min(len(got), i+20)], got)
			}
		})
	}
}

func TestResultsAreExactElsewhere(t *testing.T) {
	t.Parallel()
	url := startHostile(t)
	if got := mcpBridge(t, "call", url, "text").ok(t); got != hostile+"\n" {
		t.Errorf("text: %q", got)
	}
	var result map[string]string
	if err := json.Unmarshal([]byte(mcpBridge(t, "call", url, "structured").ok(t)), &result); err != nil || result[hostile] != hostile {
		t.Errorf("structured: %q, %v", result, err)
	}
	if got := mcpBridge(t, "call", url, "fails"); strings.ContainsAny(got.stderr, "\x1b\u202e") {
		t.Errorf("an error: %q", got.stderr)
	}
}
