package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"net/url"
	"strconv"
	"time"
)

// requestTimeout bounds one request.
const requestTimeout = 30 * time.Second

// conn is one HTTP/1.1 connection that is kept alive. It knows as much of HTTP
// as the servers that are measured need, and so leaves them most of the machine:
// net/http's client would take more of it than some of them. One goroutine at a
// time may use it.
type conn struct {
	host string
	path string
	net  net.Conn
	r    *bufio.Reader
	stop func() bool
}

// dial connects to the server of a URL of http. The end of ctx ends the
// connection.
func dial(ctx context.Context, rawURL string) (*conn, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	return &conn{
		host: u.Host, path: u.Path, net: c, r: bufio.NewReaderSize(c, 64<<10),
		stop: context.AfterFunc(ctx, func() { _ = c.Close() }), // what reads or writes then fails
	}, nil
}

func (c *conn) close() error {
	c.stop()
	return c.net.Close()
}

// response is what is read of the head of a response.
type response struct {
	status  int
	length  int64 // -1 where it is not said
	chunked bool
	stream  bool   // of events
	session string // Mcp-Session-Id
}

// roundTrip sends a whole request and reads the response, its body into body.
func (c *conn) roundTrip(request []byte, body *bytes.Buffer) (*response, error) {
	if err := c.net.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		return nil, err
	}
	if _, err := c.net.Write(request); err != nil {
		return nil, err
	}
	resp, err := c.head()
	if err != nil {
		return nil, err
	}
	body.Reset()
	switch {
	case resp.chunked:
		if _, err := body.ReadFrom(httputil.NewChunkedReader(c.r)); err != nil {
			return nil, err
		}
		_, err = c.line() // after the last chunk; there are no trailers
	case resp.length > 0:
		_, err = io.CopyN(body, c.r, resp.length)
	case resp.length < 0 && resp.status != 204:
		err = errors.New("a response without a length")
	}
	return resp, err
}

func (c *conn) line() ([]byte, error) {
	line, err := c.r.ReadSlice('\n')
	return bytes.TrimRight(line, "\r\n"), err
}

func (c *conn) head() (*response, error) {
	line, err := c.line()
	if err != nil {
		return nil, err
	}
	version, rest, _ := bytes.Cut(line, []byte(" "))
	code, _, _ := bytes.Cut(rest, []byte(" "))
	resp := &response{length: -1}
	if resp.status, err = strconv.Atoi(string(code)); err != nil || string(version) != "HTTP/1.1" {
		return nil, fmt.Errorf("not a response of HTTP/1.1: %q", line)
	}
	for {
		if line, err = c.line(); err != nil || len(line) == 0 {
			return resp, err
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if resp.length, err = strconv.ParseInt(string(value), 10, 64); err != nil || resp.length > maxBody {
				return nil, fmt.Errorf("a response of length %q", value)
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			resp.chunked = string(value) == "chunked"
		case bytes.EqualFold(name, []byte("Content-Type")):
			resp.stream = bytes.HasPrefix(value, []byte("text/event-stream"))
		case bytes.EqualFold(name, []byte("Mcp-Session-Id")):
			resp.session = string(value)
		}
	}
}
