package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-bridge/mcp-bridge/bridge"
)

// operationFlags are the flags about methods that start long-running
// operations.
type operationFlags struct {
	wait    time.Duration
	ttl     time.Duration
	keyFile string
}

func (o *operationFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.DurationVar(&o.wait, "operation-wait", bridge.DefaultOperationWait, "wait this `time` for a long-running operation, within five sixths of --timeout; 0 for not at all")
	f.DurationVar(&o.ttl, "task-ttl", bridge.DefaultTaskTTL, "let a task be asked for during this `time` after its creation")
	f.StringVar(&o.keyFile, "task-key-file", "", "seal the ids of tasks with the 32 or more random bytes in this `file`, so that they outlive the process and are known to every replica")
	annotate(cmd, groupAPI, "operation-wait", "task-ttl", "task-key-file")
}

func (o *operationFlags) check() (problems []error) {
	if o.wait < 0 {
		problems = append(problems, fmt.Errorf("--operation-wait %v is negative", o.wait))
	}
	if o.ttl < time.Millisecond {
		problems = append(problems, fmt.Errorf("--task-ttl %v is less than a millisecond", o.ttl))
	}
	return problems
}

func (o *operationFlags) options() ([]bridge.Option, error) {
	opts := []bridge.Option{bridge.WithOperationWait(o.wait), bridge.WithTaskTTL(o.ttl)}
	if o.keyFile == "" {
		return opts, nil
	}
	key, err := os.ReadFile(o.keyFile)
	if err != nil {
		return nil, fmt.Errorf("--task-key-file: %w", err)
	}
	return append(opts, bridge.WithTaskKey(key)), nil
}
