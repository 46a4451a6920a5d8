package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/framed"
)

// lines are messages, one a line, on a pair of byte streams.
type lines struct {
	in    *bufio.Reader
	out   io.Writer
	limit int
	why   func() error // why in has ended, if more is known; may be nil
	stop  func()       // ends both, and waits for it; may be nil
}

var _ framed.Stream = (*lines)(nil)

// newLines returns the messages of up to limit bytes on in and out, which it
// does not close.
func newLines(in io.Reader, out io.Writer, limit int) *lines {
	return &lines{in: bufio.NewReaderSize(in, 64<<10), out: out, limit: limit}
}

// Receive returns the next line that is not empty.
func (l *lines) Receive() ([]byte, error) {
	for {
		line, tooLong, err := readLine(l.in, l.limit)
		switch {
		case tooLong:
			return nil, framed.ErrTooLong
		case len(bytes.TrimSpace(line)) > 0:
			return line, nil // err comes again
		case err == nil:
			continue
		}
		if l.why != nil {
			if why := l.why(); why != nil {
				return nil, why
			}
		}
		if errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("stdio: read: %w", err)
	}
}

// Send writes a line.
func (l *lines) Send(message []byte) error {
	line := append(jsontok.AppendCompact(make([]byte, 0, len(message)+1), message), '\n')
	if _, err := l.out.Write(line); err != nil {
		return fmt.Errorf("stdio: write: %w", err)
	}
	return nil
}

// Close ends the streams.
func (l *lines) Close() {
	if l.stop != nil {
		l.stop()
	}
}

// readLine reads up to and including the next newline. A line of more than
// limit bytes without it is skipped, and tooLong then.
func readLine(r *bufio.Reader, limit int) (line []byte, tooLong bool, err error) {
	for {
		chunk, err := r.ReadSlice('\n')
		if len(line)+len(bytes.TrimSuffix(chunk, []byte{'\n'})) > limit {
			tooLong, line = true, nil
		}
		if !tooLong {
			line = append(line, chunk...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}
