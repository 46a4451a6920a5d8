package stdio

import (
	"log/slog"
	"os"
	"os/exec"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/reap"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
)

// outputGrace is how long output is still read after the program has ended:
// something else may hold the other end open.
const outputGrace = time.Second

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
	says   *stderr
	logged chan struct{} // closed once standard error has been read
}

// startProcess starts the program of cfg.
func startProcess(cfg *ClientConfig) (_ *process, err error) {
	cmd := exec.Command(cfg.Command, cfg.Args...) //nolint:gosec // running it is what is asked for
	cmd.Dir = cfg.Dir
	cmd.Env = environment(cfg)
	leadGroup(cmd)
	p := &process{
		cmd: cmd, log: cfg.Logger, grace: cfg.StopTimeout, says: newStderr(cfg.Logger, cfg.secrets.Redact),
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
	if err := reap.Start(cmd); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.logged)
		p.says.read(p.stderr)
	}()
	go func() {
		p.err = reap.Wait(cmd)
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
	return peer.Unavailable(&ExitError{Status: status, Stderr: p.says.last()}, "the MCP server has ended: "+status)
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
