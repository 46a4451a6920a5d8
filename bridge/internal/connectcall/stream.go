package connectcall

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/header"
)

// Stream is a bidirectional stream whose two sides take turns as they like.
// Send and Receive may run at the same time, each in one goroutine at a time.
type Stream struct {
	caller *Caller
	ctx    context.Context //nolint:containedctx // the stream's own, which Close ends
	cancel context.CancelFunc
	conn   connect.StreamingClientConn
	x      *exchange

	sending, receiving sync.Mutex
	end                sync.Once
}

// Open opens a stream of the procedure. It ends with ctx or by [Stream.Close],
// which must be called. The server may not be asked before the first Send, so
// that one, or Receive, tells whether it can be reached.
func (c *Caller) Open(ctx context.Context, procedure string, h http.Header) (*Stream, error) {
	if err := header.Check(h); err != nil {
		return nil, fault.New(code.Code_INTERNAL, err, "%v", err)
	}
	s := &Stream{caller: c, x: &exchange{procedure: procedure, header: h, done: make(chan struct{})}}
	s.ctx, s.cancel = context.WithCancel(context.WithValue(ctx, exchangeKey{}, s.x))
	conn, err := c.bidi.CallBidiStream(s.ctx).Conn()
	if err != nil {
		close(s.x.done) // nothing has been asked
		err = s.failed(err)
		s.cancel()
		return nil, err
	}
	s.conn = conn
	// The headers go first, so that the server can begin.
	if err := s.conn.Send(nil); err != nil && !errors.Is(err, io.EOF) {
		err = s.failed(err)
		s.Close()
		return nil, err
	}
	return s, nil
}

// Send sends a message, which may be reused afterwards.
func (s *Stream) Send(data []byte) error {
	if limit := s.caller.maxSend; limit > 0 && len(data) > limit {
		return fault.New(code.Code_RESOURCE_EXHAUSTED, nil, "a message has %d bytes, the limit is %d", len(data), limit)
	}
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.failed(s.conn.Send(&message{data}))
}

// Receive returns the next message, which is the caller's to keep. It returns
// io.EOF where the server has ended the stream with OK, and otherwise a
// [rpc.StatusError] as [Caller.Call] does.
func (s *Stream) Receive() ([]byte, error) {
	s.receiving.Lock()
	defer s.receiving.Unlock()
	var m message
	if err := s.conn.Receive(&m); err != nil {
		return nil, s.failed(err)
	}
	return m.bytes(), nil
}

// failed turns an error of connect-go into that of a stream.
func (s *Stream) failed(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	select {
	case <-s.x.done:
		return s.caller.status(s.ctx, err, s.x)
	case <-s.ctx.Done(): // before there was an answer
		return s.caller.peer.Context(s.ctx)
	}
}

// Close ends the stream, whatever it is doing, and waits until nothing of it
// is left.
func (s *Stream) Close() {
	s.end.Do(func() {
		s.cancel()
		// Once there is a response, its context alone does not end a request
		// that is still being written.
		_ = s.conn.CloseRequest()
		_ = s.conn.CloseResponse()
		s.sending.Lock()
		defer s.sending.Unlock()
		s.receiving.Lock()
		defer s.receiving.Unlock()
		<-s.x.done
	})
}
