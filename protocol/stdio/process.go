package stdio

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
)

const (
	// maxStderrLine is how much of a line of standard error is kept.
	maxStderrLine = 4 << 10
	// outputGrace is how long output is still read after the program has
	// ended: something else may hold the other end open.
	outputGrace = time.Second
)

// process is a running program. It leads a process group, so that what it
// starts ends with it.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	log    *slog.Logger
	grace  time.Duration

	exited chan struct{} // closed once the program has been waited for
	err    error         // of Wait, set before exited is closed
	logged chan struct{} // closed once standard error has been read

	mu       sync.Mutex
	lastLine string // of standard error
}

// startProcess starts the program of cfg.
func startProcess(cfg *ClientConfig) (_ *process, err error) {
	cmd := exec.Command(cfg.Command, cfg.Args...) //nolint:gosec // running it is what is asked for
	cmd.Dir = cfg.Dir
	cmd.Env = environment(cfg)
	leadGroup(cmd)
	p := &process{
		cmd: cmd, log: cfg.Logger, grace: cfg.StopTimeout,
		exited: make(chan struct{}), logged: make(chan struct{}),
	}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close()
		}
		if err != nil {
			for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
				if f != nil {
					_ = f.Close()
				}
			}
		}
	}()
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.stdin = in
	theirs = append(theirs, stdin)
	out, stdout, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.stdout = out
	theirs = append(theirs, stdout)
	errs, stderr, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.stderr = errs
	theirs = append(theirs, stderr)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go p.readStderr()
	go func() {
		p.err = cmd.Wait()
		killGroup(cmd, true) // what it has started and left
		// Whoever still holds the pipes has left the group. Where a pipe has
		// no deadline, stop closes it.
		limit := time.Now().Add(outputGrace)
		_ = p.stdout.SetReadDeadline(limit)
		_ = p.stderr.SetReadDeadline(limit)
		close(p.exited)
	}()
	return p, nil
}

// readStderr logs what the program writes to its standard error.
func (p *process) readStderr() {
	defer close(p.logged)
	r := bufio.NewReaderSize(p.stderr, maxStderrLine)
	for {
		line, err := r.ReadSlice('\n')
		text := string(bytes.ToValidUTF8(bytes.TrimRight(line, "\r\n"), []byte("\uFFFD")))
		if text != "" {
			p.mu.Lock()
			p.lastLine = text
			p.mu.Unlock()
			p.log.Info("the MCP server says", "stderr", text)
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line
			_, err = r.ReadSlice('\n')
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, os.ErrClosed) {
				p.log.Debug("the standard error of the MCP server could not be read", "error", err)
			}
			return
		}
	}
}

// why says how the program has ended, once it has closed its output.
func (p *process) why() error {
	timer := time.NewTimer(outputGrace)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		return peer.Unavailable(nil, "the MCP server has closed its output")
	}
	select {
	case <-p.logged:
	case <-timer.C:
	}
	status := "exit status 0"
	if p.err != nil {
		status = p.err.Error()
	}
	p.mu.Lock()
	last := p.lastLine
	p.mu.Unlock()
	var detail error
	if last != "" {
		detail = fmt.Errorf("it said last: %s", last)
	}
	return peer.Unavailable(detail, "the MCP server has ended: "+status)
}

// stop ends the program (basic/transports/stdio, Shutdown), and returns once
// it has been waited for and its output has been closed.
func (p *process) stop() {
	_ = p.stdin.Close() // it may have gone already
	if !p.waited(p.grace) {
		p.log.Info("the MCP server does not end by itself; it is told to", "timeout", p.grace)
		killGroup(p.cmd, false)
		if !p.waited(p.grace) {
			p.log.Warn("the MCP server does not end when told to; it is killed", "timeout", p.grace)
			killGroup(p.cmd, true)
			<-p.exited
		}
	}
	<-p.logged
	_ = p.stderr.Close()
	_ = p.stdout.Close()
}

func (p *process) waited(timeout time.Duration) bool {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}
