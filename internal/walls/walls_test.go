package walls

import (
	"bytes"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mcp-bridge/mcp-bridge/"

// Names for what several rooms need.
var (
	protobuf = []string{"google.golang.org/protobuf/...", "google.golang.org/genproto/googleapis/rpc/..."}
	grpc     = []string{"google.golang.org/grpc/..."}
	connect  = []string{"connectrpc.com/..."}
	validate = []string{"buf.build/gen/go/bufbuild/protovalidate/...", "buf.build/go/protovalidate/..."}
	anything = []string{"..."}

	// testHelpers are imported by tests only.
	testHelpers = []string{"bridge/internal/rpc/rpctest/...", "internal/samejson", "protocol/internal/prototest"}
)

// room is a rule about the imports of some packages, apart from the standard
// library and from imports of their tests. A pattern is a path, or a prefix that
// ends in "/..." and includes the path before it; "..." is everything. Paths of
// this module are relative to it.
type room struct {
	packages  []string
	may       []string // in this module
	elsewhere []string // in other modules
	why       string
}

// rooms are the rules. The first that matches a package counts, and every
// package needs one.
var rooms = []room{
	{
		packages: []string{"internal/parallel", "internal/backoff", "internal/bounded", "internal/watched"},
		why:      "they know neither what is done nor what is kept",
	},
	{
		packages: []string{"internal/jsontok"},
		why:      "it scans bytes, and knows neither MCP nor protobuf",
	},
	{
		packages: []string{"internal/glob"},
		why:      "it matches names, and does not know of what",
	},
	{
		packages: []string{"internal/seal"},
		why:      "it seals bytes, and does not know what they say",
	},
	{
		packages: []string{"internal/samejson"},
		why:      "it compares texts",
	},
	{
		packages: []string{"internal/reap"},
		why:      "it starts programs and knows none",
	},
	{
		packages: []string{"internal/printable", "internal/secret"},
		may:      []string{"internal/clip"},
		why:      "they make texts safe to show, and know none of them",
	},
	{
		packages: []string{"protocol"},
		may:      []string{"internal/clip", "internal/jsontok"},
		why:      "the neutral middle knows no envelope, no transport and no protobuf",
	},
	{
		packages: []string{"internal/mcpjson"},
		may:      []string{"protocol", "internal/clip", "internal/jsontok"},
		why:      "it edits messages, and knows no transport",
	},
	{
		packages: []string{"internal/front"},
		may:      []string{"protocol", "internal/jsontok", "internal/mcpjson"},
		why:      "what all fronts do with a request depends on none of their envelopes",
	},
	{
		packages: []string{"internal/mcptask"},
		may:      []string{"protocol", "internal/jsontok", "internal/mcpjson"},
		why:      "a task has the same form everywhere",
	},
	{
		packages: []string{"protocol/jsonrpc"},
		may:      []string{"protocol", "internal/clip", "internal/jsontok"},
		why:      "the envelope knows no transport",
	},
	{
		packages: []string{"protocol/internal/eventstream", "internal/guard"},
		may:      []string{"internal/clip"},
		why:      "framing and HTTP checks know no MCP",
	},
	{
		packages:  []string{"protocol/internal/prototest"},
		may:       []string{"protocol", "internal/mcpschema"},
		elsewhere: []string{"golang.org/x/tools/txtar"},
		why:       "it tests transports without knowing them",
	},
	{
		packages: []string{"protocol/internal/..."},
		may:      []string{"protocol", "protocol/jsonrpc", "protocol/internal/...", "internal/backoff", "internal/bounded", "internal/clip", "internal/front", "internal/jsontok", "internal/mcpjson", "internal/mcptask", "internal/printable", "internal/seal", "internal/secret"},
		why:      "what transports share knows none of them",
	},
	{
		packages: []string{"protocol/stdio", "protocol/streamable", "protocol/httpsse", "protocol/tunnel"},
		may:      []string{"protocol", "protocol/jsonrpc", "protocol/internal/...", "internal/bounded", "internal/clip", "internal/front", "internal/guard", "internal/jsontok", "internal/mcpjson", "internal/printable", "internal/reap", "internal/secret"},
		why:      "a transport knows no other transport and no backend",
	},
	{
		packages:  []string{"bridge/auth"},
		may:       []string{"protocol", "bridge/internal/connectserve", "internal/backoff", "internal/clip", "internal/jsontok", "internal/watched"},
		elsewhere: []string{"google.golang.org/genproto/googleapis/rpc/...", "github.com/go-jose/go-jose/..."},
		why:       "who calls does not depend on what is called",
	},
	{
		packages: []string{"bridge/internal/upstreamurl", "bridge/internal/tlsconf", "bridge/internal/rpc/header"},
		may:      []string{"internal/secret", "internal/watched"},
		why:      "these are of use to every caller, so they depend on none",
	},
	{
		packages:  []string{"bridge/internal/rpc/rpctest/..."},
		may:       []string{"bridge/rpc", "bridge/internal/rpc/..."},
		elsewhere: slices.Concat(protobuf, connect, grpc),
		why:       "it tests callers without knowing them",
	},
	{
		packages:  []string{"bridge/rpc", "bridge/internal/rpc/..."},
		may:       []string{"bridge/rpc", "bridge/internal/rpc/...", "bridge/internal/upstreamurl", "internal/secret"},
		elsewhere: protobuf,
		why:       "the seam between the bridge and RPC knows neither grpc-go nor connect-go nor MCP",
	},
	{
		packages:  []string{"bridge/internal/schema"},
		may:       []string{"bridge/internal/customoption", "bridge/internal/transcode"},
		elsewhere: slices.Concat(protobuf, validate),
		why:       "what a type becomes is a matter of its descriptor",
	},
	{
		packages: []string{"bridge/internal/jsonschema"},
		may:      []string{"internal/jsontok", "internal/clip"},
		why:      "it reads schemas, and makes nothing of them",
	},
	{
		packages:  []string{"bridge/internal/typed"},
		may:       []string{"internal/jsontok", "internal/clip", "bridge/internal/customoption", "bridge/internal/jsonschema", "gen/mcp/..."},
		elsewhere: slices.Concat(protobuf, validate, []string{"golang.org/x/text/unicode/norm"}),
		why:       "what a schema becomes has nothing to do with who serves it",
	},
	{
		packages:  []string{"bridge/internal/transcode"},
		may:       []string{"internal/jsontok", "internal/nearest", "bridge/internal/customoption", "gen/mcp/..."},
		elsewhere: protobuf,
		why:       "what a value becomes is a matter of its descriptor",
	},
	{
		packages:  []string{"bridge/internal/fieldpath"},
		may:       []string{"internal/clip"},
		elsewhere: slices.Concat(protobuf, validate),
		why:       "how a field is called is a matter of its descriptor",
	},
	{
		packages:  []string{"bridge/internal/validate"},
		may:       []string{"internal/clip", "bridge/internal/fieldpath", "bridge/internal/transcode"},
		elsewhere: slices.Concat(protobuf, validate, []string{"cel.dev/cel-go/..."}),
		why:       "whether a value follows its rules is a matter of its descriptor, and only this room knows CEL",
	},
	{
		packages: []string{"internal/nearest"},
		why:      "it compares names and knows none of them",
	},
	{
		packages: []string{"internal/clip"},
		why:      "it shortens texts and knows none of them",
	},
	{
		packages: []string{"bridge/internal/toolname"},
		may:      []string{"internal/glob"},
		why:      "it makes names and knows no tools",
	},
	{
		packages:  []string{"bridge/internal/search"},
		may:       []string{"internal/clip"},
		elsewhere: []string{"github.com/blevesearch/snowballstem/..."},
		why:       "it ranks texts, and knows neither MCP nor protobuf",
	},
	{
		packages:  []string{"bridge/internal/status", "bridge/internal/metadata"},
		may:       []string{"protocol", "internal/jsontok", "internal/mcpjson", "bridge/rpc", "bridge/internal/rpc/...", "internal/clip", "bridge/internal/fieldpath", "bridge/internal/transcode", "gen/mcp/..."},
		elsewhere: slices.Concat(protobuf, validate),
		why:       "a translation knows both sides and nobody who uses it",
	},
	{
		packages:  []string{"bridge/internal/descriptor"},
		may:       []string{"bridge/rpc", "bridge/internal/rpc/...", "bridge/internal/pgv", "bridge/internal/wire", "internal/glob", "internal/parallel"},
		elsewhere: append([]string{"github.com/bufbuild/protocompile/...", "google.golang.org/genproto/..."}, protobuf...),
		why:       "where descriptors come from has nothing to do with MCP",
	},
	{
		packages:  []string{"bridge/internal/pgv"},
		may:       []string{"bridge/internal/customoption"},
		elsewhere: slices.Concat(protobuf, validate),
		why:       "it translates options, and only this room knows protoc-gen-validate",
	},
	{
		packages:  []string{"bridge/internal/inflate"},
		elsewhere: connect,
		why:       "it decompresses, for clients and servers of connect-go alike",
	},
	{
		packages:  []string{"bridge/internal/connectcall"},
		may:       []string{"bridge/internal/inflate", "bridge/rpc", "bridge/internal/rpc/...", "bridge/internal/upstreamurl", "bridge/internal/tlsconf"},
		elsewhere: slices.Concat(protobuf, connect),
		why:       "a caller knows the seam and its own library",
	},
	{
		packages:  []string{"bridge/internal/connectserve"},
		may:       []string{"bridge/internal/inflate", "bridge/rpc", "bridge/internal/rpc/...", "bridge/internal/status", "bridge/internal/transcode"},
		elsewhere: slices.Concat(protobuf, connect),
		why:       "a server knows the seam and its own library, and not what its messages mean",
	},
	{
		packages:  []string{"bridge/internal/tunnel"},
		may:       []string{"bridge/rpc", "bridge/internal/rpc/...", "bridge/internal/wire", "bridge/internal/connectcall", "bridge/internal/connectserve"},
		elsewhere: protobuf,
		why:       "it frames messages and does not look into them",
	},
	{
		packages:  []string{"bridge/tunnel"},
		may:       []string{"bridge/rpc", "bridge/internal/rpc/...", "bridge/internal/connectcall", "bridge/internal/connectserve", "bridge/internal/tunnel", "bridge/internal/upstreamurl"},
		elsewhere: slices.Concat(protobuf, []string{"github.com/modelcontextprotocol/go-sdk/..."}),
		why:       "only who imports it links the SDK, and it links no more of the bridge than a stream",
	},
	{
		packages:  []string{"bridge/grpcgo"},
		may:       []string{"bridge/rpc", "bridge/internal/rpc/...", "bridge/internal/upstreamurl", "bridge/internal/tlsconf"},
		elsewhere: slices.Concat(protobuf, grpc),
		why:       "a caller knows the seam and its own library",
	},
	{
		packages:  []string{"bridge/internal/operation"},
		may:       []string{"bridge/rpc", "bridge/internal/rpc/..."},
		elsewhere: protobuf,
		why:       "long-running operations are gRPC's, and know no MCP",
	},
	{
		packages:  []string{"bridge/internal/customoption"},
		elsewhere: protobuf,
		why:       "it reads options and knows none",
	},
	{
		packages: []string{"bridge/fault"},
		may:      []string{"internal/printable"},
		why:      "it says what is wrong with any file",
	},
	{
		packages:  []string{"bridge/internal/options"},
		may:       []string{"bridge/internal/customoption", "bridge/internal/document", "bridge/internal/transcode", "gen/mcp/...", "internal/glob"},
		elsewhere: protobuf,
		why:       "what authors say has nothing to do with what comes of it",
	},
	{
		packages:  []string{"bridge/internal/document"},
		may:       []string{"bridge/fault", "bridge/internal/transcode", "internal/jsontok"},
		elsewhere: slices.Concat(protobuf, []string{"go.yaml.in/yaml/..."}),
		why:       "how a file is read has nothing to do with what it says, and only this room reads YAML",
	},
	{
		packages: []string{"bridge/config"},
		may: []string{
			"bridge/fault", "bridge/internal/document", "bridge/internal/fieldpath", "bridge/internal/metadata", "bridge/internal/options",
			"bridge/internal/rpc/header", "bridge/internal/transcode", "bridge/internal/upstreamurl", "gen/mcp/...", "gen/mcpbridge/...", "internal/jsontok", "internal/nearest",
		},
		elsewhere: slices.Concat(protobuf, validate, []string{"github.com/fsnotify/fsnotify", "go.yaml.in/yaml/..."}),
		why:       "it reads files and knows nothing of what runs them",
	},
	{
		packages:  []string{"bridge/internal/export"},
		may:       []string{"protocol", "proto", "bridge/internal/descriptor", "bridge/internal/typed", "gen/mcp/..."},
		elsewhere: slices.Concat(protobuf, []string{"github.com/yosida95/uritemplate/..."}),
		why:       "it asks any server, and writes what package typed makes",
	},
	{
		packages: []string{"bridge/internal/googlemcp"},
		may: []string{
			"protocol", "internal/front", "internal/jsontok", "internal/mcpjson", "internal/clip", "bridge/internal/connectserve", "bridge/internal/metadata",
			"bridge/internal/mirror", "bridge/internal/plainjson", "bridge/rpc", "bridge/internal/rpc/fault", "bridge/internal/status", "bridge/internal/transcode",
			"gen/mcp/...", "gen/modelcontextprotocol/...",
		},
		elsewhere: protobuf,
		why:       "it is a front and a client, and knows neither connect-go nor who carries its calls",
	},
	{
		packages: []string{"proto"},
		why:      "it holds files",
	},
	{
		packages: []string{"bridge/internal/typedserve"},
		may: []string{
			"protocol", "internal/front", "internal/jsontok", "internal/mcpjson", "internal/clip", "bridge/internal/connectserve", "bridge/internal/export",
			"bridge/internal/metadata", "bridge/internal/plainjson", "bridge/rpc", "bridge/internal/rpc/...", "bridge/internal/status", "bridge/internal/transcode",
			"bridge/internal/typed", "gen/mcp/...",
		},
		elsewhere: slices.Concat(protobuf, []string{"github.com/yosida95/uritemplate/..."}),
		why:       "it puts together what a typed service is, and knows neither connect-go nor who answers",
	},
	{
		packages:  []string{"bridge/internal/mirror"},
		may:       []string{"protocol", "protocol/jsonrpc", "protocol/tunnel", "internal/front", "internal/guard", "internal/jsontok", "internal/mcpjson", "bridge/rpc", "bridge/internal/...", "gen/mcp/..."},
		elsewhere: slices.Concat(protobuf, connect),
		why:       "it is a front and a client; of connect-go it knows reflection only",
	},
	{
		packages:  []string{"bridge/internal/engine"},
		may:       []string{"protocol", "internal/clip", "internal/jsontok", "internal/mcpjson", "internal/mcptask", "internal/parallel", "internal/seal", "bridge/rpc", "bridge/internal/...", "gen/mcp/..."},
		elsewhere: slices.Concat(protobuf, validate, []string{"github.com/yosida95/uritemplate/..."}),
		why:       "it puts together what one API is, and knows neither transports nor who calls",
	},
	{
		packages:  []string{"bridge/internal/..."},
		may:       []string{"protocol", "internal/clip", "internal/jsontok", "internal/mcpjson", "bridge/rpc", "bridge/internal/...", "gen/mcp/..."},
		elsewhere: slices.Concat(protobuf, validate),
		why:       "only callers know connect-go and grpc-go, and only the bridge knows transports",
	},
	{
		packages:  []string{"bridge"},
		may:       []string{"protocol/...", "internal/guard", "internal/jsontok", "internal/printable", "bridge/rpc", "bridge/internal/..."},
		elsewhere: protobuf,
		why:       "the bridge puts everything together, and is handed the callers it does not build in",
	},
	{
		packages: []string{"bridge/upstream"},
		may: []string{
			"protocol", "protocol/httpsse", "protocol/stdio", "protocol/streamable", "bridge", "bridge/config", "bridge/fault", "bridge/grpcgo",
			"bridge/rpc", "bridge/internal/tlsconf", "bridge/internal/toolname", "bridge/internal/transcode", "bridge/internal/upstreamurl", "gen/mcpbridge/config/v1",
		},
		elsewhere: protobuf,
		why:       "it opens upstreams of every kind, and knows no front",
	},
	{
		packages: []string{"bridge/find"},
		may:      []string{"protocol", "internal/clip", "internal/jsontok", "internal/mcpjson", "internal/parallel", "bridge/internal/search"},
		why:      "it finds tools of any Handler, and knows none",
	},
	{
		packages: []string{"bridge/gateway"},
		may: []string{
			"protocol", "protocol/httpsse", "protocol/stdio", "protocol/streamable", "internal/guard",
			"bridge", "bridge/auth", "bridge/config", "bridge/find", "bridge/mux", "bridge/upstream", "bridge/internal/tlsconf", "gen/mcp/options/v1", "gen/mcpbridge/config/v1",
		},
		elsewhere: slices.Concat(protobuf, []string{"connectrpc.com/cors", "github.com/rs/cors"}),
		why:       "it puts together what others have made: upstreams, the Mux and fronts",
	},
	{
		packages: []string{"bridge/mux"},
		may:      []string{"protocol", "internal/backoff", "internal/clip", "internal/jsontok", "internal/mcpjson", "internal/nearest", "internal/seal", "bridge/internal/toolname"},
		why:      "it routes between Handlers, and knows neither protobuf nor transports",
	},
	{
		packages:  []string{"cmd/..."},
		may:       []string{"bridge", "bridge/config", "bridge/find", "bridge/gateway", "bridge/mux", "bridge/upstream", "protocol/...", "internal/printable", "internal/reap", "internal/secret", "internal/demo/...", "gen/mcpbridge/config/v1", "cmd/..."},
		elsewhere: slices.Concat(protobuf, []string{"github.com/spf13/..."}),
		why:       "a command is thin: it calls the public API",
	},
	{
		packages:  []string{"examples/..."},
		may:       []string{"gen/mcp/..."},
		elsewhere: slices.Concat(protobuf, connect),
		why:       "an example is what users write, with stubs; its tests alone know more",
	},
	{
		packages:  []string{"gen/..."},
		may:       []string{"gen/..."},
		elsewhere: slices.Concat(protobuf, grpc, connect, validate),
		why:       "generated code stands alone",
	},
	{
		packages:  []string{"internal/bench"},
		may:       []string{"bridge", "bridge/grpcgo", "protocol", "protocol/streamable", "gen/bench/...", "gen/mcp/v1"},
		elsewhere: slices.Concat(protobuf, grpc, connect, []string{"golang.org/x/sys/..."}),
		why:       "what measures the bridge uses it as its users do, and brings its own backend and floor",
	},
	{
		packages:  []string{"internal/eval"},
		may:       []string{"bridge", "protocol", "gen/eval/..."},
		elsewhere: slices.Concat(protobuf, connect),
		why:       "what evaluates the tools sees them as hosts do, and brings its own backends",
	},
	{
		packages:  []string{"internal/..."},
		may:       anything,
		elsewhere: anything,
		why:       "demo and test helpers; see links for who must not link them",
	},
}

// link is a rule about what some packages link, through whatever packages.
type link struct {
	packages []string
	except   []string
	never    []string
	why      string
}

var links = []link{
	{
		packages: []string{"protocol/...", "internal/jsontok"},
		except:   testHelpers,
		never:    []string{"google.golang.org/...", "connectrpc.com/...", "buf.build/...", "github.com/...", "golang.org/...", "go.uber.org/..."},
		why:      "MCP itself needs nothing but the standard library",
	},
	{
		packages: []string{"bridge", "bridge/rpc", "bridge/internal/...", "protocol/..."},
		except:   testHelpers,
		never:    grpc,
		why:      "grpc-go adds 4 MB; who wants it imports bridge/grpcgo",
	},
	{
		packages: []string{"bridge/...", "protocol/...", "cmd/..."},
		except:   append([]string{"bridge/tunnel"}, testHelpers...),
		never:    []string{"github.com/modelcontextprotocol/..."},
		why:      "the official SDK is for who imports bridge/tunnel",
	},
	{
		packages: []string{"bridge/...", "protocol/..."},
		except:   testHelpers,
		never:    []string{"testing", "internal/demo/...", "internal/mcpschema", "internal/bench", "internal/eval", "gen/library/...", "gen/bench/...", "gen/eval/...", "github.com/spf13/..."},
		why:      "tests, the demo and the command line are not for users of the library",
	},
	{
		packages: []string{"cmd/..."},
		never:    slices.Concat(testHelpers, []string{"testing", "internal/bench", "gen/bench/...", "internal/eval", "gen/eval/...", "github.com/modelcontextprotocol/..."}),
		why:      "a binary holds no test code",
	},
	{
		packages: []string{"..."},
		except:   []string{"internal/jsontok"},
		never:    []string{"github.com/go-json-experiment/json/..."},
		why:      "it asks public modules not to depend on it",
	},
}

// pkg is a package as `go list` describes it.
type pkg struct {
	standard bool
	imports  []string
}

// list returns the packages of this module and everything that they link, and
// the names of those of this module.
func list(t *testing.T) (all map[string]pkg, own []string) {
	t.Helper()
	root := filepath.Join("..", "..")
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{.ImportPath}} {{.Standard}} {{join .Imports \" \"}}", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.Bytes())
	}
	all = make(map[string]pkg)
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		all[fields[0]] = pkg{standard: fields[1] == "true", imports: fields[2:]}
		if strings.HasPrefix(fields[0], module) {
			own = append(own, fields[0])
		}
	}
	return all, own
}

// matches reports whether a pattern matches a package.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, wild := strings.CutSuffix(pattern, "...")
		if !wild {
			return name == pattern
		}
		return strings.HasPrefix(name+"/", prefix)
	})
}

// short returns the name of a package as rules have it.
func short(name string) string { return strings.TrimPrefix(name, module) }

// breaches returns the imports of a package that a room does not allow.
func (r room) breaches(all map[string]pkg, name string) []string {
	var found []string
	for _, imported := range all[name].imports {
		inside := strings.HasPrefix(imported, module)
		switch {
		case all[imported].standard, inside && matches(r.may, short(imported)), !inside && matches(r.elsewhere, imported):
		default:
			found = append(found, short(imported))
		}
	}
	return found
}

// chain returns the shortest way from a package to one that it must not link,
// or nil.
func (l link) chain(all map[string]pkg, name string) []string {
	from := map[string]string{name: ""}
	for queue := []string{name}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at != name && matches(l.never, short(at)) {
			var way []string
			for ; at != ""; at = from[at] {
				way = append(way, short(at))
			}
			slices.Reverse(way)
			return way
		}
		for _, next := range all[at].imports {
			if _, seen := from[next]; !seen {
				from[next] = at
				queue = append(queue, next)
			}
		}
	}
	return nil
}

func TestImports(t *testing.T) {
	t.Parallel()
	all, own := list(t)
	unused := make(map[int]bool)
	for i := range rooms {
		unused[i] = true
	}
	for _, name := range own {
		i := slices.IndexFunc(rooms, func(r room) bool { return matches(r.packages, short(name)) })
		if i < 0 {
			t.Errorf("no rule covers %s; add it to a room in this file", short(name))
			continue
		}
		delete(unused, i)
		if found := rooms[i].breaches(all, name); len(found) > 0 {
			t.Errorf("%s must not import %s: %s", short(name), strings.Join(found, ", "), rooms[i].why)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(unused)) {
		t.Errorf("the rule for %q covers no package; remove it", rooms[i].packages)
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	all, own := list(t)
	for _, l := range links {
		for _, name := range own {
			if !matches(l.packages, short(name)) || matches(l.except, short(name)) {
				continue
			}
			if way := l.chain(all, name); way != nil {
				t.Errorf("%s: %s", strings.Join(way, " -> "), l.why)
			}
		}
	}
}

// TestRules tests the rules' own machinery.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"bridge", "bridge", true},
		{"bridge", "bridge/grpcgo", false},
		{"bridge/...", "bridge", true},
		{"bridge/...", "bridge/grpcgo", true},
		{"bridge/...", "bridges", false},
		{"...", "anything/at/all", true},
	} {
		if got := matches([]string{tt.pattern}, tt.name); got != tt.want {
			t.Errorf("%s matches %s: %t, want %t", tt.pattern, tt.name, got, tt.want)
		}
	}
	all := map[string]pkg{
		"fmt":             {standard: true},
		module + "a":      {imports: []string{"fmt", module + "b", "example.com/x"}},
		module + "b":      {imports: []string{"example.com/x"}},
		"example.com/x":   {imports: []string{"example.com/y/z"}},
		"example.com/y/z": {},
	}
	r := room{may: []string{"c"}, elsewhere: []string{"example.com/y/..."}}
	if got := r.breaches(all, module+"a"); !slices.Equal(got, []string{"b", "example.com/x"}) {
		t.Errorf("breaches %q", got)
	}
	l := link{never: []string{"example.com/y/..."}}
	if got := l.chain(all, module+"b"); !slices.Equal(got, []string{"b", "example.com/x", "example.com/y/z"}) {
		t.Errorf("chain %q", got)
	}
	if got := (link{never: []string{"nothing"}}).chain(all, module+"a"); got != nil {
		t.Errorf("chain %q", got)
	}
}
