package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// The tests of this file hold what other bridges got wrong. Those about the
// wire are in the packages of the transports.

// connections counts the connections that a server accepts.
type connections struct{ n atomic.Int64 }

func (*connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*connections) HandleRPC(context.Context, stats.RPCStats)                         {}
func (*connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (c *connections) HandleConn(_ context.Context, s stats.ConnStats) {
	if _, ok := s.(*stats.ConnBegin); ok {
		c.n.Add(1)
	}
}

// A connection and a round of reflection serve any number of calls, and
// nothing limits their rate.
func TestOneConnectionOneReflection(t *testing.T) {
	t.Parallel()
	var (
		conns       connections
		reflections atomic.Int64
	)
	backend := dynbackend.Start(t, map[string]string{"ping.proto": pingProto}, map[string]dynbackend.Method{"Echo": echo},
		grpc.StatsHandler(&conns),
		grpc.StreamInterceptor(func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			if strings.HasPrefix(info.FullMethod, "/grpc.reflection.") {
				reflections.Add(1)
			}
			return handler(srv, ss)
		}))
	b := start(t, backend)
	before := reflections.Load()
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			res, err := call(t.Context(), t, b, "Ping_Echo", fmt.Sprintf(`{"text":"%d"}`, i))
			if err != nil || res.IsError {
				t.Errorf("%+v %v", res, err)
			}
		})
	}
	wg.Wait()
	if n := conns.n.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
	if n := reflections.Load(); n != before {
		t.Errorf("reflection was asked %d more times", n-before)
	}
}

// A tool that declares an outputSchema sends structuredContent that fits it,
// and a field may be called author or token: nothing is redacted.
func TestStructuredContentIsWhole(t *testing.T) {
	t.Parallel()
	source := `
syntax = "proto3";
package lib.v1;
service Books { rpc Get(Book) returns (Book); }
message Book { string author = 1; string token = 2; string password = 3; repeated string authors = 4; }
`
	b := start(t, dynbackend.Start(t, map[string]string{"lib.proto": source}, map[string]dynbackend.Method{
		"Get": func(_ context.Context, request, response *dynamicpb.Message) error {
			b, err := proto.Marshal(request)
			if err != nil {
				return err
			}
			return proto.Unmarshal(b, response)
		},
	}))
	for _, tool := range b.Tools() {
		if tool.OutputSchema == nil || tool.Description == "" {
			t.Errorf("%+v", tool)
		}
	}
	book := `{"author":"a","token":"t","password":"p","authors":["x","y"]}`
	for arguments, want := range map[string]string{`{}`: `{"authors":[]}`, book: book} {
		res, err := call(t.Context(), t, b, "Books_Get", arguments)
		if err != nil || string(res.StructuredContent) != want {
			t.Errorf("%s became %s, %v", arguments, res.StructuredContent, err)
		}
	}
}

// The list of tools is the same, byte for byte, however often it is made.
func TestDeterministicOrder(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 8 {
		files[fmt.Sprintf("p%d.proto", i)] = fmt.Sprintf("syntax = \"proto3\";\npackage p%d.v1;\nmessage M { map<string, string> m = 1; }\nservice S { rpc B(M) returns (M); rpc A(M) returns (M); }\n", i)
	}
	backend := dynbackend.Start(t, files, nil)
	var first json.RawMessage
	for range 5 {
		b := start(t, backend)
		res, err := b.Handle(t.Context(), request(protocol.MethodListTools, `{}`), protocol.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = res.Body
		}
		if string(first) != string(res.Body) {
			t.Fatalf("%s\n%s", first, res.Body)
		}
	}
}
