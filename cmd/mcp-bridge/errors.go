package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
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
		report(a.stderr, err.Error())
		return exitFailure
	}
	hints := f.hints
	if f.usage {
		hints = append(hints, fmt.Sprintf("see: %s --help", cmd.CommandPath()))
	}
	report(a.stderr, err.Error(), hints...)
	if f.usage {
		return exitUsage
	}
	return exitFailure
}

// report prints "mcp-bridge: text" and the hints. Further lines are indented,
// so that the beginning of a report is easy to see. Nothing can be done where
// stderr does not take it.
func report(w io.Writer, text string, hints ...string) {
	var b strings.Builder
	b.WriteString("mcp-bridge: ")
	b.WriteString(strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  "))
	b.WriteByte('\n')
	for _, h := range hints {
		b.WriteString("  ")
		b.WriteString(strings.ReplaceAll(h, "\n", "\n  "))
		b.WriteByte('\n')
	}
	_, _ = io.WriteString(w, b.String())
}
