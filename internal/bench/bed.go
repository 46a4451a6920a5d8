package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// bed starts the processes that a measurement needs, and ends them.
type bed struct {
	self    string // this program
	binary  string // of the bridge
	env     []string
	dir     string
	backend *process
	started []*process
}

// newBed builds the bridge and starts the backend.
func (o *options) newBed(ctx context.Context) (*bed, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b := &bed{self: self, binary: o.bridge, env: o.bridgeEnv}
	if b.dir, err = os.MkdirTemp("", "mcp-bridge-bench"); err != nil {
		return nil, err
	}
	if b.binary == "" {
		b.binary = filepath.Join(b.dir, "mcp-bridge")
		build := exec.CommandContext(ctx, "go", "build", "-o", b.binary, "github.com/mcp-bridge/mcp-bridge/cmd/mcp-bridge")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, errors.Join(fmt.Errorf("go build: %w: %s", err, out), b.close())
		}
	}
	if b.backend, err = b.role(ctx, roleBackend); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// role starts this program in a role.
func (b *bed) role(ctx context.Context, role string, args ...string) (*process, error) {
	var env []string
	if role == roleLibrary {
		env = b.env
	}
	return b.start(ctx, append([]string{roleEnv + "=" + role}, env...), b.self, args...)
}

// bridge starts the bridge in front of an upstream.
func (b *bed) bridge(ctx context.Context, upstream string, flags ...string) (*process, error) {
	return b.bridgeWith(ctx, nil, upstream, flags...)
}

func (b *bed) bridgeWith(ctx context.Context, env []string, upstream string, flags ...string) (*process, error) {
	args := append([]string{"serve", "--listen", "127.0.0.1:0", "--tools-bytes", "0"}, flags...)
	return b.start(ctx, slices.Concat(b.env, env), b.binary, append(args, upstream)...)
}

func (b *bed) start(ctx context.Context, env []string, path string, args ...string) (*process, error) {
	p, err := start(ctx, env, path, args...)
	if err != nil {
		return nil, err
	}
	b.started = append(b.started, p)
	return p, nil
}

// url is where a process that serves MCP listens.
func (p *process) url() string { return strings.TrimPrefix(p.line, "Listening on ") }

// close ends what still runs.
func (b *bed) close() error {
	errs := make([]error, 0, len(b.started)+1)
	for _, p := range slices.Backward(b.started) {
		select {
		case <-p.done:
		default:
			errs = append(errs, p.kill())
		}
	}
	return errors.Join(append(errs, os.RemoveAll(b.dir))...)
}

// measure measures what the options say and prints the tables.
func (o *options) measure(ctx context.Context, out, progress io.Writer) (err error) {
	if _, err := cpuTime(os.Getpid()); err != nil {
		return err
	}
	b, err := o.newBed(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if o.profile != "" {
		return o.writeProfiles(ctx, b, progress)
	}
	var tables []*table
	for _, part := range o.parts {
		var more []*table
		switch part {
		case partCalls:
			results, err := o.measureCalls(ctx, b, progress)
			if err != nil {
				return err
			}
			more = o.callTables(results)
		case partMirror:
			t, err := o.measureMirror(ctx, b, progress)
			if err != nil {
				return err
			}
			more = []*table{t}
		case partAllocations:
			t, err := o.measureAllocations(ctx, b, progress)
			if err != nil {
				return err
			}
			more = []*table{t}
		case partScale:
			t, err := o.measureScale(ctx, b, progress)
			if err != nil {
				return err
			}
			more = []*table{t}
		}
		tables = append(tables, more...)
	}
	for _, t := range tables {
		if err := t.print(out, o.markdown); err != nil {
			return err
		}
	}
	return nil
}
