package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/internal/printable"
)

// exportFlags are those of export.
type exportFlags struct {
	bridge.ExportConfig

	check    bool
	upstream upstreamFlags
}

func (a *app) export() *cobra.Command {
	f := &exportFlags{upstream: upstreamFlags{stopTimeout: stopTimeout}}
	cmd := &cobra.Command{
		Use:   "export [flags] -- COMMAND [ARGUMENT...]",
		Short: "Write the tools of an MCP server as a typed service in a .proto file",
		Long: `export writes what an MCP server offers as a protobuf service: an RPC for each
tool, prompt and resource template, with messages made of their schemas. The
server is a command that speaks MCP on standard input and output, or a URL, as
for serve.

Beside the .proto file is a lock, which keeps names and numbers as they are when
the server changes: commit both. A buf.yaml and a buf.gen.yaml are written where
there are none.

With --check nothing is written. The exit status is 1 if the server has changed
in a way that breaks code that uses the service.`,
		Example: `  mcp-bridge export --package acme.everything.v1 -o proto/ -- npx -y @modelcontextprotocol/server-everything
  mcp-bridge export -o proto/ https://mcp.example.com/mcp
  mcp-bridge export --check -o proto/ -- npx -y @modelcontextprotocol/server-everything`,
		Args: func(cmd *cobra.Command, args []string) error { return f.upstream.upstreamAnd(0, 0, "")(cmd, args) },
		RunE: func(cmd *cobra.Command, args []string) error { return a.runExport(cmd, f, args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.Dir, "output", "o", "proto", "`directory` that is the root of the .proto files")
	flags.StringVar(&f.Package, "package", "", "protobuf `package` (default mcp.gen.SERVER.v1, or that of the earlier export)")
	flags.StringVar(&f.Name, "name", "", "what files and types are called after, in place of the server's own `name`")
	flags.BoolVar(&f.Rules, "protovalidate", false, "add the constraints of schemas as rules of protovalidate")
	f.upstream.addConnection(cmd)
	flags.BoolVar(&f.check, "check", false, "write nothing, and fail if there are breaking changes since the earlier export")
	a.addLogLevel(cmd)
	a.logErrorsOnly(cmd)
	return cmd
}

func (a *app) runExport(cmd *cobra.Command, f *exportFlags, args []string) error {
	ctx := cmd.Context()
	g, _, err := a.openOne(cmd, &f.upstream, args)
	if err != nil {
		return err
	}
	defer g.Close()
	if api := apiOf(g); api != nil {
		return usagef("%s is an API and no MCP server: its .proto files are what you want", api.Status().Address)
	}
	e, err := bridge.ExportProto(ctx, g, f.ExportConfig)
	if err != nil {
		return err
	}
	for _, w := range e.Warnings {
		report(a.stderr, w)
	}
	if e.Recovered {
		report(a.stderr, "there is no lock beside the earlier export; it is made anew of what is in that")
	}
	if f.check {
		return a.checkExport(f, e)
	}
	for _, text := range e.Breaking {
		report(a.stderr, "breaks: "+text)
	}
	return a.writeExport(f, e)
}

// checkExport says what has changed since the earlier export.
func (a *app) checkExport(f *exportFlags, e *bridge.ProtoExport) error {
	if !e.Earlier {
		return failf("there is no .proto file of an earlier export in %s: %s is missing", f.Dir, filepath.FromSlash(e.Path)).hint("run the same command without --check")
	}
	var b strings.Builder
	for _, text := range e.Breaking {
		fmt.Fprintf(&b, "breaks: %s\n", printable.Line(text))
	}
	for _, text := range e.Added {
		fmt.Fprintf(&b, "added: %s\n", printable.Line(text))
	}
	if len(e.Breaking) == 0 {
		switch {
		case len(e.Outdated) == 0:
			b.WriteString("Nothing has changed.\n")
		default:
			b.WriteString("Nothing breaks. Export again to bring the files up to date.\n")
		}
	}
	if err := a.printf("%s", b.String()); err != nil {
		return err
	}
	if n := len(e.Breaking); n > 0 {
		return failf("the server has changed: %s since %s was written", plural(n, "breaking change"), filepath.Join(f.Dir, filepath.FromSlash(e.Path))).
			hint("code of earlier exports goes on working for what the server still has; export again for code that knows of the change")
	}
	return nil
}

// writeExport writes files, and buf's configuration where there is none.
func (a *app) writeExport(f *exportFlags, e *bridge.ProtoExport) error {
	for _, path := range e.Outdated {
		if err := a.write(filepath.Join(f.Dir, filepath.FromSlash(path)), e.Files[path]); err != nil {
			return err
		}
	}
	if len(e.Outdated) == 0 {
		if err := a.printf("Nothing has changed.\n"); err != nil {
			return err
		}
	}
	// The workspace is where the command runs, if the files are below that.
	root, dir := ".", filepath.ToSlash(filepath.Clean(f.Dir))
	if !filepath.IsLocal(f.Dir) {
		root, dir = f.Dir, "."
	}
	workspace, generate := e.BufYAML(dir)
	for _, config := range []struct {
		name string
		text []byte
	}{{"buf.yaml", workspace}, {"buf.gen.yaml", generate}} {
		path := filepath.Join(root, config.name)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			if config.name == "buf.yaml" && !e.Earlier {
				a.adviseBuf(path, config.text)
			}
			continue
		}
		if err := a.write(path, config.text); err != nil {
			return err
		}
	}
	return nil
}

// adviseBuf says what a buf.yaml that is there already may lack: buf's linter has
// something to say of files that others wrote.
func (a *app) adviseBuf(path string, wanted []byte) {
	is, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(is), "buf/validate") {
		return
	}
	_, ignore, _ := strings.Cut(string(wanted), "ignore:\n")
	ignore, _, _ = strings.Cut(ignore, "    breaking:")
	report(a.stderr, fmt.Sprintf("%s is there already: its lint and breaking may want to ignore %s", path, strings.Join(strings.Fields(strings.ReplaceAll(ignore, "- ", "")), ", ")))
}

func (a *app) write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // it is source code
		return err
	}
	if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // it is source code
		return err
	}
	return a.printf("wrote %s\n", path)
}
