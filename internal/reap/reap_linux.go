package reap

import (
	"bytes"
	"context"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// sweepTime is how often orphans are looked for without a signal: signals that
// come close together are one.
const sweepTime = time.Minute

// Orphans reaps the orphans of this process until ctx ends. It is of use to a
// process that inherits some: the first of a container, or a subreaper.
func Orphans(ctx context.Context) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	ticker := time.NewTicker(sweepTime)
	defer ticker.Stop()
	for {
		sweep()
		select {
		case <-ended:
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// sweep reaps the children of this process that have ended and that it has not
// started. To wait for any child would take the exit status of those that it has.
func sweep() {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return // without it nothing is known of children
	}
	children.Lock()
	defer children.Unlock()
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if _, ours := children.pids[pid]; !ours && isZombie(pid) {
			// It fails where somebody else has been faster.
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	}
}

// isZombie reports whether a process is a child of this one that has ended
// (proc_pid_stat(5)).
func isZombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false // it has gone
	}
	// The name is in parentheses and may hold some.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	return len(fields) > 1 && string(fields[0]) == "Z" && string(fields[1]) == strconv.Itoa(os.Getpid())
}
