package schema

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
)

// The public Google APIs are as much of real protobuf as there is in one
// place, with comments. Compiling them all takes 10 seconds, and ten times
// that with the race detector: it gets a sample, and a process without it does
// the rest.
const (
	googleMethods = 13458
	googleSample  = 24 // one file of so many
)

// google are the methods of the Google APIs: all of them, or a sample.
type google struct {
	methods []protoreflect.MethodDescriptor
	whole   bool
	err     error
}

var googleOnce struct {
	sync.Once
	google
}

func googleAPIs(tb testing.TB) google {
	tb.Helper()
	root := filepath.Dir(nodetools.Module(tb, "google-proto-files", "package.json"))
	googleOnce.Do(func() { googleOnce.google = compileGoogle(root, !raceEnabled && !testing.Short()) })
	if googleOnce.err != nil {
		tb.Fatal(googleOnce.err)
	}
	return googleOnce.google
}

func compileGoogle(root string, whole bool) google {
	var names []string
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case relErr != nil:
			return relErr
		// Files of protobuf itself, which need compilers of its next edition.
		case !strings.HasSuffix(name, ".proto") || strings.HasPrefix(name, "google/protobuf/"):
			return nil
		case whole || sampled(name):
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return google{err: err}
	}
	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{root}},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), names...)
	if err != nil {
		return google{err: err}
	}
	g := google{whole: whole}
	for _, file := range files {
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for j := range methods.Len() {
				g.methods = append(g.methods, methods.Get(j))
			}
		}
	}
	return g
}

func sampled(name string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return h.Sum32()%googleSample == 0
}

// someOf returns one in eight of what a test would take, and all without the race
// detector, which makes rendering and validating ten times as slow and has
// nothing new to see in the rest.
func someOf[T any](all []T) []T {
	if !raceEnabled {
		return all
	}
	var some []T
	for i := 0; i < len(all); i += 8 {
		some = append(some, all[i])
	}
	return some
}

// TestWithoutRace runs in full what has a sample only where this process has the
// race detector.
func TestWithoutRace(t *testing.T) {
	if !raceEnabled || testing.Short() {
		t.Skip("the tests run in full, or are to be short")
	}
	t.Parallel()
	nodetools.Module(t, "google-proto-files", "package.json")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run=^Test(Google|RealAPIs|ConformanceCases|Output|Input)", ".")
	// The garbage collector keeps it to what a small machine has.
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOGC=40")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestGoogleSchemas renders every method of the Google APIs in both profiles.
func TestGoogleSchemas(t *testing.T) {
	t.Parallel()
	g := googleAPIs(t)
	if g.whole && len(g.methods) != googleMethods {
		t.Errorf("%d methods, want %d", len(g.methods), googleMethods)
	}
	if len(g.methods) < 300 {
		t.Errorf("%d methods in the sample", len(g.methods))
	}
	for name, profile := range map[string]Profile{"portable": Portable, "full": Full} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := New(Options{Profile: profile, DescribeTool: "describe_type"})
			seen := make(map[protoreflect.FullName]bool)
			pruned := 0
			for _, m := range g.methods {
				in, err := r.Input(m.Input())
				if err != nil {
					t.Fatalf("%s: %v", m.FullName(), err)
				}
				if !seen[m.Input().FullName()] {
					seen[m.Input().FullName()] = true
					checkSchema(t, m.Input(), in, r.opts, everyMessage)
				}
				left := r.Within(max(MinMaxBytes, DefaultMaxBytes-len(in.JSON)))
				out, err := left.Output(m.Output())
				if err != nil {
					t.Fatalf("%s: %v", m.FullName(), err)
				}
				if in.Pruned || out.Pruned {
					pruned++
				}
				if len(in.JSON)+len(out.JSON) > DefaultMaxBytes+MinMaxBytes {
					t.Errorf("%s: %d bytes", m.FullName(), len(in.JSON)+len(out.JSON))
				}
				if !seen["out "+m.Output().FullName()] {
					seen["out "+m.Output().FullName()] = true
					checkSchema(t, m.Output(), out, left.opts, nil)
				}
			}
			t.Logf("%d methods, %d types, %d pruned", len(g.methods), len(seen), pruned)
		})
	}
}

// everyMessage allows everything.
func everyMessage(protoreflect.Message) bool { return true }

// checkSchema checks all that must be true of a schema. Allowed is set for an
// input schema, and tells which messages it must accept; an output schema must
// accept all.
func checkSchema(t *testing.T, md protoreflect.MessageDescriptor, s Schema, opts Options, allowed func(protoreflect.Message) bool) {
	t.Helper()
	if len(s.JSON) > opts.maxBytes() {
		t.Errorf("%s: %d bytes, budget %d", md.FullName(), len(s.JSON), opts.maxBytes())
	}
	if opts.Profile == Portable {
		for _, p := range portable(s.JSON) {
			t.Errorf("%s: %s", md.FullName(), p)
		}
	}
	if strings.Contains(string(s.JSON), "call describe_type") != s.Pruned {
		t.Errorf("%s: pruned is %t: %s", md.FullName(), s.Pruned, s.JSON)
	}
	compiled := validator(t, s.JSON)
	h := fnv.New64a()
	_, _ = h.Write([]byte(md.FullName()))
	if allowed == nil {
		f := filler{Rand: rand.New(rand.NewPCG(h.Sum64(), 1))}
		checkAccepted(t, compiled, md, f.message(md, 3), s)
		return
	}
	failed := false
	f := filler{Rand: rand.New(rand.NewPCG(h.Sum64(), 1)), tame: true, failed: &failed}
	if m := f.message(md, 3); !failed && allowed(m) {
		checkAccepted(t, compiled, md, m, s)
	}
}

// checkAccepted checks that a schema of md accepts a message.
func checkAccepted(t *testing.T, compiled *jsonschema.Schema, md protoreflect.MessageDescriptor, m protoreflect.Message, s Schema) {
	t.Helper()
	b, err := protojson.MarshalOptions{AllowPartial: true}.Marshal(m.Interface())
	if err != nil {
		t.Fatalf("%s: %v", md.FullName(), err)
	}
	if err := accepts(t, compiled, wrapped(md, b)); err != nil {
		t.Errorf("%s: %v\nJSON: %s\nschema: %s", md.FullName(), err, b, s.JSON)
	}
}

// TestGoogleTypes describes the types of the Google APIs on their own.
func TestGoogleTypes(t *testing.T) {
	t.Parallel()
	g := googleAPIs(t)
	r := New(Options{DescribeTool: "describe_type"})
	seen := make(map[protoreflect.FullName]bool)
	pruned, largest := 0, 0
	for _, m := range g.methods {
		fields := m.Input().Fields()
		for i := range fields.Len() {
			var d protoreflect.Descriptor
			switch fd := fields.Get(i); {
			case fd.Message() != nil:
				d = fd.Message()
			case fd.Enum() != nil:
				d = fd.Enum()
			}
			if d == nil || seen[d.FullName()] {
				continue
			}
			seen[d.FullName()] = true
			s, err := r.Type(d)
			if err != nil || len(s.JSON) > TypeMaxBytes || !json.Valid(s.JSON) {
				t.Errorf("%s: %v, %d bytes", d.FullName(), err, len(s.JSON))
			}
			if s.Pruned {
				pruned++
			}
			largest = max(largest, len(s.JSON))
		}
	}
	t.Logf("%d types, %d pruned, the largest has %d bytes", len(seen), pruned, largest)
}

// TestGoogleTools checks the other parts of every tool.
func TestGoogleTools(t *testing.T) {
	t.Parallel()
	g := googleAPIs(t)
	names := Names(g.methods, nil)
	check(t, names, len(g.methods))
	forms := map[string]int{}
	for _, m := range g.methods {
		service, method, name := string(m.Parent().Name()), string(m.Name()), names[m.FullName()]
		switch {
		case name == service+"_"+method:
			forms["Service_Method"]++
		case strings.HasSuffix(name, "_"+service+"_"+method):
			forms["package_Service_Method"]++
		case len(name) == maxName:
			forms["hash of a long name"]++
		default:
			forms["hash"]++
		}
		if len(service)+1+len(method) > maxName {
			forms["longer than 64"]++
		}
		if d := Description(m); d == "" || len(d) > maxText {
			t.Errorf("%s: description %q", m.FullName(), d)
		}
		if Title(m) == "" || !json.Valid(Annotations(m)) {
			t.Errorf("%s: title %q, annotations %s", m.FullName(), Title(m), Annotations(m))
		}
	}
	t.Logf("names: %v", forms)
}

// BenchmarkGoogle renders the schemas of all methods of the Google APIs by one
// Renderer. It reports the time of a method, and the sizes of a tool's two
// schemas together.
func BenchmarkGoogle(b *testing.B) {
	for _, profile := range []struct {
		name string
		Profile
	}{{"portable", Portable}, {"full", Full}} {
		b.Run(profile.name, func(b *testing.B) {
			g := googleAPIs(b)
			sizes := make([]int, len(g.methods))
			b.ReportAllocs()
			for b.Loop() {
				r := New(Options{Profile: profile.Profile})
				for i, m := range g.methods {
					in, err := r.Input(m.Input())
					if err != nil {
						b.Fatal(err)
					}
					out, err := r.Within(max(MinMaxBytes, DefaultMaxBytes-len(in.JSON))).Output(m.Output())
					if err != nil {
						b.Fatal(err)
					}
					sizes[i] = len(in.JSON) + len(out.JSON)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(g.methods)), "ns/method")
			slices.Sort(sizes)
			for _, p := range []int{50, 99, 100} {
				b.ReportMetric(float64(sizes[min(len(sizes)*p/100, len(sizes)-1)]), fmt.Sprintf("p%d-bytes", p))
			}
		})
	}
}
