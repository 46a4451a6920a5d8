// Package framed is MCP on a stream of whole messages that go both ways, in
// any revision, sessions and all. [Serve] is the server's side, [Client] the
// other. What a message looks like on its stream is the transport's affair:
// a line of standard output, a message of an RPC.
package framed

import "errors"

// Stream carries messages both ways.
type Stream interface {
	// Receive returns the next message, which is the caller's to keep. The
	// error is io.EOF where the peer has ended the stream in order, and may be
	// [ErrTooLong]. It is called by one goroutine at a time.
	Receive() ([]byte, error)
	// Send sends a message. It is called by one goroutine at a time, and does
	// not keep the message. Where it fails, the peer has not got the whole of
	// it, and the stream is of no more use.
	Send(message []byte) error
	// Close ends the stream, so that Receive and Send return, and waits for
	// what belongs to it. It may be called more than once.
	Close()
}

// ErrTooLong is the error of Receive for a message that is longer than the
// limit of the stream. A server can go on with the next one.
var ErrTooLong = errors.New("too long a message")
