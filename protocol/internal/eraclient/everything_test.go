package eraclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
	"github.com/mcp-bridge/mcp-bridge/internal/ways"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// startEverything runs the reference server of the TypeScript SDK and returns a
// client of it. "sse" is found by falling back.
func startEverything(t *testing.T, transport string) ways.Client {
	t.Helper()
	node := nodetools.Node(t)
	main := nodetools.Module(t, "@modelcontextprotocol/server-everything", "dist/index.js")
	if transport == "stdio" {
		c, err := stdio.NewClient(stdio.ClientConfig{Command: node, Args: []string{main, "stdio"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := lis.Addr().(*net.TCPAddr)
	if err := lis.Close(); err != nil {
		t.Fatal(err)
	}
	mode, path := "streamableHttp", "/mcp"
	if transport == "sse" {
		mode, path = "sse", "/sse"
	}
	cmd := exec.Command(node, main, mode)
	cmd.Env = append(cmd.Environ(), fmt.Sprintf("PORT=%d", addr.Port))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		told := false
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if !told && (strings.Contains(lines.Text(), "listening on port") || strings.Contains(lines.Text(), "running on port")) {
				told = true
				close(ready)
			}
		}
	}()
	hc := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		hc.CloseIdleConnections()
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		<-over
		_ = cmd.Wait() // killed
	})
	prototest.Await(t, ready, "the server")
	c, err := streamable.NewClient(streamable.ClientConfig{URL: fmt.Sprintf("http://127.0.0.1:%d%s", addr.Port, path), HTTPClient: hc})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestEverything(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"stdio", "http", "sse"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			c := startEverything(t, transport)
			// With roots it asks for them some time after the handshake, and
			// whichever call is under way then is the one that is asked.
			all := capabilities(`{"elicitation":{"form":{},"url":{}},"sampling":{}}`)
			token := func(m *protocol.Meta) { m.ProgressToken = json.RawMessage(`"p"`) }

			res, err := c.Handle(t.Context(), request("server/discover", "", all), protocol.Discard)
			if err != nil || !strings.Contains(string(res.Server), `"mcp-servers/everything"`) {
				t.Errorf("discover: %v, %v", res, err)
			}
			got, _ := ask(t, c, request("tools/call", `{"name":"echo","arguments":{"message":"hé"}}`, all))
			if got != `complete {"content":[{"type":"text","text":"Echo: hé"}]}` {
				t.Errorf("echo: %s", got)
			}
			got, progress := ask(t, c, request("tools/call", `{"name":"trigger-long-running-operation","arguments":{"duration":0.02,"steps":2}}`, all, token))
			if !strings.HasPrefix(got, `complete {"content":[{"type":"text","text":"Long running operation completed.`) || strings.Count(progress, `"progressToken":"p"`) != 2 {
				t.Errorf("progress: %s, %s", got, progress)
			}

			in, key := wantInput(t, c, request("tools/call", `{"name":"trigger-elicitation-request"}`, all), protocol.Discard)
			if in.Requests[key].Method != "elicitation/create" {
				t.Errorf("asked for %s", in.Requests[key].Method)
			}
			got, _ = ask(t, c, request("tools/call", retry("trigger-elicitation-request", in.State, key, `{"action":"accept","content":{"name":"Ann","check":true}}`), all))
			if !strings.Contains(got, `- Name: Ann`) {
				t.Errorf("elicitation: %s", got)
			}
			in, key = wantInput(t, c, request("tools/call", `{"name":"trigger-sampling-request","arguments":{"prompt":"?"}}`, all), protocol.Discard)
			got, _ = ask(t, c, request("tools/call", fmt.Sprintf(`{"name":"trigger-sampling-request","arguments":{"prompt":"?"},"requestState":%q,"inputResponses":{%q:{"role":"assistant","model":"m","content":{"type":"text","text":"forty-two"}}}}`, in.State, key), all))
			if !strings.Contains(got, "forty-two") {
				t.Errorf("sampling: %s", got)
			}

			var waiting sync.WaitGroup
			waiting.Go(func() {
				got, progress := ask(t, c, request("tools/call", `{"name":"simulate-research-query","arguments":{"topic":"Go"}}`, all, token))
				if !strings.Contains(got, "# Research Report: Go") || !strings.Contains(progress, `"progressToken":"p","progress":1,"message":"Gathering sources..."`) {
					t.Errorf("a task that is waited for: %s, %s", got, progress)
				}
			})
			researchTask(t, c)
			waiting.Wait()

			ctx, cancel := context.WithCancel(t.Context())
			n := make(notes, 10)
			done := make(chan error, 1)
			go func() {
				_, err := c.Handle(ctx, request("subscriptions/listen", `{"notifications":{"resourceSubscriptions":["demo://resource/dynamic/text/1"]}}`, all), n)
				done <- err
			}()
			if ack := prototest.Await(t, n, "the acknowledgement"); !strings.Contains(string(ack.Params), "demo://resource/dynamic/text/1") {
				t.Errorf("acknowledged %s", ack.Params)
			}
			cancel()
			if err := prototest.Await(t, done, "the end"); err == nil {
				t.Error("a cancelled subscription ended well")
			}
		})
	}
}

// researchTask follows a task that asks something on its way.
func researchTask(t *testing.T, c ways.Client) {
	t.Helper()
	all := capabilities(`{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
	res, err := c.Handle(t.Context(), request("tools/call", `{"name":"simulate-research-query","arguments":{"topic":"python","ambiguous":true}}`, all), protocol.Discard)
	if err != nil || res.Type != protocol.ResultTask {
		t.Fatalf("%v, %v; want a task", res, err)
	}
	var task struct {
		TaskID, Status string
		InputRequests  map[string]json.RawMessage
		Result         json.RawMessage
	}
	if err := json.Unmarshal(res.Body, &task); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	n := make(notes, 100)
	done := make(chan error, 1)
	go func() {
		_, err := c.Handle(ctx, request("subscriptions/listen", `{"notifications":{"taskIds":["`+task.TaskID+`"]}}`, all), n)
		done <- err
	}()
	prototest.Await(t, n, "the acknowledgement")
	asked := false
	for task.Status != "completed" {
		note := prototest.Await(t, n, "a change of the task")
		if err := json.Unmarshal(note.Params, &task); err != nil {
			t.Fatal(err)
		}
		switch {
		case task.Status == "input_required" && !asked:
			asked = true
			got, _ := ask(t, c, request("tasks/update", `{"taskId":"`+task.TaskID+`","inputResponses":{"request1":{"action":"accept","content":{"interpretation":"snake"}}}}`, all))
			if got != "complete " || !strings.Contains(string(task.InputRequests["request1"]), "elicitation/create") {
				t.Errorf("updated: %s after %s", got, note.Params)
			}
		case task.Status == "failed" || task.Status == "cancelled":
			t.Fatalf("%s", note.Params)
		}
	}
	if !strings.Contains(string(task.Result), `**Clarification**: snake`) {
		t.Errorf("the result is %s", task.Result)
	}
	cancel()
	if err := prototest.Await(t, done, "the end"); err == nil {
		t.Error("a cancelled subscription ended well")
	}
}
