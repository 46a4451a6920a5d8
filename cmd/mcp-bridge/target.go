package main

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-bridge/mcp-bridge/bridge"
)

// kind says how a target is spoken to.
type kind int

const (
	// kindRPC is an API of gRPC, gRPC-Web or Connect, or an MCP server that is
	// one, which its reflection tells.
	kindRPC kind = iota
	// kindMCPRPC is surely the latter.
	kindMCPRPC
	// kindHTTP, kindSSE and kindCommand are MCP servers.
	kindHTTP
	kindSSE
	kindCommand
)

// target is an upstream as the command line names it.
type target struct {
	name    string // NAME of NAME=URL, or ""
	text    string // the URL as it was given, or the command
	kind    kind
	rpc     bridge.URL // of kindRPC and kindMCPRPC
	url     string     // of kindHTTP and kindSSE
	command []string   // of kindCommand
}

// named matches NAME=URL.
var named = regexp.MustCompile(`^([A-Za-z0-9_-]{1,32})=(.+)$`)

// parseTarget reads URL or NAME=URL. A scheme of http is an MCP server, which
// mcp+http says in full; sse+http is one that speaks HTTP+SSE only. mcp+ before
// the scheme of an RPC protocol is a server of McpService.
func parseTarget(arg string) (*target, error) {
	t := &target{text: arg}
	if m := named.FindStringSubmatch(arg); m != nil {
		t.name, t.text = m[1], m[2]
	}
	lower := strings.ToLower(t.text)
	switch rest, isMCP := strings.CutPrefix(lower, "mcp+"); {
	case isHTTP(lower):
		t.kind, t.url = kindHTTP, t.text
	case isMCP && isHTTP(rest):
		t.kind, t.url = kindHTTP, t.text[len("mcp+"):]
	case isMCP:
		var err error
		if t.rpc, err = bridge.ParseURL(t.text[len("mcp+"):]); err != nil {
			return nil, usagef("%w", err)
		}
		t.kind = kindMCPRPC
	case strings.HasPrefix(lower, "sse+") && isHTTP(lower[len("sse+"):]):
		t.kind, t.url = kindSSE, t.text[len("sse+"):]
	default:
		var err error
		if t.rpc, err = bridge.ParseURL(t.text); err != nil {
			return nil, usagef("%w", err)
		}
	}
	return t, nil
}

func isHTTP(url string) bool {
	return strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://")
}

func commandTarget(command []string) *target {
	return &target{text: strings.Join(command, " "), kind: kindCommand, command: command}
}

// commandAt returns where the command of an MCP server begins in the arguments,
// or -1. What follows "--" is none where a URL comes first: it then only ends
// the flags.
func commandAt(cmd *cobra.Command, args []string) int {
	dash := cmd.ArgsLenAtDash()
	if dash > 0 && (strings.Contains(args[0], "://") || strings.HasPrefix(args[0], "unix:")) {
		return -1
	}
	return dash
}

// oneTarget takes the upstream from the arguments of a command that has others
// too: a URL before them, or a command behind "--". Args has checked them.
func oneTarget(cmd *cobra.Command, args []string) (*target, []string, error) {
	if at := commandAt(cmd, args); at >= 0 {
		return commandTarget(args[at:]), args[:at], nil
	}
	t, err := parseTarget(args[0])
	return t, args[1:], err
}

// upstreamAnd demands an upstream, which is a URL or a command behind "--", and
// between least and most more arguments, the first of which is called what.
func upstreamAnd(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		n, missing := len(args)-1, len(args) == 0
		if at := commandAt(cmd, args); at >= 0 {
			n, missing = at, at == len(args)
		}
		switch {
		case missing:
			return missingUpstream(cmd)
		case n < least:
			return usagef("%s is missing", what).hint("usage: %s", cmd.UseLine())
		case n > most:
			return usagef("%d arguments are too many", n+1).hint("usage: %s", cmd.UseLine()).
				hint("JSON needs single quotes around it in most shells, and flags go before --")
		}
		return nil
	}
}

func missingUpstream(cmd *cobra.Command) error {
	command := cmd.CommandPath() + " -- npx -y @modelcontextprotocol/server-everything"
	if cmd.ArgsLenAtDash() >= 0 {
		return usagef("the command behind -- is missing").hint("write for example: %s", command)
	}
	return usagef("the URL of the upstream is missing").hint("write for example: %s %s", cmd.CommandPath(), exampleURL).
		hint("or for an MCP server: %s", command)
}
