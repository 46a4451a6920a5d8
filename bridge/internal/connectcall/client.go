package connectcall

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"connectrpc.com/connect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/header"
)

// exchange is what one call has to do with HTTP: what to ask and what came
// back. connect-go reports neither the response nor the errors of the
// transport as they were, and both tell people what is wrong.
//
// The answer is written before done is closed, except readErr, which belongs
// to the goroutine that receives.
type exchange struct {
	procedure string
	header    http.Header
	// maxBody bounds the bytes of a unary response; 0 is no limit.
	maxBody int64

	done        chan struct{}
	err         error // of sending the request
	statusCode  int   // 0 without a response
	contentType string
	// begin is the begin of a response in a textual type: not an RPC's.
	begin []byte

	readErr error // of reading the response
}

type exchangeKey struct{}

// client is the HTTP client below connect-go. One connect client serves all
// procedures, because this one puts the procedure's path in.
type client struct {
	next      connect.HTTPClient
	base      *url.URL
	authority string
	userAgent string
	header    http.Header
	// answered is set when the peer has ever answered with more than the text
	// of a web server that does not know what to do.
	answered *atomic.Bool
}

var _ connect.HTTPClient = (*client)(nil)

var errNoExchange = errors.New("request without a call")

// Do performs the request of a call.
func (c *client) Do(request *http.Request) (*http.Response, error) {
	x, ok := request.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errNoExchange
	}
	defer close(x.done)
	c.address(request, x)
	response, err := c.next.Do(request)
	if err != nil {
		x.err = err
		return nil, err
	}
	x.statusCode = response.StatusCode
	x.contentType = response.Header.Get("Content-Type")
	if strings.HasPrefix(x.contentType, "application/") {
		c.answered.Store(true)
	}
	watched := &body{ReadCloser: response.Body, exchange: x}
	if strings.HasPrefix(x.contentType, "text/") || x.contentType == "" && x.statusCode != http.StatusOK {
		watched.peek()
	}
	response.Body = watched
	return response, nil
}

// address makes connect-go's request that of the call.
func (c *client) address(request *http.Request, x *exchange) {
	request.URL.Path = c.base.Path + x.procedure
	if c.base.RawPath != "" {
		request.URL.RawPath = c.base.RawPath + (&url.URL{Path: x.procedure}).EscapedPath()
	}
	if c.authority != "" {
		request.Host = c.authority
	}
	request.Header["User-Agent"] = []string{c.userAgent}
	if _, ok := request.Header["X-User-Agent"]; ok {
		request.Header["X-User-Agent"] = []string{c.userAgent}
	}
	header.Encode(request.Header, x.header)
	for key, values := range c.header {
		if _, ok := request.Header[key]; !ok {
			request.Header[key] = values
		}
	}
}

// body watches the reading of a response.
type body struct {
	io.ReadCloser

	exchange *exchange
	peeked   io.Reader // read before the rest, nil if nothing was peeked
	read     int64
}

var errBodyTooLarge = errors.New("the response is larger than the limit")

// maxBegin is how much of a response is kept for an error message.
const maxBegin = 512

// peek keeps the begin of the response.
func (b *body) peek() {
	begin := make([]byte, maxBegin)
	n, err := b.ReadCloser.Read(begin)
	b.exchange.begin = begin[:n]
	b.peeked = bytes.NewReader(begin[:n])
	if err != nil {
		b.peeked = io.MultiReader(b.peeked, failingReader{err})
	}
}

// Read reads on. A unary response that outgrows the limit fails here, because
// connect-go would read it to its end, which may never come.
func (b *body) Read(p []byte) (int, error) {
	if b.peeked != nil {
		n, err := b.peeked.Read(p)
		if n > 0 || err != io.EOF {
			return n, err
		}
		b.peeked = nil
	}
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if err == nil && b.exchange.maxBody > 0 && b.read > b.exchange.maxBody {
		err = errBodyTooLarge
	}
	if err != nil && !errors.Is(err, io.EOF) && b.exchange.readErr == nil {
		b.exchange.readErr = err
	}
	return n, err
}

// failingReader returns an error.
type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }
