package bridge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Comments from a file are in the tools of an API that has none by reflection, and
// schemas of results are left out on request.
func TestComments(t *testing.T) {
	t.Parallel()
	const source = `syntax = "proto3";
package kept.v1;
service Keeper {
  // Keeps a thing.
  rpc Keep(Thing) returns (Thing);
}
message Thing {
  // What it is called.
  string name = 1;
}
`
	plain := strings.NewReplacer("  // Keeps a thing.\n", "", "  // What it is called.\n", "").Replace(source)
	backend := dynbackend.Start(t, map[string]string{"keeper.proto": plain}, nil)
	path := filepath.Join(t.TempDir(), "keeper.proto")
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	caller := dial(t, backend)
	list := func(upstream bridge.Upstream, opts ...bridge.Option) string {
		t.Helper()
		b, err := bridge.New(t.Context(), []bridge.Upstream{upstream}, opts...)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		res, err := b.Handle(t.Context(), request(protocol.MethodListTools, `{}`), protocol.Discard)
		if err != nil {
			t.Fatal(err)
		}
		return string(res.Body)
	}
	without := list(bridge.Upstream{Caller: caller})
	with := list(bridge.Upstream{Caller: caller, Descriptors: bridge.Commented(bridge.Reflection(caller), path)}, bridge.WithoutOutputSchemas())
	for _, tt := range []struct {
		text          string
		without, with bool
	}{
		{`"description":"Keeps a thing.`, false, true}, {`"description":"What it is called."`, false, true},
		{`Calls kept.v1.Keeper/Keep.`, true, false}, {`"outputSchema"`, true, false}, {`"inputSchema"`, true, true},
	} {
		if got := strings.Contains(without, tt.text); got != tt.without {
			t.Errorf("without: %s is there: %t\n%s", tt.text, got, without)
		}
		if got := strings.Contains(with, tt.text); got != tt.with {
			t.Errorf("with: %s is there: %t\n%s", tt.text, got, with)
		}
	}
	if err := bridge.CheckComments(path); err != nil {
		t.Error(err)
	}
	if err := bridge.CheckComments(path + "x"); err == nil {
		t.Error("a missing file is no error")
	}
}
