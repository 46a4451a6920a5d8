package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// startTimeout bounds the time until a process says where it listens.
	startTimeout = 30 * time.Second
	// stopTimeout bounds the time that a process takes to end.
	stopTimeout = 15 * time.Second
	// maxStderr bounds what is kept of a process's standard error. It has to
	// hold the stacks of all goroutines, which SIGQUIT asks for.
	maxStderr = 16 << 20
)

// process is a running program that has said where it listens.
type process struct {
	// line is the first line of its standard output.
	line string

	name   string
	cmd    *exec.Cmd
	stderr *head
	done   chan struct{} // closed once the process has ended, and err is set
	err    error
}

// start runs a program and waits for its first line of output. The end of ctx
// kills it; the caller must stop it.
func start(ctx context.Context, env []string, path string, args ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), env...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p := &process{name: strings.Join(args[:min(1, len(args))], ""), cmd: cmd, stderr: &head{}, done: make(chan struct{})}
	cmd.Stderr = p.stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	first := make(chan string, 1)
	go func() {
		defer close(p.done)
		r := bufio.NewReader(stdout)
		line, _ := r.ReadString('\n') // what went wrong is on standard error
		first <- strings.TrimSpace(line)
		_, _ = io.Copy(io.Discard, r)
		p.err = cmd.Wait()
	}()
	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	select {
	case p.line = <-first:
		if p.line != "" {
			return p, nil
		}
		err = errors.New("it ended at once")
	case <-timeout.C:
		err = fmt.Errorf("it did not say where it listens within %v", startTimeout)
	}
	return nil, errors.Join(fmt.Errorf("%s %s: %w: %s", path, p.name, err, p.stderr), p.kill())
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// stop ends the process in an orderly way.
func (p *process) stop() error {
	if err := p.end(syscall.SIGTERM); err != nil {
		return err
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w: %s", p.name, p.err, p.stderr)
	}
	return nil
}

// goroutines ends a Go program and returns how many goroutines it had.
func (p *process) goroutines() (int, error) {
	if err := p.end(syscall.SIGQUIT); err != nil {
		return 0, err
	}
	n := strings.Count(p.stderr.String(), "\ngoroutine ")
	if n == 0 {
		return 0, fmt.Errorf("%s left no stacks: %s", p.name, p.stderr)
	}
	return n, nil
}

// end sends a signal and waits for the process to end.
func (p *process) end(signal os.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	select {
	case <-p.done:
		return nil
	case <-timeout.C:
		return errors.Join(fmt.Errorf("%s did not end within %v", p.name, stopTimeout), p.kill())
	}
}

func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	<-p.done
	return nil
}

// head keeps the first maxStderr bytes that are written to it.
type head struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (h *head) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buf.Write(b[:min(len(b), maxStderr-h.buf.Len())])
	return len(b), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.buf.String()
}
