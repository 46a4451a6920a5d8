package bridge_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/gen/library/v1/libraryv1connect"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Whatever a client sends and a backend answers, a call has one outcome: an
// error, or a result that is JSON, whose structured content is an object and
// stands in no failure.
func FuzzCall(f *testing.F) {
	var response []byte
	backend := rpc.CallerFunc(func(_ context.Context, c *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
		// A stream sends it twice: the second time, it may be over a limit.
		if err := receive(response); err != nil || c.Kind != rpc.ServerStream {
			return &rpc.Trailer{}, err
		}
		return &rpc.Trailer{}, receive(response)
	})
	b, err := bridge.New(f.Context(), []bridge.Upstream{{Caller: backend, Descriptors: bridge.Linked(libraryv1connect.LibraryName)}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(b.Close)
	tools := b.Tools()
	f.Add(uint8(0), `{"name":"shelves/1/books/2"}`, []byte("\x0a\x01a"))
	f.Add(uint8(1), `{"book":{"authors":[{"name":"A"}],"labels":{"a":"b","a":"c"},"isbn":"\ud800"}}`, []byte("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Add(uint8(8), `{"includeExisting":"TRUE","_limits":{"bytes":1}}`, []byte("\x12\x02\x0a\x00"))
	f.Add(uint8(8), `{"_limits":"{\"seconds\":1e99}"}`, []byte("\x0a\x03\xff\xfe\xfd"))
	f.Add(uint8(3), `[]`, []byte("\x0b\x0c"))
	f.Fuzz(func(t *testing.T, tool uint8, arguments string, wire []byte) {
		response = wire
		name := tools[int(tool)%len(tools)].Name
		if !json.Valid([]byte(arguments)) {
			return // the envelope would have been refused
		}
		res, err := b.Handle(t.Context(), request(protocol.MethodCallTool, `{"name":"`+name+`","arguments":`+arguments+`}`), protocol.Discard)
		if err != nil {
			return
		}
		var out struct {
			IsError           bool
			Content           []struct{ Type, Text string }
			StructuredContent map[string]json.RawMessage
		}
		if err := json.Unmarshal(res.Body, &out); err != nil {
			t.Fatalf("%v in %s", err, res.Body)
		}
		if len(out.Content) == 0 || out.IsError != (out.StructuredContent == nil) {
			t.Errorf("got %s", res.Body)
		}
	})
}
