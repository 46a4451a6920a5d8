// Package customoption reads custom options from descriptors.
package customoption

import (
	"fmt"
	"iter"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Read reads the option of d with the number into a message. The file that
// declares the option is known by how its path ends: files that do not import
// it are spared the encoding of their options. It leaves the message empty where
// there is no such option, and where there is one of another type, which is an
// error.
//
// An option is a known extension in a linked-in file, a dynamic one in a
// compiled file and an unknown field in a file that came by reflection; encoded,
// the three are the same.
func Read(d protoreflect.Descriptor, declaredIn string, number protowire.Number, into proto.Message) error {
	opts := d.Options()
	if opts == nil || !opts.ProtoReflect().IsValid() || !Imports(d.ParentFile(), declaredIn) {
		return nil
	}
	encoded, err := proto.MarshalOptions{AllowPartial: true}.Marshal(opts)
	if err != nil {
		return nil //nolint:nilerr // options that cannot be encoded are none
	}
	var value []byte
	for num, part := range Fields(encoded) {
		if num == number {
			value = append(value, part...) // several are merged
		}
	}
	if value == nil {
		return nil
	}
	if err := proto.Unmarshal(value, into); err != nil {
		proto.Reset(into)
		return fmt.Errorf("%s: its option %d is no %s", d.FullName(), number, into.ProtoReflect().Descriptor().FullName())
	}
	return nil
}

// Imports reports whether a file imports one whose path ends in suffix.
func Imports(file protoreflect.FileDescriptor, suffix string) bool {
	if file == nil {
		return false
	}
	for i := range file.Imports().Len() {
		if strings.HasSuffix(file.Imports().Get(i).Path(), suffix) {
			return true
		}
	}
	return false
}

// Fields iterates over the length-delimited fields of an encoded message, up
// to the first malformed one.
func Fields(b []byte) iter.Seq2[protowire.Number, []byte] {
	return func(yield func(protowire.Number, []byte) bool) {
		for len(b) > 0 {
			num, typ, n := protowire.ConsumeTag(b)
			if n < 0 {
				return
			}
			b = b[n:]
			size := protowire.ConsumeFieldValue(num, typ, b)
			if size < 0 {
				return
			}
			if typ == protowire.BytesType {
				if value, n := protowire.ConsumeBytes(b); n < 0 || !yield(num, value) {
					return
				}
			}
			b = b[size:]
		}
	}
}
