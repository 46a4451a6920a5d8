//go:build linux

package reap_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-bridge/mcp-bridge/internal/reap"
)

// inheritEnv makes the test binary a process that inherits orphans.
const inheritEnv = "REAP_TEST_INHERIT"

func TestMain(m *testing.M) {
	if os.Getenv(inheritEnv) != "" {
		if err := inherit(); err != nil {
			fmt.Fprintln(os.Stdout, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// inherit starts programs that leave orphans, and programs whose exit status
// counts.
func inherit() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("skip: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		reap.Orphans(ctx)
	}()
	defer func() {
		cancel()
		<-done
	}()
	for i := range 20 {
		// The inner shell ends before its child, which prints its own id.
		cmd := exec.Command("sh", "-c", `sh -c 'echo $$; exit 0' & exit `+strconv.Itoa(i+1))
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := reap.Start(cmd); err != nil {
			return err
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			return err
		}
		err = reap.Wait(cmd)
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != i+1 {
			return fmt.Errorf("%w, want exit status %d", err, i+1)
		}
		orphan, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return err
		}
		if err := gone(orphan); err != nil {
			return err
		}
	}
	return nil
}

// gone waits until there is no process pid. A zombie is one.
func gone(pid int) error {
	limit := time.NewTimer(10 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for syscall.Kill(pid, 0) == nil {
		select {
		case <-tick.C:
		case <-limit.C:
			return fmt.Errorf("the orphan %d is still there", pid)
		}
	}
	return nil
}

func TestOrphans(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), inheritEnv+"=1")
	out, err := cmd.CombinedOutput()
	if strings.HasPrefix(string(out), "skip: ") {
		t.Skip(string(out))
	}
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
