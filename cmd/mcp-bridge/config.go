package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcp-bridge/mcp-bridge/bridge/config"
)

// config is the command about configuration files.
func (a *app) config() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check and print configuration files",
		Long: `config reads configuration files without running anything. The same files are
what --config takes: YAML or JSON with the keys of docs/configuration.md, and
files of MCP hosts, such as claude_desktop_config.json or .vscode/mcp.json, as
they are.`,
		Example: `  mcp-bridge config check mcp-bridge.yaml
  mcp-bridge config print mcp-bridge.yaml
  mcp-bridge config schema > mcp-bridge.schema.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.configCheck(), a.configPrint(), a.configSchema())
	return cmd
}

func (a *app) configCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Report everything that is wrong with a configuration file",
		Long: `check reads a configuration file, the files that it refers to, and the variables
of the environment, and reports every fault with its line and column. It connects
to nothing.`,
		Example: `  mcp-bridge config check mcp-bridge.yaml
  mcp-bridge config check ~/.config/Claude/claude_desktop_config.json`,
		Args: configFile,
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := a.loadConfig(args[0])
			if err != nil {
				return err
			}
			return a.printf("%s is valid: %s\n", args[0], plural(len(f.Config.GetUpstreams()), "upstream"))
		},
	}
}

func (a *app) configPrint() *cobra.Command {
	return &cobra.Command{
		Use:   "print FILE",
		Short: "Print the effective configuration, with defaults",
		Long: `print shows what a configuration file means, as YAML: with the defaults of keys
that are not set, and for the file of an MCP host the configuration that is made
of it. References such as ${TOKEN} are shown, their values are not.`,
		Example: `  mcp-bridge config print mcp-bridge.yaml
  mcp-bridge config print claude_desktop_config.json > mcp-bridge.yaml`,
		Args: configFile,
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := a.loadConfig(args[0])
			if err != nil {
				return err
			}
			text, err := f.YAML()
			if err != nil {
				return err
			}
			return a.printf("%s", text)
		},
	}
}

func (a *app) configSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of configuration files, for editors",
		Long: `schema prints the JSON Schema of configuration files. Editors use it to complete
keys and to explain them. In YAML, name it in the first line:

  # yaml-language-server: $schema=./mcp-bridge.schema.json`,
		Example: `  mcp-bridge config schema > mcp-bridge.schema.json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := config.JSONSchema()
			if err != nil {
				return err
			}
			return a.printf("%s", text)
		},
	}
}

// configFile demands one configuration file.
func configFile(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return usagef("the configuration file is missing").hint("write for example: %s mcp-bridge.yaml", cmd.CommandPath())
	case 1:
		return nil
	default:
		return usagef("%d arguments are too many", len(args)).hint("usage: %s", cmd.UseLine())
	}
}

// loadConfig reads a configuration file, and reports what its author should know
// on stderr.
func (a *app) loadConfig(path string) (*config.File, error) {
	f, err := config.Load(path, config.Options{})
	if err != nil {
		return nil, fmt.Errorf("the configuration is not valid:\n%w", err)
	}
	for _, w := range f.Warnings {
		report(a.stderr, "warning: "+w.String())
	}
	return f, nil
}
