package upstream

import (
	"context"
	"maps"
	"slices"

	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
)

// openCommand opens an MCP server on the standard input and output of a command.
func (p *plan) openCommand(ctx context.Context) (Server, error) {
	if p.spec.GetProcess() != configv1.Process_PROCESS_PRINCIPAL {
		c, err := p.startCommand()
		if err != nil {
			return nil, &ConfigError{err}
		}
		return server(p.meet(ctx, KindCommand, c, c.Close, func(s *Status) { s.Revisions, s.Restarts = c.Revisions(), c.Restarts() }))
	}
	pool := newProcesses(p.startCommand)
	return server(p.meet(ctx, KindCommand, pool, pool.Close, pool.report))
}

// startCommand returns the client of a process of the command, which its first
// request starts.
func (p *plan) startCommand() (program, error) {
	command := p.spec.GetCommand()
	var env []string
	for _, name := range slices.Sorted(maps.Keys(p.spec.GetEnv())) {
		env = append(env, name+"="+p.spec.GetEnv()[name])
	}
	return stdio.NewClient(stdio.ClientConfig{
		Command: command[0], Args: command[1:], Dir: p.spec.GetDir(), Env: env,
		ClientConfig: p.clientConfig(), StopTimeout: p.opts.StopTimeout,
	})
}
