// Package tunnel runs the official Go SDK for MCP over gRPC and Connect.
//
// A [ClientTransport] connects an SDK client, and [NewHandler] serves an SDK
// server, by the RPC Tunnel of mcp.v1.McpService: a stream that carries
// JSON-RPC messages both ways, untouched, in whichever revision the two speak.
// Either end may be an mcp-bridge as well.
//
// Use it where MCP has to go where gRPC goes, such as through a mesh. A
// program in which each tool shall be an RPC uses the other RPCs of the
// service, and needs no SDK.
package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// DefaultMaxMessageBytes bounds one message, in either direction.
const DefaultMaxMessageBytes = 16 << 20

// stream is either side of a tunnel.
type stream interface {
	Receive() ([]byte, error)
	Send(message []byte) error
	Close()
}

// connection is a stream as the SDK has it.
type connection struct {
	stream stream
	closed chan struct{}
	end    func()

	failed chan struct{} // closed once Read has failed
	fail   sync.Once
	why    error // set before failed is closed
}

var _ mcp.Connection = (*connection)(nil)

func newConnection(s stream) *connection {
	c := &connection{stream: s, closed: make(chan struct{}), failed: make(chan struct{})}
	c.end = sync.OnceFunc(func() {
		s.Close()
		close(c.closed)
	})
	return c
}

// Read returns the next message. The end of ctx closes the connection: what
// has been read in part cannot be read again.
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	defer context.AfterFunc(ctx, c.end)()
	data, err := c.stream.Receive()
	if err != nil {
		c.fail.Do(func() {
			c.why = err
			close(c.failed)
		})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		select {
		case <-c.closed:
			return nil, io.EOF
		default:
			return nil, err
		}
	}
	m, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return nil, fmt.Errorf("tunnel: the peer sent no JSON-RPC message: %w", err)
	}
	return m, nil
}

// Write sends a message.
func (c *connection) Write(ctx context.Context, m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("tunnel: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, c.end)()
	err = c.stream.Send(data)
	if !errors.Is(err, io.EOF) {
		return err
	}
	// The peer has ended the stream, and the goroutine that reads hears why.
	select {
	case <-c.failed:
		if !errors.Is(c.why, io.EOF) {
			return c.why
		}
	case <-c.closed:
	case <-ctx.Done():
	}
	return mcp.ErrConnectionClosed
}

// Close ends the connection. A Read or Write under way returns.
func (c *connection) Close() error {
	c.end()
	return nil
}

// SessionID returns "": the stream is the session.
func (c *connection) SessionID() string { return "" }
