package bridge_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/code"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
)

// jobsProto is an API whose methods start long-running operations.
const jobsProto = `
syntax = "proto3";
package jobs.v1;
import "google/longrunning/operations.proto";
service Jobs {
  // Bakes a cake.
  rpc Bake(Order) returns (google.longrunning.Operation) {
    option (google.longrunning.operation_info) = { response_type: "Cake" metadata_type: "Baking" };
  }
  // Bakes something.
  rpc Surprise(Order) returns (google.longrunning.Operation);
  rpc Look(Order) returns (Cake);
}
message Order { string flavour = 1; }
message Cake { string flavour = 1; int64 slices = 2; string name = 3; }
message Baking { int32 progress_percent = 1; string step = 2; }
`

// bakery is a backend whose operations do what the test tells them.
type bakery struct {
	*dynbackend.Backend

	mu        sync.Mutex
	state     map[string][]byte // by name, an Operation
	script    [][]byte          // what the next polls find, before state counts again
	polls     int
	cancelled []string
	tokens    []string
	refuse    error // of polls
	started   int
}

func startBakery(t *testing.T, without ...string) *bakery {
	t.Helper()
	b := &bakery{state: make(map[string][]byte)}
	begin := func(_ context.Context, _, response *dynamicpb.Message) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.started++
		name := fmt.Sprintf("operations/%d", b.started)
		if b.state[name] == nil {
			b.state[name] = running(name, 0, "mix")
		}
		return proto.Unmarshal(b.state[name], response)
	}
	methods := map[string]dynbackend.Method{
		"Bake": begin, "Surprise": begin,
		"Look": func(context.Context, *dynamicpb.Message, *dynamicpb.Message) error { return nil },
		"GetOperation": func(ctx context.Context, request, response *dynamicpb.Message) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.polls++
			md, _ := metadata.FromIncomingContext(ctx)
			b.tokens = append(b.tokens, fmt.Sprint(md.Get("authorization")))
			if b.refuse != nil {
				return b.refuse
			}
			wire := b.state[nameOf(request)]
			if len(b.script) > 0 {
				wire, b.script = b.script[0], b.script[1:]
			}
			if wire == nil {
				return status.Error(codes.NotFound, "no such operation")
			}
			return proto.Unmarshal(wire, response)
		},
		"CancelOperation": func(_ context.Context, request, _ *dynamicpb.Message) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			name := nameOf(request)
			b.cancelled = append(b.cancelled, name)
			b.state[name] = failed(name, code.Code_CANCELLED, "cancelled")
			return nil
		},
	}
	for _, name := range without {
		delete(methods, name)
	}
	files := dynbackend.LongRunning()
	files["jobs.proto"] = jobsProto
	b.Backend = dynbackend.Start(t, files, methods)
	return b
}

func (b *bakery) set(name string, wire []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state[name] = wire
}

func nameOf(request *dynamicpb.Message) string {
	return request.Get(request.Descriptor().Fields().ByName("name")).String()
}

// running is an operation that runs.
func running(name string, percent uint64, step string) []byte {
	baking := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), percent)
	baking = protowire.AppendString(protowire.AppendTag(baking, 2, protowire.BytesType), step)
	op := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), name)
	return protowire.AppendBytes(protowire.AppendTag(op, 2, protowire.BytesType), anyOf("jobs.v1.Baking", baking))
}

// baked is the first operation, done.
func baked(typ, flavour string) []byte {
	return finished(typ, protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), flavour))
}

func finished(typ string, response []byte) []byte {
	op := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "operations/1")
	op = protowire.AppendVarint(protowire.AppendTag(op, 3, protowire.VarintType), 1)
	return protowire.AppendBytes(protowire.AppendTag(op, 5, protowire.BytesType), anyOf(typ, response))
}

// failed is an operation that failed.
func failed(name string, c code.Code, message string) []byte {
	st, err := proto.Marshal(&statuspb.Status{Code: int32(c), Message: message})
	if err != nil {
		panic(err)
	}
	op := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), name)
	op = protowire.AppendVarint(protowire.AppendTag(op, 3, protowire.VarintType), 1)
	return protowire.AppendBytes(protowire.AppendTag(op, 4, protowire.BytesType), st)
}

func anyOf(typ string, value []byte) []byte {
	b := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "type.googleapis.com/"+typ)
	return protowire.AppendBytes(protowire.AppendTag(b, 2, protowire.BytesType), value)
}
