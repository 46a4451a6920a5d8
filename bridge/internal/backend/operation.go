package backend

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/operation"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/schema"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/status"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// OperationMember is the member of structured content that holds an operation
// in place of its response, where that cannot be shown: the operation runs, or
// its state cannot be read, or the response is not of the type that the method
// declares.
const OperationMember = "_operation"

// Operations is how a method is called that starts long-running operations.
// It is made with the method's [Plan] and used concurrently.
type Operations struct {
	plan  *Plan
	codec func() (*responseCodec, error)
}

// responseCodec is for responses of operations.
type responseCodec struct {
	*transcode.Codec
	// response is the type that operations of the method have for a response,
	// or nil where that is not known: then the codec is that of an Any.
	response protoreflect.MessageDescriptor
}

// OperationResponse returns the name of the type that operations of the method
// have for a response, which is empty where the method does not say, and
// whether it starts operations at all.
func OperationResponse(method protoreflect.MethodDescriptor) (protoreflect.FullName, bool) {
	if method.IsStreamingClient() || method.IsStreamingServer() || !operation.Is(method) {
		return "", false
	}
	return operation.ResponseType(method), true
}

// NewOperations returns how a method is called that starts operations, given
// what [OperationResponse] says of it.
func NewOperations(p *Plan, response protoreflect.FullName) *Operations {
	return &Operations{plan: p, codec: sync.OnceValues(func() (*responseCodec, error) {
		out := &responseCodec{}
		md := (*anypb.Any)(nil).ProtoReflect().Descriptor()
		if typ, err := p.env.Types.FindMessageByName(response); err == nil {
			md = typ.Descriptor()
			out.response = md
		}
		codec, err := p.env.Codecs.Codec(md)
		if err != nil {
			return nil, err
		}
		out.Codec = p.settings.codec(codec)
		return out, nil
	})}
}

// operationSchema describes [OperationMember].
const operationSchema = `{"type":"object","description":"The long-running operation itself. It is there in place of everything else where the response is not: ` +
	`while the operation runs, or where its state cannot be read.","properties":{"name":{"type":"string"},"metadata":{"type":"object"},` +
	`"done":{"type":"boolean"},"response":{"type":"object"},"error":{"type":"object"}}}`

// OutputSchema returns the schema of the structured content: that of the response, which is nil where its type is not known,
// with [OperationMember] beside its members. None of them is required, so that it
// accepts either.
func (o *Operations) OutputSchema(schemas *schema.Renderer, response protoreflect.MessageDescriptor) (schema.Schema, error) {
	out := schema.Schema{JSON: json.RawMessage(`{"type":"object"}`)}
	if response != nil {
		var err error
		if out, err = schemas.Output(response); err != nil {
			return out, err
		}
	}
	out.JSON = schema.WithProperty(protocol.WithoutMember(out.JSON, "required"), OperationMember, operationSchema)
	return out, nil
}

// Run is one operation. It is used by one goroutine at a time.
type Run struct {
	of      *Operations
	client  operation.Client
	op      *operation.Operation
	trailer *rpc.Trailer
}

// Start performs the call. Arguments that do not fit the method are a result
// with isError, and then there is no Run; a status other than OK is a
// [*rpc.StatusError].
func (o *Operations) Start(ctx context.Context, arguments json.RawMessage, r *protocol.Request) (*Run, *protocol.Result, error) {
	c, err := o.plan.compiled()
	if err != nil {
		return nil, nil, err
	}
	request, err := c.encode(arguments)
	if err != nil {
		if e, ok := errors.AsType[*transcode.ArgumentError](err); ok {
			return nil, status.Arguments(e), nil
		}
		return nil, nil, err
	}
	run := o.run(r)
	var response []byte
	run.trailer, err = o.plan.env.Caller.Call(ctx, &rpc.Call{
		Procedure: o.plan.procedure,
		Requests:  [][]byte{request},
		Header:    run.client.Header.Clone(),
	}, func(message []byte) error {
		response = message
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	run.op, err = operation.Parse(response)
	return run, nil, err
}

// Find asks for the operation with that name. A status other than OK is a
// [*rpc.StatusError].
func (o *Operations) Find(ctx context.Context, name string, r *protocol.Request) (*Run, error) {
	run := o.run(r)
	op, err := run.client.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	run.op = op
	return run, nil
}

// Cancel asks the backend to cancel the operation with that name. A status
// other than OK is a [*rpc.StatusError].
func (o *Operations) Cancel(ctx context.Context, name string, r *protocol.Request) error {
	return o.run(r).client.Cancel(ctx, name)
}

func (o *Operations) run(r *protocol.Request) *Run {
	return &Run{of: o, client: operation.Client{Caller: o.plan.env.Caller, Header: o.plan.env.Metadata.Request(r.Caller, r.Meta)}}
}

// Failure is [Plan.Failure] for a status of [Operations.Start].
func (o *Operations) Failure(e *rpc.StatusError, r *protocol.Request, limit time.Duration) (*protocol.Result, error) {
	return o.plan.Failure(&CallError{Status: e}, r, limit)
}

// Name returns the operation's name.
func (x *Run) Name() string { return x.op.Name }

// Done reports whether the operation has ended.
func (x *Run) Done() bool { return x.op.Done }

// Cancelled reports whether it has ended because it was cancelled.
func (x *Run) Cancelled() bool { return x.op.Cancelled() }

// Refresh asks for the present state once.
func (x *Run) Refresh(ctx context.Context) error {
	op, err := x.client.Get(ctx, x.op.Name)
	if err != nil {
		return err
	}
	x.op = op
	return nil
}

// Wait waits until the operation is done. The error is nil then; else it is
// that of ctx or of report, or says why the state cannot be read. Report hears
// of every change of the metadata.
func (x *Run) Wait(ctx context.Context, report func(Progress) error) error {
	var err error
	x.op, err = x.client.Wait(ctx, x.op, func(op *operation.Operation) error {
		return report(x.of.progress(op.Metadata))
	})
	return err
}

// Progress returns what the metadata says now.
func (x *Run) Progress() Progress { return x.of.progress(x.op.Metadata) }

// Result returns what the client gets for an operation that is done: its
// response, or a result with isError.
func (x *Run) Result() (*protocol.Result, error) {
	codec, err := x.of.codec()
	if err != nil {
		return nil, err
	}
	response, err := x.op.Result()
	if e, ok := errors.AsType[*rpc.StatusError](err); ok {
		// It was not this call's token that was refused.
		return x.of.plan.failure(&CallError{Status: e}, status.Options{})
	}
	c, fault := x.of.plan.compiled()
	if fault != nil {
		return nil, fault
	}
	switch {
	case response == nil:
		return x.of.plan.result(nothing(c.method, nil), []byte("{}"), notes{}, nil, x.trailer), nil
	case codec.response == nil:
	default:
		typ, err := x.of.plan.env.Types.FindMessageByURL(response.URL)
		if err != nil || typ.Descriptor().FullName() != codec.response.FullName() {
			return x.Unfinished("The operation is done, but its response is not of the type that the service declares.")
		}
	}
	wire := response.Value
	if codec.response == nil {
		wire = protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), response.URL)
		wire = protowire.AppendBytes(protowire.AppendTag(wire, 2, protowire.BytesType), response.Value)
	}
	value, texts, warnings, err := codec.AppendReadable(nil, wire)
	if err != nil {
		return c.tooLarge(err)
	}
	return x.of.plan.result(nothing(c.method, codec.response), value, notes{readable(texts)}, warnings, x.trailer), nil
}

// Unfinished returns the operation itself as a result, with a text before it
// that says why.
func (x *Run) Unfinished(why string) (*protocol.Result, error) {
	c, err := x.of.plan.compiled()
	if err != nil {
		return nil, err
	}
	value := append(jsontok.AppendString([]byte{'{'}, OperationMember), ':')
	value, warnings, err := c.out.AppendJSON(value, x.op.Wire)
	if err != nil {
		return c.tooLarge(err)
	}
	value = append(value, '}')
	var content mcpjson.Array
	for _, s := range []string{why, string(value)} {
		content.Add(append(jsontok.AppendString([]byte(`{"type":"text","text":`), s), '}'))
	}
	var body mcpjson.Object
	body.Add("content", content.JSON())
	body.Add("structuredContent", value)
	return &protocol.Result{Body: body.JSON(), Meta: x.of.plan.meta(x.trailer, warnings)}, nil
}
