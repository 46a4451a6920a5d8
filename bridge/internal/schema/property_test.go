package schema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	_ "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	_ "google.golang.org/genproto/googleapis/api/expr/v1alpha1"
	_ "google.golang.org/genproto/googleapis/api/httpbody"
	_ "google.golang.org/genproto/googleapis/api/serviceconfig"
	_ "google.golang.org/genproto/googleapis/rpc/errdetails"
	_ "google.golang.org/grpc/channelz/grpc_channelz_v1"
	_ "google.golang.org/grpc/health/grpc_health_v1"
	_ "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	_ "google.golang.org/protobuf/types/known/apipb"
	_ "google.golang.org/protobuf/types/pluginpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

// everything returns the messages of testdata and all that are linked in.
func everything(t testing.TB) []protoreflect.MessageDescriptor {
	return append(messages(sink(t)), someOf(messages(protoregistry.GlobalFiles))...)
}

// wrapped puts JSON that is no object where the schema expects it.
func wrapped(md protoreflect.MessageDescriptor, b []byte) []byte {
	if !Wrapped(md) {
		return b
	}
	return fmt.Appendf(nil, `{%q:%s}`, WrapKey, b)
}

// rounds is how many random messages of a type are tried.
var rounds = pick(raceEnabled, 2, 6)

func TestOutputAcceptsWhatProtoJSONWrites(t *testing.T) {
	t.Parallel()
	for seed, md := range everything(t) {
		for _, opts := range []Options{{}, {MaxBytes: MinMaxBytes}, {Profile: Full}, {Profile: Full, MaxBytes: MinMaxBytes}} {
			_, out := schemas(t, md, opts)
			s := validator(t, out)
			f := filler{Rand: rand.New(rand.NewPCG(uint64(seed), 1))}
			for range rounds {
				b, err := protojson.MarshalOptions{AllowPartial: true}.Marshal(f.message(md, 4).Interface())
				if err != nil {
					t.Fatalf("%s: %v", md.FullName(), err)
				}
				if err := accepts(t, s, wrapped(md, b)); err != nil {
					t.Fatalf("%s: %v\nJSON: %s\nschema: %s", md.FullName(), err, b, out)
				}
			}
		}
	}
}

// TestOutputRequiresWhatIsAlwaysThere tests that results have what their schema
// requires, whatever they show of what is zero.
func TestOutputRequiresWhatIsAlwaysThere(t *testing.T) {
	t.Parallel()
	for seed, md := range everything(t) {
		codec, err := transcode.New(md, protoregistry.GlobalTypes, transcode.Options{})
		if err != nil {
			continue // it is no message of a tool
		}
		for _, opts := range []Options{
			{Output: transcode.Answers}, {Output: transcode.Answers, Profile: Full}, {Output: transcode.All, MaxBytes: MinMaxBytes},
		} {
			_, out := schemas(t, md, opts)
			s := validator(t, out)
			f := filler{Rand: rand.New(rand.NewPCG(uint64(seed), 4))}
			for i := range rounds {
				var wire []byte
				if i > 0 {
					if wire, err = (proto.MarshalOptions{AllowPartial: true}).Marshal(f.message(md, 4).Interface()); err != nil {
						t.Fatal(err)
					}
				}
				b, _, err := codec.Writing(opts.Output, 0).AppendJSON(nil, wire)
				if err != nil {
					t.Fatalf("%s: %v", md.FullName(), err)
				}
				if err := accepts(t, s, b); err != nil {
					t.Fatalf("%s: %v\nJSON: %s\nschema: %s", md.FullName(), err, b, out)
				}
			}
		}
	}
}

func TestInputAcceptsTameMessages(t *testing.T) {
	t.Parallel()
	for seed, md := range everything(t) {
		for _, profile := range []Profile{Portable, Full} {
			in, _ := schemas(t, md, Options{Profile: profile})
			s := validator(t, in)
			failed := false
			f := filler{Rand: rand.New(rand.NewPCG(uint64(seed), 2)), tame: true, failed: &failed}
			for range rounds {
				m := f.message(md, 4)
				if failed {
					break
				}
				b, err := protojson.MarshalOptions{AllowPartial: true}.Marshal(m.Interface())
				if err != nil {
					t.Fatalf("%s: %v", md.FullName(), err)
				}
				if err := accepts(t, s, wrapped(md, b)); err != nil {
					t.Fatalf("%s: %v\nJSON: %s\nschema: %s", md.FullName(), err, b, in)
				}
			}
		}
	}
}

func TestWrappedAgreesWithProtoJSON(t *testing.T) {
	t.Parallel()
	for seed, md := range everything(t) {
		f := filler{Rand: rand.New(rand.NewPCG(uint64(seed), 3))}
		b, err := protojson.MarshalOptions{AllowPartial: true}.Marshal(f.message(md, 2).Interface())
		if err != nil {
			t.Fatalf("%s: %v", md.FullName(), err)
		}
		if md.FullName() == "google.protobuf.Value" {
			if !Wrapped(md) {
				t.Error("a Value may be anything and must be wrapped")
			}
			continue
		}
		var v any
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		if _, object := v.(map[string]any); object == Wrapped(md) {
			t.Errorf("%s: Wrapped is %t, JSON is %s", md.FullName(), Wrapped(md), b)
		}
	}
}

func TestToolsOfLinkedInMethods(t *testing.T) {
	t.Parallel()
	var methods []protoreflect.MethodDescriptor
	protoregistry.GlobalFiles.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		for i := range fd.Services().Len() {
			service := fd.Services().Get(i)
			for j := range service.Methods().Len() {
				methods = append(methods, service.Methods().Get(j))
			}
		}
		return true
	})
	if len(methods) < 5 {
		t.Fatalf("%d methods are linked in", len(methods))
	}
	names := Names(methods, nil)
	for _, m := range methods {
		if !toolName.MatchString(names[m.FullName()]) {
			t.Errorf("%s: name %q", m.FullName(), names[m.FullName()])
		}
		if d := Description(m); d == "" || len(d) > maxText {
			t.Errorf("%s: description %q", m.FullName(), d)
		}
		if Title(m) == "" || !json.Valid(Annotations(m)) {
			t.Errorf("%s: title %q, annotations %s", m.FullName(), Title(m), Annotations(m))
		}
	}
}
