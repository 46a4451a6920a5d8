//go:build !unix

package stdio

import "os/exec"

func leadGroup(*exec.Cmd) {}

// killGroup ends the program. There is no signal that asks for it, and what
// the program has started is out of reach.
func killGroup(cmd *exec.Cmd, _ bool) {
	// It has ended already where this fails.
	_ = cmd.Process.Kill()
}
