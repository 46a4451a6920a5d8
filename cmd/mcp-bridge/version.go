package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func (a *app) version() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the revisions of MCP that it speaks",
		Example: `  mcp-bridge version
  mcp-bridge version --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("version takes no arguments, got %q", args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			revisions := protocol.Revisions()
			if asJSON {
				return a.printJSON(map[string]any{
					"version":          bridge.Version(),
					"go":               runtime.Version(),
					"os":               runtime.GOOS,
					"arch":             runtime.GOARCH,
					"protocolVersions": revisions,
				})
			}
			names := make([]string, len(revisions))
			for i, r := range revisions {
				names[i] = string(r)
			}
			return a.printf("mcp-bridge %s (%s, %s/%s)\nMCP %s\n",
				bridge.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(names, ", "))
		},
	}
	addJSON(cmd, &asJSON, "the version")
	return cmd
}

// printJSON prints v on one line.
func (a *app) printJSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return a.printf("%s", a.style.json(b.Bytes()))
}
