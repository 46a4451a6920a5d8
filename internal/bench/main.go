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
