package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/grpcgo"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// A call that starts an operation waits for its response.
func TestOperationWaits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, tool string
		state      []byte // of the operation
		without    []string
		refuse     error
		want       string // structured content, or part of an error's text
		note       string // part of the text before it
		isError    bool
	}{
		{name: "done at once", tool: "Jobs_Bake", state: baked("jobs.v1.Cake", "plum"), want: `{"flavour":"plum","slices":"0"}`},
		{name: "done at once, type not declared", tool: "Jobs_Surprise", state: baked("jobs.v1.Cake", "plum"),
			want: `{"@type":"type.googleapis.com/jobs.v1.Cake","flavour":"plum","slices":"0"}`},
		{name: "another type than declared", tool: "Jobs_Bake", state: baked("jobs.v1.Order", "plum"),
			want: `{"_operation":{"name":"operations/1","done":true,"response":{"@type":"type.googleapis.com/jobs.v1.Order","flavour":"plum"}}}`,
			note: "not of the type"},
		{name: "unknown type", tool: "Jobs_Surprise", state: baked("jobs.v1.Pie", "plum"),
			want: `{"@type":"type.googleapis.com/jobs.v1.Pie","value":"CgRwbHVt"}`},
		{name: "no response", tool: "Jobs_Bake", state: []byte("\x0a\x01x\x18\x01"), want: `{}`},
		{name: "failed", tool: "Jobs_Bake", state: failed("operations/1", code.Code_RESOURCE_EXHAUSTED, "no flour left"), want: "no flour left", isError: true},
		{name: "no Operations service", tool: "Jobs_Bake", without: []string{"GetOperation"},
			want: `{"_operation":{"name":"operations/1","metadata":{"@type":"type.googleapis.com/jobs.v1.Baking","progressPercent":0,"step":"mix"},"done":false}}`,
			note: "does not offer google.longrunning.Operations"},
		{name: "state refused", tool: "Jobs_Bake", refuse: status.Error(codes.PermissionDenied, "not yours"),
			want: `{"_operation":{"name":"operations/1","metadata":{"@type":"type.googleapis.com/jobs.v1.Baking","progressPercent":0,"step":"mix"},"done":false}}`,
			note: "could not be read (PERMISSION_DENIED)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			backend := startBakery(t, tt.without...)
			backend.refuse = tt.refuse
			if tt.state != nil {
				backend.state["operations/1"] = tt.state
			}
			b := start(t, backend.Backend)
			res, err := call(t.Context(), t, b, tt.tool, `{"flavour":"plum"}`)
			if err != nil {
				t.Fatal(err)
			}
			checkOutput(t, b, tt.tool, res.StructuredContent)
			last := res.Content[len(res.Content)-1].Text
			if last == tt.tool[len("Jobs_"):]+" has succeeded; it returns nothing." {
				last = "{}"
			}
			switch {
			case res.IsError != tt.isError:
				t.Errorf("isError is %t: %+v", res.IsError, res)
			case tt.isError && !strings.Contains(res.Content[0].Text, tt.want):
				t.Errorf("text %q, want %q in it", res.Content[0].Text, tt.want)
			case !tt.isError && (string(res.StructuredContent) != tt.want || last != tt.want):
				t.Errorf("structured %s\ntext %q\nwant %s", res.StructuredContent, last, tt.want)
			case !strings.Contains(res.Content[0].Text, tt.note):
				t.Errorf("text %q, want %q in it", res.Content[0].Text, tt.note)
			}
		})
	}
}

// checkOutput checks structured content against the tool's output schema.
func checkOutput(t *testing.T, b *bridge.Bridge, tool string, content json.RawMessage) {
	t.Helper()
	if content == nil {
		return
	}
	for _, candidate := range b.Tools() {
		if candidate.Name != tool {
			continue
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(candidate.OutputSchema))
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("out", doc); err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.MustCompile("out").Validate(value); err != nil {
			t.Errorf("%v\n%s", err, content)
		}
		return
	}
	t.Errorf("there is no tool %s", tool)
}

// Progress comes from the metadata, in order and rising, and the response at
// the end.
func TestOperationProgress(t *testing.T) {
	t.Parallel()
	backend := startBakery(t)
	backend.script = [][]byte{
		running("operations/1", 40, "oven"), running("operations/1", 40, "oven"), running("operations/1", 40, "ice"),
	}
	backend.state["operations/1"] = running("operations/1", 10, "mix")
	b := start(t, backend.Backend)
	heard := newRecorder()
	r := request(protocol.MethodCallTool, `{"name":"Jobs_Bake","arguments":{}}`)
	r.Meta.ProgressToken = json.RawMessage(`"p"`)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		heard.wait(t, 3)
		backend.set("operations/1", baked("jobs.v1.Cake", "nut"))
	}()
	res, err := b.Handle(t.Context(), r, heard)
	<-ended
	if err != nil || !strings.Contains(string(res.Body), `"structuredContent":{"flavour":"nut","slices":"0"}`) {
		t.Fatalf("%s %v", res.Body, err)
	}
	var got []string
	for _, n := range heard.seen() {
		got = append(got, string(n.Params))
	}
	want := []string{
		`{"progressToken":"p","progress":10,"total":100,"message":"{\"progressPercent\":10,\"step\":\"mix\"}"}`,
		`{"progressToken":"p","progress":40,"total":100,"message":"{\"progressPercent\":40,\"step\":\"oven\"}"}`,
		`{"progressToken":"p","progress":40.001,"total":100,"message":"{\"progressPercent\":40,\"step\":\"ice\"}"}`,
	}
	if len(got) < len(want) || strings.Join(got[:len(want)], "\n") != strings.Join(want, "\n") {
		t.Errorf("got %s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The tool that tells of an operation is called as clients call it, and not mentioned
// if they do not have it.
func TestOperationHint(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]string{
		"up_": ` Its name is "operations/1". To see how it gets on, call the tool up_Operations_GetOperation with {"name": "operations/1"}.`,
		"":    ` Its name is "operations/1".`,
	} {
		public := func(own string) string {
			if prefix == "" {
				return ""
			}
			return prefix + own
		}
		b := start(t, startBakery(t).Backend, bridge.WithOperationWait(0), bridge.WithPublicNames(public))
		res, err := call(t.Context(), t, b, "Jobs_Bake", `{}`)
		if err != nil || !strings.HasSuffix(res.Content[0].Text, want) {
			t.Errorf("prefix %q: %+v %v, want %s", prefix, res, err, want)
		}
	}
}

// When the wait is over, the result is the operation, which goes on.
func TestOperationBound(t *testing.T) {
	t.Parallel()
	for _, opt := range []bridge.Option{bridge.WithOperationWait(0), bridge.WithOperationWait(time.Millisecond), bridge.WithTimeout(300 * time.Millisecond)} {
		backend := startBakery(t)
		b := start(t, backend.Backend, opt)
		res, err := call(t.Context(), t, b, "Jobs_Bake", `{}`)
		if err != nil || res.IsError {
			t.Fatalf("%+v %v", res, err)
		}
		if want := `{"_operation":{"name":"operations/1","metadata":{"@type":"type.googleapis.com/jobs.v1.Baking","progressPercent":0,"step":"mix"},"done":false}}`; string(res.StructuredContent) != want {
			t.Errorf("structured content %s, want %s", res.StructuredContent, want)
		}
		want := `The operation has been started and is still running. Do not start it again. Its name is "operations/1".` +
			` To see how it gets on, call the tool Operations_GetOperation with {"name": "operations/1"}.`
		if res.Content[0].Text != want {
			t.Errorf("text %q, want %q", res.Content[0].Text, want)
		}
		if len(backend.cancelled) > 0 {
			t.Errorf("%q has been cancelled", backend.cancelled)
		}
		res, err = call(t.Context(), t, b, "Operations_GetOperation", `{"name":"operations/1"}`)
		if want := `{"name":"operations/1","metadata":{"@type":"type.googleapis.com/jobs.v1.Baking","progressPercent":0,"step":"mix"},"done":false}`; err != nil || string(res.StructuredContent) != want {
			t.Errorf("the operation is %s, %v; want %s", res.StructuredContent, err, want)
		}
	}
}

// A client that cancels its call ends the wait and not the operation.
func TestOperationCallCancelled(t *testing.T) {
	t.Parallel()
	backend := startBakery(t)
	b := start(t, backend.Backend)
	heard := newRecorder()
	r := request(protocol.MethodCallTool, `{"name":"Jobs_Bake","arguments":{}}`)
	r.Meta.ProgressToken = json.RawMessage(`1`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		heard.wait(t, 1)
		cancel()
	}()
	if _, err := b.Handle(ctx, r, heard); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if len(backend.cancelled) > 0 {
		t.Errorf("%q has been cancelled", backend.cancelled)
	}
}

// The output schema is that of the response, with the operation beside it.
func TestOperationSchema(t *testing.T) {
	t.Parallel()
	b := start(t, startBakery(t).Backend)
	want := map[string][]string{
		"Jobs_Bake":               {"_operation", "flavour", "name", "slices"},
		"Jobs_Surprise":           {"_operation"},
		"Operations_GetOperation": {"done", "error", "metadata", "name", "response"},
	}
	for _, tool := range b.Tools() {
		var schema struct {
			Type       string
			Properties map[string]json.RawMessage
		}
		if err := json.Unmarshal(tool.OutputSchema, &schema); err != nil || schema.Type != "object" {
			t.Errorf("%s: %v in %s", tool.Name, err, tool.OutputSchema)
		}
		for _, name := range want[tool.Name] {
			if schema.Properties[name] == nil {
				t.Errorf("%s has no property %s: %s", tool.Name, name, tool.OutputSchema)
			}
		}
		if names := want[tool.Name]; names != nil && len(schema.Properties) != len(names) {
			t.Errorf("%s: %s, want properties %q", tool.Name, tool.OutputSchema, names)
		}
	}
}

// Whatever goes wrong after an operation has been started, the client learns
// that it has been.
func TestOperationMalformed(t *testing.T) {
	t.Parallel()
	backend := startBakery(t)
	caller, err := grpcgo.Dial("grpc://" + backend.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = caller.Close() })
	b, err := bridge.New(t.Context(), []bridge.Upstream{{
		Descriptors: bridge.Reflection(caller),
		Caller: rpc.CallerFunc(func(ctx context.Context, c *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
			if strings.HasSuffix(c.Procedure, "/GetOperation") {
				return &rpc.Trailer{}, receive([]byte{0xff})
			}
			return caller.Call(ctx, c, receive)
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	for _, r := range []*protocol.Request{request(protocol.MethodCallTool, bake), follower(protocol.MethodCallTool, bake)} {
		res, err := b.Handle(t.Context(), r, protocol.Discard)
		if err != nil || !strings.Contains(string(res.Body), `Its state could not be read. To see`) {
			t.Errorf("%+v %v", res, err)
		}
	}
}
