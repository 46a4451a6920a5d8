package bridge_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const conventionsProto = `
syntax = "proto3";
package acme.v1;
import "google/protobuf/duration.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/timestamp.proto";
message Item { string name = 1; int64 size = 2; google.protobuf.Timestamp made = 3; google.protobuf.Duration life = 4; bytes data = 5; Item parent = 6; }
message ListRequest { int32 page_size = 1; string page_token = 2; }
message ListResponse { repeated Item items = 1; string next_page_token = 2; }
message UpdateRequest { Item item = 1; google.protobuf.FieldMask update_mask = 2; }
message Nothing {}
service Items {
  rpc List(ListRequest) returns (ListResponse);
  rpc Update(UpdateRequest) returns (Nothing);
  rpc Watch(ListRequest) returns (stream Item);
}
service Other { rpc Rest(Nothing) returns (Nothing); }
`

// instructionsOf returns what a server tells a model.
func instructionsOf(t *testing.T, h protocol.Handler) string {
	t.Helper()
	res, err := h.Handle(t.Context(), request(protocol.MethodDiscover, `{}`), protocol.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var body struct{ Instructions string }
	if err := json.Unmarshal(res.Body, &body); err != nil {
		t.Fatal(err)
	}
	return body.Instructions
}

// TestInstructions: the conventions that hold for all tools are said once, those that
// some tool needs, and on no tool.
func TestInstructions(t *testing.T) {
	t.Parallel()
	url := dynbackend.Start(t, map[string]string{"acme.proto": conventionsProto}, nil)
	want := `The tools are the methods of these services.
- acme.v1.Items
- acme.v1.Other

These conventions hold for all tools:
- A result leaves out fields that are unset or empty.
- Integers of 64 bits are strings of digits, such as "9007199254740993".
- Times are RFC 3339 with a time zone, such as "2026-01-31T12:00:00Z".
- Durations are seconds with the suffix s, such as "1.5s".
- Bytes are base64 unless a field says otherwise.
- A field mask lists the fields to read or change, by paths in lowerCamelCase: "title,author.name". What it does not name stays as it is.
- Lists come in pages: for the next one, call again with the nextPageToken of the result as pageToken and all else unchanged, until it is empty or absent.
- Results of streams list the messages that came. "complete": false says that there may be more; _limits asks for more or fewer.`
	b := start(t, url)
	if got := instructionsOf(t, b); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	for _, tool := range b.Tools() {
		for _, once := range []string{"leaves out", "RFC 3339", "64"} {
			if text := tool.Description + string(tool.InputSchema) + string(tool.OutputSchema); strings.Contains(strings.ReplaceAll(text, "base64", ""), once) {
				t.Errorf("%s says %q itself: %s", tool.Name, once, text)
			}
		}
	}
	if got, want := instructionsOf(t, start(t, url, bridge.WithInstructions("Rest."))), "Rest.\n\n"+want; got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
