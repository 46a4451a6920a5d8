package typedserve

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectserve"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/plainjson"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typed"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	optionsv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/options/v1"
	_ "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1" // plans import its files
)

// snapshot is the service as it is at one time. It is immutable.
type snapshot struct {
	service protoreflect.FullName
	files   *protoregistry.Files
	// handlers are those of RPCs, by their paths, made for the first call, and
	// served the RPCs for which there is something to call.
	handlers map[string]func() http.Handler
	served   map[protoreflect.Name]bool
	warnings []string
}

// newSnapshot plans the service for what a server offers.
func (s *Server) newSnapshot(server typed.Server) (*snapshot, error) {
	options := typed.Options{Package: s.cfg.Package, Hashed: s.written == nil}
	if s.written != nil {
		options.Lock = s.written.Lock
	}
	plan, err := typed.New(server, options)
	if err != nil {
		return nil, err
	}
	fd, err := s.link(plan)
	if err != nil {
		return nil, err
	}
	next := &snapshot{files: new(protoregistry.Files), handlers: make(map[string]func() http.Handler), served: make(map[protoreflect.Name]bool)}
	if err := next.files.RegisterFile(fd); err != nil {
		return nil, fmt.Errorf("typed service: %w", err)
	}
	if fd.Services().Len() != 1 {
		return nil, fmt.Errorf("typed service: %s has %d services, want one", fd.Path(), fd.Services().Len())
	}
	service := fd.Services().Get(0)
	next.service = service.FullName()
	if s.written == nil {
		next.warnings = plan.Warnings
	} else if next.warnings, err = s.drift(plan); err != nil {
		return nil, err
	}
	b := &binder{
		server: s, snapshot: next, service: service,
		exact: transcode.NewCompiler(nil, transcode.Options{Exact: true}),
		plain: plainjson.New(fd),
	}
	for _, m := range plan.Methods {
		b.bind(m)
	}
	b.bindGone()
	return next, nil
}

// drift says how the types of the export differ from those that the server has
// now, in one warning or none.
func (s *Server) drift(plan *typed.Plan) ([]string, error) {
	now, err := plan.Link(protoregistry.GlobalFiles)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, c := range typed.Compare(s.written.File, now) {
		// Other changes are of what has no RPC yet, or none any more.
		if strings.HasPrefix(c.Text, "field ") || strings.HasPrefix(c.Text, "value ") {
			all = append(all, c.Text)
		}
	}
	if all == nil {
		return nil, nil
	}
	const most = 5
	text := strings.Join(all[:min(most, len(all))], "; ")
	if n := len(all) - most; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	return []string{fmt.Sprintf("the server has changed since %s was written; export again to have that: %s", s.written.Path, text)}, nil
}

// link returns the descriptor of the service: that of the plan, or of the export,
// in which the server's own schemas are options of the RPCs.
func (s *Server) link(plan *typed.Plan) (protoreflect.FileDescriptor, error) {
	file := plan.File
	if s.written != nil {
		file = protodesc.ToFileDescriptorProto(s.written.File)
	}
	addSchemas(file, plan.Methods)
	fd, err := protodesc.NewFile(file, protoregistry.GlobalFiles)
	if err != nil {
		return nil, fmt.Errorf("typed service: %w", err)
	}
	return fd, nil
}

// maxSchemas bounds the schemas and descriptions of a service, in bytes:
// reflection sends them with its file.
const maxSchemas = 1 << 20

// addSchemas adds what the server says of its tools to the options of their RPCs,
// so that whoever makes tools of these has the same ones again. What is beyond the
// bound is left out.
func addSchemas(file *descriptorpb.FileDescriptorProto, methods []typed.Method) {
	tools := make(map[string]typed.Method)
	for _, m := range methods {
		if m.Kind == typed.ToolMethod {
			tools[string(m.RPC)] = m
		}
	}
	left := maxSchemas
	for _, service := range file.GetService() {
		for _, md := range service.GetMethod() {
			m := tools[md.GetName()]
			size := len(m.InputSchema) + len(m.OutputSchema) + len(m.Description)
			if size == 0 || size > left || !utf8.Valid(m.InputSchema) || !utf8.Valid(m.OutputSchema) {
				continue
			}
			left -= size
			o, ok := proto.GetExtension(md.GetOptions(), optionsv1.E_Method).(*optionsv1.MethodOptions)
			if !ok || o == nil {
				continue
			}
			o = proto.CloneOf(o)
			o.Description = m.Description
			o.Tool = &optionsv1.Tool{InputSchema: string(m.InputSchema), OutputSchema: string(m.OutputSchema)}
			md.Options = proto.CloneOf(md.GetOptions())
			proto.SetExtension(md.Options, optionsv1.E_Method, o)
		}
	}
}

// warned reports whether the snapshot was warned of too.
func (n *snapshot) warned(warning string) bool { return slices.Contains(n.warnings, warning) }

// same reports whether a server offers what is served.
func (s *Server) same(server typed.Server) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return reflect.DeepEqual(server, s.listed)
}

// binder makes the handlers of a snapshot.
type binder struct {
	server   *Server
	snapshot *snapshot
	service  protoreflect.ServiceDescriptor
	exact    *transcode.Compiler
	plain    *plainjson.Codecs
}

var kindNames = map[typed.Kind]string{
	typed.ToolMethod: "tool", typed.PromptMethod: "prompt", typed.TemplateMethod: "resource template",
}

// bind adds the RPCs of a method. Those of something that was not there when the
// export was written have numbers that nobody has agreed on, and are not served.
func (b *binder) bind(m typed.Method) {
	md := b.service.Methods().ByName(m.RPC)
	if md == nil {
		b.snapshot.warnings = append(b.snapshot.warnings,
			fmt.Sprintf("the %s %q is not in %s and so has no RPC; export again to have one", kindNames[m.Kind], m.Name, b.service.ParentFile().Path()))
		return
	}
	b.add(md, &method{server: b.server, typed: m, request: md.Input(), response: md.Output()})
	if md := b.service.Methods().ByName(m.Stream); md != nil {
		request, response := md.Input().Fields().ByName("request"), md.Output().Fields().ByName("result")
		if request != nil && request.Message() != nil && response != nil && response.Message() != nil {
			b.add(md, &method{server: b.server, typed: m, request: request.Message(), response: response.Message(), streams: true})
		}
	}
}

// add adds the handler of an RPC.
func (b *binder) add(md protoreflect.MethodDescriptor, m *method) {
	m.codecs = sync.OnceValues(func() (*codecs, error) { return newCodecs(b.exact, md, m) })
	kind := rpc.Unary
	if m.streams {
		kind = rpc.ServerStream
	}
	b.handle(md, kind, m.serve)
	b.snapshot.served[md.Name()] = true
}

func (b *binder) handle(md protoreflect.MethodDescriptor, kind rpc.Kind, serve func(context.Context, *connectserve.Call) error) {
	path := "/" + string(b.service.FullName()) + "/" + string(md.Name())
	types, options := b.plain.Types(md), b.server.options()
	b.snapshot.handlers[path] = sync.OnceValue(func() http.Handler {
		return connectserve.Handler(&connectserve.Method{Procedure: path, Kind: kind, Serve: serve, Types: types}, options)
	})
}

// bindGone adds the RPCs that the export has, and the server no more.
func (b *binder) bindGone() {
	for i := range b.service.Methods().Len() {
		md := b.service.Methods().Get(i)
		if b.snapshot.served[md.Name()] {
			continue
		}
		kind := rpc.Unary
		if md.IsStreamingServer() {
			kind = rpc.ServerStream
		}
		b.handle(md, kind, func(context.Context, *connectserve.Call) error {
			return fault.New(code.Code_UNIMPLEMENTED, nil, "the MCP server does not offer what %s stands for", md.Name())
		})
	}
}

func (s *Server) options() connectserve.Options {
	return connectserve.Options{MaxMessageBytes: s.cfg.MaxMessageBytes, Logger: s.cfg.Logger}
}

// unknown answers RPCs that do not exist.
func (s *Server) unknown(path string) http.Handler {
	return connectserve.Handler(&connectserve.Method{
		Procedure: path,
		Types: func() (request, response *transcode.Codec, err error) {
			return nil, nil, fault.New(code.Code_UNIMPLEMENTED, nil, "there is no RPC %s", path)
		},
		Serve: func(context.Context, *connectserve.Call) error {
			return fault.New(code.Code_UNIMPLEMENTED, nil, "there is no RPC %s", path)
		},
	}, s.options())
}
