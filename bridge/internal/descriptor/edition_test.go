package descriptor_test

import (
	"testing"

	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
)

// Descriptors of every edition are linked, though sources of the newest one
// cannot be compiled here.
func TestEditions(t *testing.T) {
	t.Parallel()
	for _, edition := range []descriptorpb.Edition{descriptorpb.Edition_EDITION_2023, descriptorpb.Edition_EDITION_2024} {
		fd := using(file("a.proto", "a", "A"), ".a.A")
		fd.Syntax, fd.Edition = new("editions"), edition.Enum()
		set, err := descriptor.FromFileDescriptorSet(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{fd}}).Load(t.Context())
		if err != nil || len(set.Services()) != 1 {
			t.Errorf("%v: %v, %v", edition, set, err)
		}
	}
}
