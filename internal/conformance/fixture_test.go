package conformance

import (
	"context"
	_ "embed"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
)

//go:embed testdata/fixture.proto
var fixtureProto string

//go:embed testdata/extra.proto
var extraProto string

// startFixture serves a gRPC backend whose methods become the tools that the
// suite calls. onChange is called after its API has changed.
func startFixture(t *testing.T, onChange func()) *dynbackend.Backend {
	t.Helper()
	answer := func(_ context.Context, _, response *dynamicpb.Message) error {
		response.Set(response.Descriptor().Fields().ByName("text"), protoreflect.ValueOfString("This is a simple text response for testing."))
		return nil
	}
	slow := func(ctx context.Context, request, response *dynamicpb.Message) error {
		// Slowness is what the suite wants to see.
		timer := time.NewTimer(150 * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
			return answer(ctx, request, response)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	var (
		backend *dynbackend.Backend
		changes atomic.Int32
	)
	methods := map[string]dynbackend.Method{
		"simple_text":           answer,
		"logging_tool":          answer,
		"reconnection":          slow,
		"streaming_elicitation": slow,
		"error_handling": func(context.Context, *dynamicpb.Message, *dynamicpb.Message) error {
			return status.Error(codes.FailedPrecondition, "This tool intentionally returns an error for testing")
		},
	}
	files := map[string]string{"fixture.proto": fixtureProto}
	methods["trigger_tool_change"] = func(ctx context.Context, request, response *dynamicpb.Message) error {
		changed := map[string]string{"fixture.proto": fixtureProto}
		if changes.Add(1)%2 == 1 {
			changed["extra.proto"] = extraProto
		}
		backend.Change(t, changed, methods)
		onChange()
		return answer(ctx, request, response)
	}
	backend = dynbackend.Start(t, files, methods)
	return backend
}
