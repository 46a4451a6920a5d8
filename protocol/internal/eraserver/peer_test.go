package eraserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-bridge/mcp-bridge/protocol/httpsse"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// peer is the official Go client on one transport and revision.
type peer struct {
	name, revision string
	dial           func(t *testing.T, h *prototest.Handler) mcp.Transport
}

func serveHTTP(t *testing.T, h http.Handler, closeHandler func()) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections()
		closeHandler()
		server.Close()
	})
	return server.URL + "/mcp"
}

func peers() []peer {
	overStdio := func(t *testing.T, h *prototest.Handler) mcp.Transport {
		serverIn, clientOut := io.Pipe()
		clientIn, serverOut := io.Pipe()
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		done := make(chan error, 1)
		go func() { done <- stdio.Serve(ctx, serverIn, serverOut, stdio.Config{Handler: h}) }()
		t.Cleanup(func() {
			_ = clientOut.Close() // may be closed already
			_ = clientIn.Close()
			cancel()
			<-done
		})
		return &mcp.IOTransport{Reader: clientIn, Writer: clientOut}
	}
	overHTTP := func(t *testing.T, h *prototest.Handler) mcp.Transport {
		handler, err := streamable.New(streamable.Config{Handler: h})
		if err != nil {
			t.Fatal(err)
		}
		return &mcp.StreamableClientTransport{Endpoint: serveHTTP(t, handler, handler.Close)}
	}
	overSSE := func(t *testing.T, h *prototest.Handler) mcp.Transport {
		handler, err := httpsse.New(httpsse.Config{Handler: h})
		if err != nil {
			t.Fatal(err)
		}
		return &mcp.SSEClientTransport{Endpoint: serveHTTP(t, handler, handler.Close)}
	}
	var all []peer
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		all = append(all, peer{"stdio", revision, overStdio})
		if revision == "2024-11-05" {
			all = append(all, peer{"sse", revision, overSSE})
		} else {
			all = append(all, peer{"http", revision, overHTTP})
		}
	}
	return all
}

// TestPeersAreAsked: the official client answers what a call asks of it, over
// each transport and in each revision.
func TestPeersAreAsked(t *testing.T) {
	t.Parallel()
	const everything = `{"rounds":[` +
		`{"roots":{"method":"roots/list"},"talk":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"maxTokens":9}}},` +
		`null,` +
		`{"who":{"method":"elicitation/create","params":{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}},` +
		`{"login":{"method":"elicitation/create","params":{"mode":"url","message":"Log in","url":"https://example.com/"}}}]}`
	for _, p := range peers() {
		t.Run(p.revision+"/"+p.name, func(t *testing.T) {
			t.Parallel()
			h := prototest.NewHandler()
			urls := make(chan *mcp.ElicitParams, 1)
			updated := make(chan string, 10)
			client := mcp.NewClient(&mcp.Implementation{Name: "peer", Version: "1"}, &mcp.ClientOptions{
				//nolint:staticcheck // roots and sampling are deprecated, and fully served
				Capabilities: &mcp.ClientCapabilities{
					RootsV2: &mcp.RootCapabilities{}, Sampling: &mcp.SamplingCapabilities{},
					Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
				},
				//nolint:staticcheck // as above
				CreateMessageHandler: func(_ context.Context, r *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
					text, ok := r.Params.Messages[0].Content.(*mcp.TextContent)
					if !ok {
						return nil, errors.New("no text")
					}
					//nolint:staticcheck // as above
					return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: text.Text + "!"}}, nil
				},
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					if r.Params.Message == "Fail" {
						return nil, errors.New("nobody is there")
					}
					if r.Params.Mode == "url" {
						urls <- r.Params
						return &mcp.ElicitResult{Action: "accept"}, nil
					}
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
				},
				ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
			})
			client.AddRoots(&mcp.Root{URI: "file:///a"}) //nolint:staticcheck // as above
			session, err := client.Connect(t.Context(), p.dial(t, h), &mcp.ClientSessionOptions{ProtocolVersion: p.revision})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = session.Close() }() // over stdio the pipe may be closed by then
			call := func(arguments string) (string, error) {
				res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "input", Arguments: json.RawMessage(arguments)})
				if err != nil {
					return "", err
				}
				text, _ := res.Content[0].(*mcp.TextContent)
				return text.Text, nil
			}
			got, err := call(everything)
			switch {
			case p.revision < "2025-06-18": // has no elicitation
				if err == nil || !strings.Contains(err.Error(), "capability") {
					t.Errorf("%s, %v", got, err)
				}
				got, err = call(everything[:strings.Index(everything, `,null,`)] + `]}`)
			case p.revision < "2025-11-25": // has no URLs to open
				if err == nil || !strings.Contains(err.Error(), "capability") {
					t.Errorf("%s, %v", got, err)
				}
				got, err = call(everything[:strings.LastIndex(everything, `,{"login"`)] + `]}`)
			default:
				if e := prototest.Await(t, urls, "the URL"); e.URL != "https://example.com/" || e.ElicitationID == "" {
					t.Errorf("asked %+v", e)
				}
			}
			for _, want := range []struct{ since, text string }{
				{"", `"roots":[{`}, {"", `file:///a`}, {"", `"a!"`}, {"2025-06-18", `{"who":{`}, {"2025-06-18", `"Ada"`}, {"2025-11-25", `{"login":{`},
			} {
				if err != nil || (p.revision >= want.since) != strings.Contains(got, want.text) {
					t.Errorf("got %s, %v; want %s", got, err, want.text)
				}
			}
			if p.revision >= "2025-06-18" {
				_, err := call(`{"rounds":[{"q":{"method":"elicitation/create","params":{"message":"Fail","requestedSchema":{"type":"object","properties":{}}}}}]}`)
				if err == nil || !strings.Contains(err.Error(), "the client answered elicitation/create with an error: nobody is there") {
					t.Errorf("a client that fails: %v", err)
				}
			}

			if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "file:///a"}); err != nil {
				t.Fatal(err)
			}
			if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "missing:b"}); err == nil {
				t.Error("a resource that is not there is subscribed to")
			}
			h.Update("file:///a")
			if uri := prototest.Await(t, updated, "the update"); uri != "file:///a" {
				t.Errorf("update of %s", uri)
			}
			if err := session.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "file:///a"}); err != nil {
				t.Error(err)
			}
		})
	}
}
