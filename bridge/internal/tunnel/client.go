package tunnel

import (
	"context"
	"net/http"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectcall"
)

// ClientStream is the client's side of a tunnel. It is a stream of package
// protocol/tunnel.
type ClientStream struct {
	stream *connectcall.Stream
	cancel context.CancelFunc
}

// Dial opens a tunnel. ctx bounds the opening alone; Close ends the stream.
func Dial(ctx context.Context, c *connectcall.Caller, header http.Header) (*ClientStream, error) {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	stream, err := c.Open(life, Procedure, header)
	if err != nil {
		cancel()
		return nil, err
	}
	return &ClientStream{stream: stream, cancel: cancel}, nil
}

// Receive returns the next message of the server.
func (s *ClientStream) Receive() ([]byte, error) {
	frame, err := s.stream.Receive()
	if err != nil {
		return nil, err
	}
	return Message(frame)
}

// Send sends a message.
func (s *ClientStream) Send(message []byte) error {
	return s.stream.Send(AppendFrame(make([]byte, 0, len(message)+frameOverhead), message))
}

// Close ends the tunnel and waits until nothing of it is left.
func (s *ClientStream) Close() {
	s.stream.Close()
	s.cancel()
}
