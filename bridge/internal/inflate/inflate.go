// Package inflate decompresses gzip up to a limit. connect-go bounds the memory
// that a compressed message takes, but reads a message that is too large to its
// end, to say how large it is: a few megabytes can then keep a processor busy
// for minutes.
package inflate

import (
	"compress/gzip"
	"errors"
	"io"

	"connectrpc.com/connect"
)

// errLimit is the error for what is beyond the limit.
var errLimit = errors.New("decompression has stopped there")

// Handler makes a handler read requests of up to limit bytes.
func Handler(limit int) connect.HandlerOption {
	return connect.WithCompression(gzipName, decompressor(limit), compressor)
}

// Client makes a client read responses of up to limit bytes.
func Client(limit int) connect.ClientOption {
	return connect.WithAcceptCompression(gzipName, decompressor(limit), compressor)
}

const gzipName = "gzip"

func decompressor(limit int) func() connect.Decompressor {
	return func() connect.Decompressor { return &reader{limit: int64(limit)} }
}

func compressor() connect.Compressor { return gzip.NewWriter(io.Discard) }

// reader is a gzip.Reader that stops.
type reader struct {
	gzip.Reader

	limit, left int64
}

// Read reads up to one byte more than the limit, by which connect-go sees that
// the message is too large.
func (r *reader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errLimit
	}
	n, err := r.Reader.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}

// Reset begins with another message.
func (r *reader) Reset(in io.Reader) error {
	r.left = r.limit + 1
	return r.Reader.Reset(in)
}
