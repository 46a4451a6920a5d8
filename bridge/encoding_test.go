package bridge_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// storeProto is an API whose keys and values are bytes.
const storeProto = `
syntax = "proto3";
package store.v1;
import "buf/validate/validate.proto";
import "google/protobuf/wrappers.proto";
import "mcp/options/v1/options.proto";
service Store {
  rpc Put(Entry) returns (Entry);
  rpc Get(Entry) returns (Entry) {
    option (mcp.options.v1.method).resource = {uri_template: "store://{key}" content_field: "value"};
  }
  rpc Sum(Entry) returns (Entry) {
    option (mcp.options.v1.method).resource = {uri_template: "sum://{key}" content_field: "digest"};
  }
}
message Entry {
  bytes key = 1;
  bytes value = 2 [(buf.validate.field).bytes.max_len = 30];
  bytes digest = 3 [(mcp.options.v1.field).encoding = ENCODING_HEX];
  repeated bytes parts = 4;
  map<string, bytes> labels = 5 [(mcp.options.v1.field).encoding = ENCODING_UTF8];
  google.protobuf.BytesValue etag = 6;
  int32 ttl = 7 [(mcp.options.v1.field).encoding = ENCODING_HEX];
}
`

func startStore(t *testing.T) *dynbackend.Backend {
	t.Helper()
	echo := func(_ context.Context, request, response *dynamicpb.Message) error {
		proto.Merge(response, request)
		return nil
	}
	value := func(b string, digest string) dynbackend.Method {
		return func(_ context.Context, request, response *dynamicpb.Message) error {
			fields := response.Descriptor().Fields()
			proto.Merge(response, request)
			response.Set(fields.ByName("value"), protoreflect.ValueOfBytes([]byte(b)))
			response.Set(fields.ByName("digest"), protoreflect.ValueOfBytes([]byte(digest)))
			return nil
		}
	}
	return dynbackend.Start(t, map[string]string{"store.proto": storeProto}, map[string]dynbackend.Method{
		"Put": echo, "Get": value("\xff\xfe", ""), "Sum": value("text", "\x00\xff"),
	})
}

// TestEncodingOfBytes: an author, an operator by globs, and the whole upstream
// say how bytes stand in arguments, results and schemas.
func TestEncodingOfBytes(t *testing.T) {
	t.Parallel()
	backend := startStore(t)
	for _, tt := range []struct {
		name      string
		opts      []bridge.Option
		arguments string
		want      string // the result, or a part of the error
		schema    []string
	}{
		{
			name:      "as the author says",
			arguments: `{"key":"a2V5","value":"aGVsbG8=","digest":"00ff","parts":["AQ=="],"labels":{"a":"b"},"etag":"AQ=="}`,
			want:      `{"key":"a2V5","value":"aGVsbG8=","digest":"00ff","parts":["AQ=="],"labels":{"a":"b"},"etag":"AQ=="}`,
			schema: []string{
				`"key":{"type":"string","description":"Bytes in base64, such as aGVsbG8= for the text hello.","contentEncoding":"base64"}`,
				`"value":{"type":"string","description":"Bytes in base64, such as aGVsbG8= for the text hello. At most 30 bytes.","contentEncoding":"base64","maxLength":40}`,
				`"digest":{"type":"string","description":"Bytes in hexadecimal, such as 68656c6c6f for the text hello.","contentEncoding":"base16"}`,
				`"labels":{"type":"object","additionalProperties":{"type":"string","description":"Text, or base64: and base64 for bytes that are not text."}}`,
			},
		},
		{
			name:      "text for the whole upstream",
			opts:      []bridge.Option{bridge.WithBytes(bridge.UTF8Bytes)},
			arguments: `{"key":"user/1","value":"hello","digest":"00FF","parts":["a","base64:/w=="],"labels":{"a":"b"},"etag":"x"}`,
			want:      `{"key":"user/1","value":"hello","digest":"00ff","parts":["a","base64:/w=="],"labels":{"a":"b"},"etag":"x"}`,
			schema: []string{
				`"value":{"type":"string","description":"Text, or base64: and base64 for bytes that are not text. At most 30 bytes.","maxLength":47}`,
				`"parts":{"type":"array","items":{"type":"string","description":"Text, or base64: and base64 for bytes that are not text."}}`,
				`"etag":{"type":"string","description":"Text, or base64: and base64 for bytes that are not text. May be null."}`,
			},
		},
		{
			name: "by globs",
			opts: []bridge.Option{bridge.WithBytes(bridge.HexBytes), bridge.WithOptions([]byte(`
fields:
  store.v1.*: {encoding: UTF8}
  store.*: {encoding: HEX}
  store.v1.Entry.digest: {encoding: BASE64}
`))},
			arguments: `{"key":"user/1","value":"hello","digest":"AQ==","parts":["a"],"labels":{"a":"b"},"etag":"6c"}`,
			want:      `{"key":"user/1","value":"hello","digest":"AQ==","parts":["a"],"labels":{"a":"b"},"etag":"6c"}`,
			schema:    []string{`"digest":{"type":"string","description":"Bytes in base64, such as aGVsbG8= for the text hello.","contentEncoding":"base64"}`},
		},
		{
			name:      "rules count bytes",
			opts:      []bridge.Option{bridge.WithBytes(bridge.UTF8Bytes)},
			arguments: `{"value":"` + strings.Repeat("ü", 16) + `"}`,
			want:      "value: ",
		},
		{
			name:      "text where bytes are expected",
			arguments: `{"key":"user","value":"hello"}`,
			want: "- key: this is base64, but perhaps only by chance; want \"dXNlcg==\" if it is meant as text, or the same again if it is meant as bytes, got the string \"user\"\n" +
				"- value: not base64; want bytes in base64: for this text, send \"aGVsbG8=\", got the string \"hello\"",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, backend, append(tt.opts, bridge.WithOutput(bridge.CanonicalOutput))...)
			res, err := call(t.Context(), t, b, "Store_Put", tt.arguments)
			if err != nil {
				t.Fatal(err)
			}
			if res.IsError {
				if !strings.Contains(res.Content[0].Text, tt.want) {
					t.Errorf("%s, want %s", res.Content[0].Text, tt.want)
				}
			} else if string(res.StructuredContent) != tt.want {
				t.Errorf("got  %s\nwant %s", res.StructuredContent, tt.want)
			}
			input := string(listTools(t, b)["Store_Put"].InputSchema)
			for _, part := range tt.schema {
				if !strings.Contains(input, part) {
					t.Errorf("the schema lacks %s: %s", part, input)
				}
			}
			if warnings := strings.Join(b.Warnings(), "\n"); !strings.Contains(warnings, "store.v1.Entry.ttl: an encoding is for fields of bytes") {
				t.Errorf("warnings %q", warnings)
			}
		})
	}
}

// TestEncodedResources: bytes that are text are a text, others a blob.
func TestEncodedResources(t *testing.T) {
	t.Parallel()
	backend := startStore(t)
	for _, tt := range []struct {
		encoding  bridge.Encoding
		uri, want string
	}{
		{bridge.Base64Bytes, "store://a2V5", `"blob":"//4="`},
		{bridge.UTF8Bytes, "store://key", `"blob":"//4="`},
		{bridge.UTF8Bytes, "sum://key", `"blob":"AP8="`}, // which the author has in hexadecimal
		{bridge.HexBytes, "store://00", `"blob":"//4="`},
	} {
		b := start(t, backend, bridge.WithBytes(tt.encoding))
		params, err := json.Marshal(map[string]string{"uri": tt.uri})
		if err != nil {
			t.Fatal(err)
		}
		res, err := b.Handle(t.Context(), request(protocol.MethodReadResource, string(params)), protocol.Discard)
		if err != nil || !strings.Contains(string(res.Body), tt.want) {
			t.Errorf("%s: %+v, %v, want %s", tt.uri, res, err, tt.want)
		}
	}
	b := start(t, backend, bridge.WithBytes(bridge.UTF8Bytes), bridge.WithOptions([]byte(
		`methods: {store.v1.Store.Sum: {resource: {content_field: value, uri_template: "text://{key}"}}}`)))
	res, err := b.Handle(t.Context(), request(protocol.MethodReadResource, `{"uri":"text://key"}`), protocol.Discard)
	if err != nil || !strings.Contains(string(res.Body), `"text":"text"`) {
		t.Errorf("%s, %v", res.Body, err)
	}
}

// TestFaultsOfEncodings: what makes no sense in a file of options is an error.
func TestFaultsOfEncodings(t *testing.T) {
	t.Parallel()
	backend := startStore(t)
	for yaml, want := range map[string]string{
		"fields: {store.v1.Entry.ttl: {encoding: HEX}}":      "the field store.v1.Entry.ttl: an encoding is for fields of bytes",
		"fields: {store.v1.Entry.etag: {encoding: HEX}}":     "the field store.v1.Entry.etag: an encoding is for fields of bytes",
		"fields: {store.v2.*: {encoding: HEX}}":              "no field matches store.v2.*",
		`methods: {"store.v1.Store.P?t?": {title: x}}`:       "no method matches store.v1.Store.P?t?",
		`services: {"store.v?.Store?": {hide: true}}`:        "no service matches store.v?.Store?",
		"fields: {store.v1.Entry.key: {encoding: BASE65}}":   "BASE65",
		"methods: {store.v1.*: {timeout: -1s, title: same}}": "the timeout must be",
	} {
		_, err := bridge.New(t.Context(), []bridge.Upstream{{Caller: dial(t, backend)}}, bridge.WithOptions([]byte(yaml)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", yaml, err, want)
		}
	}
	if _, err := bridge.New(t.Context(), []bridge.Upstream{{Caller: dial(t, backend)}}, bridge.WithBytes(7)); err == nil || !strings.Contains(err.Error(), "there is no encoding 7") {
		t.Error(err)
	}
}
