// Package reap starts programs, and reaps the orphans that a process inherits
// which is the first of a container: without that they stay as zombies, and fill
// the process table.
package reap

import (
	"os/exec"
	"sync"
)

// children are the programs that have been started here and not been waited for.
// Their exit status is their starter's.
var children = struct {
	sync.Mutex

	pids map[int]struct{}
}{pids: make(map[int]struct{})}

// Start starts a program. Every program must be started in this way, and waited
// for by [Wait].
func Start(cmd *exec.Cmd) error {
	children.Lock()
	defer children.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	children.pids[cmd.Process.Pid] = struct{}{}
	return nil
}

// Wait waits for a program.
func Wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	children.Lock()
	defer children.Unlock()
	delete(children.pids, cmd.Process.Pid)
	return err
}
