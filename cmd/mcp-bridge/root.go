package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-bridge/mcp-bridge/bridge"
)

// exampleURL stands for an upstream in examples and hints.
const exampleURL = "grpc://localhost:50051"

// app is what all commands share: the process's streams.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	style          style
	logLevel       slog.LevelVar
}

// run is the program. It returns the exit status: 0, 1 for failure, 2 for
// wrong usage. The end of ctx asks servers to end in an orderly way.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, style: styleOf(stdout)}
	root := a.root()
	root.SetArgs(append([]string{}, args...)) // nil would mean those of the process
	cmd, err := root.ExecuteContextC(ctx)
	return a.exit(ctx, cmd, err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "mcp-bridge",
		Short: "Make a gRPC, gRPC-Web or Connect service an MCP server",
		Long: `mcp-bridge makes a gRPC, gRPC-Web or Connect service an MCP server: its methods
become tools. The service needs no change where it has server reflection;
otherwise give its descriptors or its .proto files.`,
		Example: `  mcp-bridge demo
  mcp-bridge serve grpc://localhost:50051
  mcp-bridge tools grpc://localhost:50051`,
		Version:       bridge.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			err := usagef("there is no command %q", args[0])
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				err.hints = append(err.hints, "did you mean "+strings.Join(near, " or ")+"?")
			}
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetVersionTemplate("mcp-bridge {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usagef("%w", err) })
	root.SetHelpFunc(a.help)
	root.SetHelpCommand(a.helpCommand())
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(a.demo(), a.serve(), a.stdio(), a.tools(), a.call(), a.export(), a.config(), a.version())
	return root
}

// addLogLevel adds --log-level.
func (a *app) addLogLevel(cmd *cobra.Command) {
	a.logLevel.Set(slog.LevelWarn)
	cmd.Flags().TextVar(&a.logLevel, "log-level", &a.logLevel, "least `level` that is logged to stderr: debug, info, warn, error")
	cmd.Flags().Lookup("log-level").DefValue = "warn"
	annotate(cmd, groupGeneral, "log-level")
}

// logErrorsOnly makes error the least level of a command that ends with what is
// wrong anyway.
func (a *app) logErrorsOnly(cmd *cobra.Command) {
	cmd.Flags().Lookup("log-level").DefValue = "error"
	cmd.PreRun = func(cmd *cobra.Command, _ []string) {
		if !cmd.Flags().Changed("log-level") {
			a.logLevel.Set(slog.LevelError)
		}
	}
}

// log returns the logger. It writes to stderr, because stdout belongs to
// results and, in stdio, to the protocol alone.
func (a *app) log() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: &a.logLevel}))
}

// addJSON adds --json.
func addJSON(cmd *cobra.Command, value *bool, what string) {
	cmd.Flags().BoolVar(value, "json", false, "print "+what+" as JSON, for programs")
	annotate(cmd, groupGeneral, "json")
}

func (a *app) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(a.stdout, format, args...)
	return err
}
