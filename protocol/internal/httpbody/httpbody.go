// Package httpbody reads the bodies of requests from clients that may be slow,
// or hostile.
package httpbody

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"
)

// DefaultTimeout is how long a client may take for a body that has only just
// begun to arrive.
const DefaultTimeout = 15 * time.Second

const (
	// bytesPerSecond is how fast a body must arrive in the long run.
	bytesPerSecond = 4 << 10
	// firstBuffer is the memory that a body gets before any of it is there. It
	// holds most messages.
	firstBuffer = 4 << 10
	// growth is by how much the memory of a longer one grows. So a client that
	// announces much and sends little costs little.
	growth = 4
)

// ErrTooSlow says that the body did not arrive in time. The read deadline has
// passed, so over HTTP/1.1 the server closes the connection after the response.
var ErrTooSlow = errors.New("the body did not arrive in time")

// Limits bound a body.
type Limits struct {
	// Bytes is how long it may be.
	Bytes int64
	// Timeout is how long the client may take, and one second more for every
	// 4 KiB that have arrived.
	Timeout time.Duration
}

// Unsupported says why the body of r cannot be one message in JSON, for the
// response 415, or nothing. The header of that response tells what is accepted,
// where a body is encoded (RFC 9110, section 12.5.3).
func Unsupported(w http.ResponseWriter, r *http.Request) string {
	if !isJSON(r.Header.Get("Content-Type")) {
		return "Content-Type must be application/json"
	}
	for _, value := range r.Header["Content-Encoding"] {
		for coding := range strings.SplitSeq(value, ",") {
			if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
				w.Header().Set("Accept-Encoding", "identity")
				return "Content-Encoding must be identity: send the message as it is, without compression"
			}
		}
	}
	return ""
}

// isJSON reports whether a Content-Type is that of JSON, whatever its
// parameters.
func isJSON(contentType string) bool {
	if contentType == "application/json" { // almost always, and then nothing is to be parsed
		return true
	}
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && t == "application/json"
}

// Read reads the body of r. It returns an [*http.MaxBytesError] for one that is
// too long, and ErrTooSlow for one that takes too long; that needs a server that
// supports read deadlines, as those of net/http do for HTTP/1.1 and HTTP/2.
// After success there is no read deadline, so that the response may take its
// time.
func Read(w http.ResponseWriter, r *http.Request, limits Limits) ([]byte, error) {
	var (
		rc       = http.NewResponseController(w)
		body     = http.MaxBytesReader(w, r.Body, limits.Bytes)
		first    = time.Now().Add(limits.Timeout)
		deadline = first
		buf      = make([]byte, 0, size(firstBuffer, r.ContentLength))
	)
	_ = rc.SetReadDeadline(deadline)
	for {
		n, err := body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case err == io.EOF:
			_ = rc.SetReadDeadline(time.Time{})
			return buf, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, ErrTooSlow
		case err != nil:
			_ = rc.SetReadDeadline(time.Time{})
			return nil, err
		}
		if extended := first.Add(time.Duration(len(buf)/bytesPerSecond) * time.Second); extended.After(deadline) {
			deadline = extended
			_ = rc.SetReadDeadline(deadline)
		}
		if len(buf) == cap(buf) {
			longer := make([]byte, len(buf), size(growth*len(buf), r.ContentLength))
			copy(longer, buf)
			buf = longer
		}
	}
}

// size returns a size of memory: want, or less where the body says that it is
// shorter. It has room to see the end.
func size(want int, contentLength int64) int {
	if contentLength >= 0 && contentLength < int64(want) {
		return int(contentLength) + 1
	}
	return want
}
