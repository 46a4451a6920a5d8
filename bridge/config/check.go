package config

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/document"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/fieldpath"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/metadata"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/header"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/nearest"
)

// Validate reports everything that is wrong with a configuration that does not
// come from a file: the error is [fault.Faults] without places. It looks at no files
// and asks no upstream. [Load] and [Parse] have done as much. others are the
// names of upstreams that a program adds itself.
func Validate(c *configv1.Config, others ...string) error {
	var faults fault.Faults
	places := document.NoPlaces()
	for _, i := range check(c, others, nil) {
		faults = append(faults, places.Fault(i.path, i.problem))
	}
	if out := faults.Sort(); out != nil {
		return out
	}
	return nil
}

// issue is something that is wrong at a path.
type issue struct {
	path, problem string
	// key is set where it is the key that is wrong.
	key         bool
	suggestions []string
}

// checker collects what is wrong with a configuration.
type checker struct {
	config *configv1.Config
	// upstreams are the names of all upstreams.
	upstreams []string
	// references tells what a text at a path was before its references were
	// expanded, or "".
	references func(path string) string
	issues     []issue
}

// check returns everything that is wrong with a configuration. Where references
// is not nil, it tells what a text at a path was before its references were
// expanded, which keeps values out of what is said.
func check(c *configv1.Config, others []string, references func(path string) string) []issue {
	if references == nil {
		references = func(string) string { return "" }
	}
	own := slices.Sorted(maps.Keys(c.GetUpstreams()))
	k := &checker{config: c, upstreams: slices.Clone(others), references: references}
	for _, name := range own {
		if slices.Contains(others, name) {
			k.issues = append(k.issues, issue{path: at("upstreams", name), problem: "the program has an upstream of that name itself", key: true})
			continue
		}
		k.upstreams = append(k.upstreams, name)
	}
	k.rules()
	k.server()
	k.auth()
	if len(k.upstreams) == 0 {
		k.problem("upstreams", "there is no upstream; name at least one")
	}
	for _, name := range own {
		k.upstream(at("upstreams", name), c.GetUpstreams()[name])
	}
	k.names()
	k.resources()
	k.endpoints()
	k.keys()
	return k.issues
}

func (k *checker) problem(path, format string, args ...any) {
	k.issues = append(k.issues, issue{path: path, problem: fmt.Sprintf(format, args...)})
}

// at adds the key of a map to a path.
func at(path, key string) string { return path + "[" + strconv.Quote(shorten(key)) + "]" }

// nth adds an index to a path.
func nth(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// patterns are what the patterns of names mean, for people.
var patterns = map[string]string{
	"^[A-Za-z0-9_-]{1,32}$":                     "a name has 1 to 32 letters, digits, _ and -",
	"^[A-Za-z_][A-Za-z0-9_]*$":                  "the name of a variable has letters, digits and _, and does not begin with a digit",
	"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$":             "not the name of a header",
	"^[A-Za-z0-9_.-]{1,64}$":                    "the name of a tool has 1 to 64 letters, digits, _, - and .",
	"^[A-Za-z][A-Za-z0-9+.-]*:":                 "must begin with the scheme of a URI, such as file:///data/",
	"^(/[A-Za-z0-9._~!$&'()*+,;=:@-]+)+$":       "must be a path such as /mcp",
	`^[!#-\[\]-~]+$`:                            "a scope has no spaces, quotes and backslashes",
	"^https?://[^/?# ]+(/[^?# ]*)?$":            "must be a URL such as https://mcp.example.com/mcp",
	`^(\*|[A-Za-z][A-Za-z0-9+.-]*://[^/?# ]+)$`: "must be an origin such as https://app.example.com, or *",
}

// validator compiles the rules once.
var validator = sync.OnceValues(func() (protovalidate.Validator, error) {
	return protovalidate.New(protovalidate.WithMessages(&configv1.Config{}))
})

// rules checks the protovalidate rules of the types.
func (k *checker) rules() {
	v, err := validator()
	if err != nil {
		k.problem("", "%v", err)
		return
	}
	err = v.Validate(k.config)
	if err == nil {
		return
	}
	invalid, ok := err.(*protovalidate.ValidationError) //nolint:errorlint // as it is documented
	if !ok {
		k.problem("", "%v", err)
		return
	}
	md := k.config.ProtoReflect().Descriptor()
	for _, v := range invalid.Violations {
		text := v.Proto.GetMessage()
		switch v.Proto.GetRuleId() {
		case "string.pattern":
			if better := patterns[v.RuleValue.String()]; better != "" {
				text = better
			}
		case "string.min_len", "required":
			text = "must not be empty"
		}
		k.issues = append(k.issues, issue{path: fieldpath.FromProto(v.Proto.GetField(), md), problem: text, key: v.Proto.GetForKey()})
	}
}

func (k *checker) server() {
	s := k.config.GetServer()
	seen := make(map[string]bool)
	for i, address := range s.GetListen() {
		if seen[address] && !strings.HasSuffix(address, ":0") {
			k.problem(nth("server.listen", i), "the address is listed twice")
		}
		seen[address] = true
	}
	if s.GetTls() != nil && len(s.GetListen()) > 0 && !slices.ContainsFunc(s.GetListen(), func(a string) bool { return !isUnix(a) }) {
		k.problem("server.tls", "TLS is not for Unix sockets, and nothing else is listened on")
	}
	for i, host := range s.GetAllowedHosts() {
		if strings.Contains(host, "/") || strings.Contains(host, " ") {
			k.problem(nth("server.allowedHosts", i), "must be a host name without scheme and path, such as mcp.example.com")
		}
	}
}

// isUnix reports whether an address is that of a Unix socket.
func isUnix(address string) bool { return strings.HasPrefix(address, "unix:") }

func (k *checker) upstream(path string, u *configv1.Upstream) {
	kind := kindOf(u)
	var target upstreamurl.Target
	if u.GetUrl() != "" {
		var err error
		if target, err = upstreamurl.ParseTarget(u.GetUrl()); err != nil {
			k.badURL(path+".url", err)
		}
	}
	if len(u.GetCommand()) == 0 || u.GetUrl() == "" { // not both
		k.takers(path, u, kind)
	}
	if kind == tunnel && target.RPC.Protocol == upstreamurl.GRPCWeb {
		k.problem(path+".url", "gRPC-Web has no streams that go both ways, which a tunnel needs; use grpc:// or connect+http://")
	}
	k.tls(path+".tls", u.GetTls(), target, kind)
	k.headers(path, u, kind)
	for i, word := range u.GetCommand() {
		if strings.ContainsRune(word, 0) {
			k.problem(nth(path+".command", i), "the text has a zero byte")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(u.GetEnv())) {
		if strings.ContainsRune(u.GetEnv()[name], 0) {
			k.problem(at(path+".env", name), "the text has a zero byte")
		}
	}
	switch {
	case u.GetDescriptors() != "" && len(u.GetProto()) > 0:
		k.problem(path+".proto", "descriptors and proto exclude each other")
	case len(u.GetProtoPath()) > 0 && len(u.GetProto()) == 0:
		k.problem(path+".protoPath", "is for the imports of proto, which is missing")
	}
	if u.GetOptions() != nil && u.GetOptionsFile() != "" {
		k.problem(path+".optionsFile", "options and optionsFile exclude each other")
	}
	k.tools(path+".tools", u.GetTools())
}

// badURL reports a URL. What is wrong with one that has references is not
// quoted, because it may be secret.
func (k *checker) badURL(path string, err error) {
	if references := k.references(path); references != "" {
		k.problem(path, "%s does not expand to the URL of an upstream", strconv.Quote(shorten(references)))
		return
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		k.problem(path, "%s", line)
	}
}

// takers reports keys that an upstream of its kind does not take.
func (k *checker) takers(path string, u *configv1.Upstream, kind kind) {
	if kind == 0 {
		return
	}
	u.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if !kind.takes(fd.Name()) {
			k.issues = append(k.issues, issue{path: path + "." + fd.JSONName(), problem: "this key is only for " + takers[fd.Name()].text, key: true})
		}
		return true
	})
}

func (k *checker) tls(path string, t *configv1.UpstreamTls, target upstreamurl.Target, kind kind) {
	if t == nil || kind == 0 || kind == command {
		return
	}
	switch {
	case target.TLS():
	case target.IsRPC() && target.RPC.Unix != "":
		k.problem(path, "the URL does not use TLS: a Unix socket has none")
	default:
		k.problem(path, "the URL does not use TLS; write it with a scheme such as grpcs or https")
	}
	if t.GetInsecureSkipVerify() && t.GetCa() != "" {
		k.problem(path+".ca", "has no effect while insecureSkipVerify is true")
	}
	switch {
	case t.GetCert() != "" && t.GetKey() == "":
		k.problem(path+".key", "the certificate needs its private key")
	case t.GetCert() == "" && t.GetKey() != "":
		k.problem(path+".cert", "the private key needs its certificate")
	}
}

func (k *checker) headers(path string, u *configv1.Upstream, kind kind) {
	canonical := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(u.GetHeaders())) {
		p := at(path+".headers", name)
		key := http.CanonicalHeaderKey(name)
		if other, ok := canonical[key]; ok {
			k.issues = append(k.issues, issue{path: p, problem: fmt.Sprintf("the header %q is given as %q too", name, other), key: true})
		}
		canonical[key] = name
		if header.Reserved(key) {
			k.issues = append(k.issues, issue{path: p, problem: "the header belongs to the protocol and cannot be set", key: true})
		}
		for i, value := range u.GetHeaders()[name].GetValues() {
			switch {
			case header.Binary(key) && kind&rpcKinds != 0:
				if _, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "=")); err != nil {
					k.problem(nth(p, i), "the value is not base64, as names that end in -bin need it")
				}
			case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
				k.problem(nth(p, i), "the value has a control character")
			}
		}
	}
	for i, name := range u.GetForwardHeaders() {
		if err := (&metadata.Policy{Forward: []string{name}}).Validate(); err != nil && name != "" {
			k.problem(nth(path+".forwardHeaders", i), "%v", err)
		}
	}
	for i, name := range u.GetReturnHeaders() {
		if err := (&metadata.Policy{Return: []string{name}}).Validate(); err != nil && name != "" {
			k.problem(nth(path+".returnHeaders", i), "%v", err)
		}
	}
}

func (k *checker) tools(path string, t *configv1.Tools) {
	names := make(map[string]string)
	for _, own := range slices.Sorted(maps.Keys(t.GetRename())) {
		name := t.GetRename()[own]
		if other, ok := names[name]; ok {
			k.problem(at(path+".rename", own), "the tool %q is renamed to %q too", other, name)
		}
		names[name] = own
	}
}

// others are the names of the upstreams that the configuration does not have.
func (k *checker) others() []string {
	return slices.DeleteFunc(slices.Clone(k.upstreams), func(name string) bool { return k.config.GetUpstreams()[name] != nil })
}

// names reports names of upstreams that cannot be told apart once they stand in
// the names of tools, or in URIs.
func (k *checker) names() {
	schemes := make(map[string]string)
	for _, name := range k.upstreams {
		for _, other := range k.upstreams {
			if strings.HasPrefix(other, name+"_") {
				k.issues = append(k.issues, issue{path: at("upstreams", other), key: true,
					problem: fmt.Sprintf("the name begins with that of the upstream %q and an underscore, so %q could be a tool of either", name, other+"_tool")})
			}
		}
		scheme := strings.ReplaceAll(strings.ToLower(name), "_", "-")
		if other, ok := schemes[scheme]; ok {
			k.issues = append(k.issues, issue{path: at("upstreams", name), key: true,
				problem: fmt.Sprintf("URIs of this upstream would begin with %q, like those of %q; use names that differ in more than case, _ and -", scheme+"+", other)})
			continue
		}
		schemes[scheme] = name
	}
}

// resources reports beginnings of URIs that two upstreams without prefix claim.
func (k *checker) resources() {
	owner := make(map[string]string)
	full := WithDefaults(k.config, k.others()...)
	for _, name := range slices.Sorted(maps.Keys(full.GetUpstreams())) {
		u := full.GetUpstreams()[name]
		if u.GetPrefix() != configv1.Prefix_PREFIX_NEVER {
			continue
		}
		for i, uri := range u.GetResources() {
			if other, ok := owner[uri]; ok && other != name {
				k.problem(nth(at("upstreams", name)+".resources", i), "the upstream %q claims the same URIs", other)
				continue
			}
			owner[uri] = name
		}
	}
}

func (k *checker) endpoints() {
	for _, endpoint := range slices.Sorted(maps.Keys(k.config.GetEndpoints())) {
		for i, name := range k.config.GetEndpoints()[endpoint].GetUpstreams() {
			if !slices.Contains(k.upstreams, name) {
				k.issues = append(k.issues, issue{
					path:        nth(at("endpoints", endpoint)+".upstreams", i),
					problem:     "there is no upstream " + strconv.Quote(shorten(name)),
					suggestions: nearest.Names(name, slices.Values(k.upstreams), ""),
				})
			}
		}
	}
}

func (k *checker) keys() {
	seen := make(map[string]bool)
	for i, key := range k.config.GetKeys() {
		if seen[key.GetFile()] && key.GetFile() != "" {
			k.problem(nth("keys", i)+".file", "the file is listed twice")
		}
		seen[key.GetFile()] = true
	}
}
