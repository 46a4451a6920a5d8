package validate_test

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/grpcgo"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/validate"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
)

const service = `
service Books {
  rpc Get(GetRequest) returns (Book);
  rpc Put(Predefined) returns (Predefined);
  rpc Plan(Cel) returns (Cel);
  rpc Talk(Plain) returns (Plain);
}
`

// A backend's rules come by reflection, and with them those that the backend
// has defined itself.
func TestReflection(t *testing.T) {
	t.Parallel()
	called := make(chan string, 10)
	echo := func(_ context.Context, request, _ *dynamicpb.Message) error {
		called <- string(request.Descriptor().Name())
		return nil
	}
	backend := dynbackend.Start(t, map[string]string{"t.proto": header + rules + service},
		map[string]dynbackend.Method{"Get": echo, "Put": echo, "Plan": echo, "Talk": echo})
	caller, err := grpcgo.Dial("grpc://" + backend.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := caller.Close(); err != nil {
			t.Error(err)
		}
	})
	set, err := descriptor.Reflection(caller).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var w warnings
	v := validate.New(validate.Options{Resolver: set.Types(), Warn: w.warn})
	methods := set.Services()[0].Methods()
	for _, tt := range []struct{ method, arguments, want string }{
		{"Get", `{"theBook":{"displayName":"Dune"}}`, ""},
		{"Get", `{"theBook":{"displayName":"Dune","authors":[{}]}}`, "theBook.authors[0].fullName: value is required"},
		{"Put", `{"code":"A","dozens":12}`, ""},
		{"Put", `{"code":"a","dozens":13}`, "- code: must be upper case, got \"a\"\n- dozens: must be a multiple of 12, got 13"},
		{"Plan", `{"startDay":1,"book":{"displayName":"Dune","pageCount":3}}`, "invalid arguments: start_day must not be after end_day"},
		{"Talk", `{"text":"x"}`, ""},
	} {
		for i := range methods.Len() {
			method := methods.Get(i)
			if string(method.Name()) != tt.method {
				continue
			}
			codec, err := transcode.New(method.Input(), set.Types(), transcode.Options{})
			if err != nil {
				t.Fatal(err)
			}
			wire, err := codec.AppendWire(nil, []byte(tt.arguments))
			if err != nil {
				t.Fatal(err)
			}
			err = v.For(method.Input()).Check(wire)
			if tt.want != "" {
				if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
					t.Errorf("%s %s: got %v, want %s", tt.method, tt.arguments, err, tt.want)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s %s: %v", tt.method, tt.arguments, err)
			}
			_, err = caller.Call(t.Context(), &rpc.Call{Procedure: "/t.v1.Books/" + tt.method, Requests: [][]byte{wire}}, func([]byte) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			if got := <-called; got != string(method.Input().Name()) {
				t.Errorf("%s got a %s", tt.method, got)
			}
		}
	}
	if got := w.texts(); got != nil {
		t.Errorf("warnings %q", got)
	}
}
