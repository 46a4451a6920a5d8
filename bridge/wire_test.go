package bridge_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// wire is a client on a transport: it sends a message and returns the response.
type wire func(message string) []byte

// overHTTP is a wire over Streamable HTTP.
func overHTTP(t *testing.T, b *bridge.Bridge) wire {
	t.Helper()
	endpoint, err := streamable.New(streamable.Config{Handler: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(endpoint.Close)
	server := httptest.NewServer(endpoint)
	t.Cleanup(server.Close)
	session := ""
	return func(message string) []byte {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(message))
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			Method string
			Params struct{ Name, TaskID, URI string }
		}
		if err := json.Unmarshal([]byte(message), &m); err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if strings.Contains(message, protocol.MetaProtocolVersion) {
			r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
			r.Header.Set("Mcp-Method", m.Method)
			r.Header.Set("Mcp-Name", m.Params.Name+m.Params.TaskID+m.Params.URI)
		} else if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
			r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		}
		resp, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		scanner := bufio.NewScanner(resp.Body)
		var last []byte
		for scanner.Scan() {
			if data := bytes.TrimPrefix(scanner.Bytes(), []byte("data: ")); bytes.HasPrefix(data, []byte("{")) {
				last = bytes.Clone(data)
			}
		}
		return last
	}
}

// overStdio is a wire over stdio.
func overStdio(t *testing.T, b *bridge.Bridge) wire {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := stdio.Serve(context.WithoutCancel(t.Context()), inR, outW, stdio.Config{Handler: b})
		_ = outW.Close()
		served <- err
	}()
	scanner := bufio.NewScanner(outR)
	t.Cleanup(func() {
		_ = inW.Close()
		_, _ = io.Copy(io.Discard, outR) // what is still told
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return func(message string) []byte {
		t.Helper()
		if _, err := io.WriteString(inW, message+"\n"); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(message, `"id"`) {
			return nil
		}
		for scanner.Scan() {
			if bytes.Contains(scanner.Bytes(), []byte(`"id":`)) { // else it is a notification
				return bytes.Clone(scanner.Bytes())
			}
		}
		t.Fatalf("no answer: %v", scanner.Err())
		return nil
	}
}
