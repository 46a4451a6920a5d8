package backend

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/metadata"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/status"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/validate"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// MetadataKey is the member of a result's _meta that holds the backend's
// response headers and trailers.
const MetadataKey = "io.github.mcp-bridge/metadata"

// WarningsKey is the member of a result's _meta that says where the backend's
// response could not be shown as it was.
const WarningsKey = "io.github.mcp-bridge/warnings"

// Env is what the plans of one upstream share.
type Env struct {
	Caller rpc.Caller
	// Types has the methods that are planned, and the types of Any.
	Types *descriptor.Resolver
	// Codecs makes the codecs of those types.
	Codecs *transcode.Compiler
	// Rules has the rules that requests are checked against, or is nil.
	Rules    *validate.Validator
	Metadata *metadata.Policy
	Log      *slog.Logger
}

// DefaultMaxResult is how many bytes of JSON or text a result may have where
// nobody says otherwise.
const DefaultMaxResult = 1 << 20

// Settings are what is said of one method.
type Settings struct {
	// Limits bound what is collected of a stream of responses.
	Limits Limits
	// Output says what results have although it is zero or empty.
	Output transcode.Output
	// MaxResult is how many bytes of JSON or text a result may have; a larger one
	// is a result with isError. Zero means DefaultMaxResult. Of a stream it bounds
	// the first message, and Limits the others.
	MaxResult int
	// MaxContent is how many bytes any other content may have, or a result that
	// is one of a tool itself. Zero is no bound.
	MaxContent int
	// Tool is set where the response is the result of a tool itself (see
	// mcp.options.v1.Tool). The method must not stream.
	Tool bool
}

// Plan is how one method is called. It is made once, and used concurrently.
//
// It does not keep the descriptor that it is made from, which has the comments
// of the whole API behind it. The first call gets the one without, and compiles
// the codecs.
type Plan struct {
	env       *Env
	settings  Settings
	procedure string
	kind      rpc.Kind
	httpBody  bool
	limited   bool // calls have LimitsArgument
	compiled  func() (*compiled, error)
}

// compiled is what the calls of a method need.
type compiled struct {
	method protoreflect.MethodDescriptor
	in     *transcode.Codec
	// out writes results, and nothing says that there is none.
	out     *transcode.Codec
	nothing string
	rules   *validate.Checker
	// masks are those of the request, and more says how the rest of a stream is
	// asked for, or is nil.
	masks []transcode.Mask
	more  *continuation
}

// NewPlan returns the plan of a method.
func NewPlan(env *Env, method protoreflect.MethodDescriptor, settings Settings) *Plan {
	name := method.FullName()
	if settings.MaxResult == 0 {
		settings.MaxResult = DefaultMaxResult
	}
	return &Plan{
		env:       env,
		settings:  settings,
		procedure: "/" + string(method.Parent().FullName()) + "/" + string(method.Name()),
		kind:      kindOf(method),
		httpBody:  method.Output().FullName() == httpBodyName,
		limited:   hasLimits(method),
		compiled: sync.OnceValues(func() (*compiled, error) {
			method, err := env.Types.FindMethod(name)
			if err != nil {
				return nil, err
			}
			in, err := env.Codecs.Codec(method.Input())
			if err != nil {
				return nil, err
			}
			out, err := env.Codecs.Codec(method.Output())
			if err != nil {
				return nil, err
			}
			masks := transcode.Masks(method)
			c := &compiled{
				method: method, in: in.Masking(masks), out: settings.codec(out), nothing: nothing(method, method.Output()),
				masks: masks, more: continuationOf(method),
			}
			if env.Rules != nil {
				c.rules = env.Rules.For(method.Input())
			}
			return c, nil
		}),
	}
}

func kindOf(method protoreflect.MethodDescriptor) rpc.Kind {
	switch {
	case method.IsStreamingClient() && method.IsStreamingServer():
		return rpc.BidiStream
	case method.IsStreamingClient():
		return rpc.ClientStream
	case method.IsStreamingServer():
		return rpc.ServerStream
	default:
		return rpc.Unary
	}
}

// Observer hears of every message of a stream as it arrives: how many there
// are now, and its JSON, which it must not keep. While it blocks, nothing more
// is read from the backend; its error ends the call.
type Observer func(ctx context.Context, count int, message []byte) error

// CallError is a status other than OK.
type CallError struct {
	Status *rpc.StatusError
	// Partial is what the stream had sent until then, as the result would
	// have shown it, or nil.
	Partial json.RawMessage
}

// Error returns the text of the status.
func (e *CallError) Error() string { return e.Status.Error() }

// Unwrap returns the status.
func (e *CallError) Unwrap() error { return e.Status }

// Call performs the call with the given arguments, a JSON object. Arguments
// that do not fit the method are a result with isError; a status other than OK
// is returned as a [*CallError], which [Plan.Failure] makes a result of.
// Observe hears of the messages of a stream; it may be nil.
func (p *Plan) Call(ctx context.Context, arguments json.RawMessage, r *protocol.Request, observe Observer) (*protocol.Result, error) {
	c, err := p.compiled()
	if err != nil {
		return nil, err
	}
	requests, limits, err := p.requests(c, arguments)
	if err != nil {
		if e, ok := errors.AsType[*transcode.ArgumentError](err); ok {
			return status.Arguments(e), nil
		}
		return nil, err
	}
	call := &rpc.Call{
		Procedure: p.procedure,
		Kind:      p.kind,
		Requests:  requests,
		Header:    p.env.Metadata.Request(r.Caller, r.Meta),
	}
	if p.settings.Tool {
		if err := addRest(call, r); err != nil {
			return nil, err
		}
	}
	if p.Streams() {
		first := max(p.settings.MaxResult, limits.Bytes)
		out := c.out.Writing(p.settings.Output, first)
		return p.stream(ctx, c, call, &collector{out: out, limits: limits, first: first, observe: observe, bodies: p.HTTPBody()}, r)
	}
	var response []byte
	trailer, err := p.env.Caller.Call(ctx, call, func(message []byte) error {
		response = message
		return nil
	})
	if err != nil {
		return nil, callError(err, nil)
	}
	if p.HTTPBody() {
		return p.bodyResult(c, response, trailer, r)
	}
	if p.settings.Tool {
		return p.toolResult(c, response, trailer)
	}
	buf, ok := values.Get().(*[]byte)
	if !ok { // the pool holds nothing else
		buf = new([]byte)
	}
	value, texts, warnings, err := c.out.AppendReadable((*buf)[:0], response)
	if err != nil {
		values.Put(buf)
		return c.tooLarge(err)
	}
	res := p.result(c.nothing, value, notes{clearing(c.masks, arguments), readable(texts)}, warnings, trailer) // holds a copy
	if cap(value) <= maxKeptValue {
		*buf = value
	}
	values.Put(buf)
	return res, nil
}

// values are buffers for results.
var values = sync.Pool{New: func() any { return new([]byte) }}

// maxKeptValue is the size of a buffer that is kept for the next result.
const maxKeptValue = 1 << 20

func callError(err error, partial json.RawMessage) error {
	if e, ok := errors.AsType[*rpc.StatusError](err); ok {
		return &CallError{Status: e, Partial: partial}
	}
	return err
}

// Failure makes a result of a status, or an error where the client itself
// must act on it. The limit is that of the call, if its time was up, or else 0.
func (p *Plan) Failure(e *CallError, r *protocol.Request, limit time.Duration) (*protocol.Result, error) {
	return p.failure(e, status.Options{
		TokenForwarded: p.env.Metadata.TokenForwarded(r.Caller),
		TokenAbsent:    p.env.Metadata.TokenAbsent(r.Caller),
		Limit:          limit,
	})
}

func (p *Plan) failure(e *CallError, o status.Options) (*protocol.Result, error) {
	if p.settings.Tool {
		if res := status.ToolResult(e.Status.Status); res != nil {
			return res, nil
		}
	}
	c, err := p.compiled()
	if err != nil {
		return nil, err
	}
	o.Resolver, o.Request, o.Partial = p.env.Types, c.method.Input(), e.Partial
	res, fault := status.Result(e.Status, o)
	if fault != nil {
		return nil, fault
	}
	if text := status.ForOperators(e.Status); text != "" {
		p.env.Log.Warn("call failed", "procedure", p.procedure, "status", e.Status.Code().String(), "message", text)
	}
	return res, nil
}

// codec returns what writes results.
func (s Settings) codec(out *transcode.Codec) *transcode.Codec {
	if s.Tool {
		return out.Writing(transcode.Canonical, s.MaxContent)
	}
	return out.Writing(s.Output, s.MaxResult)
}

// tooLarge makes a result of the error that a response is too large, and returns
// other errors as they are.
func (c *compiled) tooLarge(err error) (*protocol.Result, error) {
	if e, ok := errors.AsType[*transcode.SizeError](err); ok {
		return status.TooLarge(e.Limit, narrowing(c.method.Input())), nil
	}
	return nil, err
}

// result makes a CallToolResult of a value. The text nothing stands for one without
// members, unless it is empty.
func (p *Plan) result(nothing string, value []byte, notes notes, warnings []string, trailer *rpc.Trailer) *protocol.Result {
	text := value
	if nothing != "" && string(value) == "{}" {
		text = []byte(nothing)
	}
	return &protocol.Result{Body: structured(text, value, notes), Meta: p.meta(trailer, warnings)}
}

// nothing is the text of a result that has no members, or "" where its type has
// fields. A nil type is one that is not known.
func nothing(method protoreflect.MethodDescriptor, response protoreflect.MessageDescriptor) string {
	if response != nil && (response.Fields().Len() > 0 || response.ExtensionRanges().Len() > 0) {
		return ""
	}
	return string(method.Name()) + " has succeeded; it returns nothing."
}

// Structured returns a CallToolResult of a JSON object: as structuredContent
// and, for clients that do not read that, as text (server/tools, Structured
// Content).
func Structured(value []byte) json.RawMessage { return structured(value, value, notes{}) }

// notes are texts beside a result, those that are not empty.
type notes [2]string

// structured is [Structured] with another text, and with notes.
func structured(text, value []byte, notes notes) json.RawMessage {
	body := make([]byte, 0, len(value)+len(text)+len(text)/4+len(notes[0])+len(notes[1])+160)
	body = append(body, `{"content":[{"type":"text","text":`...)
	body = jsontok.AppendString(body, text)
	for _, note := range notes {
		if note != "" {
			body = append(body, `},{"type":"text","text":`...)
			body = jsontok.AppendString(body, note)
		}
	}
	body = append(body, `}],"structuredContent":`...)
	return append(append(body, value...), '}')
}

func (p *Plan) meta(trailer *rpc.Trailer, warnings []string) json.RawMessage {
	var meta mcpjson.Object
	if m := p.env.Metadata.Response(trailer); m != nil {
		meta.Add(MetadataKey, m)
	}
	if len(warnings) > 0 {
		var list mcpjson.Array
		for _, w := range warnings {
			list.AddString(w)
		}
		meta.Add(WarningsKey, list.JSON())
	}
	if meta.Empty() {
		return nil
	}
	return meta.JSON()
}
