// Command bench measures the bridge against a bridge that is written by hand
// for one API, and prints docs/performance.md's tables.
//
// It starts the backend, the hand-written bridge and the bridge each as a
// process of its own, calls them in rounds that take turns, and reads from the
// kernel what time on a CPU each has had. Every answer is checked. What it
// prints are medians of the ratios within a round, because on a shared machine
// no absolute time means anything.
//
//	go run ./internal/bench -markdown
//	go run ./internal/bench -part calls -work Echo,Large -clients 16 -rounds 15
//	go run ./internal/bench -bridge-env GOGC=400 -part calls
//	go run ./internal/bench -profile /tmp/profiles -work Echo
//
// It runs on Linux.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run plays the role that the environment names, or measures.
func run(ctx context.Context) error {
	if os.Getenv(roleEnv) != "" {
		return play(ctx, os.Args[1:], os.Stdout)
	}
	o, err := parseOptions(os.Args[1:], os.Stderr)
	if err != nil {
		return err
	}
	return o.measure(ctx, os.Stdout, os.Stderr)
}
