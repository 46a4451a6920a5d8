// Package customoption reads custom options from descriptors.
package customoption

import (
	"fmt"
	"iter"
	"strings"
	"sync"

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
	var value []byte
	Each(d, func(f Field) {
		if f.Number == number && f.Type == protowire.BytesType {
			value = append(value, f.Bytes...) // several are merged
		}
	})
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

// Field is one field of an encoded message.
type Field struct {
	Number protowire.Number
	Type   protowire.Type
	// Value is that of a varint or a field of fixed size.
	Value uint64
	// Bytes is the content of a length-delimited field.
	Bytes []byte
}

// encodings are buffers for encoded options.
var encodings = sync.Pool{New: func() any { return new([]byte) }}

// maxKept is the size of a buffer that is kept for the next options.
const maxKept = 1 << 20

// Each calls f for the fields of the encoded options of d, as [Fields] yields
// them. What f is given is valid during the call only. Options that cannot be
// encoded count as none.
func Each(d protoreflect.Descriptor, f func(Field)) { EachOf(d.Options(), f) }

// EachOf is [Each] for options by themselves, which may be nil.
func EachOf(opts proto.Message, f func(Field)) {
	if opts == nil || !opts.ProtoReflect().IsValid() {
		return
	}
	buf, ok := encodings.Get().(*[]byte)
	if !ok {
		return // the pool holds nothing else
	}
	b, err := proto.MarshalOptions{AllowPartial: true}.MarshalAppend((*buf)[:0], opts)
	if err == nil {
		for field := range Fields(b) {
			f(field)
		}
	}
	if cap(b) <= maxKept {
		*buf = b
		encodings.Put(buf)
	}
}

// Fields iterates over the fields of an encoded message, up to the first
// malformed one.
func Fields(b []byte) iter.Seq[Field] {
	return func(yield func(Field) bool) {
		for len(b) > 0 {
			var f Field
			var n int
			if f.Number, f.Type, n = protowire.ConsumeTag(b); n < 0 {
				return
			}
			b = b[n:]
			switch f.Type {
			case protowire.VarintType:
				f.Value, n = protowire.ConsumeVarint(b)
			case protowire.BytesType:
				f.Bytes, n = protowire.ConsumeBytes(b)
			case protowire.Fixed32Type:
				var w uint32
				w, n = protowire.ConsumeFixed32(b)
				f.Value = uint64(w)
			case protowire.Fixed64Type:
				f.Value, n = protowire.ConsumeFixed64(b)
			default:
				n = protowire.ConsumeFieldValue(f.Number, f.Type, b)
			}
			if n < 0 || !yield(f) {
				return
			}
			b = b[n:]
		}
	}
}
