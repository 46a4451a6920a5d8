package tunnel

import (
	"context"
	"sync"
	"sync/atomic"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectserve"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// Method returns the RPC Tunnel, answered by serve, which gets the server's
// side of each stream and returns once it has closed it.
func Method(serve func(ctx context.Context, s *ServerStream, c *connectserve.Call) error) *connectserve.Method {
	return &connectserve.Method{
		Procedure: Procedure,
		Kind:      rpc.BidiStream,
		Serve: func(ctx context.Context, c *connectserve.Call) error {
			return serve(ctx, &ServerStream{ctx: ctx, call: c}, c)
		},
	}
}

// ServerStream is the server's side of a tunnel. It is a stream of package
// protocol/tunnel.
type ServerStream struct {
	ctx                context.Context //nolint:containedctx // the call's own
	call               *connectserve.Call
	sending, receiving sync.Mutex
	closed             atomic.Bool
}

var errClosed = fault.New(code.Code_UNAVAILABLE, nil, "the server has ended the tunnel")

// Receive returns the next message of the client.
func (s *ServerStream) Receive() ([]byte, error) {
	s.receiving.Lock()
	defer s.receiving.Unlock()
	if s.closed.Load() {
		return nil, errClosed
	}
	frame, err := s.call.Receive()
	if err != nil {
		return nil, err
	}
	message, err := Message(frame)
	if err != nil {
		return nil, fault.New(code.Code_INVALID_ARGUMENT, err, "%v", err)
	}
	return message, nil
}

// Send sends a message.
func (s *ServerStream) Send(message []byte) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	if s.closed.Load() {
		return errClosed
	}
	return s.call.Send(AppendFrame(make([]byte, 0, len(message)+frameOverhead), message))
}

// frameOverhead is more than what a frame adds to its message.
const frameOverhead = 16

// Close ends Receive and Send and waits for them. The status of the call can
// still be sent, unless Send had to be interrupted.
func (s *ServerStream) Close() {
	s.closed.Store(true)
	s.end(&s.receiving, s.call.InterruptReceive)
	s.end(&s.sending, s.call.InterruptSend)
}

// end waits until nobody has the lock, and interrupts who does.
func (s *ServerStream) end(busy *sync.Mutex, interrupt func() error) {
	if !busy.TryLock() {
		if interrupt() != nil {
			<-s.ctx.Done() // the client's leaving ends it as well
		}
		busy.Lock()
	}
	busy.Unlock()
}
