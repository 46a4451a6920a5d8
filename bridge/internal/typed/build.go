package typed

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/jsonschema"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
)

// builder makes a plan.
type builder struct {
	plan    *Plan
	pkg     string
	lock    *Lock
	hashed  bool
	rules   bool
	top     *names
	service *descriptorpb.ServiceDescriptorProto
	// comments are those of parts of the file, by part.
	comments map[proto.Message]string
	imports  map[string]bool
	// paths are the names of messages that have one, and fills those of the
	// method that is being made.
	paths map[*object]string
	fills map[protoreflect.FullName][]Fill
	// output is set while messages are made that only the server fills in.
	output bool
}

func newBuilder(server Server, opts Options) (*builder, error) {
	pkg, err := packageOf(server.Name, opts)
	if err != nil {
		return nil, err
	}
	file := FileName(server.Name)
	lock := newLock(pkg, pascal(serverName(server.Name))+"Tools")
	if opts.Lock != nil && !opts.Hashed {
		lock = opts.Lock.clone()
	}
	b := &builder{
		plan: &Plan{
			File: &descriptorpb.FileDescriptorProto{
				Name:    new(strings.ReplaceAll(pkg, ".", "/") + "/" + file + ".proto"),
				Package: new(pkg),
				Syntax:  new("proto3"),
			},
		},
		pkg: pkg, lock: lock, hashed: opts.Hashed, rules: opts.Rules,
		service:  &descriptorpb.ServiceDescriptorProto{Name: new(lock.Service)},
		comments: make(map[proto.Message]string),
		imports:  make(map[string]bool),
	}
	if !opts.Hashed {
		b.plan.Lock = lock
	}
	b.top = newNames(opts.Hashed, lock.Service)
	for _, rpcs := range []map[string]string{lock.Tools, lock.Prompts, lock.Templates} {
		for _, name := range rpcs {
			for _, derive := range rpcNames {
				b.top.take(derive(name))
			}
		}
	}
	return b, nil
}

func (b *builder) build(server Server) {
	b.comments[b.service] = b.serviceComment(server)
	server.Tools = unique(b, "tool", server.Tools, func(t Tool) string { return t.Name })
	server.Prompts = unique(b, "prompt", server.Prompts, func(p Prompt) string { return p.Name })
	server.Templates = unique(b, "resource template", server.Templates, func(t Template) string { return t.URI })
	b.nameAll(server)
	for _, t := range server.Tools {
		b.tool(t)
	}
	for _, p := range server.Prompts {
		b.prompt(p)
	}
	for _, t := range server.Templates {
		b.template(t)
	}
	file := b.plan.File
	file.Service = []*descriptorpb.ServiceDescriptorProto{b.service}
	file.Dependency = slices.Sorted(maps.Keys(b.imports))
	file.SourceCodeInfo = b.sourceInfo(fmt.Sprintf("What the MCP server %s offers, as a service.\n\n"+written+" The file beside it that ends in .mcp.lock.json\nkeeps names and numbers stable: commit both, and edit neither.", quote(clip.Text(oneLine(server.Name), 40))))
}

// written stands at the head of all files.
const written = "Written by mcp-bridge export."

// IsWritten reports whether a text is that of a .proto file which was made of a
// plan.
func IsWritten(text []byte) bool {
	const head = 512
	return bytes.Contains(text[:min(head, len(text))], []byte("\n// "+written))
}

// unique returns the first of the entries of each name, in order.
func unique[T any](b *builder, what string, all []T, name func(T) string) []T {
	seen := make(map[string]bool)
	return slices.DeleteFunc(slices.Clone(all), func(t T) bool {
		switch n := name(t); {
		case n == "":
			b.warn(what, "there is one without a name, which is left out")
			return true
		case seen[n]:
			b.warn(what+" "+quote(n), "the name occurs twice; only the first is there")
			return true
		default:
			seen[n] = true
			return false
		}
	})
}

// rpcNames are the names at the top of a file that belong to an RPC, by its
// name.
var rpcNames = []func(string) string{
	func(name string) string { return name },
	func(name string) string { return "Stream" + name },
	func(name string) string { return name + "Request" },
	func(name string) string { return name + "Response" },
	func(name string) string { return name + "Output" },
	func(name string) string { return "Stream" + name + "Request" },
	func(name string) string { return "Stream" + name + "Response" },
}

// nameAll gives RPCs their names. New ones are named in the order of what they
// stand for, so that the order of a list does not matter.
func (b *builder) nameAll(server Server) {
	name := func(rpcs map[string]string, of []string, wanted func(string) string) {
		slices.Sort(of)
		// Names that are as wanted without change come first.
		for _, exact := range []bool{true, false} {
			for _, s := range of {
				if rpcs[s] == "" && (!exact || snake(s) == s) {
					rpcs[s] = b.top.claim(wanted(s), s, "", rpcNames[1:]...)
				}
			}
		}
	}
	var tools, prompts, templates []string
	templateNames := make(map[string]string)
	for _, t := range server.Tools {
		tools = append(tools, t.Name)
	}
	for _, p := range server.Prompts {
		prompts = append(prompts, p.Name)
	}
	for _, t := range server.Templates {
		templates = append(templates, t.URI)
		templateNames[t.URI] = pick(t.Name, t.URI)
	}
	name(b.lock.Tools, tools, pascal)
	name(b.lock.Prompts, prompts, func(s string) string { return "GetPrompt" + pascal(s) })
	name(b.lock.Templates, templates, func(s string) string { return "Read" + pascal(templateNames[s]) })
}

func (b *builder) warn(of, format string, args ...any) {
	b.plan.Warnings = append(b.plan.Warnings, of+": "+fmt.Sprintf(format, args...))
}

// infer returns what a schema says, or any object where it cannot be used.
func (b *builder) infer(of string, schema []byte) *object {
	doc, err := jsonschema.Parse(schema)
	if err == nil {
		o, warnings, inferErr := inferRoot(doc)
		if inferErr == nil {
			for _, w := range warnings {
				b.warn(of, "%s", w)
			}
			return o
		}
		err = inferErr
	}
	b.warn(of, "%v; any object is taken", err)
	return &object{extra: &shape{schema: &jsonschema.Schema{}}}
}

// add appends a message to the file.
func (b *builder) add(m *descriptorpb.DescriptorProto, comment string) {
	b.plan.File.MessageType = append(b.plan.File.MessageType, m)
	b.comments[m] = comment
}

// root makes a message at the top of the file.
func (b *builder) root(name string, o *object, comment string) {
	b.paths = map[*object]string{o: name}
	s := b.scope(name, nil)
	b.add(s.proto, comment)
	b.message(s, o)
}

// ref returns how the file refers to a message of its own.
func (b *builder) ref(path string) string { return "." + b.pkg + "." + path }
