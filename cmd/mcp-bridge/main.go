package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/mcp-bridge/mcp-bridge/internal/reap"
)

func main() {
	tuneGC()
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	// The first signal asks for an orderly end, a second one is the end at
	// once, with the status that a shell gives to what a signal has ended.
	go func() {
		<-signals
		cancel()
		status := exitFailure
		if s, ok := (<-signals).(syscall.Signal); ok {
			status = exitSignal + int(s)
		}
		os.Exit(status)
	}()
	if os.Getpid() == 1 {
		go reap.Orphans(ctx) // for as long as the process lives
	}
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
