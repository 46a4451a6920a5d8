package googlemcp_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectcall"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/googlemcp"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve serves what answers as the service, and returns the URL and a client of
// HTTP/2.
func serve(t *testing.T, h protocol.HandlerFunc) (string, *http.Client) {
	t.Helper()
	f, err := googlemcp.NewFront(googlemcp.FrontConfig{Handler: h, Logger: slog.New(slog.DiscardHandler), MaxMessageBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return listen(t, f)
}

func listen(t *testing.T, h http.Handler) (string, *http.Client) {
	t.Helper()
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = &protocols
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL, h2c(t)
}

// h2c returns a client of HTTP/2.
func h2c(t *testing.T) *http.Client {
	t.Helper()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// dial returns a Client of the service at a URL.
func dial(t *testing.T, hc *http.Client, url string, p connectcall.Protocol, change ...func(*googlemcp.ClientConfig)) *googlemcp.Client {
	t.Helper()
	caller, err := connectcall.New(hc, url, p)
	if err != nil {
		t.Fatal(err)
	}
	cfg := googlemcp.ClientConfig{Caller: caller, Logger: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&cfg)
	}
	c, err := googlemcp.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = caller.Close() })
	return c
}

// ask asks a Handler, and returns the result as JSON of MCP.
func ask(ctx context.Context, h protocol.Handler, method, params string) (string, error) {
	res, err := h.Handle(ctx, &protocol.Request{
		Method: method, Params: json.RawMessage(params), Caller: &protocol.Caller{Transport: "test"},
		Meta: protocol.Meta{Revision: protocol.Revision20260728, Capabilities: json.RawMessage(`{"elicitation":{},"sampling":{},"roots":{}}`)},
	}, protocol.Discard)
	if err != nil {
		return "", err
	}
	return string(protocol.AppendResult(nil, res, protocol.Revision20260728)), nil
}
