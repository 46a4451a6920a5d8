package main

import (
	"errors"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strconv"
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
	// kindTunnel is an MCP server behind the RPC Tunnel.
	kindTunnel
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
	rpc     bridge.URL // of kindRPC, kindMCPRPC and kindTunnel
	service string     // of kindMCPRPC: which service is MCP there
	url     string     // of kindHTTP and kindSSE
	command []string   // of kindCommand
}

// named matches NAME=URL.
var named = regexp.MustCompile(`^([A-Za-z0-9_-]{1,32})=(.+)$`)

// parseTarget reads URL or NAME=URL. A scheme of http is an MCP server, which
// mcp+http says in full; sse+http is one that speaks HTTP+SSE only. mcp+ before
// the scheme of an RPC protocol is a server of McpService, and google+ one of
// Google's service; tunnel+ is the RPC Tunnel.
func parseTarget(arg string) (*target, error) {
	t := &target{text: arg}
	if m := named.FindStringSubmatch(arg); m != nil {
		t.name, t.text = m[1], m[2]
	}
	lower := strings.ToLower(t.text)
	const google, tunnel = "google+", "tunnel+"
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
		t.kind, t.service = kindMCPRPC, bridge.GRPCService
	case strings.HasPrefix(lower, google):
		var err error
		if t.rpc, err = bridge.ParseURL(t.text[len(google):]); err != nil {
			return nil, usagef("%w", err)
		}
		t.kind, t.service = kindMCPRPC, bridge.GoogleService
	case strings.HasPrefix(lower, tunnel):
		var err error
		if t.rpc, err = bridge.ParseURL(t.text[len(tunnel):]); err != nil {
			return nil, usagef("%w", err)
		}
		t.kind = kindTunnel
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

// secure reports whether the upstream is reached by TLS.
func (t *target) secure() bool {
	if t.url != "" {
		return strings.HasPrefix(strings.ToLower(t.url), "https:")
	}
	return t.rpc.TLS
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

// targets takes any number of upstreams from the arguments: URLs, and then one
// command behind "--".
func targets(cmd *cobra.Command, args []string) ([]*target, error) {
	var (
		all      []*target
		problems []error
		urls     = args
	)
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		urls = args[:dash]
	}
	for _, arg := range urls {
		t, err := parseTarget(arg)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		all = append(all, t)
	}
	if command := args[len(urls):]; len(command) > 0 {
		all = append(all, commandTarget(command))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, usagef("%w", err)
	}
	return all, nil
}

// someUpstreams demands at least one upstream.
func someUpstreams(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || cmd.ArgsLenAtDash() == len(args) {
		return missingUpstream(cmd)
	}
	return nil
}

// nameTargets gives every upstream a name of its own: the one that it was given,
// or else one made of its URL or command.
func nameTargets(all []*target) error {
	taken := make(map[string]bool)
	for _, t := range all {
		if t.name != "" && taken[t.name] {
			return usagef("two upstreams are called %q", t.name)
		}
		taken[t.name] = true
	}
	for _, t := range all {
		if t.name != "" {
			continue
		}
		base := t.baseName()
		t.name = base
		for i := 2; taken[t.name]; i++ {
			t.name = base + strconv.Itoa(i)
		}
		taken[t.name] = true
	}
	return nil
}

// unfit matches what cannot be in the name of an upstream.
var unfit = regexp.MustCompile(`[^A-Za-z0-9]+`)

// baseName makes a name of a URL or a command: the first label of the host, or
// the last word of the command that is no flag.
func (t *target) baseName() string {
	var text string
	switch t.kind {
	case kindCommand:
		for _, word := range t.command {
			if !strings.HasPrefix(word, "-") {
				text = path.Base(word)
			}
		}
	case kindRPC, kindMCPRPC, kindTunnel:
		if text = t.rpc.Host; t.rpc.Unix != "" {
			text = path.Base(t.rpc.Unix)
		}
	case kindHTTP, kindSSE:
		if u, err := url.Parse(t.url); err == nil {
			text = u.Hostname()
		}
	}
	if _, err := netip.ParseAddr(text); err != nil {
		text, _, _ = strings.Cut(text, ".")
	}
	text = strings.Trim(unfit.ReplaceAllString(text, "_"), "_")
	if text == "" {
		return "upstream"
	}
	return text[:min(len(text), maxBaseName)]
}

// maxBaseName leaves room for a number in a name.
const maxBaseName = 28

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
	url := exampleURL
	if cmd.Name() == "export" { // of MCP servers only
		url = "https://mcp.example.com/mcp"
	}
	return usagef("the URL of the upstream is missing").hint("write for example: %s %s", cmd.CommandPath(), url).
		hint("or for an MCP server: %s", command)
}
