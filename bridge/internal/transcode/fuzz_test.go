package transcode_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
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

func appendField(dst []byte, n protoreflect.FieldNumber, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(dst, n, protowire.BytesType), value)
}

// stricter are the problems that ProtoJSON does not have. (Of required fields,
// protobuf-go does not see those that are by a feature of an edition.)
var stricter = []string{"lose digits in this form", "no value of the closed enum", "the required field is", "not base64", "only by chance"}

// FuzzAppendWire holds the reader against protojson: what that accepts, the
// reader accepts, with the same meaning. protojson takes some text that is not
// JSON, so that is left out.
func FuzzAppendWire(f *testing.F) {
	k := load(f)
	for i, name := range roots {
		for seed := range uint64(5) {
			m := dynamicpb.NewMessage(k.message(f, name))
			generator{rand.New(rand.NewPCG(seed, 2)), k}.fill(m, 3)
			text, err := protojson.MarshalOptions{Resolver: k.types, AllowPartial: true}.Marshal(m)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(byte(i), text)
		}
	}
	f.Add(byte(1), []byte("\f{\"id\":1}"))
	for _, text := range []string{
		`{"fInt32":1e2,"fInt64":"1e3","fBytes":"-_8","cash":null,"null":null}`,
		`{"rInt64":"[1]","child":"{}","paymentMethod":{"cash":1},"duration":"PT1H","mask":["a_b"]}`,
		`{"any":{"@type":"a/kitchen.v1.Legacy","[kitchen.v1.note]":"x"},"time":"2026-01-31T09:30:00,5Z"}`,
		`{"duration":"+.5s","time":"2026-01-31T09:30:00+01:00","value":1e400}`,
	} {
		f.Add(byte(0), []byte(text))
	}
	codecs := make([]*transcode.Codec, len(roots))
	for i, name := range roots {
		codecs[i] = k.codec(f, name, transcode.Options{})
	}
	f.Fuzz(func(t *testing.T, root byte, text []byte) {
		i := int(root) % len(roots)
		md := k.message(t, roots[i])
		in := text
		if transcode.Wrapped(md) {
			in = append(append([]byte(`{"value":`), text...), '}')
		}
		wire, err := codecs[i].AppendWire(nil, in)
		if err == nil {
			if jsontok.Valid(in, jsontok.Limits{}) != nil && len(bytes.Trim(in, " \t\r\n")) > 0 {
				t.Fatal("took what is not JSON")
			}
			out, _, err := codecs[i].AppendJSON(nil, wire)
			if err != nil && !strings.Contains(err.Error(), "nested more than") {
				t.Fatalf("cannot be written: %v", err)
			}
			if err == nil && jsontok.Valid(out, jsontok.Limits{MaxDepth: transcode.DefaultMaxDepth}) != nil {
				t.Fatalf("not JSON: %s", out)
			}
		}
		if jsontok.Valid(in, jsontok.Limits{MaxDepth: transcode.DefaultMaxDepth}) != nil || bytes.Equal(bytes.Trim(text, " \t\r\n"), []byte("null")) {
			return
		}
		want := dynamicpb.NewMessage(md)
		if (protojson.UnmarshalOptions{Resolver: k.types}).Unmarshal(text, want) != nil {
			return
		}
		if err != nil {
			e, ok := errors.AsType[*transcode.ArgumentError](err)
			if !ok {
				t.Fatal(err)
			}
			for _, v := range e.Violations {
				if !slices.ContainsFunc(stricter, func(s string) bool { return strings.Contains(v.Problem, s) }) {
					t.Fatalf("protojson accepts: %v", err)
				}
			}
			return
		}
		wantWire, err := proto.MarshalOptions{AllowPartial: true}.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := sorted(t, k, md, wire), sorted(t, k, md, wantWire); !bytes.Equal(got, want) {
			t.Fatalf("got %x, protojson has %x", got, want)
		}
	})
}

// keyTwice is a message of type Sink with a map entry that has its key twice,
// the second time with another wire type. protobuf panics on it.
const keyTwice = "\xc2\x02\x05\x0a\x01a\x08\x01"

// errPanic is what the panics of protobuf's parser become.
var errPanic = errors.New("panic")

// unmarshal is protobuf's, with panics made errors.
func unmarshal(k *kitchen, wire []byte, m proto.Message) (err error) {
	defer func() {
		if recover() != nil {
			err = errPanic
		}
	}()
	return proto.UnmarshalOptions{AllowPartial: true, Resolver: k.types}.Unmarshal(wire, m)
}

// marshal is protojson's, with panics of the parser of an Any made errors.
func marshal(k *kitchen, m proto.Message) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return protojson.MarshalOptions{Resolver: k.types, AllowPartial: true}.Marshal(m)
}
