package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/bridge/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/document"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/nearest"
)

// Members of hosts' files that hold servers.
const (
	mcpServers    = "mcpServers" // Claude Desktop, Claude Code, Cursor and others
	vscodeServers = "servers"    // Visual Studio Code
	vscodeInputs  = "inputs"
)

// isHostFile reports whether a tree is the file of an MCP host.
func isHostFile(root *document.Node) bool {
	if root.Kind != document.Map {
		return false
	}
	fields := (&configv1.Config{}).ProtoReflect().Descriptor().Fields()
	host := false
	for _, m := range root.Members {
		if fields.ByJSONName(m.Key) != nil {
			return false
		}
		host = host || m.Key == mcpServers || m.Key == vscodeServers && m.Value.Kind == document.Map
	}
	return host
}

// hostFile makes a configuration of the file of a host.
type hostFile struct {
	name             string
	faults, warnings fault.Faults
}

func (h *hostFile) fault(line, column int, path, format string, args ...any) {
	h.faults = append(h.faults, fault.Fault{File: h.name, Line: line, Column: column, Path: path, Problem: fmt.Sprintf(format, args...)})
}

// ignore warns of a key that means nothing here.
func (h *hostFile) ignore(m *document.Member, path string, known []string) {
	h.warnings = append(h.warnings, fault.Fault{
		File: h.name, Line: m.Line, Column: m.Column, Path: join(path, m.Key), Problem: "the key is ignored",
		Suggestions: nearest.Names(m.Key, slices.Values(known), ""),
	})
}

// join adds a key to a path that people read.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// convert returns the tree of the configuration that a host's file means.
func (h *hostFile) convert(root *document.Node) *document.Node {
	upstreams := &document.Node{Kind: document.Map, Line: root.Line, Column: root.Column}
	names := make(map[string]*document.Member)
	for _, m := range root.Members {
		switch m.Key {
		case mcpServers, vscodeServers:
			if m.Value.Kind != document.Map {
				h.fault(m.Value.Line, m.Value.Column, m.Key, "wrong type; want a mapping of names to servers, got %s", m.Value.Kind)
				continue
			}
			upstreams.Line, upstreams.Column = m.Line, m.Column
			for _, server := range m.Value.Members {
				h.add(upstreams, names, server, m.Key+"."+server.Key)
			}
		case vscodeInputs:
		default:
			h.ignore(m, "", []string{mcpServers, vscodeServers, vscodeInputs})
		}
	}
	return mapping(upstreams, member("upstreams", upstreams, upstreams))
}

// mapping makes a mapping that stands where another node does.
func mapping(like *document.Node, members ...*document.Member) *document.Node {
	return &document.Node{Kind: document.Map, Line: like.Line, Column: like.Column, Members: members}
}

// member makes a member that stands where a node does.
func member(key string, like, value *document.Node) *document.Member {
	return &document.Member{Key: key, Line: like.Line, Column: like.Column, Value: value}
}

// hostKeys are the keys of servers that mean something.
var hostKeys = []string{"type", "transport", "command", "args", "env", "cwd", "url", "serverUrl", "httpUrl", "headers", "disabled", "enabled"}

// add adds a server, unless it is disabled.
func (h *hostFile) add(upstreams *document.Node, names map[string]*document.Member, server *document.Member, path string) {
	n := server.Value
	if n.Kind != document.Map {
		h.fault(n.Line, n.Column, path, "wrong type; want a mapping, got %s", n.Kind)
		return
	}
	if isBool(n.Get("disabled"), "true") || isBool(n.Get("enabled"), "false") {
		return
	}
	for _, m := range n.Members {
		if !slices.Contains(hostKeys, m.Key) {
			h.ignore(m, path, hostKeys)
		}
	}
	name := slug(server.Key)
	if other := names[name]; other != nil {
		h.fault(server.Line, server.Column, path, "the server would be called %q, like %q in line %d; rename one of them", name, other.Key, other.Line)
		return
	}
	names[name] = server
	upstreams.Members = append(upstreams.Members, &document.Member{Key: name, Line: server.Line, Column: server.Column, Value: h.server(n, path)})
}

func isBool(n *document.Node, text string) bool {
	return n != nil && n.Kind == document.Bool && n.Text == text
}

// server makes an upstream of a server.
func (h *hostFile) server(n *document.Node, path string) *document.Node {
	out := mapping(n)
	take := func(key string, value *document.Node) {
		if value != nil && value.Kind != document.Null {
			out.Members = append(out.Members, member(key, value, value))
		}
	}
	url, address := h.url(n, path), n.Get("command")
	if address != nil && address.Kind == document.String {
		list := &document.Node{Kind: document.List, Line: address.Line, Column: address.Column, Items: []*document.Node{address}}
		if args := n.Get("args"); args != nil && args.Kind == document.List {
			list.Items = append(list.Items, args.Items...)
		} else if args != nil && args.Kind != document.Null {
			h.fault(args.Line, args.Column, path+".args", "wrong type; want a list of strings, got %s", args.Kind)
		}
		address = list
	}
	take("command", address)
	take("url", url)
	if address != nil {
		if env := n.Get("env"); env != nil && env.Kind == document.Map {
			// A variable that is null is not set.
			env.Members = slices.DeleteFunc(env.Members, func(m *document.Member) bool { return m.Value.Kind == document.Null })
		}
		take("env", n.Get("env"))
		take("dir", n.Get("cwd"))
	} else {
		take("headers", n.Get("headers"))
	}
	return out
}

// url returns the URL of a server, with a scheme that says which transport it
// is.
func (h *hostFile) url(n *document.Node, path string) *document.Node {
	kind := n.Get("type")
	if kind == nil {
		kind = n.Get("transport")
	}
	transport := ""
	if kind != nil && kind.Kind == document.String {
		transport = kind.Text
	}
	var url *document.Node
	for _, key := range []string{"url", "serverUrl", "httpUrl"} {
		if url = n.Get(key); url != nil {
			break
		}
	}
	switch strings.ToLower(transport) {
	case "", "stdio", "http", "streamable-http", "streamable_http", "streamablehttp":
	case "sse":
		if url != nil && url.Kind == document.String {
			url.Text = "sse+" + url.Text
		}
	default:
		h.faults = append(h.faults, fault.Fault{
			File: h.name, Line: kind.Line, Column: kind.Column, Path: path + ".type", Problem: fmt.Sprintf("unknown type %s; want stdio, http or sse", strconv.Quote(shorten(transport))),
			Suggestions: nearest.Names(transport, slices.Values([]string{"stdio", "http", "sse"}), ""),
		})
	}
	return url
}

// unfit matches what the name of an upstream made of a server's does not have.
// It has no underscore either, so that no name begins another one in the names
// of tools.
var unfit = regexp.MustCompile(`[^A-Za-z0-9]+`)

const (
	maxName  = 32
	nameHash = 8 // digits that tell long names apart
)

// slug makes the name of an upstream of a server's: letters and digits, and
// hyphens for all else. The same name always gives the same.
func slug(name string) string {
	text := strings.Trim(unfit.ReplaceAllString(name, "-"), "-")
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:])[:nameHash]
	switch {
	case text == "":
		return "server-" + hash
	case len(text) > maxName:
		return strings.Trim(text[:maxName-nameHash-1], "-") + "-" + hash
	default:
		return text
	}
}

// hostReferences are the references that only hosts know.
type hostReferences struct {
	folder string // the workspace
}

// newHostReferences returns those of a file in a directory.
func newHostReferences(dir string) *hostReferences {
	switch filepath.Base(dir) {
	case ".vscode", ".cursor":
		dir = filepath.Dir(dir)
	}
	return &hostReferences{folder: dir}
}

// value returns what a reference stands for and how a configuration of our own
// writes it. It reports false for one that hosts share with us.
func (h *hostReferences) value(ref string, env func(string) (string, bool)) (value, written string, ok bool, err error) {
	fixed := func(s string) (string, string, bool, error) { return s, escape(s), true, nil }
	switch ref {
	case "workspaceFolder":
		return fixed(h.folder)
	case "workspaceFolderBasename":
		return fixed(filepath.Base(h.folder))
	case "userHome":
		home, err := os.UserHomeDir()
		return home, escape(home), true, err
	case "pathSeparator", "/":
		return fixed(string(filepath.Separator))
	}
	if name, ok := strings.CutPrefix(ref, "env:"); ok {
		value, found := env(name)
		if !found {
			return "", "", true, fmt.Errorf("the environment variable %s is not set", shorten(name))
		}
		return value, "${" + name + "}", true, nil
	}
	if id, ok := strings.CutPrefix(ref, "input:"); ok {
		name := inputVariable(id)
		value, found := env(name)
		if !found {
			return "", "", true, fmt.Errorf("${%s} asks a person; set the environment variable %s instead", shorten(ref), name)
		}
		return value, "${" + name + "}", true, nil
	}
	return "", "", false, nil
}

// inputVariable returns the variable that answers an input of a host.
func inputVariable(id string) string {
	return "INPUT_" + strings.ToUpper(strings.Trim(unfit.ReplaceAllString(id, "_"), "_"))
}
