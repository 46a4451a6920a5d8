package bridge_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
)

// A Source that wraps another sees its files and may change them.
func TestWrappedSource(t *testing.T) {
	t.Parallel()
	caller := dial(t, dynbackend.Start(t, map[string]string{"ping.proto": pingProto}, nil))
	wrapped := bridge.SourceFunc(func(ctx context.Context) (*bridge.Descriptors, error) {
		loaded, err := bridge.Reflection(caller).Load(ctx)
		if err != nil {
			return nil, err
		}
		files := loaded.Files()
		for _, file := range files.GetFile() {
			for _, service := range file.GetService() {
				service.Method = slices.DeleteFunc(service.GetMethod(), func(m *descriptorpb.MethodDescriptorProto) bool { return m.GetName() == "Slow" })
			}
		}
		changed, err := bridge.NewDescriptors(files, loaded.Services()...)
		if err != nil {
			return nil, err
		}
		return changed.WithWarnings("Slow is left out"), nil
	})
	b, err := bridge.New(t.Context(), []bridge.Upstream{{Caller: caller, Descriptors: wrapped}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if tools := b.Tools(); len(tools) != 1 || tools[0].Name != "Ping_Echo" || !slices.Equal(b.Warnings(), []string{"Slow is left out"}) {
		t.Errorf("tools %+v, warnings %q", tools, b.Warnings())
	}
}

// Sources with faults are errors of New.
func TestSourceFaults(t *testing.T) {
	t.Parallel()
	caller := rpc.CallerFunc(func(context.Context, *rpc.Call, func([]byte) error) (*rpc.Trailer, error) { return nil, nil })
	for _, tt := range []struct {
		name, want string
		load       bridge.SourceFunc
	}{
		{"nothing", "the source of descriptors returned none", func(context.Context) (*bridge.Descriptors, error) { return nil, nil }},
		{"zero", "the source of descriptors returned none", func(context.Context) (*bridge.Descriptors, error) { return &bridge.Descriptors{}, nil }},
		{"empty", "it defines no service", func(context.Context) (*bridge.Descriptors, error) {
			return bridge.NewDescriptors(&descriptorpb.FileDescriptorSet{})
		}},
		{"another service", "there is no service a.B in the descriptors", func(context.Context) (*bridge.Descriptors, error) {
			return bridge.NewDescriptors(&descriptorpb.FileDescriptorSet{}, "a.B")
		}},
	} {
		if _, err := bridge.New(t.Context(), []bridge.Upstream{{Caller: caller, Descriptors: tt.load}}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}
