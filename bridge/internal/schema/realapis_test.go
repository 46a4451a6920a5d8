package schema

import (
	"math/rand/v2"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/internal/realapis"
)

// byRules returns which messages are complete and accepted by protovalidate. What
// it cannot compile it does not accept.
func byRules(t *testing.T, options ...protovalidate.ValidatorOption) func(protoreflect.Message) bool {
	t.Helper()
	validate, err := protovalidate.New(options...)
	if err != nil {
		t.Fatal(err)
	}
	return func(m protoreflect.Message) bool {
		// The required fields of some descriptors are not all among their
		// RequiredNumbers, so proto.CheckInitialized would not do.
		fields := m.Descriptor().Fields()
		for i := range fields.Len() {
			if fd := fields.Get(i); fd.Cardinality() == protoreflect.Required && !m.Has(fd) {
				return false
			}
		}
		return validate.Validate(m.Interface()) == nil
	}
}

// TestRealAPIs renders the types of all methods of well-known APIs, as they come
// from a backend, in both profiles.
func TestRealAPIs(t *testing.T) {
	t.Parallel()
	set, err := descriptor.FromFileDescriptorSet(realapis.Linked(t)).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var methods []protoreflect.MethodDescriptor
	for _, service := range set.Services() {
		for i := range service.Methods().Len() {
			methods = append(methods, service.Methods().Get(i))
		}
	}
	if len(methods) < 650 {
		t.Errorf("%d methods", len(methods))
	}
	allowed := byRules(t)
	for name, profile := range map[string]Profile{"portable": Portable, "full": Full} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := New(Options{Profile: profile, DescribeTool: "describe_type"})
			for _, m := range someOf(methods) {
				in, err := r.Input(m.Input())
				if err != nil {
					t.Fatalf("%s: %v", m.FullName(), err)
				}
				checkSchema(t, m.Input(), in, r.opts, allowed)
				left := r.Within(max(MinMaxBytes, DefaultMaxBytes-len(in.JSON)))
				out, err := left.Output(m.Output())
				if err != nil {
					t.Fatalf("%s: %v", m.FullName(), err)
				}
				checkSchema(t, m.Output(), out, left.opts, nil)
			}
		})
	}
}

// TestConformanceCases takes the messages of protovalidate's conformance tests:
// an input schema accepts whatever protovalidate does, and an output schema
// everything.
func TestConformanceCases(t *testing.T) {
	t.Parallel()
	files := realapis.Conformance(t)
	allowed := byRules(t, protovalidate.WithExtensionTypeResolver(dynamicpb.NewTypes(files)))
	cases, valid := 0, 0
	for seed, md := range someOf(messages(files)) {
		if !strings.HasPrefix(string(md.FullName()), "buf.validate.conformance.cases.") {
			continue
		}
		cases++
		for _, profile := range []Profile{Portable, Full} {
			r := New(Options{Profile: profile, DescribeTool: "describe_type"})
			out, err := r.Output(md)
			if err != nil {
				t.Fatalf("%s: %v", md.FullName(), err)
			}
			checkSchema(t, md, out, r.opts, nil)
			in, err := r.Input(md)
			if err != nil {
				t.Fatalf("%s: %v", md.FullName(), err)
			}
			checkSchema(t, md, in, r.opts, allowed)
			compiled := validator(t, in.JSON)
			f := filler{Rand: rand.New(rand.NewPCG(uint64(seed), 4)), tame: true, failed: new(bool)}
			for i := range pick(raceEnabled, 4, 20) {
				var m protoreflect.Message = dynamicpb.NewMessage(md)
				if i > 0 {
					*f.failed = false
					m = f.message(md, 3)
				}
				if !*f.failed && allowed(m) {
					valid++
					checkAccepted(t, compiled, md, m, in)
				}
			}
		}
	}
	if !raceEnabled && cases < 600 || valid < 3*cases {
		t.Errorf("%d conformance cases, %d valid messages", cases, valid)
	}
	t.Logf("%d conformance cases, %d valid messages", cases, valid)
}
