package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpschema"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const presentProto = `
syntax = "proto3";
package present.v1;
import "mcp/options/v1/options.proto";
import "google/api/resource.proto";
service Notes {
  rpc GetNote(NoteRequest) returns (Note) {
    option (mcp.options.v1.method).resource = {
      uri_template: "notes://{id}{?kind}" name: "note" title: "A note" mime_type: "text/plain" content_field: "text" watch: "present.v1.Notes.WatchNote"
    };
  }
  rpc WatchNote(NoteRequest) returns (stream Note);
  rpc GetAll(NoteRequest) returns (Note) {
    option (mcp.options.v1.method).resource = {uri_template: "notes:all" poll: {nanos: 100000000}};
  }
  rpc GetPicture(NoteRequest) returns (Note) { option (mcp.options.v1.method).resource = {uri_template: "pictures://{id}" mime_type: "image/png" content_field: "picture"}; }
  rpc GetBook(BookRequest) returns (Book);
  rpc Summarise(NoteRequest) returns (Note) {
    option (mcp.options.v1.method).prompt = {name: "summarise" title: "Summarise a note" text_field: "text"};
  }
  rpc ListIds(IdsRequest) returns (Ids);
  rpc Delete(NoteRequest) returns (Note) { option (mcp.options.v1.method).confirm = {message: "Delete note {id} for good?"}; }
}
message NoteRequest {
  // Which note.
  string id = 1 [(mcp.options.v1.field).completion = {method: "present.v1.Notes.ListIds" values_field: "ids.name" query_field: "prefix"}];
  Kind kind = 2;
  int32 copies = 3;
}
enum Kind { KIND_UNSPECIFIED = 0; KIND_SHORT = 1; KIND_LONG = 2; }
message Note { string text = 1; bytes picture = 2; }
message IdsRequest { string prefix = 1; Kind kind = 2; }
message Ids { repeated Id ids = 1; }
message Id { string name = 1; }
message BookRequest { string name = 1; }
message Book {
  option (google.api.resource) = {type: "library.example.com/Book" pattern: "shelves/{shelf}/books/{book}"};
  string name = 1;
}
`

const resourceProto = `
syntax = "proto3";
package google.api;
import "google/protobuf/descriptor.proto";
extend google.protobuf.MessageOptions { ResourceDescriptor resource = 1053; }
message ResourceDescriptor { string type = 1; repeated string pattern = 2; }
`

// notes is a backend of the API above.
type notes struct {
	*dynbackend.Backend

	version atomic.Int32
	reads   chan struct{} // hears of the first reading of all
	changes chan string   // what a watch sends next
	gone    chan error    // hears when a watch has ended
	deleted atomic.Int32
}

func startNotes(t *testing.T) *notes {
	t.Helper()
	n := &notes{reads: make(chan struct{}, 1), changes: make(chan string), gone: make(chan error, 1)}
	get := func(m *dynamicpb.Message, name protoreflect.Name) protoreflect.Value {
		return m.Get(m.Descriptor().Fields().ByName(name))
	}
	set := func(m *dynamicpb.Message, name protoreflect.Name, v protoreflect.Value) {
		m.Set(m.Descriptor().Fields().ByName(name), v)
	}
	text := func(format string, args ...any) protoreflect.Value {
		return protoreflect.ValueOfString(fmt.Sprintf(format, args...))
	}
	note := func(_ context.Context, request, response *dynamicpb.Message) error {
		if get(request, "id").String() == "missing" {
			return status.Error(codes.NotFound, "no note")
		}
		if get(request, "id").String() == "broken" {
			return status.Error(codes.Unavailable, "down")
		}
		set(response, "text", text("note %s %d %d", get(request, "id"), get(request, "kind").Enum(), get(request, "copies").Int()))
		set(response, "picture", protoreflect.ValueOfBytes([]byte{0xff}))
		return nil
	}
	n.Backend = dynbackend.Start(t, map[string]string{"present.proto": presentProto, "google/api/resource.proto": resourceProto}, map[string]dynbackend.Method{
		"GetNote": note, "GetPicture": note, "Summarise": note,
		"GetAll": func(_ context.Context, _, response *dynamicpb.Message) error {
			set(response, "text", text("version %d", n.version.Load()))
			select {
			case n.reads <- struct{}{}:
			default:
			}
			return nil
		},
		"GetBook": func(_ context.Context, request, response *dynamicpb.Message) error {
			set(response, "name", get(request, "name"))
			return nil
		},
		"Delete": func(context.Context, *dynamicpb.Message, *dynamicpb.Message) error {
			n.deleted.Add(1)
			return nil
		},
		"ListIds": func(_ context.Context, request, response *dynamicpb.Message) error {
			list := response.Mutable(response.Descriptor().Fields().ByName("ids")).List()
			for i := range 150 {
				id := list.NewElement()
				id.Message().Set(id.Message().Descriptor().Fields().ByName("name"), text("%s%d-%d", get(request, "prefix"), i, get(request, "kind").Enum()))
				list.Append(id)
			}
			return nil
		},
	})
	n.HandleStream("WatchNote", func(stream grpc.ServerStream, method protoreflect.MethodDescriptor) error {
		request := dynamicpb.NewMessage(method.Input())
		if err := stream.RecvMsg(request); err != nil {
			return err
		}
		for {
			select {
			case <-n.changes:
				m := dynamicpb.NewMessage(method.Output())
				set(m, "text", get(request, "id"))
				if err := stream.SendMsg(m); err != nil {
					return err
				}
			case <-stream.Context().Done():
				n.gone <- stream.Context().Err()
				return nil
			}
		}
	})
	return n
}

// What a method is besides a tool, in lists, in what it answers, and in its
// errors: all of it valid under the official schema.
func TestPresent(t *testing.T) {
	t.Parallel()
	b := start(t, startNotes(t).Backend)
	if warnings := b.Warnings(); len(warnings) > 0 {
		t.Errorf("warnings %q", warnings)
	}
	validator := mcpschema.Open(t, "2026-07-28")
	client := overHTTP(t, b)
	for _, tt := range []struct {
		name, method, params string
		want                 string // in the response
	}{
		{"capabilities", "server/discover", `{}`, `"resources":{"listChanged":true,"subscribe":true},"prompts":{"listChanged":true},"completions":{}`},
		{"resources", "resources/list", `{}`, `"resources":[{"uri":"notes:all","name":"Notes_GetAll","title":"Get all","description":"`},
		{"templates", "resources/templates/list", `{}`, `{"uriTemplate":"notes://{id}{?kind}","name":"note","title":"A note",`},
		{"pattern", "resources/templates/list", `{}`, `{"uriTemplate":"resource://library.example.com/shelves/{shelf}/books/{book}","name":"book",`},
		{"whole response", "resources/read", `{"uri":"notes:all"}`, `"contents":[{"uri":"notes:all","mimeType":"application/json","text":"{\"text\":\"version 0\"}"}]`},
		{"by template", "resources/read", `{"uri":"notes://a%20b?kind=KIND_LONG"}`, `"contents":[{"uri":"notes://a%20b?kind=KIND_LONG","mimeType":"text/plain","text":"note a b 2 0"}]`},
		{"bytes", "resources/read", `{"uri":"pictures://1"}`, `"mimeType":"image/png","blob":"/w=="`},
		{"by pattern", "resources/read", `{"uri":"resource://library.example.com/shelves/1/books/2"}`, `"text":"{\"name\":\"shelves/1/books/2\"}"`},
		{"not found", "resources/read", `{"uri":"notes://missing"}`, `"code":-32602,"message":"notes://missing: no note","data":{"uri":"notes://missing"}`},
		{"no such resource", "resources/read", `{"uri":"other:x"}`, `"code":-32602,"message":"other:x: there is no such resource"`},
		{"long URI", "resources/read", `{"uri":"notes://` + strings.Repeat("x", 8<<10-8) + `"}`, `note ` + strings.Repeat("x", 8<<10-8)},
		{"too long a URI", "resources/read", `{"uri":"notes://` + strings.Repeat("x", 8<<10) + `"}`, `...: there is no such resource","data":{"uri":"notes://` + strings.Repeat("x", 2048-8-3) + `..."}`},
		{"bad variable", "resources/read", `{"uri":"notes://a?kind=WIDE"}`, `no value of present.v1.Kind`},
		{"unavailable", "resources/read", `{"uri":"notes://broken"}`, `"code":-32603,"message":"The service is not available`},
		{"no URI", "resources/read", `{}`, `params.uri must be`},
		{"prompts", "prompts/list", `{}`, `"prompts":[{"name":"summarise","title":"Summarise a note","description":"`},
		{"prompt arguments", "prompts/list", `{}`, `"arguments":[{"name":"id"},{"name":"kind"`},
		{"prompt", "prompts/get", `{"name":"summarise","arguments":{"id":"7","copies":"3"}}`, `"messages":[{"role":"user","content":{"type":"text","text":"note 7 0 3"}}]`},
		{"no such prompt", "prompts/get", `{"name":"summarize"}`, `there is no prompt \"summarize\"`},
		{"bad argument", "prompts/get", `{"name":"summarise","arguments":{"copies":"many"}}`, `copies: wrong type`},
		{"failing prompt", "prompts/get", `{"name":"summarise","arguments":{"id":"missing"}}`, `"code":-32603,"message":"Not found`},
		{"completion", "completion/complete", `{"ref":{"type":"ref/prompt","name":"summarise"},"argument":{"name":"id","value":"x"},"context":{"arguments":{"kind":"KIND_LONG","copies":"1"}}}`, `{"values":["x0-2","x1-2",`},
		{"completion's total", "completion/complete", `{"ref":{"type":"ref/resource","uri":"notes://{id}{?kind}"},"argument":{"name":"id","value":"x"}}`, `"x99-0"],"total":150,"hasMore":true`},
		{"completion of an enum", "completion/complete", `{"ref":{"type":"ref/resource","uri":"notes://{id}{?kind}"},"argument":{"name":"kind","value":"kind_s"}}`, `{"values":["KIND_SHORT"],"total":1,"hasMore":false}`},
		{"no completion", "completion/complete", `{"ref":{"type":"ref/prompt","name":"summarise"},"argument":{"name":"copies","value":"x"}}`, `{"values":[],"total":0,"hasMore":false}`},
		{"completion of nothing", "completion/complete", `{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"copies","value":"x"}}`, `params.ref names no prompt`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer := client(message(tt.method, tt.params))
			if err := validator.Check(answer, tt.method); err != nil {
				t.Errorf("%v\n%s", err, answer)
			}
			if !strings.Contains(string(answer), tt.want) {
				t.Errorf("got %s\nwant in it %s", answer, tt.want)
			}
		})
	}
	r := request(protocol.MethodReadResource, `{"uri":"notes://missing"}`)
	r.Meta.Revision = protocol.Revision20250618
	if _, err := b.Handle(t.Context(), r, protocol.Discard); protocol.AsError(err).Code != protocol.CodeResourceNotFound {
		t.Errorf("a legacy client got %v", err)
	}
}

// Subscribers hear of a resource that has changed, by a watch or by polling,
// and the watch of the last one ends with it.
func TestResourceSubscriptions(t *testing.T) {
	t.Parallel()
	n := startNotes(t)
	b := start(t, n.Backend)
	listen := func(uris string) (*recorder, func()) {
		ctx, cancel := context.WithCancel(t.Context())
		heard, done := newRecorder(), make(chan struct{})
		go func() {
			defer close(done)
			_, _ = b.Handle(ctx, request(protocol.MethodListen, `{"notifications":{"resourceSubscriptions":`+uris+`,"resourcesListChanged":true}}`), heard)
		}()
		return heard, func() {
			cancel()
			<-done
		}
	}
	one, leaveOne := listen(`["notes://7","notes:all","pictures://1","no:such"]`)
	one.wait(t, 1) // the watch is made in its name, and stays so when the other one leaves
	two, leaveTwo := listen(`["notes://7"]`)
	if got := string(one.wait(t, 1)[0].Params); got != `{"notifications":{"resourcesListChanged":true,"resourceSubscriptions":["notes://7","notes:all"]}}` {
		t.Errorf("acknowledged %s", got)
	}
	two.wait(t, 1)
	n.changes <- "x" // one watch takes it for both
	for _, heard := range []*recorder{one, two} {
		if got := heard.wait(t, 2)[1]; got.Method != protocol.NotificationResourceUpdated || string(got.Params) != `{"uri":"notes://7"}` {
			t.Errorf("heard %s %s", got.Method, got.Params)
		}
	}
	leaveTwo()
	<-n.reads
	n.version.Add(1) // after the first reading, so that the next one differs
	if got := one.wait(t, 3)[2]; got.Method != protocol.NotificationResourceUpdated || string(got.Params) != `{"uri":"notes:all"}` {
		t.Errorf("heard %s %s", got.Method, got.Params)
	}
	leaveOne()
	if err := <-n.gone; err == nil {
		t.Error("the watch goes on")
	}
}

// A call that needs a confirmation is made after it, and only for the very
// arguments that were shown.
func TestConfirmation(t *testing.T) {
	t.Parallel()
	n := startNotes(t)
	b := start(t, n.Backend)
	validator := mcpschema.Open(t, "2026-07-28")
	ask := func(params string) *protocol.Result {
		t.Helper()
		r := request(protocol.MethodCallTool, params)
		r.Meta.Capabilities = json.RawMessage(`{"elicitation":{"form":{}}}`)
		res, err := b.Handle(t.Context(), r, protocol.Discard)
		if err != nil {
			t.Fatal(err)
		}
		body := protocol.AppendResult([]byte(`{"jsonrpc":"2.0","id":1,"result":`), res, protocol.Revision20260728)
		if err := validator.Check(append(body, '}'), protocol.MethodCallTool); err != nil {
			t.Errorf("%v\n%s", err, body)
		}
		return res
	}
	res := ask(`{"name":"Notes_Delete","arguments":{"id":"7"}}`)
	if res.Type != protocol.ResultInputRequired || !strings.Contains(string(res.Body), `"message":"Delete note 7 for good?"`) || n.deleted.Load() != 0 {
		t.Fatalf("%s %s", res.Type, res.Body)
	}
	var required struct{ RequestState string }
	if err := json.Unmarshal(res.Body, &required); err != nil {
		t.Fatal(err)
	}
	retry := func(arguments, response, state string) string {
		return `{"name":"Notes_Delete","arguments":` + arguments + `,"inputResponses":{"confirm":` + response + `},"requestState":"` + state + `"}`
	}
	for name, params := range map[string]string{
		"other arguments": retry(`{"id":"8"}`, `{"action":"accept"}`, required.RequestState),
		"forged":          retry(`{"id":"7"}`, `{"action":"accept"}`, required.RequestState[:len(required.RequestState)-2]+"AA"),
		"empty":           retry(`{"id":"7"}`, `{"action":"accept"}`, ""),
	} {
		r := request(protocol.MethodCallTool, params)
		r.Meta.Capabilities = json.RawMessage(`{"elicitation":{}}`)
		if _, err := b.Handle(t.Context(), r, protocol.Discard); protocol.AsError(err).Code != protocol.CodeInvalidParams {
			t.Errorf("%s: %v", name, err)
		}
	}
	if res := ask(retry(`{"id":"7"}`, `{"action":"decline"}`, required.RequestState)); !strings.Contains(string(res.Body), "did not confirm") {
		t.Errorf("declined: %s", res.Body)
	}
	if n.deleted.Load() != 0 {
		t.Fatal("called without a confirmation")
	}
	if res := ask(retry(`{ "id" : "7" }`, `{"action":"accept","content":{}}`, required.RequestState)); strings.Contains(string(res.Body), "isError") || n.deleted.Load() != 1 {
		t.Errorf("accepted: %s", res.Body)
	}
	// Who cannot ask does not call, unless the operator says so.
	if res, err := call(t.Context(), t, b, "Notes_Delete", `{}`); err != nil || !res.IsError || !strings.Contains(res.Content[0].Text, "Delete note (not set) for good?") {
		t.Errorf("%+v, %v", res, err)
	}
	free := start(t, n.Backend, bridge.WithoutConfirmation())
	if res, err := call(t.Context(), t, free, "Notes_Delete", `{}`); err != nil || res.IsError || n.deleted.Load() != 2 {
		t.Errorf("%+v, %v", res, err)
	}
}
