package typed

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Server is what an MCP server says of itself.
type Server struct {
	// Name is what the server calls itself. Names in code are made of its last
	// part.
	Name      string
	Tools     []Tool
	Prompts   []Prompt
	Templates []Template
}

// Tool is an entry of the result of tools/list. Schemas are JSON; an absent
// one is empty.
type Tool struct {
	Name, Title, Description string
	Input, Output            []byte
	Hints                    Hints
}

// Hints are the annotations of a tool. What is not set is not known.
type Hints struct {
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
}

// Prompt is an entry of the result of prompts/list.
type Prompt struct {
	Name, Title, Description string
	Arguments                []Argument
}

// Argument is an argument of a prompt. Its values are strings.
type Argument struct {
	Name, Title, Description string
	Required                 bool
}

// Template is an entry of the result of resources/templates/list. Variables
// are those of the URI template.
type Template struct {
	URI, Name, Title, Description, MIMEType string
	Variables                               []string
}

// Options are the choices that [New] leaves.
type Options struct {
	// Package is the protobuf package. If it is empty, it is that of the lock
	// or, without one, mcp.gen.NAME.v1.
	Package string
	// Lock has the names and numbers that were given before, and is not
	// changed. Without one all are new.
	Lock *Lock
	// Hashed makes names and numbers depend on nothing but what they stand
	// for, as far as they do not collide, so that several processes come to the
	// same ones without a lock. A lock is then not used.
	Hashed bool
	// Rules adds the constraints of schemas as rules of protovalidate.
	Rules bool
}

// Plan is a typed service.
type Plan struct {
	// File is the .proto file, with comments as source info.
	File *descriptorpb.FileDescriptorProto
	// Lock has everything that has ever been given a name or number, or is nil
	// where these are hashed.
	Lock *Lock
	// Methods are what the RPCs of the service stand for.
	Methods []Method
	// Warnings say which schemas, or parts of them, have types that take more
	// than the schema does, and why.
	Warnings []string
}

// Kind is what a method stands for.
type Kind int

// The kinds of methods.
const (
	ToolMethod Kind = iota + 1
	PromptMethod
	TemplateMethod
)

// Method is an RPC of a typed service.
type Method struct {
	Kind Kind
	// Name is that of the tool or the prompt, or the template of the URI.
	Name string
	// RPC is the name of the method, and Stream that of the one that streams
	// progress, or empty.
	RPC, Stream protoreflect.Name
	// Fills are the members that requests always have, by the names of
	// messages: those with a constant value, and null where the schema demands
	// a member that may be null.
	Fills map[protoreflect.FullName][]Fill
	// Template has the variables of a URI template by their names in JSON.
	Template *Template
	// Description, InputSchema and OutputSchema are those of the tool.
	Description               string
	InputSchema, OutputSchema []byte
}

// Fill is a member that a JSON object has where its field is not set.
type Fill struct {
	// Name is the name of the member, Value its JSON.
	Name  string
	Value []byte
}

// New makes a plan. It is an error if names in the options cannot be used, or if
// the lock is of another package.
func New(server Server, opts Options) (*Plan, error) {
	b, err := newBuilder(server, opts)
	if err != nil {
		return nil, err
	}
	b.build(server)
	return b.plan, nil
}

// Link returns the descriptor of the plan's file. The resolver has the files
// that it imports.
func (p *Plan) Link(imports protodesc.Resolver) (protoreflect.FileDescriptor, error) {
	fd, err := protodesc.NewFile(p.File, imports)
	if err != nil {
		return nil, fmt.Errorf("typed: link %s: %w", p.File.GetName(), err)
	}
	return fd, nil
}

// FileName returns how files of a server are called: its name in lower case.
func FileName(server string) string { return snake(serverName(server)) }

// serverName returns the part of a server's name that tells it from others.
func serverName(name string) string {
	name = strings.TrimRight(name, "/")
	name = name[strings.LastIndexByte(name, '/')+1:]
	all := slices.DeleteFunc(words(name), func(w string) bool { return w == "mcp" || w == "server" })
	if len(all) == 0 {
		return pick(name, "server")
	}
	return strings.Join(all, "_")
}

// packageOf returns the package of a plan.
func packageOf(server string, opts Options) (string, error) {
	pkg := opts.Package
	switch {
	case opts.Lock == nil || opts.Hashed:
		pkg = pick(pkg, "mcp.gen."+FileName(server)+".v1")
	case pkg == "":
		pkg = opts.Lock.Package
	case pkg != opts.Lock.Package:
		return "", fmt.Errorf("the package is %s, but that of the lock is %s: types of another package are other types, which need files and a lock of their own", pkg, opts.Lock.Package)
	}
	if !protoreflect.FullName(pkg).IsValid() {
		return "", fmt.Errorf("%q is no name of a protobuf package; want one like acme.weather.v1", pkg)
	}
	if strings.ToLower(pkg) != pkg {
		return "", errors.New("the name of a protobuf package is in lower case, such as acme.weather.v1")
	}
	return pkg, nil
}
