package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The groups that flags are shown in, in this order.
const (
	groupCommand    = "Flags"
	groupUpstream   = "Upstream flags (NAME=value for one of several)"
	groupAPI        = "API flags (of an upstream that is no MCP server)"
	groupDescriptor = "Descriptor flags (without them: server reflection)"
	groupGateway    = "Tool flags"
	groupGeneral    = "General flags"

	groupKey = "group"
)

// annotate puts flags into a group of the help text.
func annotate(cmd *cobra.Command, group string, names ...string) {
	for _, name := range names {
		if f := cmd.Flags().Lookup(name); f != nil {
			f.Annotations = map[string][]string{groupKey: {group}}
		}
	}
}

// helpWidth is the width of help texts. It does not depend on the terminal, so
// that the documentation shows what the program prints.
const helpWidth = 80

// help prints the help text of a command.
func (a *app) help(cmd *cobra.Command, _ []string) {
	var b strings.Builder
	heading := func(text string) { fmt.Fprintf(&b, "\n%s\n", a.style.bold(text+":")) }
	long := cmd.Long
	if long == "" {
		long = cmd.Short
	}
	b.WriteString(strings.TrimSpace(long) + "\n")
	heading("Usage")
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", cmd.CommandPath())
	} else {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.Example != "" {
		heading("Examples")
		b.WriteString(strings.Trim(cmd.Example, "\n") + "\n")
	}
	if cmd.HasAvailableSubCommands() {
		heading("Commands")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-*s  %s\n", cmd.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	for _, group := range []string{groupCommand, groupUpstream, groupAPI, groupDescriptor, groupGateway, groupGeneral} {
		if usages := flagUsages(cmd, group); usages != "" {
			heading(group)
			b.WriteString(usages)
		}
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nMore about a command: %s COMMAND --help\n", cmd.CommandPath())
	}
	_, _ = fmt.Fprint(cmd.OutOrStdout(), b.String()) // there is nobody else to tell
}

func flagUsages(cmd *cobra.Command, group string) string {
	set := pflag.NewFlagSet(group, pflag.ContinueOnError)
	set.SortFlags = false
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		in := groupCommand
		if g := f.Annotations[groupKey]; len(g) > 0 {
			in = g[0]
		} else if f.Name == "help" || f.Name == "version" {
			in = groupGeneral
		}
		if in == group {
			set.AddFlag(f)
		}
	})
	return set.FlagUsagesWrapped(helpWidth)
}

// helpCommand is "mcp-bridge help COMMAND". The flag --help does the same and
// is what the texts name, so it is not listed.
func (a *app) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show the help text of a command",
		Example: "  mcp-bridge help serve",
		Hidden:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("there is no command %q", strings.Join(args, " "))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}
