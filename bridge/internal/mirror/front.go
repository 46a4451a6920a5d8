// Package mirror serves what answers MCP as mcp.v1.McpService, to clients of
// gRPC, gRPC-Web and Connect.
//
// The JSON of MCP and the messages of mcp.v1 are turned into each other by
// package transcode, as the options in the .proto files say; there is no code
// for a single type here.
package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	"connectrpc.com/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/gen/mcp/v1/mcpv1connect"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// RawHeader is the metadata by which a client chooses how arbitrary JSON comes
// back to it: with the value "raw" as JSON text, otherwise as
// google.protobuf.Struct and Value where these hold it exactly.
const RawHeader = "Mcp-Json"

// rawValue is the value of RawHeader for JSON text.
const rawValue = "raw"

// Config configures a Front.
type Config struct {
	// Handler answers the requests.
	Handler protocol.Handler
	// Logger gets what goes wrong.
	Logger *slog.Logger
	// MaxMessageBytes bounds a request.
	MaxMessageBytes int
	// AllowedOrigins are the web pages that may call; "*" is all.
	AllowedOrigins []string
}

// Front is McpService in front of a Handler.
type Front struct {
	mcpv1connect.McpServiceHandler

	cfg      Config
	codecs   [2]codecs // with Struct, raw
	routes   map[string]http.Handler
	services []Service

	ctx    context.Context //nolint:containedctx // ends the tunnels
	cancel context.CancelFunc
	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup // tunnels
}

var _ mcpv1connect.McpServiceHandler = (*Front)(nil)

// codecs are those of all messages of McpService, by name.
type codecs map[protoreflect.FullName]*transcode.Codec

// New returns a Front. Close it to end its tunnels.
func New(cfg Config) (*Front, error) {
	f := &Front{cfg: cfg}
	for i := range f.codecs {
		var err error
		if f.codecs[i], err = newCodecs(i == 1); err != nil {
			return nil, err
		}
	}
	options := []connect.HandlerOption{
		connect.WithReadMaxBytes(cfg.MaxMessageBytes),
		connect.WithRecover(f.recovered),
		connect.WithInterceptors(validate.NewInterceptor()),
	}
	f.routes = make(map[string]http.Handler)
	_, service := mcpv1connect.NewMcpServiceHandler(f, options...)
	if err := f.Add(Service{Name: mcpv1connect.McpServiceName, Handler: service}); err != nil {
		return nil, err
	}
	reflector := f.newReflector()
	for _, h := range []func(*grpcreflect.Reflector, ...connect.HandlerOption) (string, http.Handler){grpcreflect.NewHandlerV1, grpcreflect.NewHandlerV1Alpha} {
		path, reflection := h(reflector)
		f.routes[path] = f.guard(reflection)
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f, nil
}

func newCodecs(raw bool) (codecs, error) {
	compiler := transcode.NewCompiler(nil, transcode.Options{Exact: true, PreferRaw: raw})
	all := make(codecs)
	methods := service().Methods()
	for i := range methods.Len() {
		for _, md := range []protoreflect.MessageDescriptor{methods.Get(i).Input(), methods.Get(i).Output()} {
			codec, err := compiler.Codec(md)
			if err != nil {
				return nil, err
			}
			all[md.FullName()] = codec
		}
	}
	return all, nil
}

// Mount adds the services and their reflection to a mux.
func (f *Front) Mount(mux *http.ServeMux) {
	for path, h := range f.routes {
		mux.Handle(path, h)
	}
}

// Close ends the tunnels and waits for them. Calls end with their requests.
func (f *Front) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.cancel()
	f.wg.Wait()
}

// guard refuses the requests of web pages that are not allowed to call, which
// all carry an Origin, if they are no GET.
func (f *Front) guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "use POST", http.StatusMethodNotAllowed)
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" && !slices.Contains(f.cfg.AllowedOrigins, origin) && !slices.Contains(f.cfg.AllowedOrigins, "*") {
			http.Error(w, "requests of this Origin are not allowed", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

func (f *Front) recovered(_ context.Context, spec connect.Spec, _ http.Header, fault any) error {
	f.cfg.Logger.Error("a handler panicked", "procedure", spec.Procedure, "panic", fmt.Sprint(fault))
	return connect.NewError(connect.CodeInternal, errors.New("internal error"))
}

// call is one RPC.
type call struct {
	front  *Front
	codecs codecs
	raw    bool // whether arbitrary JSON goes back as text
	terse  bool // whether the request says no revision, as those made by hand
	caller *protocol.Caller
}

func (f *Front) begin(ctx context.Context) *call {
	c := &call{front: f, codecs: f.codecs[0], caller: &protocol.Caller{Transport: "grpc"}}
	info, ok := connect.CallInfoForHandlerContext(ctx)
	if !ok {
		return c
	}
	c.caller.Header = info.RequestHeader()
	c.caller.RemoteAddr = info.Peer().Addr
	switch info.Peer().Protocol {
	case connect.ProtocolGRPCWeb:
		c.caller.Transport = "grpc-web"
	case connect.ProtocolConnect:
		c.caller.Transport = "connect"
	}
	if info.RequestHeader().Get(RawHeader) == rawValue {
		c.codecs, c.raw = f.codecs[1], true
		info.ResponseHeader().Set(RawHeader, rawValue) // requests may have it too
	}
	return c
}

// request makes the MCP request of a message.
func (c *call) request(method string, message proto.Message) (*protocol.Request, error) {
	wire, err := proto.Marshal(message)
	if err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	params, warnings, err := c.codec(message).AppendJSON(nil, wire)
	switch {
	case err != nil:
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	case len(warnings) > 0:
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New(warnings[0]))
	}
	meta, fault := protocol.ReadMeta(params)
	if fault != nil {
		return nil, Failure(fault, c.raw)
	}
	switch {
	case meta.Revision == "":
		c.terse, meta.Revision = true, protocol.Revision20260728
	case !meta.Revision.Modern():
		return nil, Failure(protocol.UnsupportedVersion(string(meta.Revision)), c.raw)
	}
	if meta.Capabilities == nil {
		meta.Capabilities = json.RawMessage(`{}`)
	}
	if fault := mcpjson.CheckHeaders(c.caller.Header, method, params, meta.Revision, false); fault != nil {
		return nil, Failure(fault, c.raw)
	}
	return &protocol.Request{Method: method, Params: params, Meta: meta, Caller: c.caller}, nil
}

func (c *call) codec(m proto.Message) *transcode.Codec {
	return c.codecs[m.ProtoReflect().Descriptor().FullName()]
}

// message reads JSON into a message.
func (c *call) message(text []byte, m proto.Message) error {
	wire, err := c.codec(m).AppendWire(nil, text)
	if err == nil {
		err = proto.Unmarshal(wire, m)
	}
	if err != nil {
		c.front.cfg.Logger.Warn("what the server said is no MCP", "message", m.ProtoReflect().Descriptor().FullName(), "error", err)
		return connect.NewError(connect.CodeInternal, errors.New("what the MCP server said is no MCP"))
	}
	return nil
}

// handle asks the Handler. Results are those of the newest revision.
func (c *call) handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) ([]byte, error) {
	res, err := c.front.cfg.Handler.Handle(ctx, r, n)
	if err != nil {
		if info, ok := connect.CallInfoForHandlerContext(ctx); ok {
			Challenge(info.ResponseHeader(), err)
		}
		return nil, Failure(err, c.raw)
	}
	if res == nil {
		return nil, Failure(errors.New("the handler returned nothing"), c.raw)
	}
	return protocol.AppendResult(nil, res, protocol.Revision20260728), nil
}

// unary answers a method that has one response.
func unary[M any, Response interface {
	*M
	proto.Message
}](ctx context.Context, f *Front, method string, message proto.Message) (*M, error) {
	c := f.begin(ctx)
	r, err := c.request(method, message)
	if err != nil {
		return nil, err
	}
	result, err := c.handle(ctx, r, protocol.Discard)
	if err != nil {
		return nil, err
	}
	response := new(M)
	if err := c.message(result, Response(response)); err != nil {
		return nil, err
	}
	return response, nil
}

// stream answers a method that has notifications and one result: the former as
// {"method", "params"}, the latter as {"result"}.
func stream[M any, Response interface {
	*M
	proto.Message
}](ctx context.Context, f *Front, method string, message proto.Message, s *connect.ServerStream[M]) error {
	c := f.begin(ctx)
	r, err := c.request(method, message)
	if err != nil {
		return err
	}
	// A client that speaks MCP in full would have said that it wants progress.
	if r.Meta.ProgressToken == nil && method != protocol.MethodListen && c.terse {
		r.Meta.ProgressToken = json.RawMessage(`"stream"`)
		said, _ := jsontok.Lookup(r.Params, "_meta")
		r.Params = protocol.WithMeta(protocol.WithoutMember(r.Params, "_meta"), said, protocol.MetaProgressToken, r.Meta.ProgressToken)
	}
	var mu sync.Mutex
	send := func(text []byte) error {
		event := new(M)
		if err := c.message(text, Response(event)); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		return s.Send(event)
	}
	result, err := c.handle(ctx, r, protocol.NotifierFunc(func(ctx context.Context, n *protocol.Notification) error {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		params := n.Params
		if params == nil {
			params = json.RawMessage(`{}`)
		}
		text := append([]byte(`{"method":`), strconv.Quote(n.Method)...)
		return send(append(append(append(text, `,"params":`...), params...), '}'))
	}))
	if err != nil {
		return err
	}
	return send(append(append([]byte(`{"result":`), result...), '}'))
}
