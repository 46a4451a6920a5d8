package googlemcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectcall"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// TestContract: names, numbers and types are those of the published service, which
// testdata/contract.txt lists. There is no way to update it: it never changes,
// but for what the publisher adds.
func TestContract(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/contract.txt")
	if err != nil {
		t.Fatal(err)
	}
	file := googlepb.File_modelcontextprotocol_mcp_proto
	lines := []string{"package " + string(file.Package())}
	var message func(md protoreflect.MessageDescriptor)
	enum := func(ed protoreflect.EnumDescriptor) {
		for i := range ed.Values().Len() {
			v := ed.Values().Get(i)
			lines = append(lines, fmt.Sprintf("%s %s = %d", short(ed), v.Name(), v.Number()))
		}
	}
	message = func(md protoreflect.MessageDescriptor) {
		if md.IsMapEntry() {
			return
		}
		lines = append(lines, short(md))
		for i := range md.Fields().Len() {
			fd := md.Fields().Get(i)
			kind := kindOf(fd)
			switch {
			case fd.IsMap():
				kind = "map<" + kindOf(fd.MapKey()) + ", " + kindOf(fd.MapValue()) + ">"
			case fd.IsList():
				kind = "repeated " + kind
			}
			if fd.ContainingOneof() != nil {
				kind = "oneof " + kind
			}
			lines = append(lines, fmt.Sprintf("%s %s %s = %d", short(md), kind, fd.Name(), fd.Number()))
		}
		for i := range md.Messages().Len() {
			message(md.Messages().Get(i))
		}
		for i := range md.Enums().Len() {
			enum(md.Enums().Get(i))
		}
	}
	for i := range file.Messages().Len() {
		message(file.Messages().Get(i))
	}
	for i := range file.Enums().Len() {
		enum(file.Enums().Get(i))
	}
	methods := file.Services().ByName("Mcp").Methods()
	for i := range methods.Len() {
		m := methods.Get(i)
		lines = append(lines, fmt.Sprintf("rpc %s(%s) %s", m.Name(), short(m.Input()), short(m.Output())))
		if m.IsStreamingClient() || m.IsStreamingServer() {
			t.Errorf("%s is a stream", m.Name())
		}
	}
	slices.Sort(lines)
	if got := strings.Join(lines, "\n") + "\n"; got != string(want) {
		t.Errorf("the contract has changed:\n%s", got)
	}
}

func short(d protoreflect.Descriptor) string {
	return strings.TrimPrefix(string(d.FullName()), "model_context_protocol.")
}

func kindOf(fd protoreflect.FieldDescriptor) string {
	switch {
	case fd.Message() != nil:
		return short(fd.Message())
	case fd.Enum() != nil:
		return short(fd.Enum())
	default:
		return fd.Kind().String()
	}
}

// Wire bytes, put together by hand.
func field(n protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), bytes.Join(parts, nil))
}

func text(n protowire.Number, s string) []byte { return field(n, []byte(s)) }

func number(n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v)
}

func float(n protowire.Number, v uint32) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(nil, n, protowire.Fixed32Type), v)
}

// entry is an entry of a Struct with a string.
func entry(key, value string) []byte {
	return field(1, text(1, key), field(2, text(3, value)))
}

// TestWire: bytes that no generated code has touched, in both directions.
func TestWire(t *testing.T) {
	t.Parallel()
	url, hc := serve(t, func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		switch r.Method {
		case protocol.MethodCallTool:
			if want := `{` + modernMeta[:len(modernMeta)-1] + `,"m":"x"},"name":"t","arguments":{"a":"b"}}`; string(r.Params) != want {
				t.Errorf(" got %s\nwant %s", r.Params, want)
			}
			return result(`{"resultType":"complete","_meta":{"k":"v"},"content":[` +
				`{"type":"text","text":"x","annotations":{"audience":["user","assistant"],"priority":0.5}},{"type":"image","data":"AAE=","mimeType":"i"},` +
				`{"type":"audio","data":"AAE=","mimeType":"a"},{"type":"resource","resource":{"uri":"u","mimeType":"m","text":"t"}},` +
				`{"type":"resource_link","uri":"u","name":"n","title":"T","description":"d","mimeType":"m","size":5}],"structuredContent":{"s":"t"},"isError":true}`), nil
		case protocol.MethodListTools:
			return &protocol.Result{Cache: &protocol.Cache{TTLMillis: 2500}, Body: json.RawMessage(
				`{"tools":[{"name":"n","title":"T","description":"d","inputSchema":{"type":"object"},"outputSchema":{"type":"object"},` +
					`"annotations":{"title":"t","readOnlyHint":true,"idempotentHint":true}}]}`)}, nil
		case protocol.MethodComplete:
			return result(`{"resultType":"complete","completion":{"values":["v"],"total":3,"hasMore":true}}`), nil
		case protocol.MethodReadResource:
			return &protocol.Result{Type: protocol.ResultInputRequired, Body: json.RawMessage(`{"requestState":"s","inputRequests":{"q":` +
				`{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"p":{"type":"number","minimum":1,"maximum":2}},"required":["p"]}}}}}`)}, nil
		default:
			return nil, protocol.MethodNotFound(r.Method)
		}
	})
	caller, err := connectcall.New(hc, url, connectcall.ProtocolGRPC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = caller.Close() })
	object := field(1, text(1, "type"), field(2, text(3, "object")))
	for _, tt := range []struct {
		method string
		in     []byte
		out    [][]byte
	}{
		{
			method: "CallTool",
			in: slices.Concat(
				field(1, field(1, entry("m", "x"))),
				field(2, text(1, "t"), field(2, entry("a", "b"))),
			),
			out: [][]byte{
				field(1, field(2, entry("k", "v"))),
				field(2, field(1, text(1, "x"), field(2, field(1, []byte{1, 2}), float(2, 0x3f000000)))),
				field(2, field(2, field(1, []byte{0, 1}), text(2, "i"))),
				field(2, field(3, field(1, []byte{0, 1}), text(2, "a"))),
				field(2, field(4, field(1, text(1, "u"), text(2, "m"), text(3, "t")))),
				field(2, field(7, text(1, "u"), text(2, "n"), text(3, "d"), text(4, "m"), number(6, 5), text(7, "T"))),
				field(3, entry("s", "t")),
				number(4, 1),
			},
		},
		{
			method: "ListTools",
			out: [][]byte{
				field(2, text(1, "n"), text(2, "d"), field(3, object), field(4, text(1, "t"), number(2, 1), number(3, 1), number(4, 1), number(5, 1)), field(5, object), text(6, "T")),
				field(3, number(1, 2), number(2, 500_000_000)),
			},
		},
		{
			method: "Complete",
			in:     slices.Concat(field(3, text(1, "p"), text(2, "T")), field(4, text(1, "a"), text(2, "v")), field(5, field(1, text(1, "b"), text(2, "c")))),
			out:    [][]byte{text(2, "v"), number(3, 3), number(4, 1)},
		},
		{
			method: "ReadResource",
			in:     text(2, "x:y"),
			out: [][]byte{field(1,
				field(7, text(1, "q"), field(2, field(11, text(1, "m"), field(2, text(1, "p"), field(2, field(2, number(3, 1), number(4, 2)))), text(3, "p")))),
				field(8, entry("requestState", "s")))},
		},
	} {
		var got []byte
		_, err := caller.Call(t.Context(), &rpc.Call{Procedure: "/model_context_protocol.Mcp/" + tt.method, Requests: [][]byte{tt.in}}, func(message []byte) error {
			got = message
			return nil
		})
		if want := bytes.Join(tt.out, nil); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v\n got %x\nwant %x", tt.method, err, got, want)
		}
	}
}
