package mirror

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"connectrpc.com/connect"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
)

// Tunnel serves a client of any revision, whose messages the stream carries, as
// standard input and output would.
func (f *Front) Tunnel(ctx context.Context, s *connect.BidiStream[mcpv1.TunnelRequest, mcpv1.TunnelResponse]) error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return connect.NewError(connect.CodeUnavailable, errors.New("the server is shutting down"))
	}
	f.wg.Add(1)
	f.mu.Unlock()
	defer f.wg.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(f.ctx, cancel)
	defer stop()

	in, fromClient := io.Pipe()
	toClient, out := io.Pipe()
	sent := make(chan error, 1)
	go func() { sent <- send(toClient, s) }()
	// This one ends after the stream, which ends with this function.
	go func() { _ = fromClient.CloseWithError(receive(s, fromClient)) }()
	err := stdio.Serve(ctx, in, out, stdio.Config{Handler: f.cfg.Handler, Logger: f.cfg.Logger, MaxMessageBytes: f.cfg.MaxMessageBytes})
	_ = in.CloseWithError(io.ErrClosedPipe)
	_ = out.Close()
	if sendErr := <-sent; err == nil {
		err = sendErr
	}
	if err != nil && ctx.Err() == nil {
		return Failure(err, false)
	}
	return nil
}

// receive writes each message of the client as a line.
func receive(s *connect.BidiStream[mcpv1.TunnelRequest, mcpv1.TunnelResponse], w io.Writer) error {
	for {
		m, err := s.Receive()
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		if err != nil {
			return err
		}
		line := m.GetMessage()
		if bytes.IndexByte(line, '\n') >= 0 && jsontok.Valid(line, jsontok.Limits{}) == nil {
			line = jsontok.AppendCompact(nil, line)
		}
		if _, err := w.Write(append(bytes.ReplaceAll(line, []byte{'\n'}, []byte{' '}), '\n')); err != nil {
			return err
		}
	}
}

// send sends each line as a message.
func send(r *io.PipeReader, s *connect.BidiStream[mcpv1.TunnelRequest, mcpv1.TunnelResponse]) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = s.Send(&mcpv1.TunnelResponse{Message: bytes.TrimSuffix(line, []byte{'\n'})})
		}
		if err != nil {
			_ = r.CloseWithError(err)
			return err
		}
	}
}
