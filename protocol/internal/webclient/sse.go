package webclient

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eventstream"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
)

// IsStream reports whether a response is an event stream.
func IsStream(response *http.Response) bool { return mediaType(response) == "text/event-stream" }

// IsJSON reports whether a response is JSON.
func IsJSON(response *http.Response) bool {
	t := mediaType(response)
	return t == "application/json" || strings.HasSuffix(t, "+json")
}

func mediaType(response *http.Response) string {
	t, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}

// DialSSE opens a connection over HTTP+SSE (2024-11-05 basic/transports): a
// GET stays open for what the server says, and POSTs go where its first event
// says.
func (w *Web) DialSSE(ctx context.Context, header http.Header) (peer.Conn, error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel) // until the endpoint is known
	response, err := w.Do(life, http.MethodGet, w.URL, nil, header, http.Header{"Accept": {"text/event-stream"}})
	if err != nil {
		cancel()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	give := func(err error) (peer.Conn, error) {
		_ = response.Body.Close() // given up
		cancel()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	switch {
	case response.StatusCode != http.StatusOK:
		_, fault := w.ReadFault(response)
		return give(fault)
	case !IsStream(response):
		return give(peer.Malformed(nil, "the MCP server's answer to GET is no event stream"))
	}
	events := eventstream.NewReader(response.Body, w.Limit)
	first, err := events.Next()
	if err != nil {
		return give(w.streamFault(err))
	}
	endpoint, err := w.endpoint(first)
	if err != nil {
		return give(err)
	}
	if !stop() {
		return give(context.Cause(ctx))
	}
	read := make(chan struct{})
	channel := peer.NewChannel(w.Log, func(ctx context.Context, message []byte, header http.Header) error {
		return w.post(ctx, endpoint, message, header)
	}, func() {
		cancel()
		<-read
	})
	go func() {
		defer close(read)
		defer cancel()
		defer func() { _ = response.Body.Close() }() // read to its end, or given up
		for {
			e, err := events.Next()
			if err != nil {
				channel.Fail(w.streamFault(err))
				return
			}
			if (e.Name == "" || e.Name == "message") && len(e.Data) > 0 {
				channel.Receive(e.Data)
			}
		}
	}()
	return channel, nil
}

// endpoint reads the event that says where POSTs go. Only the origin of the
// stream gets them: whoever can make up an event must not be sent credentials.
func (w *Web) endpoint(e eventstream.Event) (*url.URL, error) {
	if e.Name != "endpoint" {
		return nil, peer.Malformed(nil, "the first event of the MCP server's stream is no endpoint event")
	}
	u, err := w.URL.Parse(strings.TrimSpace(string(e.Data)))
	if err != nil {
		return nil, peer.Malformed(err, "the endpoint that the MCP server names cannot be read")
	}
	if u.Scheme != w.URL.Scheme || !strings.EqualFold(u.Host, w.URL.Host) || u.User != nil {
		return nil, peer.Malformed(nil, "the MCP server names an endpoint of another origin")
	}
	u.Fragment = ""
	return u, nil
}

func (w *Web) post(ctx context.Context, u *url.URL, message []byte, header http.Header) error {
	response, err := w.Do(ctx, http.MethodPost, u, message, header, http.Header{"Content-Type": {"application/json"}})
	if err != nil {
		return err
	}
	defer Drop(response)
	switch {
	case response.StatusCode >= 200 && response.StatusCode < 300:
		return nil
	case response.StatusCode == http.StatusNotFound:
		return peer.SessionGone(nil)
	}
	_, fault := w.ReadFault(response)
	return fault
}

// streamFault says why an event stream has ended.
func (w *Web) streamFault(err error) error {
	if _, ok := errors.AsType[*eventstream.TooLargeError](err); ok {
		return w.TooLarge()
	}
	if errors.Is(err, io.EOF) {
		return peer.Unavailable(nil, "the MCP server has ended the event stream")
	}
	return peer.Unavailable(err, "the event stream of the MCP server broke off")
}

// StreamFault says why an event stream has ended before the response came.
func (w *Web) StreamFault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	fault := w.streamFault(err)
	if f, ok := errors.AsType[*protocol.UpstreamError](fault); ok && f.Kind == protocol.UpstreamUnavailable {
		f.Message += " before the response"
	}
	return fault
}
