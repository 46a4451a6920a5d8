package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/find"
	"github.com/mcp-bridge/mcp-bridge/bridge/gateway"
	"github.com/mcp-bridge/mcp-bridge/internal/printable"
)

// maxArguments bounds what is read from stdin.
const maxArguments = 64 << 20

func (a *app) call() *cobra.Command {
	var (
		flags  *upstreamFlags
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "call URL TOOL [JSON|-] | call TOOL [JSON|-] -- COMMAND [ARGUMENT...] | call --config FILE TOOL [JSON|-]",
		Short: "Call a tool of an upstream",
		Long: `call calls one tool and prints its structured result. The arguments are a JSON
object, or standard input where that is "-"; without one they are empty. The
message of a call that fails goes to standard error, and the exit status is 1.
The upstream may be an MCP server, as for serve.`,
		Example: `  mcp-bridge call grpc://localhost:50051 Library_GetBook '{"name": "shelves/1/books/2"}'
  mcp-bridge call grpc://localhost:50051 Library_ListBooks
  mcp-bridge call --json grpc://localhost:50051 Library_CreateBook - < book.json
  mcp-bridge call https://mcp.example.com/mcp search '{"query": "tea"}'
  mcp-bridge call --config mcp-bridge.yaml docs_search '{"query": "tea"}'
  mcp-bridge call echo '{"message": "hi"}' -- npx -y @modelcontextprotocol/server-everything`,
		Args: func(cmd *cobra.Command, args []string) error {
			return flags.upstreamAnd(1, 2, "the name of the tool")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			// What is wrong with the arguments is said before anybody is asked.
			rest := args
			if flags.config == "" {
				var err error
				if _, rest, err = oneTarget(cmd, args); err != nil {
					return err
				}
			}
			arguments, err := a.arguments(rest[1:])
			if err != nil {
				return err
			}
			g, _, err := a.openOne(cmd, flags, args)
			if err != nil {
				return err
			}
			defer g.Close()
			name := rest[0]
			if err := flags.knows(cmd.Context(), g, name); err != nil {
				return err
			}
			result, err := client{g}.callTool(cmd.Context(), name, arguments)
			if err != nil {
				return err
			}
			return a.printResult(name, result, asJSON)
		},
	}
	flags = a.addUpstreamFlags(cmd, 0)
	a.logErrorsOnly(cmd)
	flags.stopTimeout = stopTimeout
	addJSON(cmd, &asJSON, "the whole result of tools/call")
	return cmd
}

// knows reports a name that is no tool of the upstreams.
func (f *upstreamFlags) knows(ctx context.Context, g *gateway.Gateway, name string) error {
	tools, err := client{g}.listTools(ctx)
	if err != nil {
		return err
	}
	listed := func(name string) bool {
		return slices.ContainsFunc(tools, func(t mcpTool) bool { return t.Name == name })
	}
	if listed(name) || slices.ContainsFunc(toolsOf(g), func(t bridge.Tool) bool { return t.Name == name }) {
		return nil
	}
	if listed(find.DescribeTool) {
		if described, err := (client{g}).describe(ctx, name); err != nil || described != nil {
			return err
		}
	}
	return noTool(toolsOf(g), tools, f.shown, name)
}

// printResult prints a result: to a terminal as [style.text] has it, elsewhere
// byte for byte. What goes to standard error is always printable.
func (a *app) printResult(name string, result *callResult, asJSON bool) error {
	if asJSON {
		if err := a.printJSON(result.raw); err != nil {
			return err
		}
	}
	switch {
	case result.IsError:
		text := "the call failed without a message"
		if texts := result.texts(); len(texts) > 0 {
			text = texts[0] // the rest is for programs
		}
		return failf("%s: %s", printable.Name(name), text)
	case asJSON:
		return nil
	case result.Structured != nil:
		text, err := indent(result.Structured)
		if err != nil {
			return err
		}
		return a.printf("%s\n", a.style.json([]byte(text)))
	default:
		return a.printf("%s\n", a.style.text(strings.Join(result.texts(), "\n")))
	}
}

// arguments returns the arguments of the call, a JSON object.
func (a *app) arguments(args []string) (json.RawMessage, error) {
	if len(args) == 0 {
		return json.RawMessage(`{}`), nil
	}
	raw, from := []byte(args[0]), "the JSON argument"
	if args[0] == "-" {
		from = "standard input"
		var err error
		if raw, err = io.ReadAll(io.LimitReader(a.stdin, maxArguments+1)); err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		if len(raw) > maxArguments {
			return nil, fmt.Errorf("standard input is longer than %d bytes", maxArguments)
		}
	}
	return parseArguments(raw, from)
}

// parseArguments checks that raw is a JSON object. The error says where it is
// not.
func parseArguments(raw []byte, from string) (json.RawMessage, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, usagef("%s is empty", from).hint("leave it out, or write {}, for no arguments")
	}
	var object map[string]json.RawMessage
	err := json.Unmarshal(raw, &object)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		at := syntax.Offset
		if at == int64(len(raw)) && strings.Contains(err.Error(), "unexpected end") {
			at++ // it is about what should follow
		}
		line, column := position(raw, at)
		f := usagef("%s is not valid JSON: line %d, column %d: %w", from, line, column, err)
		if bytes.ContainsAny(raw, ":'") && !bytes.ContainsAny(raw, `"`) {
			f = f.hint(`names and strings need double quotes: '{"name": "value"}'`)
		}
		return nil, f.hint("%s", excerpt(raw, line, column))
	}
	if err != nil || object == nil {
		return nil, usagef("%s must be a JSON object, such as {}, but is %s", from, jsonKind(raw))
	}
	return raw, nil
}

// position returns the line and the column, in characters and from 1, of the
// last of the first offset bytes, which is the one that a syntax error is about.
func position(raw []byte, offset int64) (line, column int) {
	before := raw[:min(max(offset-1, 0), int64(len(raw)))]
	line = 1 + bytes.Count(before, []byte("\n"))
	before = before[bytes.LastIndexByte(before, '\n')+1:]
	return line, 1 + utf8.RuneCount(before)
}

// excerptWidth is how many characters are shown of a line with an error.
const excerptWidth = 60

// excerpt shows the place of an error, with a mark below it.
func excerpt(raw []byte, line, column int) string {
	text := []rune(printable.Line(strings.Split(string(raw), "\n")[line-1]))
	at := min(column-1, len(text))
	start := max(0, at-excerptWidth/2)
	end := min(len(text), start+excerptWidth)
	return string(text[start:end]) + "\n" + strings.Repeat(" ", at-start) + "^"
}

// jsonKind says what kind of value valid JSON is.
func jsonKind(raw []byte) string {
	switch bytes.TrimSpace(raw)[0] {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '[':
		return "an array"
	case '{':
		return "an object"
	default:
		return "a number"
	}
}
