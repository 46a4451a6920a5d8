//go:build unix

package stdio

import (
	"os/exec"
	"syscall"
)

// leadGroup makes the program the leader of a process group of its own.
func leadGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup asks all processes of the program's group to end, or makes them.
func killGroup(cmd *exec.Cmd, force bool) {
	signal := syscall.SIGTERM
	if force {
		signal = syscall.SIGKILL
	}
	// There is nobody left where it fails.
	_ = syscall.Kill(-cmd.Process.Pid, signal)
}
