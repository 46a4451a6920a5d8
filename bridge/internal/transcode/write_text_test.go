package transcode_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

func TestReadableBytes(t *testing.T) {
	t.Parallel()
	file := compile(t, `
syntax = "proto3";
package readable.v1;
import "google/protobuf/wrappers.proto";
message Range {
  repeated KeyValue kvs = 1;
  bytes raw = 2;
  repeated bytes list = 3;
  map<string, bytes> map = 4;
  google.protobuf.BytesValue wrapped = 5;
  string text = 6;
}
message KeyValue { bytes key = 1; bytes value = 2; int64 version = 3; }
`)
	var twenty []string
	for i := range transcode.MaxTexts {
		twenty = append(twenty, fmt.Sprintf(`list[%d]: "a"`, i))
	}
	codec := newCodec(t, file.Messages().ByName("Range"), transcode.Options{})
	for _, tt := range []struct {
		in   string
		want []string
	}{
		{`{}`, nil},
		{`{"raw":"AAEC"}`, nil},
		{`{"raw":"/w=="}`, nil},
		{`{"raw":"4pyTCg=="}`, []string{`raw: "✓\n"`}},
		{`{"kvs":[{"key":"Zm9v","value":"AAA="},{"key":"YmFy","value":"Zm9v","version":"1"}]}`, []string{`kvs[0].key: "foo"`, `kvs[1].key: "bar"`, `kvs[1].value: "foo"`}},
		{`{"list":["Zm9v","/w==","YmFy"],"map":{"a.b":"Zm9v"},"wrapped":"Zm9v","text":"Zm9v"}`, []string{`list[0]: "foo"`, `list[2]: "bar"`, `map["a.b"]: "foo"`, `wrapped: "foo"`}},
		{`{"raw":"` + strings.Repeat("YWFh", 100) + `"}`, []string{`raw: "` + strings.Repeat("a", 200) + `..."`}},
		{`{"raw":"` + strings.Repeat("YWFh", 10000) + `"}`, nil},
		{`{"list":["YQ=="` + strings.Repeat(`,"YQ=="`, 99) + `]}`, twenty},
	} {
		wire, err := codec.AppendWire(nil, []byte(tt.in))
		if err != nil {
			t.Fatal(err)
		}
		out, texts, warnings, err := codec.AppendReadable(nil, wire)
		plain, _, _ := codec.AppendJSON(nil, wire)
		if err != nil || len(warnings) > 0 || !slices.Equal(texts, tt.want) || string(out) != string(plain) {
			t.Errorf("%.80s: got %q, %v, want %q", tt.in, texts, err, tt.want)
		}
	}
}
