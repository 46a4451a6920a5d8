package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-bridge/mcp-bridge/internal/printable"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
)

// Exit statuses.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
	exitSignal  = 128 // and the number of the signal
)

// failure is an error with advice. Its text is one line; each hint is one more.
type failure struct {
	err   error
	hints []string
	usage bool
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// hint adds a line of advice.
func (f *failure) hint(format string, args ...any) *failure {
	f.hints = append(f.hints, fmt.Sprintf(format, args...))
	return f
}

// usagef returns the error of a command line that is wrong.
func usagef(format string, args ...any) *failure {
	return &failure{err: fmt.Errorf(format, args...), usage: true}
}

// failf returns an error that hints can be added to.
func failf(format string, args ...any) *failure {
	return &failure{err: fmt.Errorf(format, args...)}
}

// exit reports err and returns the exit status. A failure while ctx has ended
// is the consequence of that.
func (a *app) exit(ctx context.Context, cmd *cobra.Command, err error) int {
	if err == nil {
		return exitOK
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		report(a.stderr, "interrupted")
		return exitFailure
	}
	f, ok := errors.AsType[*failure](err)
	if !ok {
		report(a.stderr, err.Error(), upstreamHints(err)...)
		return exitFailure
	}
	hints := append(f.hints, upstreamHints(err)...)
	if f.usage {
		hints = append(hints, fmt.Sprintf("see: %s --help", cmd.CommandPath()))
	}
	report(a.stderr, err.Error(), hints...)
	if f.usage {
		return exitUsage
	}
	return exitFailure
}

// upstreamHints are what can be done about an MCP server that does not start, or
// that is none.
func upstreamHints(err error) (hints []string) {
	if exit, ok := errors.AsType[*stdio.ExitError](err); ok && exit.Status != "" {
		hints = append(hints, "a command inherits only basic variables of the environment: pass others with --env NAME")
	}
	if fault, ok := errors.AsType[*protocol.UpstreamError](err); ok && fault.Hint != "" {
		hints = append(hints, fault.Hint)
	}
	return hints
}

// maxReport bounds a report in bytes.
const maxReport = 64 << 10

// report prints "mcp-bridge: text" and the hints, as far as they are printable. Further lines are indented,
// so that the beginning of a report is easy to see. Nothing can be done where
// stderr does not take it.
func report(w io.Writer, text string, hints ...string) {
	var b strings.Builder
	b.WriteString("mcp-bridge: ")
	b.WriteString(strings.ReplaceAll(strings.TrimSpace(reported(text)), "\n", "\n  "))
	b.WriteByte('\n')
	for _, h := range hints {
		b.WriteString("  ")
		b.WriteString(strings.ReplaceAll(reported(h), "\n", "\n  "))
		b.WriteByte('\n')
	}
	_, _ = io.WriteString(w, b.String())
}

// reported is text as a report shows it. Much of it repeats what an upstream
// said, or what the command line holds.
func reported(text string) string {
	if len(text) > maxReport {
		text = text[:maxReport] + "..."
	}
	return printable.Text(text)
}
