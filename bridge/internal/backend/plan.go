// Package backend turns one method of a gRPC or Connect service into one tool
// call: JSON arguments in, a CallToolResult out.
package backend

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/metadata"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/status"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
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
	Caller   rpc.Caller
	Resolver transcode.Resolver
	Metadata *metadata.Policy
	Log      *slog.Logger
}

// Plan is how one method is called. It is made from the descriptor once, and
// used concurrently. The codecs are compiled by the first call.
type Plan struct {
	env       *Env
	method    protoreflect.MethodDescriptor
	procedure string
	codecs    func() (*codecs, error)
}

type codecs struct{ in, out *transcode.Codec }

// NewPlan returns the plan of a method.
func NewPlan(env *Env, method protoreflect.MethodDescriptor) *Plan {
	return &Plan{
		env:       env,
		method:    method,
		procedure: "/" + string(method.Parent().FullName()) + "/" + string(method.Name()),
		codecs: sync.OnceValues(func() (*codecs, error) {
			in, err := transcode.New(method.Input(), env.Resolver, transcode.Options{})
			if err != nil {
				return nil, err
			}
			out, err := transcode.New(method.Output(), env.Resolver, transcode.Options{})
			return &codecs{in, out}, err
		}),
	}
}

// NotCallable returns why the method is no tool, or "".
func (p *Plan) NotCallable() string {
	switch {
	case p.method.IsStreamingClient() && p.method.IsStreamingServer():
		return "bidirectional streaming methods are not callable yet"
	case p.method.IsStreamingClient():
		return "client-streaming methods are not callable yet"
	case p.method.IsStreamingServer():
		return "server-streaming methods are not callable yet"
	}
	return ""
}

// Call performs the call with the given arguments, a JSON object. Arguments
// that do not fit the method are a result with isError; a status other than OK
// is returned as a [*rpc.StatusError], which [Plan.Failure] makes a result of.
func (p *Plan) Call(ctx context.Context, arguments json.RawMessage, r *protocol.Request) (*protocol.Result, error) {
	c, err := p.codecs()
	if err != nil {
		return nil, err
	}
	request, err := c.in.AppendWire(nil, arguments)
	if err != nil {
		if e, ok := errors.AsType[*transcode.ArgumentError](err); ok {
			return status.Arguments(e), nil
		}
		return nil, err
	}
	var response []byte
	trailer, err := p.env.Caller.Call(ctx, &rpc.Call{
		Procedure: p.procedure,
		Requests:  [][]byte{request},
		Header:    p.env.Metadata.Request(r.Caller, r.Meta),
	}, func(message []byte) error {
		response = message
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p.result(c.out, response, trailer)
}

// Failure makes a result of a status, or an error where the client itself
// must act on it.
func (p *Plan) Failure(e *rpc.StatusError, r *protocol.Request) (*protocol.Result, error) {
	res, fault := status.Result(e, status.Options{
		Resolver:       p.env.Resolver,
		Request:        p.method.Input(),
		TokenForwarded: p.env.Metadata.TokenForwarded(r.Caller),
	})
	if fault != nil {
		return nil, fault
	}
	return res, nil
}

// result makes a CallToolResult: the message as structuredContent and, for
// clients that do not read that, as text (server/tools, Structured Content).
func (p *Plan) result(out *transcode.Codec, message []byte, trailer *rpc.Trailer) (*protocol.Result, error) {
	value, warnings, err := out.AppendJSON(nil, message)
	if err != nil {
		return nil, err
	}
	body := make([]byte, 0, 2*len(value)+len(value)/4+80)
	body = append(body, `{"content":[{"type":"text","text":`...)
	body = jsontok.AppendString(body, string(value))
	body = append(body, `}],"structuredContent":`...)
	body = append(append(body, value...), '}')
	return &protocol.Result{Body: body, Meta: p.meta(trailer, warnings)}, nil
}

func (p *Plan) meta(trailer *rpc.Trailer, warnings []string) json.RawMessage {
	var meta []byte
	member := func(key string) {
		sep := byte(',')
		if meta == nil {
			sep = '{'
		}
		meta = append(jsontok.AppendString(append(meta, sep), key), ':')
	}
	if m := p.env.Metadata.Response(trailer); m != nil {
		member(MetadataKey)
		meta = append(meta, m...)
	}
	if len(warnings) > 0 {
		member(WarningsKey)
		for i, w := range warnings {
			sep := byte(',')
			if i == 0 {
				sep = '['
			}
			meta = jsontok.AppendString(append(meta, sep), w)
		}
		meta = append(meta, ']')
	}
	if meta == nil {
		return nil
	}
	return append(meta, '}')
}
