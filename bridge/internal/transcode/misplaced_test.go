package transcode_test

import (
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

func TestMisplacedMembers(t *testing.T) {
	t.Parallel()
	file := compile(t, `
syntax = "proto3";
package misplaced.v1;
import "google/protobuf/any.proto";
import "google/protobuf/struct.proto";
message CheckRequest {
  string store_id = 1;
  TupleKey tuple_key = 2;
  Options options = 3;
  repeated TupleKey contextual = 4;
  map<string, Options> named = 5;
  google.protobuf.Any any = 6;
  google.protobuf.Struct struct = 7;
  oneof choice { Options first = 8; Deep deep = 9; }
}
message TupleKey { string user = 1; string relation = 2; }
message Options { bool trace = 1; Deep deep = 2; Options again = 3; }
message Deep { Deeper deeper = 1; }
message Deeper { int32 bottom = 1; }
`)
	codec := newCodec(t, file.Messages().ByName("CheckRequest"), transcode.Options{})
	for text, want := range map[string]string{
		`{"user":"u"}`:                                 `user: unknown field here; it belongs in tupleKey or contextual[]`,
		`{"bottom":1}`:                                 `bottom: unknown field here; it belongs in deep.deeper`,
		`{"tuple_key":{"store_id":"s"}}`:               `tuple_key.store_id: unknown field here; it belongs at the top, not in tuple_key`,
		`{"options":{"deep":{"trace":true}}}`:          `options.deep.trace: unknown field here; it belongs in options`,
		`{"options":{"user":"u"}}`:                     `options.user: unknown field here; it belongs in tupleKey or contextual[]`,
		`{"named":{"k":{"deep":{"trace":true}}}}`:      `named["k"].deep.trace: unknown field here; it belongs in named["k"]`,
		`{"contextual":[{},{"trace":true}]}`:           `contextual[1].trace: unknown field here; it belongs in options or first`,
		`{"choice":{"first":{"trace":true},"user":1}}`: `choice.user: unknown field; want one of first, deep`,
		`{"any":{"@type":"x/misplaced.v1.Nothing","a":1}}`: `any: unknown type in "@type"; want the full name of a message type that the service uses, after the last slash, ` +
			`got the string "x/misplaced.v1.Nothing"`,
		`{"nowhere":1}`: `nowhere: unknown field; want one of storeId, tupleKey, options, contextual, named, any, struct, first, deep`,
		`{"usr":"u"}`:   `usr: unknown field; want one of storeId, tupleKey, options, contextual, named, any, struct, first, deep`,
	} {
		_, err := codec.AppendWire(nil, []byte(text))
		checkFault(t, err, want)
	}
}
