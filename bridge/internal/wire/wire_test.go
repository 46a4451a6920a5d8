package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

func TestEachBytes(t *testing.T) {
	t.Parallel()
	var b []byte
	b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), "one")
	b = protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), 300)
	b = protowire.AppendFixed64(protowire.AppendTag(b, 3, protowire.Fixed64Type), 3)
	b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), "")
	var got []string
	if err := EachBytes(b, func(num protowire.Number, value []byte) error {
		got = append(got, fmt.Sprintf("%d=%s", num, value))
		return nil
	}); err != nil || strings.Join(got, " ") != "1=one 1=" {
		t.Errorf("%q, %v", got, err)
	}
	stop := errors.New("stop")
	if err := EachBytes(b, func(protowire.Number, []byte) error { return stop }); err != stop { //nolint:errorlint // the very error
		t.Errorf("error %v", err)
	}
	for _, bad := range []string{"\x0a", "\x0a\x05x", "\x10", "\xff", "\x07"} {
		err := EachBytes([]byte(bad), func(protowire.Number, []byte) error { return nil })
		if err == nil || !strings.HasPrefix(err.Error(), "no protobuf message: ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
