package transcode_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

func guard(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", errPanic, p)
	}
}

// parse is proto.Unmarshal.
func parse(resolver transcode.Resolver, wire []byte, m proto.Message) (err error) {
	defer guard(&err)
	return proto.UnmarshalOptions{AllowPartial: true, Resolver: resolver}.Unmarshal(wire, m)
}

// format is protojson's Marshal without white space.
func format(resolver transcode.Resolver, m proto.Message, opts transcode.Options) (out []byte, err error) {
	defer guard(&err)
	out, err = protojson.MarshalOptions{Resolver: resolver, AllowPartial: true, EmitDefaultValues: opts.Output == transcode.All}.Marshal(m)
	return jsontok.AppendCompact(nil, out), err
}

// agree holds AppendJSON against proto.Unmarshal and protojson, and returns
// what it gave. Both must refuse the same bytes and write the same text. Where
// protobuf refuses strings for not being UTF-8, it is given them mended, and
// where protojson has no form, there must be a warning.
func agree(tb testing.TB, codec *transcode.Codec, md protoreflect.MessageDescriptor, resolver transcode.Resolver, opts transcode.Options, wire []byte) (out []byte, err error) {
	tb.Helper()
	out, warnings, err := codec.AppendJSON([]byte("x"), wire)
	if err != nil && string(out) != "x" {
		tb.Fatalf("dst became %q with the error %v", out, err)
	}
	out = out[1:]
	if err != nil && strings.Contains(err.Error(), "nested more than") {
		return nil, err
	}
	if err == nil {
		if fault := jsontok.Valid(out, jsontok.Limits{MaxDepth: max(opts.MaxDepth, transcode.DefaultMaxDepth)}); fault != nil {
			tb.Fatalf("not JSON: %v\n%s\nof %x", fault, out, wire)
		}
	}
	m := dynamicpb.NewMessage(md)
	refused := parse(resolver, wire, m)
	if errors.Is(refused, errPanic) {
		return out, err
	}
	keys := false
	if refused != nil {
		d := mender{resolver: resolver}
		mended, ok := d.message(nil, wire, md)
		m = dynamicpb.NewMessage(md)
		if again := parse(resolver, mended, m); errors.Is(again, errPanic) {
			return out, err
		} else if !ok || again != nil {
			if err == nil {
				tb.Fatalf("protobuf refuses %x: %v\ngot %s", wire, refused, out)
			}
			return nil, err
		}
		keys = d.keys
	}
	if err != nil {
		tb.Fatalf("protobuf accepts %x\ngot %v", wire, err)
	}
	want, fault := format(resolver, m, opts)
	switch {
	case fault != nil:
		// Strings that are not shown need no warning.
		if !errors.Is(fault, errPanic) && !strings.Contains(fault.Error(), "invalid UTF-8") && len(warnings) == 0 {
			tb.Fatalf("no warning of %x\nprotojson %v\ngot %s", wire, fault, out)
		}
	case keys:
	case len(warnings) == 0 || refused != nil && onlyUTF8(warnings):
		if got := unwrap(tb, md, out); !bytes.Equal(got, want) {
			tb.Fatalf("wire %x\n got %s\nwant %s", wire, got, want)
		}
	default:
		if slices.ContainsFunc(warnings, func(s string) bool {
			return !strings.Contains(s, "not UTF-8") && !strings.Contains(s, "contents of an Any")
		}) {
			tb.Fatalf("wire %x\nwarnings %q\nwant %s", wire, warnings, want)
		}
	}
	return out, nil
}

func onlyUTF8(warnings []string) bool {
	return !slices.ContainsFunc(warnings, func(s string) bool {
		return !strings.Contains(s, "became U+FFFD") || strings.Contains(s, "the key")
	})
}

// mender replaces bytes that are not UTF-8 in the strings of a wire message.
type mender struct {
	resolver transcode.Resolver
	// keys is set when a key of a map was mended.
	keys bool
}

// message appends the mended form of wire, and reports false where wire is
// malformed.
func (d *mender) message(dst, wire []byte, md protoreflect.MessageDescriptor) ([]byte, bool) {
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
			contents, _ := protowire.ConsumeGroup(number, value)
			inner, ok := d.message(nil, contents, fd.Message())
			if !ok {
				return dst, false
			}
			dst = append(append(dst, tag...), inner...)
			dst = protowire.AppendTag(dst, number, protowire.EndGroupType)
		case typ == protowire.BytesType && fd.Kind() == protoreflect.MessageKind:
			contents, _ := protowire.ConsumeBytes(value)
			inner, ok := d.message(nil, contents, fd.Message())
			if !ok {
				return dst, false
			}
			dst = protowire.AppendBytes(append(dst, tag...), inner)
		case typ == protowire.BytesType && fd.Kind() == protoreflect.StringKind:
			contents, _ := protowire.ConsumeBytes(value)
			s := string([]rune(string(contents))) // one U+FFFD a byte
			d.keys = d.keys || s != string(contents) && fd.ContainingMessage().IsMapEntry() && fd.Number() == 1
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
