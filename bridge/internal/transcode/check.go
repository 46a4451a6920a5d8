package transcode

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// wellKnownFiles declare the types that [wellKnownOf] knows.
var wellKnownFiles = []protoreflect.FileDescriptor{
	anypb.File_google_protobuf_any_proto,
	durationpb.File_google_protobuf_duration_proto,
	fieldmaskpb.File_google_protobuf_field_mask_proto,
	structpb.File_google_protobuf_struct_proto,
	timestamppb.File_google_protobuf_timestamp_proto,
	wrapperspb.File_google_protobuf_wrappers_proto,
}

// faults says of md and all types that it refers to why they cannot be used.
// Descriptors come from peers, so nothing about them is taken for granted.
func faults(md protoreflect.MessageDescriptor) []string {
	var out []string
	seen := map[protoreflect.FullName]bool{}
	todo := []protoreflect.MessageDescriptor{md}
	for len(todo) > 0 {
		md := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[md.FullName()] {
			continue
		}
		seen[md.FullName()] = true
		if md.IsPlaceholder() {
			out = append(out, missing(md))
			continue
		}
		if options, ok := md.Options().(*descriptorpb.MessageOptions); ok && options.GetMessageSetWireFormat() {
			out = append(out, fmt.Sprintf("%s is a message set, which JSON has no form for", md.FullName()))
			continue
		}
		if wellKnownOf(md) != wktNone && !genuine(md) {
			out = append(out, fmt.Sprintf("%s is not the well-known type of that name", md.FullName()))
			continue
		}
		for i := range md.Fields().Len() {
			fd := md.Fields().Get(i)
			if sub := fd.Message(); sub != nil {
				todo = append(todo, sub)
			}
			if ed := fd.Enum(); ed != nil && ed.IsPlaceholder() && !seen[ed.FullName()] {
				seen[ed.FullName()] = true
				out = append(out, missing(ed))
			}
		}
	}
	slices.Sort(out)
	return out
}

func missing(d protoreflect.Descriptor) string {
	return fmt.Sprintf("no known file declares %s; add the one that does", d.FullName())
}

// genuine reports whether md has the fields of the well-known type of its
// name.
func genuine(md protoreflect.MessageDescriptor) bool {
	for _, file := range wellKnownFiles {
		if want := file.Messages().ByName(md.Name()); want != nil {
			return sameFields(md.Fields(), want.Fields())
		}
	}
	return false
}

func sameFields(a, b protoreflect.FieldDescriptors) bool {
	for i := range b.Len() {
		want := b.Get(i)
		got := a.ByNumber(want.Number())
		if got == nil || got.Kind() != want.Kind() || got.IsList() != want.IsList() || got.IsMap() != want.IsMap() ||
			!sameOneof(got.ContainingOneof(), want.ContainingOneof()) {
			return false
		}
		if md := want.Message(); md != nil {
			if want.IsMap() {
				if !sameFields(got.Message().Fields(), md.Fields()) {
					return false
				}
			} else if got.Message().FullName() != md.FullName() {
				return false
			}
		}
	}
	return a.Len() == b.Len()
}

func sameOneof(a, b protoreflect.OneofDescriptor) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Name() == b.Name()
}
