package header_test

import (
	"net/http"
	"reflect"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/header"
)

func TestEncodeDecode(t *testing.T) {
	t.Parallel()
	src := http.Header{
		"X-Text":       {"a", "b, c"},
		"X-Raw-Bin":    {"\x00\xff", "", "plain"},
		"Content-Type": {"text/html"},
		"Te":           {"no"},
		"Grpc-Status":  {"0"},
	}
	wire := http.Header{}
	header.Encode(wire, src)
	if want := (http.Header{"X-Text": {"a", "b, c"}, "X-Raw-Bin": {"AP8", "", "cGxhaW4"}}); !reflect.DeepEqual(wire, want) {
		t.Errorf("Encode = %v, want %v", wire, want)
	}
	if got, want := header.Decode(wire), (http.Header{"X-Text": {"a", "b, c"}, "X-Raw-Bin": {"\x00\xff", "", "plain"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("Decode = %q, want %q", got, want)
	}
	joined := http.Header{"a-bin": {"AP8=, AP8", "not base64!"}}
	if got, want := header.Decode(joined), (http.Header{"A-Bin": {"\x00\xff", "\x00\xff", "not base64!"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("Decode = %q, want %q", got, want)
	}
	if got := header.Decode(http.Header{"Content-Type": {"x"}}); got != nil {
		t.Errorf("Decode of nothing = %v, want nil", got)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	if err := header.Check(http.Header{"X-A_b.1": {" ~"}, "A-Bin": {"\x00"}}); err != nil {
		t.Error(err)
	}
	err := header.Check(http.Header{"X A": {"v"}, "X-B": {"ok", "se\ncret"}, "X-C": {"é"}, "": {"x"}})
	const want = `metadata key "": only letters, digits, '-', '_' and '.' are possible
metadata key "X A": only letters, digits, '-', '_' and '.' are possible
metadata value 1 of key "X-C": byte 0xc3 at 0 is not printable ASCII; use a key that ends in "-Bin" for other bytes
metadata value 2 of key "X-B": byte 0x0a at 2 is not printable ASCII; use a key that ends in "-Bin" for other bytes`
	if err == nil || err.Error() != want {
		t.Errorf("error:\n%v\nwant:\n%s", err, want)
	}
}
