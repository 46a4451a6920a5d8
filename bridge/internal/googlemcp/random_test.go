package googlemcp_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectcall"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/googlemcp"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
)

// TestPassedOncePassesAgain: a Front in front of a Client may leave out or settle
// what MCP has no place for, but then nothing changes any more.
func TestPassedOncePassesAgain(t *testing.T) {
	t.Parallel()
	services := googlepb.File_modelcontextprotocol_mcp_proto.Services()
	for i := range services.Get(0).Methods().Len() {
		method := services.Get(0).Methods().Get(i)
		t.Run(string(method.Name()), func(t *testing.T) {
			t.Parallel()
			server := &fake{procedure: "/model_context_protocol.Mcp/" + string(method.Name())}
			client, err := googlemcp.NewClient(googlemcp.ClientConfig{Caller: server, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			front, err := googlemcp.NewFront(googlemcp.FrontConfig{Handler: client, Logger: slog.New(slog.DiscardHandler), MaxMessageBytes: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			caller, err := connectcall.NewInProcess(front, connectcall.ProtocolGRPC)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = caller.Close() }()
			pass := func(request, response proto.Message) (proto.Message, proto.Message) {
				server.response = response
				out := dynamicpb.NewMessage(method.Output())
				wire, err := proto.Marshal(request)
				if err != nil {
					t.Fatal(err)
				}
				_, err = caller.Call(t.Context(), &rpc.Call{Procedure: server.procedure, Requests: [][]byte{wire}}, func(m []byte) error { return proto.Unmarshal(m, out) })
				if err != nil {
					t.Fatalf("%v: %s\n%s", err, prototext.Format(request), prototext.Format(response))
				}
				in := dynamicpb.NewMessage(method.Input())
				if err := proto.Unmarshal(server.request, in); err != nil {
					t.Fatal(err)
				}
				return in, out
			}
			for seed := range uint64(100) {
				r := &random{Rand: rand.New(rand.NewPCG(seed, 1))}
				request, response := dynamicpb.NewMessage(method.Input()), dynamicpb.NewMessage(method.Output())
				r.fill(request, 0)
				r.fill(response, 0)
				in, out := pass(request, response)
				again, outAgain := pass(wrap(in), out)
				if !proto.Equal(in, again) || !proto.Equal(forget(out), forget(outAgain)) {
					t.Fatalf("seed %d:\nrequest %s\nthen %s\nresponse %s\nthen %s", seed, prototext.Format(in), prototext.Format(again), prototext.Format(out), prototext.Format(outAgain))
				}
			}
		})
	}
}

// fake is a server. It answers methods that are not tested with nothing.
type fake struct {
	procedure string
	request   []byte
	response  proto.Message
}

// Call answers.
func (f *fake) Call(_ context.Context, c *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
	if c.Procedure != f.procedure {
		return &rpc.Trailer{}, receive(nil)
	}
	f.request = c.Requests[0]
	wire, err := proto.Marshal(f.response)
	if err != nil {
		return nil, err
	}
	return &rpc.Trailer{}, receive(wire)
}

// resume returns the common fields of a message and the resume_data in them.
func resume(m proto.Message) (protoreflect.Message, protoreflect.FieldDescriptor) {
	common := m.ProtoReflect().Mutable(m.ProtoReflect().Descriptor().Fields().ByName("common")).Message()
	return common, common.Descriptor().Fields().ByName("resume_data")
}

// wrap makes the request that has led to one which a server has got.
func wrap(m proto.Message) proto.Message {
	m = proto.Clone(m)
	common, field := resume(m)
	if !common.Has(field) {
		return m
	}
	common.Set(field, protoreflect.ValueOfMessage(state(m, `{"a":[1]}`)))
	return m
}

func state(m proto.Message, text string) protoreflect.Message {
	_, field := resume(m)
	out := dynamicpb.NewMessage(field.Message())
	wire, err := proto.Marshal(&structpb.Struct{Fields: map[string]*structpb.Value{"requestState": structpb.NewStringValue(text)}})
	if err == nil {
		err = proto.Unmarshal(wire, out)
	}
	if err != nil {
		return dynamicpb.NewMessage(field.Message())
	}
	return out
}

// forget removes what a server makes anew in each response.
func forget(m proto.Message) proto.Message {
	m = proto.Clone(m)
	common, field := resume(m)
	common.Clear(field)
	return m
}

// random fills messages.
type random struct{ *rand.Rand }

const maxDepth = 6

func (r *random) fill(m protoreflect.Message, depth int) {
	md := m.Descriptor()
	switch md.FullName() {
	case "google.protobuf.Value":
		r.value(m, depth)
		return
	case "google.protobuf.Duration":
		m.Set(md.Fields().ByName("seconds"), protoreflect.ValueOfInt64(r.Int64N(1<<34)))
		m.Set(md.Fields().ByName("nanos"), protoreflect.ValueOfInt32(r.Int32N(1e9)))
		return
	}
	one := -1
	if name := md.Name(); name == "ServerInitiatedRequest" || name == "ServerInitiatedResponse" {
		one = r.IntN(md.Fields().Len())
		for md.Fields().Get(one).Message() == nil {
			one = r.IntN(md.Fields().Len())
		}
	}
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		needed := i == one || fd.Name() == "request" || fd.Name() == "type" || fd.Name() == "message" || fd.Name() == "resource_reference"
		if one >= 0 && i != one || !needed && (r.IntN(3) == 0 || depth > maxDepth) {
			continue
		}
		switch {
		case fd.Name() == "resume_data":
			m.Set(fd, protoreflect.ValueOfMessage(state(parent(m), `{"a":[1]}`)))
		case fd.IsMap():
			for range r.IntN(3) {
				entry := m.Mutable(fd).Map()
				v := entry.NewValue()
				if fd.MapValue().Message() != nil {
					r.fill(v.Message(), depth+1)
				} else {
					v = r.scalar(fd.MapValue())
				}
				entry.Set(protoreflect.ValueOfString(r.text()).MapKey(), v)
			}
		case fd.IsList():
			for range r.IntN(3) {
				list := m.Mutable(fd).List()
				v := list.NewElement()
				if fd.Message() != nil {
					r.fill(v.Message(), depth+1)
				} else {
					v = r.scalar(fd)
				}
				list.Append(v)
			}
		case fd.Message() != nil:
			r.fill(m.Mutable(fd).Message(), depth+1)
		default:
			m.Set(fd, r.scalar(fd))
		}
	}
	if md.Name() == "SamplingCreateMessageResult" { // of one piece of content
		message := m.Mutable(md.Fields().ByName("message")).Message()
		for i := range message.Descriptor().Fields().Len() {
			message.Clear(message.Descriptor().Fields().Get(i))
		}
		r.fill(message.Mutable(message.Descriptor().Fields().ByName("text")).Message(), depth+1)
	}
}

// parent returns a request or response with common fields of the type of m.
func parent(m protoreflect.Message) proto.Message {
	name := protoreflect.Name("ListToolsRequest")
	if m.Descriptor().Name() == "ResponseFields" {
		name = "ListToolsResponse"
	}
	return dynamicpb.NewMessage(googlepb.File_modelcontextprotocol_mcp_proto.Messages().ByName(name))
}

func (r *random) value(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	n := r.IntN(6)
	if depth > maxDepth {
		n = r.IntN(4)
	}
	fd := fields.Get(n)
	switch fd.Name() {
	case "null_value":
		m.Set(fd, protoreflect.ValueOfEnum(0))
	case "struct_value", "list_value":
		r.fill(m.Mutable(fd).Message(), depth+1)
	default:
		m.Set(fd, r.scalar(fd))
	}
}

func (r *random) scalar(fd protoreflect.FieldDescriptor) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(r.IntN(2) == 0)
	case protoreflect.EnumKind:
		n := r.IntN(fd.Enum().Values().Len())
		if fd.Name() == "type" && n == 0 {
			n = 1
		}
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(r.Int32() - r.Int32())
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(r.Int64() - r.Int64())
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64([]uint64{0, 1, r.Uint64(), math.MaxUint64}[r.IntN(4)])
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(r.Float32())
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(r.NormFloat64())
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(r.text()))
	default:
		return protoreflect.ValueOfString(r.text())
	}
}

func (r *random) text() string {
	return []string{"", "a", "é\n", "\"", "type", "_meta", fmt.Sprint("k", r.IntN(9))}[r.IntN(7)]
}
