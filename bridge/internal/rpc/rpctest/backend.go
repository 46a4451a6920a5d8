package rpctest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// Service is the service that a [Backend] serves. Its messages are bytes.
const Service = "mcpbridge.test.Behaviour"

// Procedure returns the path of a method of the service.
func Procedure(method string) string { return "/" + Service + "/" + method }

// Kinds are the methods of the service.
var Kinds = map[string]rpc.Kind{
	"Echo":     rpc.Unary,        // the request; X-In and X-Raw-Bin come back as headers and trailers
	"Fail":     rpc.Unary,        // the status that the request encodes
	"Big":      rpc.Unary,        // as many bytes as the request says
	"Hang":     rpc.Unary,        // nothing, until the context ends
	"Deadline": rpc.Unary,        // "none", or "early" or "late" against an hour
	"Count":    rpc.ServerStream, // as many messages as the request says
	"Break":    rpc.ServerStream, // "1", "2", then the status that the request encodes
	"Endless":  rpc.ServerStream, // messages until the context ends
	"Die":      rpc.ServerStream, // "1", then the connection breaks
	"Join":     rpc.ClientStream, // all requests joined
	"Chat":     rpc.BidiStream,   // every request
	"Eager":    rpc.BidiStream,   // EagerMessages answers, then the number of requests
	"Quit":     rpc.BidiStream,   // the status FAILED_PRECONDITION without reading
}

// What Eager sends before it reads: far more than flow control lets pass
// unread.
const (
	EagerMessages = 8
	EagerBytes    = 200_000
)

// Backend is a server to call.
type Backend struct {
	// Ended gets the name of every method that ended with its context.
	Ended chan string
	// Reached gets the name of every method that waits for its context.
	Reached chan string
	// Kill breaks all connections. It is for Die.
	Kill func()
}

// NewBackend returns a backend that nothing serves yet.
func NewBackend() *Backend {
	return &Backend{Ended: make(chan string, 64), Reached: make(chan string, 64)}
}

// Stream is the server's side of a call, whatever serves it. Headers are in
// the application's form: canonical keys, binary values raw.
type Stream interface {
	Context() context.Context
	Header() http.Header
	Receive() ([]byte, error)
	Send(message []byte) error
	SetHeader(h http.Header)
	SetTrailer(h http.Header)
}

// Serve answers one call. A status is returned as a [*rpc.StatusError].
func (b *Backend) Serve(method string, s Stream) error {
	switch method {
	case "Join":
		all, err := receiveAll(s)
		if err != nil {
			return err
		}
		return s.Send(bytes.Join(all, nil))
	case "Chat":
		return chat(s)
	case "Eager":
		return eager(s)
	case "Quit":
		return &rpc.StatusError{Status: &status.Status{Code: int32(code.Code_FAILED_PRECONDITION), Message: "no chat today"}}
	}
	request, err := s.Receive()
	if err != nil {
		return err
	}
	switch method {
	case "Echo":
		s.SetHeader(http.Header{"X-Head": s.Header()["X-In"], "X-Head-Bin": s.Header()["X-Raw-Bin"]})
		s.SetTrailer(http.Header{"X-Tail": s.Header()["X-In"], "X-Tail-Bin": s.Header()["X-Raw-Bin"]})
		return s.Send(request)
	case "Fail", "Break":
		return fail(s, method, request)
	case "Big":
		n, err := strconv.Atoi(string(request))
		if err != nil {
			return err
		}
		return s.Send(make([]byte, n))
	case "Count":
		return count(s, request)
	case "Deadline":
		return s.Send([]byte(deadline(s.Context())))
	default:
		return b.wait(method, s)
	}
}

// wait is for the methods that end with their context.
func (b *Backend) wait(method string, s Stream) error {
	ctx := s.Context()
	b.Reached <- method
	defer func() { b.Ended <- method }()
	switch method {
	case "Endless":
		for {
			if err := s.Send([]byte("again")); err != nil {
				<-ctx.Done()
				return err
			}
		}
	case "Die":
		if err := s.Send([]byte("1")); err != nil {
			return err
		}
		// The connection breaks when the client has seen the message: see Run.
	}
	<-ctx.Done()
	return ctx.Err()
}

func receiveAll(s Stream) ([][]byte, error) {
	var all [][]byte
	for {
		message, err := s.Receive()
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, message)
	}
}

func chat(s Stream) error {
	for {
		message, err := s.Receive()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := s.Send(message); err != nil {
			return err
		}
	}
}

func eager(s Stream) error {
	for range EagerMessages {
		if err := s.Send(make([]byte, EagerBytes)); err != nil {
			return err
		}
	}
	all, err := receiveAll(s)
	if err != nil {
		return err
	}
	return s.Send([]byte(strconv.Itoa(len(all))))
}

func fail(s Stream, method string, request []byte) error {
	var st status.Status
	if err := proto.Unmarshal(request, &st); err != nil {
		return err
	}
	s.SetTrailer(http.Header{"X-Tail": {"fell"}})
	if method == "Break" {
		for _, message := range []string{"1", "2"} {
			if err := s.Send([]byte(message)); err != nil {
				return err
			}
		}
	}
	return &rpc.StatusError{Status: &st}
}

func count(s Stream, request []byte) error {
	n, err := strconv.Atoi(string(request))
	if err != nil {
		return err
	}
	for i := range n {
		if err := s.Send(fmt.Append(nil, i+1)); err != nil {
			return err
		}
	}
	return nil
}

func deadline(ctx context.Context) string {
	at, ok := ctx.Deadline()
	switch {
	case !ok:
		return "none"
	case time.Until(at) <= time.Hour:
		return "early"
	default:
		return "late"
	}
}
