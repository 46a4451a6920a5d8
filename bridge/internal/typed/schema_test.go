package typed_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/schema"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typed"
)

// TestSchemaAgain tests that the schema of a request's type accepts what the
// schema does that the type was made of, with and without rules.
func TestSchemaAgain(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		e := newEvolution(3000 + seed)
		of := e.object(0)
		text, err := json.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		server := typed.Server{Name: "s", Tools: []typed.Tool{{Name: "t", Input: text}}}
		_, fd := newPlan(t, server, typed.Options{Hashed: true, Rules: seed%2 == 0})
		md := fd.Messages().ByName("TRequest")
		for _, profile := range []schema.Profile{schema.Portable, schema.Full} {
			for name, render := range map[string]func() (schema.Schema, error){
				"input": func() (schema.Schema, error) {
					return schema.Input(md, schema.Options{Profile: profile, MaxBytes: schema.MaxMaxBytes})
				},
				"output": func() (schema.Schema, error) {
					return schema.Output(md, schema.Options{Profile: profile, MaxBytes: schema.MaxMaxBytes})
				},
			} {
				again, err := render()
				if err != nil {
					t.Fatal(err)
				}
				validator := compileSchema(t, again.JSON)
				for range 5 {
					in, err := json.Marshal(e.members(of))
					if err != nil {
						t.Fatal(err)
					}
					v, err := jsonschema.UnmarshalJSON(bytes.NewReader(in))
					if err != nil {
						t.Fatal(err)
					}
					if err := validator.Validate(v); err != nil {
						t.Fatalf("%s, profile %v\nof    %s\nagain %s\n%s: %v", name, profile, text, again.JSON, in, err)
					}
				}
			}
		}
	}
}

// TestSchemaOfResponse tests that the schema of a response's type accepts results.
func TestSchemaOfResponse(t *testing.T) {
	t.Parallel()
	_, fd := newPlan(t, typed.Server{Name: "s", Tools: []typed.Tool{
		{Name: "t", Output: []byte(`{"type":"object","properties":{"sum":{"type":"integer"},"note":{"type":["string","null"]}},"required":["note"]}`)},
	}}, typed.Options{})
	for _, profile := range []schema.Profile{schema.Portable, schema.Full} {
		again, err := schema.Output(fd.Messages().ByName("TResponse"), schema.Options{Profile: profile, MaxBytes: schema.MaxMaxBytes})
		if err != nil {
			t.Fatal(err)
		}
		validator := compileSchema(t, again.JSON)
		for _, in := range []string{
			`{"content":[]}`,
			`{"structuredContent":{"sum":3,"note":null},"content":[{"type":"text","text":"3","annotations":{"audience":["user"],"priority":0.5}}],"_meta":{"a":[1]}}`,
			`{"structuredContent":[1],"content":[{"type":"image","data":"AAAA","mimeType":"image/png","x/y":null},{"type":"resource","resource":{"uri":"a:b","blob":"AAAA"}},{"type":"hologram","z":1}]}`,
			`{"structuredContent":null,"content":[{"type":"resource_link","uri":"a:b","name":"n","size":7,"icons":[{"src":"a:c","sizes":["any"],"theme":"dark"}]}]}`,
		} {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(in)))
			if err != nil {
				t.Fatal(err)
			}
			if err := validator.Validate(v); err != nil {
				t.Errorf("profile %v\n%s\n%s: %v", profile, again.JSON, in, err)
			}
		}
	}
}

func compileSchema(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return s
}
