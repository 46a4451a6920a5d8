package prototest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/mcp-bridge/mcp-bridge/internal/mcpschema"
)

// Stdio plays the transcripts below dir over pipes. serve answers what it
// reads from in, on out, with h.
//
// A transcript has one section, and that one step a line:
//
//   - "> MESSAGE": the client sends a line.
//   - "< MESSAGE": it receives one.
//   - "! STEP": see [Handler]: "trigger METHOD", "update URI", "release", "endlisten",
//     "started", "cause". What comes of it stands behind "=".
//   - "." the client closes the server's input. What the server still sends,
//     and how serve ends, stands behind.
//
// $META in a message stands for modern metadata. All that the client receives
// is checked against the schema of the setting revision.
func Stdio(t *testing.T, dir string, serve func(ctx context.Context, in io.Reader, out io.Writer, h *Handler, s Settings) error) {
	t.Helper()
	each(t, dir, func(t *testing.T, s Settings, a *txtar.Archive) *txtar.Archive {
		if len(a.Files) != 1 {
			t.Fatal("the transcript must have one section")
		}
		h := NewHandler()
		c := DialStdio(t, func(ctx context.Context, in io.Reader, out io.Writer) error {
			return serve(ctx, in, out, h, s)
		})
		c.recorder = mcpschema.Record(t, s["revision"])
		var out []byte
		for line := range strings.Lines(string(a.Files[0].Data)) {
			line = strings.TrimRight(line, "\n")
			op, text, _ := strings.Cut(line, " ")
			switch op {
			case ">":
				c.Send(strings.ReplaceAll(text, "$META", meta))
				out = fmt.Appendln(out, line)
			case "<":
				out = fmt.Appendln(out, "<", c.Receive())
			case "!":
				text, _, _ = strings.Cut(text, " = ")
				said, ok := act(t, h, strings.Fields(text))
				if !ok {
					t.Fatalf("there is no step %q", line)
				}
				if said != "" {
					text += " = " + said
				}
				out = fmt.Appendln(out, "!", text)
			case ".":
				out = fmt.Appendln(out, ".")
				rest, err := c.End()
				for _, message := range rest {
					out = fmt.Appendln(out, "<", message)
				}
				out = fmt.Appendln(out, "end:", err)
				return &txtar.Archive{Comment: a.Comment, Files: []txtar.File{{Name: a.Files[0].Name, Data: out}}}
			default:
				t.Fatalf("there is no step %q", line)
			}
		}
		t.Fatal("the transcript does not end with a line \".\"")
		return nil
	})
}

// StdioClient is a client on the other end of a server's pipes.
type StdioClient struct {
	t        *testing.T
	in       *os.File // the server's input
	lines    chan string
	ended    chan error
	recorder *mcpschema.Recorder // may be nil
}

// DialStdio runs serve on pipes until the test ends, and returns its client.
func DialStdio(t *testing.T, serve func(ctx context.Context, in io.Reader, out io.Writer) error) *StdioClient {
	t.Helper()
	serverIn, clientOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	clientIn, serverOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &StdioClient{t: t, in: clientOut, lines: make(chan string, 1<<16), ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	served, read := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(served)
		c.ended <- serve(ctx, serverIn, serverOut)
		_ = serverOut.Close() // so that the reader below ends
	}()
	go func() {
		defer close(read)
		defer close(c.lines)
		r := bufio.NewReader(clientIn)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				c.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = clientOut.Close() // may be closed already
		cancel()
		<-served
		<-read
		_ = serverIn.Close()
		_ = clientIn.Close()
	})
	return c
}

// Send sends one line.
func (c *StdioClient) Send(message string) {
	c.t.Helper()
	if c.recorder != nil {
		c.recorder.Sent([]byte(message))
	}
	if _, err := c.in.WriteString(message + "\n"); err != nil {
		c.t.Fatal(err)
	}
}

// Receive returns the next line, which must be one message.
func (c *StdioClient) Receive() string {
	c.t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case line, ok := <-c.lines:
		if !ok {
			c.t.Fatal("the server has ended its output")
		}
		return c.check(line)
	case <-timeout.C:
		c.t.Fatal("no message arrives")
	}
	return ""
}

func (c *StdioClient) check(line string) string {
	c.t.Helper()
	message, ok := strings.CutSuffix(line, "\n")
	if !ok {
		c.t.Errorf("line %q has no end", line)
	}
	if c.recorder != nil {
		c.recorder.Received([]byte(message))
	}
	return message
}

// End closes the server's input, and returns the messages that still come
// and how the server ends.
func (c *StdioClient) End() (messages []string, err error) {
	c.t.Helper()
	if err := c.in.Close(); err != nil {
		c.t.Fatal(err)
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				return messages, <-c.ended
			}
			messages = append(messages, c.check(line))
		case <-timeout.C:
			c.t.Fatal("the server does not end")
		}
	}
}
