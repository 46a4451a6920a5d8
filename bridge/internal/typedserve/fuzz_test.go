package typedserve_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/metadata"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typedserve"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// FuzzCall sends anything as the message and the metadata of a call: the server
// gets params that are an object, or nothing.
func FuzzCall(f *testing.F) {
	server := newFake(tools)
	var got []byte
	server.call = func(_ context.Context, params json.RawMessage, _ *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		got = params
		return &protocol.Result{Body: json.RawMessage(`{"content":[]}`)}, nil
	}
	log := newLogs()
	s, err := typedserve.New(f.Context(), typedserve.Config{Handler: server, Logger: log.logger(), MaxMessageBytes: 1 << 20})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(s.Close)
	f.Add([]byte("\x08\x01\x10\x02"), []byte{}, false)
	f.Add([]byte(`{"a":"1","mode":"MODE_SLOW"}`), []byte("\x2a\x01s"), true)
	f.Add([]byte{}, []byte("\x6a\x02\x22\x00"), false)
	f.Fuzz(func(t *testing.T, message, rest []byte, asJSON bool) {
		got = nil
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/"+string(s.Service())+"/Add", bytes.NewReader(message))
		r.Header.Set("Content-Type", "application/proto")
		if asJSON {
			r.Header.Set("Content-Type", "application/json")
		}
		r.Header.Set(metadata.RestHeader, base64.StdEncoding.EncodeToString(rest))
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		switch {
		case w.Code >= http.StatusInternalServerError:
			t.Errorf("%d %s: %s", w.Code, w.Body, log)
		case (w.Code == http.StatusOK) != (got != nil):
			t.Errorf("%d %s, and the server got %s", w.Code, w.Body, got)
		case got != nil && (jsontok.Valid(got, jsontok.Limits{}) != nil || jsontok.KindOf(got) != jsontok.KindObject):
			t.Errorf("the server got %s", got)
		}
	})
}
