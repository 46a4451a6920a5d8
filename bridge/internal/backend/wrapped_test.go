package backend_test

import (
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	_ "google.golang.org/protobuf/types/known/anypb"
	_ "google.golang.org/protobuf/types/known/apipb"
	_ "google.golang.org/protobuf/types/known/durationpb"
	_ "google.golang.org/protobuf/types/known/emptypb"
	_ "google.golang.org/protobuf/types/known/fieldmaskpb"
	_ "google.golang.org/protobuf/types/known/structpb"
	_ "google.golang.org/protobuf/types/known/timestamppb"
	_ "google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/schema"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

// What a type becomes and what a value becomes agree on which messages are no
// JSON objects and are wrapped in one.
func TestWrappedAgree(t *testing.T) {
	t.Parallel()
	wrapped := 0
	protoregistry.GlobalFiles.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		for i := range fd.Messages().Len() {
			md := fd.Messages().Get(i)
			if schema.Wrapped(md) != transcode.Wrapped(md) {
				t.Errorf("%s: schema says %t, transcode %t", md.FullName(), schema.Wrapped(md), transcode.Wrapped(md))
			}
			if schema.Wrapped(md) {
				wrapped++
			}
		}
		return true
	})
	if wrapped < 14 {
		t.Errorf("only %d messages are wrapped", wrapped)
	}
}
