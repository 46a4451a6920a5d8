package bridge_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/gen/library/v1/libraryv1connect"
	"github.com/mcp-bridge/mcp-bridge/internal/demo"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpschema"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
)

// demoCalls are calls of the demo's tools that succeed and that fail in all
// ways there are.
var demoCalls = []struct{ tool, arguments string }{
	{"Library_GetBook", `{"name":"shelves/1/books/1"}`},
	{"Library_GetBook", `{"name":"shelves/1/books/999"}`},
	{"Library_GetBook", `{"name":"no name"}`},
	{"Library_GetBook", `{"nam":1}`},
	{"Library_ListBooks", `{"pageSize":3}`},
	{"Library_ListBooks", `{"pageSize":-1}`},
	{"Library_SearchBooks", `{"query":"whale"}`},
	{"Library_CheckOutBook", `{"name":"` + demo.LentBook + `","memberId":"m-1","loanPeriod":"86400s"}`},
	{"Library_CreateBook", `{"parent":"shelves/1","book":{"title":"T","authors":[{"name":"A"}],"isbn":"9780141441146","genre":"novel"}}`},
	{"Library_Reindex", `{"delay":"0.001s"}`},
	{"Library_WatchBooks", `{"includeExisting":true,"_limits":{"messages":3}}`},
	{"Library_WatchBooks", `{"_limits":{"messages":"many"}}`},
	{"No_Tool", `{}`},
}

// Every message that the Bridge sends about the demo is valid under the
// official schema of the client's revision.
func TestMessagesAreValid(t *testing.T) {
	t.Parallel()
	for _, rev := range protocol.Revisions() {
		t.Run(string(rev), func(t *testing.T) {
			t.Parallel()
			validator := mcpschema.Open(t, string(rev))
			b, err := bridge.New(t.Context(), []bridge.Upstream{
				bridge.InProcess(demo.Handler(demo.New()), libraryv1connect.LibraryName),
			}, bridge.WithPageSize(3), bridge.WithInstructions("Read."))
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			var in bytes.Buffer
			methods := make(map[string]string)
			send := func(method, params string) {
				id := fmt.Sprint(len(methods) + 1)
				methods[id] = method
				if rev.Modern() {
					params = strings.TrimSuffix(params, "}")
					if params != "{" {
						params += ","
					}
					params += `"_meta":{"` + protocol.MetaProtocolVersion + `":"` + string(rev) + `","` + protocol.MetaClientCapabilities + `":{},"` + protocol.MetaLogLevel + `":"debug"}}`
				}
				fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`+"\n", id, method, params)
			}
			if rev.Modern() {
				send(protocol.MethodDiscover, `{}`)
			} else {
				send(protocol.MethodInitialize, `{"protocolVersion":"`+string(rev)+`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
				send(protocol.MethodPing, `{}`)
				send(protocol.MethodSetLevel, `{"level":"debug"}`)
			}
			send(protocol.MethodListTools, `{}`)
			for _, c := range demoCalls {
				send(protocol.MethodCallTool, `{"name":"`+c.tool+`","arguments":`+c.arguments+`}`)
			}
			send("prompts/list", `{}`)
			send("no/method", `{}`)

			r, w := io.Pipe()
			served := make(chan error, 1)
			go func() {
				err := stdio.Serve(t.Context(), &in, w, stdio.Config{Handler: b})
				served <- err
				_ = w.Close()
			}()
			answered := 0
			decoder := json.NewDecoder(r)
			for {
				var message json.RawMessage
				if err := decoder.Decode(&message); err == io.EOF {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				var envelope struct {
					ID     json.Number
					Method string
				}
				if err := json.Unmarshal(message, &envelope); err != nil {
					t.Fatal(err)
				}
				if envelope.Method == "" {
					answered++
				}
				if err := validator.Check(message, methods[envelope.ID.String()]); err != nil {
					t.Errorf("%v\n%s", err, message)
				}
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
			if answered != len(methods) {
				t.Errorf("%d of %d requests were answered", answered, len(methods))
			}
		})
	}
}

// The schemas of the demo's tools are valid as JSON Schema 2020-12, and accept
// the structured content that the tools send.
func TestOutputFitsSchema(t *testing.T) {
	t.Parallel()
	b, err := bridge.New(t.Context(), []bridge.Upstream{
		bridge.InProcess(demo.Handler(demo.New()), libraryv1connect.LibraryName),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	output := make(map[string]*jsonschema.Schema)
	for _, tool := range b.Tools() {
		if tool.NotCallable != "" {
			continue
		}
		compiler := jsonschema.NewCompiler()
		compiler.DefaultDraft(jsonschema.Draft2020)
		for name, raw := range map[string]json.RawMessage{"in": tool.InputSchema, "out": tool.OutputSchema} {
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			if err := compiler.AddResource(name, doc); err != nil {
				t.Fatal(err)
			}
			schema, err := compiler.Compile(name)
			if err != nil {
				t.Fatalf("%s: %v", tool.Name, err)
			}
			if name == "out" {
				output[tool.Name] = schema
			}
		}
	}
	checked := 0
	for _, c := range demoCalls {
		res, err := call(t.Context(), t, b, c.tool, c.arguments)
		if err != nil || res.IsError {
			continue
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(res.StructuredContent))
		if err != nil {
			t.Fatal(err)
		}
		if err := output[c.tool].Validate(value); err != nil {
			t.Errorf("%s: %v\n%s", c.tool, err, res.StructuredContent)
		}
		checked++
	}
	if checked < 6 {
		t.Errorf("only %d calls succeeded", checked)
	}
}
