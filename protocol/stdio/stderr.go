package stdio

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/printable"
)

// Bounds of what is logged of a program's standard error.
const (
	// maxStderrLine is how much of a line is kept, in bytes.
	maxStderrLine = 4 << 10
	// maxStderrLines and maxStderrBytes are how much may come at once, and
	// stderrRefill is the time in which that much may come again.
	maxStderrLines = 200
	maxStderrBytes = 256 << 10
	stderrRefill   = 10 * time.Second
	// keptStderrLines and keptStderrBytes are how much of its end is kept for the
	// error of a program that has ended.
	keptStderrLines = 20
	keptStderrBytes = 8 << 10
)

// stderr takes what a program writes to its standard error: it logs it, within
// bounds, and keeps the end.
type stderr struct {
	log    *slog.Logger
	redact func(string) string

	mu      sync.Mutex
	kept    []string // the last lines
	lines   float64  // that may be logged now, and bytes
	bytes   float64
	filled  time.Time
	dropped struct{ lines, bytes int }
	summary *time.Timer // logs how much was dropped
}

func newStderr(log *slog.Logger, redact func(string) string) *stderr {
	return &stderr{log: log, redact: redact, lines: maxStderrLines, bytes: maxStderrBytes, filled: time.Now()}
}

// read takes all of r.
func (s *stderr) read(r io.Reader) {
	defer s.end()
	in := bufio.NewReaderSize(r, maxStderrLine)
	for {
		line, err := in.ReadSlice('\n')
		rest := 0
		text := string(line)
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line
			line, err = in.ReadSlice('\n')
			rest += len(line)
		}
		if rest > 0 {
			text += "..."
		}
		// A terminal that redraws a line shows what comes last of it.
		text = strings.TrimRight(text, "\r\n")
		text = strings.TrimRight(printable.Line(text[strings.LastIndexByte(text, '\r')+1:]), " ")
		if text != "" {
			s.take(s.redact(text), rest)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, os.ErrClosed) {
				s.log.Debug("the standard error of the MCP server could not be read", "error", err)
			}
			return
		}
	}
}

// take takes a line, of which cut bytes are missing.
func (s *stderr) take(text string, cut int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, text)
	if len(s.kept) > keptStderrLines {
		s.kept = s.kept[1:]
	}
	now := time.Now()
	share := now.Sub(s.filled).Seconds() / stderrRefill.Seconds()
	s.filled = now
	s.lines = min(maxStderrLines, s.lines+share*maxStderrLines)
	s.bytes = min(maxStderrBytes, s.bytes+share*maxStderrBytes)
	if s.lines < 1 || s.bytes < float64(len(text)) {
		s.dropped.lines++
		s.dropped.bytes += len(text) + cut
		if s.summary == nil {
			s.summary = time.AfterFunc(stderrRefill, func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.summarize()
			})
		}
		return
	}
	s.lines--
	s.bytes -= float64(len(text))
	s.log.Info("the MCP server says", "stderr", text)
}

// summarize logs how much was dropped, under the lock.
func (s *stderr) summarize() {
	if s.summary != nil {
		s.summary.Stop()
		s.summary = nil
	}
	if s.dropped.lines > 0 {
		s.log.Warn("the MCP server says more than is logged", "lines_dropped", s.dropped.lines, "bytes_dropped", s.dropped.bytes)
		s.dropped.lines, s.dropped.bytes = 0, 0
	}
}

func (s *stderr) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.summarize()
}

// last returns the last lines.
func (s *stderr) last() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	left := keptStderrBytes
	for i := len(s.kept) - 1; i >= 0 && left > 0; i-- {
		line := clip.Text(s.kept[i], max(left, len("...")))
		left -= len(line)
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return lines
}
