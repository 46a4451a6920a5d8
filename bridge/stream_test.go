package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// streamProto has a method of every kind.
const streamProto = `
syntax = "proto3";
package stream.v1;
import "google/protobuf/wrappers.proto";
service Stream {
  // Sends lines, as many as it is told to, and then fails if it is told to.
  rpc Lines(Order) returns (stream Line);
  // Sends one line and then nothing more until the caller hangs up.
  rpc Watch(Order) returns (stream Line);
  // Joins all lines.
  rpc Join(stream Line) returns (Line);
  // Sends every line back.
  rpc Echo(stream Line) returns (stream Line);
  rpc Numbers(stream google.protobuf.Int32Value) returns (google.protobuf.Int32Value);
  // It has a field of the name that limits have.
  rpc Named(Odd) returns (stream Line);
}
message Order { int32 lines = 1; int32 fail = 2; }
message Line { string text = 1; }
message Odd { string text = 1 [json_name = "_limits"]; }
`

func text(line *dynamicpb.Message) string {
	return line.Get(line.Descriptor().Fields().ByName("text")).String()
}

func line(md protoreflect.MessageDescriptor, text string) *dynamicpb.Message {
	m := dynamicpb.NewMessage(md)
	m.Set(md.Fields().ByName("text"), protoreflect.ValueOfString(text))
	return m
}

// eachLine calls f for the requests of a stream.
func eachLine(stream grpc.ServerStream, method protoreflect.MethodDescriptor, f func(*dynamicpb.Message) error) error {
	for {
		m := dynamicpb.NewMessage(method.Input())
		if err := stream.RecvMsg(m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := f(m); err != nil {
			return err
		}
	}
}

// startStream starts the API above. Hung hears when a Watch has ended.
func startStream(t *testing.T, hung chan<- error, opts ...bridge.Option) *bridge.Bridge {
	t.Helper()
	backend := dynbackend.Start(t, map[string]string{"stream.proto": streamProto}, nil)
	backend.HandleStream("Lines", func(stream grpc.ServerStream, method protoreflect.MethodDescriptor) error {
		return eachLine(stream, method, func(order *dynamicpb.Message) error {
			fields := order.Descriptor().Fields()
			for i := range order.Get(fields.ByName("lines")).Int() {
				if err := stream.SendMsg(line(method.Output(), fmt.Sprint(i))); err != nil {
					return err
				}
			}
			if code := order.Get(fields.ByName("fail")).Int(); code != 0 {
				return status.Error(codes.Code(uint32(code)), "told to fail")
			}
			return nil
		})
	})
	backend.HandleStream("Watch", func(stream grpc.ServerStream, method protoreflect.MethodDescriptor) error {
		if err := stream.SendMsg(line(method.Output(), "first")); err != nil {
			return err
		}
		<-stream.Context().Done()
		if hung != nil {
			hung <- stream.Context().Err()
		}
		return stream.Context().Err()
	})
	backend.HandleStream("Join", func(stream grpc.ServerStream, method protoreflect.MethodDescriptor) error {
		var all []string
		err := eachLine(stream, method, func(m *dynamicpb.Message) error {
			all = append(all, text(m))
			return nil
		})
		if err != nil {
			return err
		}
		return stream.SendMsg(line(method.Output(), strings.Join(all, "+")))
	})
	backend.HandleStream("Echo", func(stream grpc.ServerStream, method protoreflect.MethodDescriptor) error {
		return eachLine(stream, method, func(m *dynamicpb.Message) error { return stream.SendMsg(m) })
	})
	backend.HandleStream("Numbers", func(stream grpc.ServerStream, method protoreflect.MethodDescriptor) error {
		var sum int64
		value := method.Input().Fields().ByName("value")
		err := eachLine(stream, method, func(m *dynamicpb.Message) error {
			sum += m.Get(value).Int()
			return nil
		})
		if err != nil {
			return err
		}
		m := dynamicpb.NewMessage(method.Output())
		m.Set(value, protoreflect.ValueOfInt32(int32(sum)))
		return stream.SendMsg(m)
	})
	backend.HandleStream("Named", func(stream grpc.ServerStream, method protoreflect.MethodDescriptor) error {
		return eachLine(stream, method, func(m *dynamicpb.Message) error { return stream.SendMsg(line(method.Output(), text(m))) })
	})
	return start(t, backend, opts...)
}

func TestStreams(t *testing.T) {
	t.Parallel()
	b := startStream(t, nil, bridge.WithStreamLimits(4, 64, bridge.DefaultStreamTime))
	for _, tt := range []struct {
		name, tool, arguments string
		want                  string // the structured content, or in the error
		isError               bool
	}{
		{name: "all", tool: "Lines", arguments: `{"lines":2}`, want: `{"messages":[{"text":"0"},{"text":"1"}],"count":2,"complete":true,"stopReason":"eof"}`},
		{name: "none", tool: "Lines", arguments: `{}`, want: `{"messages":[],"count":0,"complete":true,"stopReason":"eof"}`},
		{name: "operator's messages", tool: "Lines", arguments: `{"lines":9}`, want: `{"messages":[{"text":"0"},{"text":"1"},{"text":"2"},{"text":"3"}],"count":4,"complete":false,"stopReason":"limit"}`},
		{name: "operator's bytes", tool: "Lines", arguments: `{"lines":9,"_limits":{"messages":9}}`, want: `{"messages":[{"text":"0"},{"text":"1"},{"text":"2"},{"text":"3"},{"text":"4"}],"count":5,"complete":false,"stopReason":"bytes"}`},
		{name: "call's messages", tool: "Lines", arguments: `{"_limits":{"messages":"1"},"lines":9}`, want: `{"messages":[{"text":"0"}],"count":1,"complete":false,"stopReason":"limit"}`},
		{name: "call's bytes", tool: "Lines", arguments: `{"lines":9,"_limits":{"bytes":20}}`, want: `{"messages":[{"text":"0"}],"count":1,"complete":false,"stopReason":"bytes"}`},
		{name: "first message is kept", tool: "Lines", arguments: `{"lines":9,"_limits":{"bytes":1}}`, want: `{"messages":[{"text":"0"}],"count":1,"complete":false,"stopReason":"bytes"}`},
		{name: "call's time", tool: "Watch", arguments: `{"_limits":"{\"seconds\":0.5}"}`, want: `{"messages":[{"text":"first"}],"count":1,"complete":false,"stopReason":"deadline"}`},
		{name: "no limits", tool: "Lines", arguments: `{"lines":1,"_limits":null}`, want: `{"messages":[{"text":"0"}],"count":1,"complete":true,"stopReason":"eof"}`},
		{name: "a field like the limits", tool: "Named", arguments: `{"_limits":"x"}`, want: `{"messages":[{"text":"x"}],"count":1,"complete":true,"stopReason":"eof"}`},
		{name: "bad limits", tool: "Lines", arguments: `{"lines":"x","_limits":{"messages":1.5,"bytes":-1,"seconds":0,"lines":3}}`, isError: true, want: "" +
			"- _limits.messages: no such limit; want a whole number from 1 up to 10000, got 1.5\n" +
			"- _limits.bytes: no such limit; want a whole number from 1 up to 4194304, got -1\n" +
			"- _limits.seconds: no such limit; want a number above 0 and up to 3600, got 0\n" +
			"- _limits: unknown limit \"lines\"; want messages, bytes or seconds\n- lines: "},
		{name: "limits no object", tool: "Lines", arguments: `{"_limits":3}`, isError: true, want: `_limits: wrong type; want an object such as {"messages": 10}, got 3`},
		{name: "failure", tool: "Lines", arguments: `{"lines":1,"fail":5}`, isError: true, want: "told to fail"},
		{name: "client streams", tool: "Join", arguments: `{"messages":[{"text":"a"},{"text":"b"}]}`, want: `{"text":"a+b"}`},
		{name: "one for a list", tool: "Join", arguments: `{"messages":{"text":"a"}}`, want: `{"text":"a"}`},
		{name: "list as a string", tool: "Join", arguments: `{"messages":" [{\"text\":\"a\"}]"}`, want: `{"text":"a"}`},
		{name: "no messages", tool: "Join", arguments: `{"messages":[]}`, want: `{}`},
		{name: "null for a list", tool: "Join", arguments: `{"messages":null}`, want: `{}`},
		{name: "messages missing", tool: "Join", arguments: `{}`, isError: true, want: "messages: the required field is missing; want the list of the messages to send"},
		{name: "unknown argument", tool: "Join", arguments: `{"text":"a"}`, isError: true, want: "text: unknown field; want messages, the list of the messages to send"},
		{name: "bad messages", tool: "Join", arguments: `{"messages":[{"text":1},{},{"txet":"a"},7]}`, isError: true, want: "" +
			`- messages[0].text: wrong type; want a string: put it in quotes, as "1", got the number 1` + "\n" +
			`- messages[2].txet: unknown field; did you mean "text"?` + "\n" +
			`- messages[3]: wrong type; want an object (stream.v1.Line), got the number 7`},
		{name: "too many messages", tool: "Join", arguments: `{"messages":[` + strings.Repeat(`{},`, 10_000) + `{}]}`, isError: true, want: "messages: there are more than 10000 messages"},
		{name: "both stream", tool: "Echo", arguments: `{"messages":[{"text":"a"},{"text":"b"}]}`, want: `{"messages":[{"text":"a"},{"text":"b"}],"count":2,"complete":true,"stopReason":"eof"}`},
		{name: "both stream, limited", tool: "Echo", arguments: `{"messages":[{"text":"a"},{"text":"b"}],"_limits":{"messages":1}}`, want: `{"messages":[{"text":"a"}],"count":1,"complete":false,"stopReason":"limit"}`},
		{name: "wrapped messages", tool: "Numbers", arguments: `{"messages":[{"value":1},{"value":2}]}`, want: `{"value":3}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res, err := call(t.Context(), t, b, "Stream_"+tt.tool, tt.arguments)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case res.IsError != tt.isError:
				t.Errorf("isError is %t: %+v", res.IsError, res)
			case res.IsError && !strings.Contains(res.Content[0].Text, tt.want):
				t.Errorf("error text %s\nwant in it %s", res.Content[0].Text, tt.want)
			case !res.IsError && (string(res.StructuredContent) != tt.want || res.Content[0].Text != tt.want):
				t.Errorf("structured %s\ntext       %s\nwant       %s", res.StructuredContent, res.Content[0].Text, tt.want)
			}
		})
	}
}

// What a stream has sent before it fails is not lost.
func TestStreamFails(t *testing.T) {
	t.Parallel()
	b := startStream(t, nil)
	res, err := call(t.Context(), t, b, "Stream_Lines", `{"lines":2,"fail":5}`)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"messages":[{"text":"0"},{"text":"1"}],"count":2,"complete":false,"stopReason":"error"}`
	if !res.IsError || res.StructuredContent != nil || len(res.Content) != 2 || res.Content[1].Text != want {
		t.Errorf("got %+v", res)
	}
	if text := res.Content[0].Text; !strings.Contains(text, "told to fail") || !strings.Contains(text, "the last text has them") {
		t.Errorf("text %s", text)
	}
}

// A client that gave a progress token hears of messages as they come, and its
// cancellation ends the RPC.
func TestStreamProgressAndCancellation(t *testing.T) {
	t.Parallel()
	hung := make(chan error, 1)
	b := startStream(t, hung)
	r := request(protocol.MethodCallTool, `{"name":"Stream_Watch","arguments":{}}`)
	r.Meta.ProgressToken = []byte(`7`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	heard := newRecorder()
	answered := make(chan error, 1)
	go func() {
		_, err := b.Handle(ctx, r, heard)
		answered <- err
	}()
	first := heard.wait(t, 1)[0]
	if want := `{"progressToken":7,"progress":1,"message":"{\"text\":\"first\"}"}`; first.Method != protocol.NotificationProgress || string(first.Params) != want {
		t.Errorf("heard %s %s, want %s", first.Method, first.Params, want)
	}
	cancel()
	if err := <-answered; err == nil {
		t.Error("a cancelled call was answered")
	}
	if err := <-hung; err == nil {
		t.Error("the RPC goes on")
	}
}

// Progress rises, however fast messages come, and a client that is gone ends
// the call.
func TestStreamProgressRises(t *testing.T) {
	t.Parallel()
	b := startStream(t, nil)
	r := request(protocol.MethodCallTool, `{"name":"Stream_Lines","arguments":{"lines":100}}`)
	r.Meta.ProgressToken = []byte(`"t"`)
	heard := newRecorder()
	if _, err := b.Handle(t.Context(), r, heard); err != nil {
		t.Fatal(err)
	}
	var values []float64
	for _, n := range heard.seen() {
		var params struct{ Progress float64 }
		if err := json.Unmarshal(n.Params, &params); err != nil {
			t.Fatal(err)
		}
		values = append(values, params.Progress)
	}
	if len(values) == 0 || !slices.IsSorted(values) || len(slices.Compact(slices.Clone(values))) != len(values) {
		t.Errorf("progress %v", values)
	}
	gone := protocol.NotifierFunc(func(context.Context, *protocol.Notification) error { return io.ErrClosedPipe })
	if res, err := b.Handle(t.Context(), r, gone); err == nil {
		t.Errorf("the client is gone, and got %s", res.Body)
	}
}

const bodyProto = `
syntax = "proto3";
package body.v1;
import "google/api/httpbody.proto";
service Body {
  rpc Get(Wanted) returns (google.api.HttpBody);
  rpc Download(Wanted) returns (stream google.api.HttpBody);
}
message Wanted { string content_type = 1; bytes data = 2; int32 parts = 3; }
`

const httpBodyProto = `
syntax = "proto3";
package google.api;
import "google/protobuf/any.proto";
message HttpBody { string content_type = 1; bytes data = 2; repeated google.protobuf.Any extensions = 3; }
`

func fillBody(request, body *dynamicpb.Message) {
	for _, name := range []protoreflect.Name{"content_type", "data"} {
		body.Set(body.Descriptor().Fields().ByName(name), request.Get(request.Descriptor().Fields().ByName(name)))
	}
}

// A google.api.HttpBody becomes content of its type, and has no schema.
func TestHTTPBody(t *testing.T) {
	t.Parallel()
	backend := dynbackend.Start(t, map[string]string{"body.proto": bodyProto, "google/api/httpbody.proto": httpBodyProto}, map[string]dynbackend.Method{
		"Get": func(_ context.Context, request, response *dynamicpb.Message) error {
			fillBody(request, response)
			return nil
		},
	})
	backend.HandleStream("Download", func(stream grpc.ServerStream, method protoreflect.MethodDescriptor) error {
		return eachLine(stream, method, func(request *dynamicpb.Message) error {
			for range request.Get(request.Descriptor().Fields().ByName("parts")).Int() {
				m := dynamicpb.NewMessage(method.Output())
				fillBody(request, m)
				if err := stream.SendMsg(m); err != nil {
					return err
				}
			}
			return nil
		})
	})
	b := start(t, backend)
	for _, tool := range b.Tools() {
		if tool.OutputSchema != nil {
			t.Errorf("%s has an output schema", tool.Name)
		}
	}
	const blob = `{"type":"resource","resource":{"uri":"grpc:///body.v1.Body/Get","mimeType":`
	for _, tt := range []struct {
		name, tool, arguments string
		revision              protocol.Revision
		want                  string
	}{
		{name: "text", tool: "Get", arguments: `{"contentType":"text/csv; charset=utf-8","data":"YSxi"}`, want: `{"type":"text","text":"a,b"}`},
		{name: "JSON", tool: "Get", arguments: `{"contentType":"application/problem+json","data":"e30="}`, want: `{"type":"text","text":"{}"}`},
		{name: "text that is none", tool: "Get", arguments: `{"contentType":"text/plain","data":"/w=="}`, want: blob + `"text/plain","blob":"/w=="}}`},
		{name: "another charset", tool: "Get", arguments: `{"contentType":"text/plain; charset=ISO-8859-1","data":"YQ=="}`, want: blob + `"text/plain","blob":"YQ=="}}`},
		{name: "image", tool: "Get", arguments: `{"contentType":"image/png","data":"AAE="}`, want: `{"type":"image","data":"AAE=","mimeType":"image/png"}`},
		{name: "audio", tool: "Get", arguments: `{"contentType":"audio/wav","data":"AAE="}`, want: `{"type":"audio","data":"AAE=","mimeType":"audio/wav"}`},
		{name: "audio before there was", tool: "Get", revision: protocol.Revision20241105, arguments: `{"contentType":"audio/wav","data":"AAE="}`, want: blob + `"audio/wav","blob":"AAE="}}`},
		{name: "anything", tool: "Get", arguments: `{"contentType":"application/pdf","data":"AAE="}`, want: blob + `"application/pdf","blob":"AAE="}}`},
		{name: "no type, text", tool: "Get", arguments: `{"data":"YQ=="}`, want: `{"type":"text","text":"a"}`},
		{name: "no type, no text", tool: "Get", arguments: `{"data":"/w=="}`, want: blob + `"application/octet-stream","blob":"/w=="}}`},
		{name: "malformed type", tool: "Get", arguments: `{"contentType":"/;;","data":"YQ=="}`, want: blob + `"/","blob":"YQ=="}}`},
		{name: "parts", tool: "Download", arguments: `{"contentType":"text/plain","data":"YQ==","parts":3}`, want: `{"type":"text","text":"aaa"}`},
		{name: "some parts", tool: "Download", arguments: `{"contentType":"text/plain","data":"YQ==","parts":3,"_limits":{"bytes":2}}`, want: `{"type":"text","text":"aa"},{"type":"text","text":"This is the beginning of the content, 2 bytes: the stream was ended early (bytes)."}`},
		{name: "no parts", tool: "Download", arguments: `{}`, want: `{"type":"text","text":""}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := request(protocol.MethodCallTool, `{"name":"Body_`+tt.tool+`","arguments":`+tt.arguments+`}`)
			if tt.revision != "" {
				r.Meta.Revision = tt.revision
			}
			res, err := b.Handle(t.Context(), r, protocol.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if want := `{"content":[` + tt.want + `]}`; string(res.Body) != want {
				t.Errorf("got  %s\nwant %s", res.Body, want)
			}
		})
	}
}

// A client can shorten the time of its call, and the backend sees the
// deadline.
func TestClientTimeout(t *testing.T) {
	t.Parallel()
	backend := dynbackend.Start(t, map[string]string{"ping.proto": pingProto}, map[string]dynbackend.Method{
		"Slow": func(ctx context.Context, _, response *dynamicpb.Message) error {
			left := "no deadline"
			if deadline, ok := ctx.Deadline(); ok {
				left = time.Until(deadline).Round(time.Minute).String()
			}
			response.Set(response.Descriptor().Fields().ByName("text"), protoreflect.ValueOfString(left))
			return nil
		},
	})
	bounded, unbounded := start(t, backend, bridge.WithTimeout(30*time.Minute)), start(t, backend, bridge.WithTimeout(0))
	for _, tt := range []struct {
		name, timeout string
		bridge        *bridge.Bridge
		want          string
	}{
		{"longer", `"2h"`, bounded, "30m0s"},
		{"shorter", `"10m"`, bounded, "10m0s"},
		{"seconds", `300`, bounded, "5m0s"},
		{"without a bound", `300`, unbounded, "5m0s"},
		{"zero", `0`, bounded, "must be a time above zero"},
		{"nonsense", `"soon"`, bounded, "must be a time above zero"},
		{"an object", `{}`, bounded, "must be a time above zero"},
		{"endless", `1e300`, bounded, "must be a time above zero"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := request(protocol.MethodCallTool, `{"name":"Ping_Slow","_meta":{"`+protocol.TimeoutKey+`":`+tt.timeout+`}}`)
			res, err := tt.bridge.Handle(t.Context(), r, protocol.Discard)
			switch {
			case err != nil && !strings.Contains(err.Error(), tt.want):
				t.Error(err)
			case err == nil && !strings.Contains(string(res.Body), tt.want):
				t.Errorf("got %s, want %s", res.Body, tt.want)
			}
		})
	}
	if res, err := call(t.Context(), t, unbounded, "Ping_Slow", `{}`); err != nil || !strings.Contains(res.Content[0].Text, "no deadline") {
		t.Errorf("%v %v", res, err)
	}
}
