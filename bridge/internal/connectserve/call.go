package connectserve

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/header"
)

// Call is one RPC that is being served. Receive is called by one goroutine at
// a time, and Send by one. Neither may be called once Serve has returned.
type Call struct {
	// Protocol is "grpc", "grpc-web" or "connect".
	Protocol string
	// Header is the request metadata: keys in canonical HTTP form, values as
	// they came, without the headers that belong to the protocols.
	Header http.Header
	// UserAgent names the client's software.
	UserAgent string
	// RemoteAddr is the network address of the client.
	RemoteAddr string

	method  *Method
	http    *httpCall
	receive func() ([]byte, error)
	send    func([]byte) error
	header  http.Header
	trailer http.Header
}

// ProtocolOf names the protocol that a client speaks: "grpc", "grpc-web" or
// "connect".
func ProtocolOf(peer connect.Peer) string {
	if peer.Protocol == connect.ProtocolGRPCWeb {
		return "grpc-web"
	}
	return peer.Protocol
}

func newCall(ctx context.Context, m *Method, peer connect.Peer, h http.Header) *Call {
	c := &Call{Protocol: ProtocolOf(peer), RemoteAddr: peer.Addr, UserAgent: h.Get("User-Agent"), method: m}
	if agent := h.Get("X-User-Agent"); agent != "" && peer.Protocol == connect.ProtocolGRPCWeb {
		c.UserAgent = agent
	}
	c.http, _ = ctx.Value(httpKey{}).(*httpCall)
	if c.http != nil {
		c.RemoteAddr = c.http.remoteAddr
	}
	c.Header = make(http.Header, len(h))
	for key, values := range h {
		if !header.Reserved(key) {
			c.Header[key] = values
		}
	}
	return c
}

// Receive returns the next request message, which is the caller's to keep. At
// the end of a stream it returns io.EOF.
func (c *Call) Receive() ([]byte, error) {
	data, err := c.receive()
	if err != nil {
		return nil, err
	}
	if data == nil {
		data = []byte{}
	}
	return data, nil
}

// Send sends a response message, and blocks where the client does not read.
// The message is not kept once Serve has returned.
func (c *Call) Send(data []byte) error { return c.send(data) }

// ResponseHeader is sent with the first message, or with the status.
func (c *Call) ResponseHeader() http.Header {
	if c.header == nil {
		c.header = make(http.Header)
	}
	return c.header
}

// ResponseTrailer is sent after the last message.
func (c *Call) ResponseTrailer() http.Header {
	if c.trailer == nil {
		c.trailer = make(http.Header)
	}
	return c.trailer
}

// InterruptReceive makes Receive fail, also one that is under way. The error
// says that the HTTP server cannot do that.
func (c *Call) InterruptReceive() error {
	if c.http == nil {
		return http.ErrNotSupported
	}
	return c.http.control.SetReadDeadline(past)
}

// InterruptSend is InterruptReceive for Send. No status reaches the client
// after it.
func (c *Call) InterruptSend() error {
	if c.http == nil {
		return http.ErrNotSupported
	}
	return c.http.control.SetWriteDeadline(past)
}

// past is a deadline that has passed.
var past = time.Unix(1, 0)

func (c *Call) message(data []byte) *message { return &message{wire: data, method: c.method} }
