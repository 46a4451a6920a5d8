package main

import (
	"errors"
	"net/netip"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-bridge/mcp-bridge/bridge/upstream"
	"github.com/mcp-bridge/mcp-bridge/internal/secret"
)

// target is an upstream as the command line names it.
type target struct {
	name    string // NAME of NAME=URL, or one that nameTargets has made
	named   bool   // whether it was NAME=URL
	text    string // the URL as it was given, or the command
	url     upstream.URL
	command []string // or nil
}

// named matches NAME=URL.
var named = regexp.MustCompile(`^([A-Za-z0-9_-]{1,32})=(.+)$`)

// parseTarget reads URL or NAME=URL.
func parseTarget(arg string) (*target, error) {
	t := &target{text: arg}
	if m := named.FindStringSubmatch(arg); m != nil {
		t.name, t.named, t.text = m[1], true, m[2]
	}
	var err error
	if t.url, err = upstream.ParseURL(t.text); err != nil {
		return nil, usagef("%w", err)
	}
	return t, nil
}

func commandTarget(command []string) *target {
	return &target{text: strings.Join(command, " "), command: command, url: upstream.URL{Kind: upstream.KindCommand}}
}

// shown is the target for people: a URL in its canonical spelling, or a command.
func (t *target) shown() string {
	if t.command != nil {
		return t.text
	}
	return t.url.String()
}

// printed is the target as it was given, for errors: without what is secret.
func (t *target) printed() string {
	if t.command != nil {
		return secret.Args(t.command)
	}
	return secret.URL(t.text)
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
	text := t.url.Host
	for _, word := range t.command {
		if !strings.HasPrefix(word, "-") {
			text = path.Base(word)
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

// someUpstreams demands at least one upstream, or a configuration file in their
// place.
func (f *upstreamFlags) someUpstreams(cmd *cobra.Command, args []string) error {
	switch {
	case f.config != "" && len(args) > 0:
		return usagef("--config has the upstreams, and %q is one more", args[0]).hint("add it to the file")
	case f.config == "" && (len(args) == 0 || cmd.ArgsLenAtDash() == len(args)):
		return missingUpstream(cmd)
	}
	return nil
}

// upstreamAnd demands an upstream, which is a URL or a command behind "--", or a
// configuration file in its place, and between least and most more arguments, the
// first of which is called what.
func (f *upstreamFlags) upstreamAnd(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		n, missing := len(args)-1, len(args) == 0
		if at := commandAt(cmd, args); at >= 0 {
			n, missing = at, at == len(args)
		}
		if f.config != "" {
			n, missing = len(args), false
		}
		switch {
		case missing:
			return missingUpstream(cmd)
		case n < least:
			return usagef("%s is missing", what).hint("usage: %s", cmd.UseLine())
		case n > most:
			return usagef("%d arguments are too many", len(args)).hint("usage: %s", cmd.UseLine()).
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
