package transcode

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// mender replaces bytes that are not UTF-8 in the strings of a wire message.
// Peers send such strings, and protobuf refuses the whole message for one.
type mender struct {
	resolver Resolver
	// maxDepth bounds how deep messages may be nested, and with that the
	// work, as every level is copied.
	maxDepth int
	// fields are the full names of those that were mended, without
	// repetition.
	fields []string
}

// message appends the mended form of wire, and reports false where wire is
// malformed.
func (d *mender) message(dst, wire []byte, md protoreflect.MessageDescriptor, depth int) ([]byte, bool) {
	if depth > d.maxDepth {
		return dst, false
	}
	for len(wire) > 0 {
		number, typ, n := protowire.ConsumeTag(wire)
		if n < 0 {
			return dst, false
		}
		size := protowire.ConsumeFieldValue(number, typ, wire[n:])
		if size < 0 {
			return dst, false
		}
		tag, value := wire[:n], wire[n:n+size]
		wire = wire[n+size:]
		fd := d.field(md, number)
		switch {
		case fd == nil, typ != protowire.BytesType && typ != protowire.StartGroupType:
			dst = append(append(dst, tag...), value...)
		case typ == protowire.StartGroupType && fd.Kind() == protoreflect.GroupKind:
			contents, m := protowire.ConsumeGroup(number, value)
			if m < 0 {
				return dst, false
			}
			inner, ok := d.message(nil, contents, fd.Message(), depth+1)
			if !ok {
				return dst, false
			}
			dst = append(append(dst, tag...), inner...)
			dst = protowire.AppendTag(dst, number, protowire.EndGroupType)
		case typ == protowire.BytesType && fd.Kind() == protoreflect.MessageKind:
			contents, _ := protowire.ConsumeBytes(value)
			inner, ok := d.message(nil, contents, fd.Message(), depth+1)
			if !ok {
				return dst, false
			}
			dst = protowire.AppendBytes(append(dst, tag...), inner)
		case typ == protowire.BytesType && fd.Kind() == protoreflect.StringKind:
			contents, _ := protowire.ConsumeBytes(value)
			s := strings.ToValidUTF8(string(contents), "\uFFFD")
			if name := string(fd.FullName()); s != string(contents) && !slices.Contains(d.fields, name) {
				d.fields = append(d.fields, name)
			}
			dst = protowire.AppendString(append(dst, tag...), s)
		default:
			dst = append(append(dst, tag...), value...)
		}
	}
	return dst, true
}

func (d *mender) field(md protoreflect.MessageDescriptor, number protoreflect.FieldNumber) protoreflect.FieldDescriptor {
	if fd := md.Fields().ByNumber(number); fd != nil {
		return fd
	}
	if !md.ExtensionRanges().Has(number) {
		return nil
	}
	typ, err := d.resolver.FindExtensionByNumber(md.FullName(), number)
	if err != nil {
		return nil
	}
	return typ.TypeDescriptor()
}
